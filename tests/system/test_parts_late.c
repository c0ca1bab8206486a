/* Parts of graphs over three nodes while one of them is not heard by another: what remains of the whole is told late,
 * after all have agreed, or when the set-up has ended otherwise. And parts of which ranks, or all, have nothing, or say
 * what remains where nothing can be. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "client/context.h"
#include "client/graph.h"
#include "client/group.h"
#include "tests/system/clock.h"
#include "tests/system/cluster.h"
#include "tests/system/loop_cluster.h"
#include "tests/unit/runner.h"

enum { N = 100, RANKS = 3 };

/* What test and ranks tell each other. */
typedef struct shared {
  _Atomic int ready; /* ranks that have the whole, */
  _Atomic int held;
  _Atomic int done; /* and the part, or not */
  bool bad;         /* rank 0 selects what isn't there */
} shared_t;

/* Leaf i of each rank hangs on root i of the next one. */
static sf_graph_t *make_ring(sftest_rank_t *self, sf_group_t *group, uint32_t flags)
{
  int32_t ranks[N];
  int64_t roots[N];
  sf_graph_t *graph;
  for (int i = 0; i < N; i++) {
    ranks[i] = (self->rank + 1) % self->size;
    roots[i] = i;
  }
  SFTEST_OK(self, sf_graph_create(group, N, N, NULL, ranks, roots, flags, &graph));
  return graph;
}

/* Whether values reach the first n leaves of rank r, for each r, and nothing else, and come back. */
static void check_ring(sftest_rank_t *self, sf_graph_t *graph, const int n[RANKS])
{
  int64_t roots[N], leaves[N], next = (self->rank + 1) % self->size, before = (self->rank + 2) % self->size;
  for (int i = 0; i < N; i++) {
    roots[i] = self->rank * 1000 + i;
    leaves[i] = -1;
  }
  SFTEST_OK(self, sf_bcast(graph, SF_INT64, roots, leaves, SF_REPLACE));
  for (int i = 0; i < N; i++)
    SFTEST_REQUIRE(self, leaves[i] == (i < n[self->rank] ? next * 1000 + i : -1));
  SFTEST_OK(self, sf_reduce(graph, SF_INT64, leaves, roots, SF_SUM));
  for (int i = 0; i < N; i++)
    SFTEST_REQUIRE(self, roots[i] == (self->rank * 1000 + i) * (i < n[before] ? 2 : 1));
}

/* Selects the first n leaves, or roots. */
static sf_status_t take_part(sf_graph_t *whole, bool by_roots, int n, sf_graph_t **part_p)
{
  int64_t selected[N];
  for (int i = 0; i < N; i++)
    selected[i] = i;
  return (by_roots ? sf_graph_embed_roots : sf_graph_embed_leaves)(whole, n, selected, part_p);
}

static int take_late(sftest_rank_t *self)
{
  shared_t *shared = self->argument;
  static const int n[RANKS] = {50, 0, 70}, all[RANKS] = {N, N, N};
  static const int64_t wrong = -1;
  sf_context_t *context = sftest_join(self);
  sf_graph_t *whole = make_ring(self, sf_group_world(context), SF_GRAPH_DEFAULT), *part = NULL, *next;
  atomic_fetch_add(&shared->ready, 1);
  sftest_await(&shared->held, 1);
  sf_status_t status = shared->bad && self->rank == 0 ? sf_graph_embed_leaves(whole, 1, &wrong, &part)
                                                      : take_part(whole, false, n[self->rank], &part);
  if (shared->bad)
    SFTEST_EXPECT(self, status, SF_ERR_RANGE);
  else
    SFTEST_OK(self, status);
  atomic_fetch_add(&shared->done, 1);
  sftest_await(&shared->held, 2);
  if (part != NULL)
    check_ring(self, part, n);
  SFTEST_OK(self, take_part(whole, true, N, &next)); /* behind all that was held */
  check_ring(self, next, all);
  SFTEST_OK(self, sf_graph_destroy(part));
  SFTEST_OK(self, sf_graph_destroy(next));
  atomic_fetch_add(&shared->ready, 1);
  sftest_await(&shared->held, 3);
  SFTEST_OK(self, sf_graph_destroy(whole));
  sftest_leave(self, context);
  return 0;
}

static const int32_t places[] = {0, 1, 2};

/* What rank 1 says of the roots of rank 2 is held, and comes when the others have done what they can. */
static void run_late(bool bad)
{
  static sftest_loop_cluster_t loop;
  sftest_job_t job;
  shared_t *shared = sftest_shared(sizeof *shared);
  shared->bad = bad;
  sftest_loop_cluster_start(&loop, RANKS, 0, 0);
  sftest_job_start_over(&job, loop.nodes, places, RANKS, take_late, shared);
  sftest_job_await(&job, &shared->ready, RANKS);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_HOLD, 1, 2);
  atomic_store(&shared->held, 1);
  if (bad)
    sftest_job_await(&job, &shared->done, RANKS); /* nobody wants anything of rank 2: the error needs no more */
  else
    while (sftest_loop_cluster_order(&loop, SFTEST_LOOP_QUEUED, 1, 2) == 0)
      sftest_sleep_ms(1);
  sftest_loop_cluster_order(&loop, SFTEST_LOOP_LET_GO, 1, 2);
  atomic_store(&shared->held, 2);
  sftest_job_await(&job, &shared->ready, 2 * RANKS);
  for (int32_t node = 0; node < RANKS; node++) /* the whole */
    ck_assert_uint_eq(sftest_loop_cluster_order(&loop, SFTEST_LOOP_OPEN, node, 0), 1);
  atomic_store(&shared->held, 3);
  sftest_job_end_well(&job, sftest_limit_ms(20000));
  sftest_loop_cluster_stop(&loop);
  sftest_shared_free(shared, sizeof *shared);
}

START_TEST(late_notice_is_waited_for)
{
  run_late(false);
}
END_TEST

START_TEST(late_notice_of_what_is_over_begins_nothing)
{
  run_late(true);
}
END_TEST

/* All, some, or nothing of a rank or of all. With contributions that travel uncombined parts are made of their edges.
 */
static int take_little(sftest_rank_t *self)
{
  static const int n[][RANKS] = {{N, N, N}, {0, 0, 0}, {0, N, 0}, {1, 0, N}, {63, 64, 65}};
  sf_context_t *context = sftest_join(self);
  sf_graph_t *whole = make_ring(self, sf_group_world(context), *(const uint32_t *)self->argument), *part;
  for (size_t i = 0; i < sizeof n / sizeof n[0]; i++)
    for (int by_roots = 0; by_roots < 2; by_roots++) {
      sftest_at(self, "part %d, %d", (int)i, by_roots);
      int32_t chooser = by_roots ? (self->rank + 2) % self->size : self->rank; /* whose leaves hang on these roots */
      SFTEST_OK(self, take_part(whole, by_roots != 0, n[i][chooser], &part));
      check_ring(self, part, n[i]);
      SFTEST_OK(self, sf_graph_destroy(part));
    }
  SFTEST_OK(self, sf_graph_destroy(whole));
  sftest_leave(self, context);
  return 0;
}

START_TEST(little_remains)
{
  static const int32_t pair[] = {0, 1, 1};
  static const uint32_t flags[] = {SF_GRAPH_DEFAULT, SF_GRAPH_REPRODUCIBLE};
  sftest_loop_run_alone(RANKS, _i % 2 == 0 ? pair : places, RANKS, take_little, (void *)(uintptr_t)&flags[_i / 2]);
}
END_TEST

/* A part of which the rank has no lanes, and names no place for what remains of its values of other nodes, or the end
 * of its inbox. The daemon asks for the edges, and hears an error in place of them. */
static void tell_lie(sftest_rank_t *self, const sf_graph_t *whole, bool names_place)
{
  sfproto_incoming_t answer;
  Sfproto__SetupError error = SFPROTO__SETUP_ERROR__INIT;
  Sfproto__GraphCreate create = SFPROTO__GRAPH_CREATE__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  sfc_control_t *control = &whole->context->control;
  create.group = whole->group->number;
  create.has_again = create.has_part = create.part = create.has_nroot_ranks = true;
  create.again = whole->number;
  create.nroot_ranks = 1;
  create.has_far_segment = create.has_far_marks = names_place; /* in segment 0 */
  create.far_marks = whole->context->inbox.segment_bytes - sizeof(uint64_t);
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_CREATE;
  message.graph_create = &create;
  SFTEST_OK(self, sfc_control_call(control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_GRAPH_READY, &answer));
  SFTEST_REQUIRE(self, answer.message->graph_ready->has_edges_of);
  create = (Sfproto__GraphCreate)SFPROTO__GRAPH_CREATE__INIT;
  create.group = whole->group->number;
  create.has_number = true;
  create.number = answer.message->graph_ready->edges_of;
  create.error = &error;
  error.status = SF_ERR_RANGE;
  error.leaf = -1;
  error.detail = (char[]){"rank 0 has lied"};
  sfproto_incoming_free(&answer);
  SFTEST_EXPECT(self, sfc_control_call(control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_GRAPH_PEERS, &answer),
                SF_ERR_RANGE);
}

static int lie_or_not(sftest_rank_t *self)
{
  static const int all[RANKS] = {N, N, N};
  sf_context_t *context = sftest_join(self);
  sf_graph_t *whole = make_ring(self, sf_group_world(context), SF_GRAPH_DEFAULT), *part;
  check_ring(self, whole, all);
  if (self->rank == 0) {
    tell_lie(self, whole, *(const bool *)self->argument);
  } else {
    SFTEST_EXPECT(self, take_part(whole, false, 1, &part), SF_ERR_RANGE);
    SFTEST_DETAIL(self, "rank 0 has lied");
  }
  SFTEST_OK(self, take_part(whole, false, N, &part));
  check_ring(self, part, all);
  SFTEST_OK(self, sf_graph_destroy(part));
  SFTEST_OK(self, sf_graph_destroy(whole));
  sftest_leave(self, context);
  return 0;
}

START_TEST(remains_where_nothing_is)
{
  bool names_place = _i > 0;
  sftest_loop_run_alone(RANKS, places, RANKS, lie_or_not, &names_place);
}
END_TEST

static Suite *parts_suite(void)
{
  Suite *suite = suite_create("parts of graphs");
  TCase *tcase = tcase_create("late");
  tcase_add_test(tcase, late_notice_is_waited_for);
  tcase_add_test(tcase, late_notice_of_what_is_over_begins_nothing);
  tcase_add_loop_test(tcase, little_remains, 0, 4);
  tcase_add_loop_test(tcase, remains_where_nothing_is, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}

int main(void)
{
  return sftest_run(parts_suite());
}
