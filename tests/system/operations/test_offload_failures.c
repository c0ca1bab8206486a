/* Copies by the daemon's workers that go wrong: ranks that are killed, and graphs that fail, while their memory is
 * being copied to; ranks that offer work that is not there. */
#include <sched.h>

#include "client/core/context.h"
#include "client/graph/graph.h"
#include "tests/system/work.h"

static const char *const two_workers[] = {"--offload-workers=2", NULL};
/* Who lies has several workers write to one place. That is only its own memory, but a race to the thread sanitizer. */
#ifdef __SANITIZE_THREAD__
static const char *const lied_to[] = {"--offload-workers=1", NULL};
#else
static const char *const lied_to[] = {"--offload-workers=2", NULL};
#endif

/* ---- Death and failure in the middle ----------------------------------------------------------------------------- */

#define HUGE_UNITS ((int64_t)2 << 20) /* of 8 bytes: several milliseconds of copying */

typedef struct plan {
  int32_t victim;
  _Atomic int32_t nbegun;
} plan_t;

/* A ring, and memory for the source of its operations and the targets of two. */
static void make_huge(sftest_rank_t *self, sf_context_t *context, double **source, double **target, sf_graph_t **graph)
{
  SFTEST_OK(self, sf_alloc(context, (size_t)HUGE_UNITS * sizeof **source, (void **)source));
  SFTEST_OK(self, sf_alloc(context, (size_t)HUGE_UNITS * 2 * sizeof **target, (void **)target));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), HUGE_UNITS, 0, graph));
}

/* The operations have ended, whatever became of them: nobody writes there any more. */
static void expect_own(sftest_rank_t *self, void *memory, size_t bytes)
{
  memset(memory, 0x55, bytes);
  sftest_sleep_ms(20);
  SFTEST_REQUIRE(self, *(char *)memory == 0x55 && memcmp(memory, (char *)memory + 1, bytes - 1) == 0);
}

static void until_death(sftest_rank_t *self)
{
  plan_t *plan = self->argument;
  sf_context_t *context = sftest_join(self);
  double *source, *target;
  sf_graph_t *graph;
  sf_request_t *requests[2];
  make_huge(self, context, &source, &target, &graph);
  for (int i = 0; i < 2; i++)
    SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, source, target + i * HUGE_UNITS, SF_REPLACE, &requests[i]));
  plan->nbegun++;
  if (self->rank == plan->victim)
    while (true)
      pause();
  sf_status_t status = sf_wait_all(2, requests);
  if (status == SF_OK) /* all had been copied */
    status = sf_bcast(graph, SF_DOUBLE, source, target, SF_REPLACE);
  SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  expect_own(self, target, (size_t)HUGE_UNITS * 2 * sizeof *target);
}

static void kill_one(const sftest_node_t *node, int32_t victim, int64_t delay_ms)
{
  plan_t *plan = sftest_shared(sizeof *plan);
  sftest_job_t job;
  plan->victim = victim;
  sftest_job_start(&job, node, 2, until_death, plan);
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  while (plan->nbegun < 2 && sftest_now_ms() < until)
    ;
  ck_assert_int_eq(plan->nbegun, 2);
  sftest_sleep_ms(delay_ms);
  sftest_job_signal(&job, victim, SIGKILL);
  sftest_job_wait(&job);
  sftest_job_expect_all_but(&job, victim);
}

SFTEST(killed_while_copied)
{
  sftest_node_t node;
  sftest_node_start(&node, two_workers);
  int fds = sftest_node_rest(&node, 0);
  sftest_expect_serving(&node);
  for (int i = 0; i < sftest_scale(6); i++)
    kill_one(&node, i % 2, i / 2 * 3);
  sftest_expect_serving(&node);
  sftest_node_settle(&node, fds);
  sftest_node_stop(&node);
}

/* Rank 1 calls something else while the first operation's data are on their way. */
static void until_mismatch(sftest_rank_t *self)
{
  sf_context_t *context = sftest_join(self);
  double *source, *target;
  sf_graph_t *graph;
  sf_request_t *first, *second;
  make_huge(self, context, &source, &target, &graph);
  SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, source, target, SF_REPLACE, &first));
  sf_status_t status =
      sf_bcast_begin(graph, self->rank == 0 ? SF_DOUBLE : SF_INT32, source, target + HUGE_UNITS, SF_SUM, &second);
  if (status == SF_OK)
    status = sf_wait(&second);
  SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  status = sf_wait(&first);
  SFTEST_REQUIRE(self, status == SF_OK || status == SF_ERR_MISMATCH);
  expect_own(self, target, (size_t)HUGE_UNITS * 2 * sizeof *target);
  sf_status_t left = sf_finalize(context);
  SFTEST_REQUIRE(self, left == SF_OK);
}

SFTEST(failed_while_copied)
{
  sftest_node_t node;
  sftest_node_start(&node, two_workers);
  sftest_run_job(&node, 2, until_mismatch, NULL);
  sftest_expect_serving(&node);
  sftest_node_stop(&node);
}

/* ---- Garbage ----------------------------------------------------------------------------------------------------- */

enum { LIES = 4000, UNITS = 20000 };

typedef struct stage {
  uint64_t seed;
  _Atomic uint64_t said[2]; /* lies, by each rank: they keep step, so that they are matched */
} stage_t;

/* Most of them could be true. */
static sfshm_ring_entry_t make_lie(sftest_rank_t *self, const sf_graph_t *graph, uint64_t sequence, uint64_t *shared,
                                   uint64_t *own)
{
  sfshm_unit_t unit = {(sfshm_base_t)sftest_below(shared, 14), 1 + sftest_below(shared, 5)};
  uint64_t desc = sfshm_desc_signature((sfshm_call_t)sftest_below(shared, 4), unit,
                                       (sfshm_op_t)(sftest_below(shared, 2) * sftest_below(shared, 13)));
  sfshm_ring_entry_t lie = {
      .kind =
          (self->rank == 0) == (sequence % 2 == 0) ? SFSHM_SUBMIT_SOURCE : SFSHM_SUBMIT_TARGET + (sequence % 5 == 0),
      .graph = graph->number,
      .message = sequence,
      .desc = desc | (sequence & SFSHM_DESC_SEQUENCE_MASK),
      .a = (uint32_t)(1 - self->rank),
      .b = (uint32_t)sftest_below(own, SFSHM_CLAIMS),
      .size = 1 + (uint64_t)sftest_below(own, 3),
      .more = {1, (uint64_t)sftest_below(own, 1 << 17)},
  };
  uint64_t *words = (uint64_t *)(void *)&lie;
  if (sftest_below(own, 4) == 0) /* any field but the kind may be anything */
    words[1 + sftest_below(own, 7)] = sftest_random(own) >> sftest_below(own, 64);
  return lie;
}

/* Offers work that is not there, in memory that is not there, and writes into the claims meanwhile. */
SFTEST_JOINED(lie)
{
  stage_t *stage = self->argument;
  uint64_t shared = stage->seed, own = sftest_hash2(shared, (uint64_t)self->rank);
  void *memory;
  sf_graph_t *graph;
  SFTEST_OK(self, sf_alloc(context, 4 << 20, &memory));
  SFTEST_OK(self, sftest_ring_create(world, UNITS, 0, &graph));
  for (uint64_t sequence = 1; sequence <= (uint64_t)sftest_scale(LIES); sequence++) {
    sfshm_ring_entry_t entry = make_lie(self, graph, sequence, &shared, &own);
    for (uint32_t i = 0; i < SFSHM_CLAIMS; i += 1 + (uint32_t)sftest_below(&own, 8)) {
      uint32_t taken = sftest_below(&own, 4) == 0 ? (uint32_t)sftest_below(&own, 1 << 16) : 0;
      sfc_claim_pool_at(&context->claims, i)->word =
          sfshm_claim_word(1 + (uint32_t)sftest_below(&own, 3), taken, taken);
    }
    sfc_submit_ring_write(&context->submit_ring, &entry, false);
    stage->said[self->rank] = sequence;
    while (stage->said[1 - self->rank] + SFSHM_LANE_SLOTS / 2 < sequence)
      sched_yield();
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST(lies_do_no_harm)
{
  sftest_node_t node;
  sftest_bystander_t bystander;
  stage_t *stage = sftest_shared(sizeof *stage);
  stage->seed = sftest_seed();
  sftest_use_seed(stage->seed);
  sftest_node_start(&node, lied_to);
  sftest_bystander_start(&bystander, &node);
  sftest_run_job(&node, 2, lie, stage);
  sftest_bystander_stop(&bystander);
  sftest_expect_serving(&node);
  sftest_node_stop(&node);
}
