/* Threads of the library's own: no signal is delivered to them, and who starts them notices nothing. */
#include "shm/base/thread.h"

#include <errno.h>

#include "tests/unit/runner.h"

#define STACK_BYTES ((size_t)256 << 10)

typedef struct seen {
  sigset_t mask;
  size_t stack_bytes;
} seen_t;

static void *look(void *argument)
{
  seen_t *seen = argument;
  pthread_attr_t attributes;
  pthread_sigmask(SIG_SETMASK, NULL, &seen->mask);
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstacksize(&attributes, &seen->stack_bytes);
  pthread_attr_destroy(&attributes);
  return seen;
}

/* The mask of this thread: one signal is blocked, the others are not. */
static void expect_own_mask(void)
{
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  ck_assert_int_eq(sigismember(&mask, SIGUSR1), 1);
  ck_assert_int_eq(sigismember(&mask, SIGUSR2), 0);
  ck_assert_int_eq(sigismember(&mask, SIGTERM), 0);
}

static void block_one(void)
{
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, &one, NULL), 0);
}

SFTEST(no_signals)
{
  static const int signals[] = {SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGCHLD, SIGALRM, SIGPIPE};
  seen_t seen;
  pthread_t thread;
  void *result;
  block_one();
  ck_assert_int_eq(sfshm_thread_start(&thread, 0, look, &seen), 0);
  expect_own_mask();
  ck_assert_int_eq(pthread_join(thread, &result), 0);
  ck_assert_ptr_eq(result, &seen);
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    ck_assert_int_eq(sigismember(&seen.mask, signals[i]), 1);
}

SFTEST(stack_as_asked_for)
{
  seen_t seen;
  pthread_t thread;
  ck_assert_int_eq(sfshm_thread_start(&thread, STACK_BYTES, look, &seen), 0);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  ck_assert_uint_ge(seen.stack_bytes, STACK_BYTES);
  ck_assert_uint_lt(seen.stack_bytes, 4 * STACK_BYTES); /* sanitizers add to it; the default is 8 MiB */
}

SFTEST(impossible_stack)
{
  pthread_t thread;
  block_one();
  ck_assert_int_eq(sfshm_thread_start(&thread, 1, look, NULL), EINVAL);
  expect_own_mask();
}
