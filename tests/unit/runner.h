/* Tests that need not be listed, and main: what a program with tests is made of. */
#ifndef SFTEST_RUNNER_H
#define SFTEST_RUNNER_H

/* What most tests use. */
#include <check.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A test:
 *
 *   SFTEST(name)
 *   {
 *     ...
 *   }
 *
 * The others run for each _i from 0, or from, to n - 1, which a failure names, or if the condition holds; these are
 * computed before main. */
#define SFTEST(name) SFTEST_FOR(name, 1)
#define SFTEST_IF(name, condition) SFTEST_FOR(name, (condition) ? 1 : 0)
#define SFTEST_FOR(name, n) SFTEST_BETWEEN(name, 0, n)
#define SFTEST_BETWEEN(name, from, n)                                                                                  \
  static void name##_fn(int _i);                                                                                       \
  static const TTest name##_test = {#name, name##_fn, __FILE__, __LINE__};                                             \
  SFTEST_ENTER(name, name, from, n)                                                                                    \
  static void name##_fn(int _i __attribute__((unused)))

/* A test once more: in the case that begins between the two. */
#define SFTEST_AGAIN(name, n) SFTEST_ENTER(name##_again, name, 0, n)
#define SFTEST_ENTER(unique, name, from, n)                                                                            \
  __attribute__((constructor)) static void unique##_enter(void)                                                        \
  {                                                                                                                    \
    sftest_enter((sftest_entry_t){__LINE__, &name##_test, from, n, NULL});                                             \
  }

/* Tests below it, to the next one, are a case of their own, with a fixture around each of them (NULL: none); or a case
 * that a statement prepares, to which it is "tests". */
#define SFTEST_FIXTURE(setup, teardown) SFTEST_CASE(tcase_add_checked_fixture(tests, setup, teardown))
#define SFTEST_CASE(statement) SFTEST_CASE_AT(statement, __LINE__)
#define SFTEST_CASE_AT(statement, line) SFTEST_CASE_NAMED(statement, line)
#define SFTEST_CASE_NAMED(statement, line)                                                                             \
  static void sftest_prepare_##line(TCase *tests __attribute__((unused)))                                              \
  {                                                                                                                    \
    statement;                                                                                                         \
  }                                                                                                                    \
  __attribute__((constructor)) static void sftest_enter_##line(void)                                                   \
  {                                                                                                                    \
    sftest_enter((sftest_entry_t){line, NULL, 0, 0, sftest_prepare_##line});                                           \
  }                                                                                                                    \
  struct sftest_end_of_case

typedef struct sftest_entry {
  int line;
  const TTest *test;
  int from;
  int n;
  void (*prepare)(TCase *tests); /* without a test */
} sftest_entry_t;

void sftest_enter(sftest_entry_t entry);

/* Runs all tests, prints failures, and returns what main should return. This is what main does in programs that have
 * none. */
int sftest_main(void);

#endif
