/* Runs one Check suite as a program of its own; and tests that need not be listed, as most programs have one case. */
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

/* ---- Programs with one case ---- */

/* A test, which belongs to the case of its program:
 *
 *   SFTEST(name)
 *   {
 *     ...
 *   }
 *
 * The others run for each _i from 0, or from, to n - 1, which a failure names; n is computed before main. */
#define SFTEST(name) SFTEST_FOR(name, 1)
#define SFTEST_FOR(name, n) SFTEST_BETWEEN(name, 0, n)
#define SFTEST_BETWEEN(name, from, n)                                                                                  \
  static void name##_fn(int _i);                                                                                       \
  __attribute__((constructor)) static void name##_enter(void)                                                          \
  {                                                                                                                    \
    static const TTest test = {#name, name##_fn, __FILE__, __LINE__};                                                  \
    sftest_enter(&test, from, n);                                                                                      \
  }                                                                                                                    \
  static void name##_fn(int _i __attribute__((unused)))

#define SFTEST_MOST 64

typedef struct sftest_entry {
  const TTest *test;
  int from;
  int n;
} sftest_entry_t;

/* In the order of the file. */
static sftest_entry_t sftest_entries[SFTEST_MOST];
static int sftest_nentries;

static inline void sftest_enter(const TTest *test, int from, int n)
{
  int at = sftest_nentries++;
  if (sftest_nentries > SFTEST_MOST)
    abort();
  for (; at > 0 && sftest_entries[at - 1].test->line > test->line; at--)
    sftest_entries[at] = sftest_entries[at - 1];
  sftest_entries[at] = (sftest_entry_t){test, from, n};
}

static Suite *sftest_suite;

/* The case, with all tests of the program, to which fixtures may be added. */
static inline TCase *sftest_case(const char *name)
{
  TCase *tests = tcase_create(name);
  for (int i = 0; i < sftest_nentries; i++)
    tcase_add_loop_test(tests, sftest_entries[i].test, sftest_entries[i].from, sftest_entries[i].n);
  sftest_suite = suite_create(name);
  suite_add_tcase(sftest_suite, tests);
  return tests;
}

/* Runs it, and returns what main should return. */
static inline int sftest_run_case(void)
{
  return sftest_run(sftest_suite);
}

/* Both, with a fixture around each test; NULL: none. */
static inline int sftest_main(const char *name, SFun setup, SFun teardown)
{
  tcase_add_checked_fixture(sftest_case(name), setup, teardown);
  return sftest_run_case();
}

#endif
