/* What sfctl prints of one answer that the test has made up. Runs in the root of the repository. */
#ifndef SFTEST_SFCTL_PRINT_H
#define SFTEST_SFCTL_PRINT_H

#include "proto/report/list.h"
#include "proto/sf_control.pb-c.h"
#include "tests/unit/runner.h"

/* The answer, and the list of it alone. */
extern Sfproto__Message message;
extern sfreport_item_t item;
extern const sfreport_list_t list;

/* Empties them: before each test. */
void sftest_print_setup(void);

/* A text where protobuf-c has one that is not const. */
char *sftest_print_word(const char *text);

/* For the caller to free. */
char *sftest_print(Sfproto__Query__What what, bool json, bool regions);
void sftest_print_expect_text(Sfproto__Query__What what, bool regions, const char *expected);

/* And every name in it stands in the man page. */
void sftest_print_expect_json(Sfproto__Query__What what, const char *expected);

#endif
