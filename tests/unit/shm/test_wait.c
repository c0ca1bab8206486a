/* Waiting and waking: single steps, sleepers that share a word, sleepers whose waker is another process or has died,
 * and threads that sleep and wake each other as often as they can: a wake-up that is lost is a test that does not end.
 */
#include "shm/region/wait.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "shm/region/inbox.h"
#include "tests/unit/runner.h"

#define MS INT64_C(1000000)

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STRESS_ROUNDS 5000
#else
#define STRESS_ROUNDS 20000
#endif

static sfshm_wake_t wake;

static int64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 * MS + now.tv_nsec;
}

static bool is_armed(void)
{
  return (atomic_load(&wake.word) & SFSHM_WAKE_ARMED) != 0;
}

/* How long a sleep took. */
static int64_t sleep_ns(uint32_t ticket, int64_t timeout_ns)
{
  int64_t start = now_ns();
  sfshm_wake_sleep(&wake, ticket, timeout_ns);
  return now_ns() - start;
}

static void publish_and_wake(void)
{
  sfshm_publish_barrier();
  sfshm_wake(&wake);
}

/* ---- Steps ---- */

SFTEST(arming_and_waking)
{
  ck_assert(!is_armed());
  uint32_t ticket = sfshm_wake_arm(&wake);
  ck_assert(is_armed());
  ck_assert_uint_eq(atomic_load(&wake.word), ticket);
  ck_assert_uint_eq(sfshm_wake_arm(&wake), ticket); /* another sleeper joins */
  publish_and_wake();
  ck_assert(!is_armed());
  uint32_t word = atomic_load(&wake.word);
  publish_and_wake();
  ck_assert_uint_eq(atomic_load(&wake.word), word); /* nobody sleeps: nothing is written */
  ck_assert_uint_ne(sfshm_wake_arm(&wake), ticket);
}

SFTEST(sleep_ends_in_time)
{
  uint32_t ticket = sfshm_wake_arm(&wake);
  ck_assert_int_ge(sleep_ns(ticket, 20 * MS), 15 * MS);
  ck_assert(is_armed()); /* only wakers disarm */
  sleep_ns(ticket, 0);
}

SFTEST(no_sleep_after_a_wake_up)
{
  uint32_t ticket = sfshm_wake_arm(&wake);
  publish_and_wake();
  sfshm_wake_sleep(&wake, ticket, -1); /* hangs if it sleeps */
}

/* A thread has armed the word and looked, a wake-up comes, and another thread of the process arms the word again. */
SFTEST(another_sleeper_does_not_hide_a_wake_up)
{
  uint32_t mine = sfshm_wake_arm(&wake);
  publish_and_wake();
  uint32_t others = sfshm_wake_arm(&wake);
  sfshm_wake_sleep(&wake, mine, -1); /* hangs if it sleeps */
  ck_assert_int_ge(sleep_ns(others, 20 * MS), 15 * MS);
}

SFTEST(failure_wakes_whatever_the_word_says)
{
  uint32_t ticket = sfshm_wake_arm(&wake);
  sfshm_wake_always(&wake);
  ck_assert(!is_armed());
  sfshm_wake_sleep(&wake, ticket, -1); /* hangs if it sleeps */
  ticket = sfshm_wake_arm(&wake);
  publish_and_wake();
  sfshm_wake_always(&wake);
  ck_assert(!is_armed());
  sfshm_wake_sleep(&wake, ticket, -1); /* hangs if it sleeps */
}

SFTEST(the_count_wraps_round)
{
  atomic_store(&wake.word, UINT32_MAX - 1);
  uint32_t ticket = sfshm_wake_arm(&wake);
  ck_assert_uint_eq(ticket, UINT32_MAX);
  publish_and_wake();
  ck_assert_uint_eq(atomic_load(&wake.word), 0);
  sfshm_wake_sleep(&wake, ticket, -1); /* hangs if it sleeps */
  atomic_store(&wake.word, UINT32_MAX);
  sfshm_wake_always(&wake);
  ck_assert(!is_armed());
}

/* ---- Sleepers ---- */

typedef struct sleeper {
  pthread_t thread;
  _Atomic pid_t tid;
  _Atomic bool flag; /* what it waits for */
} sleeper_t;

static void *sleep_for_flag(void *argument)
{
  sleeper_t *sleeper = argument;
  atomic_store(&sleeper->tid, (pid_t)syscall(SYS_gettid));
  while (!atomic_load_explicit(&sleeper->flag, memory_order_acquire)) {
    uint32_t ticket = sfshm_wake_arm(&wake);
    if (atomic_load_explicit(&sleeper->flag, memory_order_acquire))
      break;
    sfshm_wake_sleep(&wake, ticket, -1);
  }
  return NULL;
}

static void start_sleeper(sleeper_t *sleeper)
{
  atomic_store(&sleeper->tid, 0);
  atomic_store(&sleeper->flag, false);
  ck_assert_int_eq(pthread_create(&sleeper->thread, NULL, sleep_for_flag, sleeper), 0);
}

/* Waits until the thread sleeps in the kernel, on the word: there is nothing else that it could sleep on then. */
static void await_sleep(pid_t process, const _Atomic pid_t *tid)
{
  char path[64], state = 0;
  while (atomic_load(tid) == 0 || !is_armed())
    sched_yield();
  snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)process, (int)atomic_load(tid));
  while (state != 'S') {
    sched_yield();
    FILE *stat = fopen(path, "re");
    ck_assert_ptr_nonnull(stat);
    ck_assert_int_eq(fscanf(stat, "%*d (%*[^)]) %c", &state), 1);
    fclose(stat);
  }
}

static void wake_with_flag(sleeper_t *sleeper)
{
  atomic_store_explicit(&sleeper->flag, true, memory_order_release);
  publish_and_wake();
}

SFTEST(one_wake_up_wakes_all_sleepers)
{
  for (int round = 0; round < 50; round++) {
    sleeper_t sleepers[3];
    for (int i = 0; i < 3; i++)
      start_sleeper(&sleepers[i]);
    for (int i = 0; i < 3; i++)
      await_sleep(getpid(), &sleepers[i].tid);
    for (int i = 1; i < 3; i++)
      atomic_store(&sleepers[i].flag, true);
    wake_with_flag(&sleepers[0]);
    for (int i = 0; i < 3; i++)
      pthread_join(sleepers[i].thread, NULL);
  }
}

SFTEST(who_waits_for_something_else_sleeps_on)
{
  sleeper_t first, second;
  start_sleeper(&first);
  start_sleeper(&second);
  await_sleep(getpid(), &first.tid);
  await_sleep(getpid(), &second.tid);
  wake_with_flag(&first);
  pthread_join(first.thread, NULL);
  await_sleep(getpid(), &second.tid);
  wake_with_flag(&second);
  pthread_join(second.thread, NULL);
}

/* A waker that is killed after it has disarmed the word: nobody else sees a sleeper any more. */
SFTEST(sleepers_of_a_dead_waker)
{
  sleeper_t sleeper;
  start_sleeper(&sleeper);
  await_sleep(getpid(), &sleeper.tid);
  atomic_fetch_add(&wake.word, 1);
  wake_with_flag(&sleeper);
  ck_assert(!is_armed());
  sfshm_wake_always(&wake);
  pthread_join(sleeper.thread, NULL);
}

/* Through two mappings of one region, as between ranks. */
SFTEST(another_process_wakes)
{
  sfshm_region_t own, mapped;
  ck_assert_int_eq(sfshm_region_create("sf-test", SFSHM_REGION_INBOX, sizeof(sfshm_inbox_t), SFSHM_SEAL_SIZE,
                                       SFSHM_COMMIT_ALL, &own),
                   SF_OK);
  pid_t child = fork();
  if (child == 0) {
    sfshm_wake_t *word = &((sfshm_inbox_t *)own.base)->wake;
    uint32_t ticket = sfshm_wake_arm(word);
    while (atomic_load(&word->word) == ticket)
      sfshm_wake_sleep(word, ticket, -1);
    _exit(7);
  }
  ck_assert_int_eq(sfshm_region_map(own.fd, SFSHM_REGION_INBOX, 1 << 20, SFSHM_READ_WRITE, &mapped), SF_OK);
  sfshm_wake_t *word = &((sfshm_inbox_t *)mapped.base)->wake;
  while ((atomic_load(&word->word) & SFSHM_WAKE_ARMED) == 0)
    sched_yield();
  usleep(20000); /* most often the child sleeps by then */
  sfshm_wake(word);
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(WEXITSTATUS(status), 7);
  sfshm_region_destroy(&own);
  sfshm_region_destroy(&mapped);
}

/* ---- As often as possible ---- */

/* Two threads that send each other numbers, each on a wake word that it may share with others. */
typedef struct end {
  pthread_t thread;
  sfshm_wake_t *wake;
  struct end *peer;
  _Atomic uint32_t arrived; /* number that the peer has sent */
  unsigned looks;           /* at most, before it sleeps */
  bool begins;
} end_t;

/* The word is armed sooner or later, so that this meets the peer's message at every moment of its journey. */
static void await_number(end_t *end, uint32_t number)
{
  unsigned looks = number * 2654435761u % (end->looks + 1);
  for (unsigned i = 0; i < looks; i++)
    if (atomic_load_explicit(&end->arrived, memory_order_acquire) >= number)
      return;
  while (atomic_load_explicit(&end->arrived, memory_order_acquire) < number) {
    uint32_t ticket = sfshm_wake_arm(end->wake);
    if (atomic_load_explicit(&end->arrived, memory_order_acquire) >= number)
      return;
    sfshm_wake_sleep(end->wake, ticket, -1);
  }
}

static void *bounce(void *argument)
{
  end_t *end = argument;
  for (uint32_t number = 1; number <= STRESS_ROUNDS; number++) {
    if (!end->begins)
      await_number(end, number);
    atomic_store_explicit(&end->peer->arrived, number, memory_order_release);
    sfshm_publish_barrier();
    sfshm_wake(end->peer->wake);
    if (end->begins)
      await_number(end, number);
  }
  return NULL;
}

/* Pairs of threads, the first of each on one wake word and the second on another: two processes, many wakers to each.
 */
static void stress(int pairs, unsigned looks)
{
  static sfshm_wake_t words[2];
  end_t ends[8];
  for (int i = 0; i < 2 * pairs; i++)
    ends[i] = (end_t){.wake = &words[i % 2], .peer = &ends[i ^ 1], .looks = looks, .begins = i % 4 == 0 || i % 4 == 3};
  for (int i = 0; i < 2 * pairs; i++)
    ck_assert_int_eq(pthread_create(&ends[i].thread, NULL, bounce, &ends[i]), 0);
  for (int i = 0; i < 2 * pairs; i++)
    pthread_join(ends[i].thread, NULL);
}

SFTEST_FOR(two_that_wake_each_other, 6)
{
  stress(1, 30u * (unsigned)_i);
}

SFTEST_FOR(many_that_share_wake_words, 4)
{
  stress(2 + _i % 3, 20u * (unsigned)_i);
}
