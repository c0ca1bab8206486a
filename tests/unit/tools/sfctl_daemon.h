/* The daemon that sfctl asks: the other end of a socket pair, which has answered before it was asked. */
#ifndef SFTEST_SFCTL_DAEMON_H
#define SFTEST_SFCTL_DAEMON_H

#include "tools/sfctl/collect.h"

#include "shm/base/error.h"
#include "shm/region/region.h"
#include "tests/unit/runner.h"

extern sfctl_connection_t sftest_connection;
extern sfproto_conn_t *sftest_daemon;
extern uint64_t sftest_answered; /* that is being answered */
extern sfreport_list_t sftest_answers;

void sftest_sfctl_setup(void);

void sftest_sfctl_teardown(void);

char *sftest_word(const char *text);

void sftest_say(Sfproto__Message__BodyCase body, void *info, const int fds[], int nfds);

void sftest_say_job(uint64_t job_id, const char *name);

void sftest_say_graph(uint64_t job_id, uint64_t graph);

void sftest_say_end(int32_t count);

void sftest_expect_collect_error(Sfproto__Query__What what, const char *job, sf_status_t expected, const char *text);

#endif
