/* Runs one Check suite as a program of its own. */
#ifndef SFTEST_RUNNER_H
#define SFTEST_RUNNER_H

#include <check.h>
#include <stdlib.h>

/* Runs the suite, prints failures, and returns what main should return. */
static inline int sftest_run(Suite *suite)
{
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
