/* Waiting for a limited time: an end that gives up, sleeping meanwhile, and is tried again. */
#include <sched.h>
#include <sys/syscall.h>

#include "client/graph/graph.h"
#include "tests/system/work.h"

#define RANKS 2
#define LATE_MS 100 /* how much later rank 1 is than the first wait in vain, at least */

typedef struct scene {
  _Atomic int tried; /* how often rank 0 has waited in vain */
  pid_t pid;         /* of rank 0 */
} scene_t;

/* Rank 0, which does nothing but wait, sleeps: who spins never does. */
static void await_sleep(pid_t pid)
{
  char path[32], state = 'R';
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  for (; state != 'S'; sftest_sleep_ms(1)) {
    FILE *file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
      _exit(1);
    fclose(file);
  }
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
  int64_t start_ms = sftest_now_ms();
  wait_without_time(self, request);
  SFTEST_OK(self, sf_wait_for(request, 5000000, &done));
  SFTEST_REQUIRE(self, !done && *request != NULL);
  SFTEST_REQUIRE(self, sftest_now_ms() - start_ms >= 5);
  ((scene_t *)self->argument)->tried++;
  while (!done)
    SFTEST_OK(self, sf_wait_for(request, 20000000, &done));
  SFTEST_REQUIRE(self, persistent == (*request != NULL));
  SFTEST_REQUIRE(self, sftest_now_ms() - start_ms >= LATE_MS);
}

SFTEST_JOINED(be_patient)
{
  sf_graph_t *graph = NULL;
  sf_request_t *request = NULL;
  scene_t *scene = self->argument;
  if (self->rank == 0)
    scene->pid = getpid();
  SFTEST_OK(self, sftest_ring_create(world, 1, 0, &graph));
  for (int round = 0; round < 2; round++) {
    double root = self->rank + 10 * round, leaf = -1;
    bool persistent = round == 1, done = false;
    sftest_ring_expect_working(self, world, graph, 1); /* all are here */
    if (self->rank == 1) {
      sftest_await(&scene->tried, round + 1);
      sftest_sleep_ms(LATE_MS);
      await_sleep(scene->pid);
    }
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
  SFTEST_SLEEP_WHILE(self->rank == 1 && *step == 0);
  SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, &root, &leaf, SF_REPLACE, &request));
  if (self->rank == 0) {
    SFTEST_OK(self, sf_wait_for(&request, 1000000, &done));
    SFTEST_REQUIRE(self, !done && graph->counts->wait_since_ns != 0);
  }
  *step = self->rank + 1;
  SFTEST_SLEEP_WHILE(*step != RANKS);
  SFTEST_OK(self, sf_wait_for(&request, INT64_C(1000000) * SFTEST_HANG_MS, &done));
  SFTEST_REQUIRE(self, done && graph->counts->wait_since_ns == 0);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST(is_over)
{
  _Atomic int *step = sftest_shared(sizeof *step);
  sftest_run_alone(RANKS, look_again, step);
}

SFTEST(gives_up)
{
  scene_t *scene = sftest_shared(sizeof *scene);
  sftest_run_alone(RANKS, be_patient, scene);
}
