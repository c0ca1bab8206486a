/* Waiting for a limited time: an end that gives up, sleeping meanwhile, and is tried again. */
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>

#include "client/graph/graph.h"
#include "tests/system/work.h"

#define RANKS 2
#define LATE_MS 300 /* how much later rank 1 is than the first wait in vain */

static int64_t used_ms(void)
{
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* In place of libc's: how often the library gives the core away. */
static int yields;

int sched_yield(void)
{
  yields++;
  return (int)syscall(SYS_sched_yield);
}

/* A caller without time gets control back after a look, and does not wait until others would sleep. */
static void wait_without_time(sftest_rank_t *self, sf_request_t **request)
{
  bool done = true;
  yields = 0;
  SFTEST_OK(self, sf_wait_for(request, 0, &done));
  SFTEST_REQUIRE(self, !done && yields <= 2);
}

/* Waits in portions; at least one must end in vain. */
static void wait_in_portions(sftest_rank_t *self, sf_request_t **request, bool persistent)
{
  bool done = true;
  int64_t start_ms = sftest_now_ms(), start_used_ms = used_ms();
  wait_without_time(self, request);
  SFTEST_OK(self, sf_wait_for(request, 5000000, &done));
  SFTEST_REQUIRE(self, !done && *request != NULL);
  SFTEST_REQUIRE(self, sftest_now_ms() - start_ms >= 5);
  *(_Atomic int *)self->argument += 1;
  while (!done)
    SFTEST_OK(self, sf_wait_for(request, 20000000, &done));
  SFTEST_REQUIRE(self, persistent == (*request != NULL));
  SFTEST_REQUIRE(self, sftest_now_ms() - start_ms >= LATE_MS);
  SFTEST_REQUIRE(self, sftest_is_sanitized() || used_ms() - start_used_ms < LATE_MS / 2);
}

SFTEST_JOINED(be_patient)
{
  sf_graph_t *graph = NULL;
  sf_request_t *request = NULL;
  _Atomic int *tried = self->argument; /* how often rank 0 has waited in vain */
  SFTEST_OK(self, sftest_ring_create(world, 1, 0, &graph));
  for (int round = 0; round < 2; round++) {
    double root = self->rank + 10 * round, leaf = -1;
    bool persistent = round == 1, done = false;
    sftest_ring_expect_working(self, world, graph, 1); /* all are here */
    while (self->rank == 1 && *tried == round)
      sftest_sleep_ms(1);
    sftest_sleep_ms(self->rank == 1 ? LATE_MS : 0);
    if (persistent) {
      SFTEST_OK(self, sf_bcast_init(graph, SF_DOUBLE, &root, &leaf, SF_REPLACE, &request));
      SFTEST_OK(self, sf_start(request));
    } else {
      SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, &root, &leaf, SF_REPLACE, &request));
    }
    if (self->rank == 0)
      wait_in_portions(self, &request, persistent);
    else
      SFTEST_OK(self, sf_wait(&request));
    SFTEST_OK(self, sf_wait_for(&request, 0, &done));
    SFTEST_REQUIRE(self, done && leaf == (self->rank + 1) % self->size + 10 * round);
    SFTEST_OK(self, sf_request_free(&request));
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* The value comes while rank 0 is elsewhere after a wait in vain: nobody says then that it still waits. */
SFTEST_JOINED(look_again)
{
  sf_graph_t *graph = NULL;
  sf_request_t *request = NULL;
  bool done = false;
  double root = self->rank, leaf = -1;
  _Atomic int *step = self->argument;
  SFTEST_OK(self, sftest_ring_create(world, 1, 0, &graph));
  sftest_ring_expect_working(self, world, graph, 1);
  while (self->rank == 1 && *step == 0)
    sftest_sleep_ms(1);
  SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, &root, &leaf, SF_REPLACE, &request));
  if (self->rank == 0) {
    SFTEST_OK(self, sf_wait_for(&request, 1000000, &done));
    SFTEST_REQUIRE(self, !done && graph->counts->wait_since_ns != 0);
  }
  *step = self->rank + 1;
  while (*step != RANKS)
    sftest_sleep_ms(1);
  SFTEST_OK(self, sf_wait_for(&request, INT64_C(10000000000), &done));
  SFTEST_REQUIRE(self, done && graph->counts->wait_since_ns == 0);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST(is_over)
{
  _Atomic int *step = sftest_shared(sizeof *step);
  sftest_run_alone(RANKS, look_again, step);
  sftest_shared_free(step, sizeof *step);
}

SFTEST(gives_up)
{
  _Atomic int *tried = sftest_shared(sizeof *tried);
  sftest_run_alone(RANKS, be_patient, tried);
  sftest_shared_free(tried, sizeof *tried);
}
