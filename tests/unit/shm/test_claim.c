/* Claims, the pieces of what is offered, and copies that workers and owner share: by threads of one process and through
 * one mapping, so that the thread sanitizer sees whatever race there is. */
#include "shm/lane/claim.h"

#include <pthread.h>
#include <sched.h>

#include "client/plan/edge_list.h"
#include "daemon/data/copy.h"
#include "shm/base/error.h"
#include "tests/unit/runner.h"

#ifdef __SANITIZE_THREAD__
#define SCALE 10
#else
#define SCALE 1
#endif

/* ---- The word ---------------------------------------------------------------------------------------------------- */

SFTEST(pieces_are_taken_once)
{
  sfshm_claim_t claim = {0};
  uint32_t piece, ticket = sfshm_claim_offer(&claim);
  ck_assert_uint_ne(ticket, 0);
  for (uint32_t i = 0; i < 3; i++) {
    ck_assert(sfshm_claim_take(&claim, ticket, 3, &piece));
    ck_assert_uint_eq(piece, i);
  }
  ck_assert(!sfshm_claim_take(&claim, ticket, 3, &piece));
  ck_assert(!sfshm_claim_finish(&claim, 3));
  ck_assert(!sfshm_claim_finish(&claim, 3));
  ck_assert(!sfshm_claim_is_done(&claim, 3));
  ck_assert(sfshm_claim_finish(&claim, 3));
  ck_assert(sfshm_claim_is_done(&claim, 3));
}

SFTEST(old_tickets_take_nothing)
{
  sfshm_claim_t claim = {0};
  uint32_t piece, old = sfshm_claim_offer(&claim);
  ck_assert(sfshm_claim_withdraw(&claim, 2));
  ck_assert(!sfshm_claim_take(&claim, old, 2, &piece));
  uint32_t ticket = sfshm_claim_offer(&claim);
  ck_assert_uint_ne(ticket, old);
  ck_assert(!sfshm_claim_take(&claim, old, 2, &piece));
  ck_assert(sfshm_claim_take(&claim, ticket, 2, &piece));
}

SFTEST(tickets_wrap_round_without_0)
{
  sfshm_claim_t claim = {sfshm_claim_word(UINT32_MAX, 1, 1)};
  ck_assert_uint_eq(sfshm_claim_offer(&claim), 1);
}

SFTEST(withdrawing_waits_for_what_was_taken)
{
  sfshm_claim_t claim = {0};
  uint32_t piece, ticket = sfshm_claim_offer(&claim);
  ck_assert(sfshm_claim_take(&claim, ticket, 5, &piece));
  ck_assert(!sfshm_claim_withdraw(&claim, 5));
  ck_assert(!sfshm_claim_withdraw(&claim, 5)); /* again: nothing is counted twice */
  ck_assert(!sfshm_claim_take(&claim, ticket, 5, &piece));
  ck_assert(sfshm_claim_finish(&claim, 5));
  ck_assert(sfshm_claim_withdraw(&claim, 5));
}

SFTEST(pieces_cover_everything)
{
  static const int64_t counts[] = {1, 2, 100, 32768, 32769, 1000000, INT64_C(1) << 40};
  static const size_t units[] = {1, 8, 24, 262144, 262145, (size_t)1 << 40};
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
      sfshm_pieces_t pieces = sfshm_pieces(counts[c], units[u]);
      ck_assert_uint_ge(pieces.npieces, 1);
      ck_assert_uint_le(pieces.npieces, SFSHM_PIECES_MAX);
      int64_t next = 0;
      for (uint32_t i = 0; i < pieces.npieces; i++) {
        ck_assert_int_eq(sfshm_piece_first(&pieces, i), next);
        ck_assert_int_ge(sfshm_piece_count(&pieces, i), 1);
        next += sfshm_piece_count(&pieces, i);
      }
      ck_assert_int_eq(next, counts[c]);
    }
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

enum { EDGES = 60000, UNIT = 24, ROUNDS = 60, HELPERS = 2 };

/* Rank 0 has leaves on the roots of rank 1, of which some are shared. */
static int64_t leaves[EDGES];
static int64_t roots[EDGES];

static void make_edges(sfc_edge_list_t *list)
{
  static int32_t ranks[EDGES];
  uint64_t state = 12345;
  int64_t bad_leaf;
  for (int64_t i = 0; i < EDGES; i++) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    leaves[i] = (i * 7919) % EDGES;
    roots[i] = i % 4 == 0 ? (int64_t)(state >> 33) % EDGES : i;
    ranks[i] = 1;
  }
  sfc_edge_input_t input = {0, EDGES, leaves, ranks, roots, true};
  ck_assert_msg(sfc_edge_list_make(&input, 0, 2, list, &bad_leaf) == SF_OK, "%s", sfshm_error_detail());
  ck_assert_int_eq(sfc_edge_list_seal(list), SF_OK);
  ck_assert_int_eq(list->nparts, 1);
}

static sfd_route_t *make_route(const sfc_edge_list_t *list, sfshm_operation_t operation)
{
  sfshm_region_t region;
  ck_assert_int_eq(sfshm_region_map(list->region.fd, SFSHM_REGION_EDGES, (uint64_t)1 << 40, SFSHM_READ_ONLY, &region),
                   SF_OK);
  const sfc_edge_part_t *part = &list->parts[0];
  sfd_shared_mapping_t *mapping = sfd_shared_mapping_create(&region);
  return sfd_route_create(mapping, part->offset, part->nedges, part->nvalues, operation);
}

static int64_t (*source)[3];
static int64_t (*target)[3];
static sfshm_claim_t claims[2]; /* the reader's, the writer's */
static sfshm_wake_t wakes[2];

static sfd_copy_t make_copy(sfd_route_t *route, sfshm_op_t op)
{
  return (sfd_copy_t){.route = route,
                      .unit = {SFSHM_BASE_INT64, 3},
                      .op = op,
                      .source = {(char *)source, EDGES * UNIT},
                      .target = {(char *)target, EDGES * UNIT},
                      .reader = {&claims[0], sfshm_claim_offer(&claims[0]), &wakes[0]},
                      .writer = {&claims[1], sfshm_claim_offer(&claims[1]), &wakes[1]}};
}

static void *help(void *opaque)
{
  (void)sfd_copy_run(opaque);
  return NULL;
}

static void fill(void)
{
  for (int64_t i = 0; i < EDGES; i++)
    for (int k = 0; k < 3; k++) {
      source[i][k] = i * 3 + k;
      target[i][k] = -i;
    }
}

/* One edge at a time. */
static void expect_copied(bool bcast, bool nothing)
{
  int64_t(*expected)[3] = calloc(EDGES, UNIT);
  for (int64_t i = 0; i < EDGES; i++)
    for (int k = 0; k < 3; k++)
      expected[i][k] = -i;
  for (int64_t i = 0; i < EDGES && !nothing; i++)
    for (int k = 0; k < 3; k++)
      expected[bcast ? leaves[i] : roots[i]][k] += (bcast ? roots[i] : leaves[i]) * 3 + k;
  ck_assert_mem_eq(target, expected, EDGES * UNIT);
  free(expected);
}

/* Workers run, the owner does some pieces or takes the offer back: then what is not finished was not begun. */
static void share(sfd_route_t *route, bool bcast, bool withdraw)
{
  pthread_t threads[HELPERS];
  uint32_t npieces = sfshm_pieces(route->nvalues, UNIT).npieces;
  fill();
  sfd_copy_t copy = make_copy(route, SFSHM_OP_SUM);
  for (int i = 0; i < HELPERS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, help, &copy), 0);
  if (withdraw)
    while (!sfshm_claim_withdraw(&claims[0], npieces))
      sched_yield();
  else
    (void)sfd_copy_run(&copy);
  while (!sfshm_claim_is_done(&claims[0], npieces))
    sched_yield();
  if (withdraw)
    memset(target, 0, EDGES * UNIT); /* nobody else writes there: the sanitizer would see it */
  else
    expect_copied(bcast, false);
  for (int i = 0; i < HELPERS; i++)
    pthread_join(threads[i], NULL);
  if (!withdraw)
    ck_assert(sfshm_claim_is_done(&claims[1], 1)); /* the writer knows */
}

static void setup(void)
{
  source = calloc(EDGES, UNIT);
  target = calloc(EDGES, UNIT);
}

static void teardown(void)
{
  free(source);
  free(target);
}

SFTEST_FIXTURE(setup, teardown);

SFTEST(copies_are_shared)
{
  sfc_edge_list_t list;
  make_edges(&list);
  for (int operation = 0; operation < 2; operation++) {
    sfd_route_t *route = make_route(&list, (sfshm_operation_t)operation);
    for (int round = 0; round < ROUNDS / SCALE; round++)
      share(route, operation == SFSHM_BCAST, round % 3 == 2);
    sfd_route_release(route);
  }
  sfc_edge_list_destroy(&list);
}

/* What a rank says may be wrong in any way: then nothing is touched. */
SFTEST(what_does_not_fit_is_not_copied)
{
  sfc_edge_list_t list;
  make_edges(&list);
  sfd_route_t *route = make_route(&list, SFSHM_BCAST);
  fill();
  for (int wrong = 0; wrong < 4; wrong++) {
    sfd_copy_t copy = make_copy(route, SFSHM_OP_SUM);
    copy.source.bytes -= wrong == 0 ? UNIT : 0;
    copy.target.bytes -= wrong == 1 ? 1 : 0;
    copy.unit.count = wrong == 2 ? INT64_C(1) << 23 : 3;
    copy.reader.ticket += wrong == 3;
    ck_assert_uint_eq(sfd_copy_run(&copy), 0);
    expect_copied(true, true);
  }
  sfd_route_release(route);
  sfc_edge_list_destroy(&list);
}

SFTEST(bad_lists_are_not_used)
{
  sfc_edge_list_t list;
  make_edges(&list);
  for (int wrong = 0; wrong < 3; wrong++) {
    sfd_route_t *route = make_route(&list, SFSHM_BCAST);
    route->offset += wrong == 0 ? 8 : 0;
    route->nedges += wrong == 1;
    route->nvalues -= wrong == 2;
    fill();
    sfd_copy_t copy = make_copy(route, SFSHM_OP_SUM);
    for (int again = 0; again < 2; again++)
      ck_assert_uint_eq(sfd_copy_run(&copy), 0);
    expect_copied(true, true);
    sfd_route_release(route);
  }
  sfc_edge_list_destroy(&list);
}
