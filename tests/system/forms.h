/* The forms in which operations can be given: at once or in two halves, ended one by one or together, in any order, or
 * persistent. A test says what its operations are, and each rank plays them. */
#ifndef SFTEST_FORMS_H
#define SFTEST_FORMS_H

#include "tests/system/harness.h"

#define SFTEST_OPERATIONS_MAX 20

typedef enum sftest_form {
  SFTEST_BLOCKING,
  SFTEST_END_BY_WAIT,
  SFTEST_END_BY_TEST,
  SFTEST_END_ANYHOW, /* some while others are yet to begin; by sf_wait_for, too */
  SFTEST_END_ALL,
  SFTEST_PERSISTENT,
  SFTEST_FORM_COUNT
} sftest_form_t;

/* What can be done with operation i of a test. */
typedef struct sftest_operations {
  const char *(*name)(const void *test, int32_t i);
  void (*fill)(void *test, int32_t i, uint64_t seed); /* its arrays with values, before each time that it is given */
  sf_status_t (*call)(void *test, int32_t i);
  sf_status_t (*begin)(void *test, int32_t i, sf_request_t **request_p);
  sf_status_t (*init)(void *test, int32_t i, sf_request_t **request_p);
  void (*check)(void *test, int32_t i); /* its arrays when it has ended */
} sftest_operations_t;

/* What one rank plays; the caller fills in the first part. */
typedef struct sftest_play {
  sftest_rank_t *self;
  const sftest_operations_t *operations;
  void *test;
  sftest_form_t form;
  int32_t n;
  bool keep_requests;    /* persistent ones: they go with their graphs */
  uint64_t *random, own; /* the same on all ranks; this one's */

  sf_request_t *requests[SFTEST_OPERATIONS_MAX];
  bool ended[SFTEST_OPERATIONS_MAX];
} sftest_play_t;

void sftest_play(sftest_play_t *play);

#endif
