/* What ranks called, compared: they are told apart wherever both can still be seen, and only then. */
#include "shm/observe/calls.h"

#include "tests/unit/runner.h"

typedef struct caller {
  sfshm_graph_counters_t counts;
  uint64_t sequence;
  uint64_t digest;
} caller_t;

static caller_t *make_caller(void)
{
  caller_t *caller = calloc(1, sizeof *caller);
  ck_assert_ptr_nonnull(caller);
  atomic_store(&caller->counts.graph, 7);
  return caller;
}

static uint64_t signature_of(sfshm_op_t op)
{
  return sfshm_desc_signature(SFSHM_CALL_BCAST, (sfshm_unit_t){SFSHM_BASE_DOUBLE, 1}, op);
}

/* Calls n operations, the one with that number with another op. */
static void call(caller_t *caller, uint64_t n, uint64_t odd)
{
  for (uint64_t i = 0; i < n; i++) {
    uint64_t sequence = ++caller->sequence;
    uint64_t match =
        signature_of(sequence == odd ? SFSHM_OP_MAX : SFSHM_OP_SUM) | (sequence & SFSHM_DESC_SEQUENCE_MASK);
    sfshm_calls_note(&caller->counts, &caller->digest, sequence, match);
    sfshm_count(&caller->counts.begun[SFSHM_BCAST], 1);
  }
}

static sfshm_calls_order_t compare(const caller_t *a, const caller_t *b, uint64_t *mine, uint64_t *theirs)
{
  sfshm_calls_t of_a, of_b;
  ck_assert(sfshm_calls_read(&a->counts, 7, &of_a));
  ck_assert(sfshm_calls_read(&b->counts, 7, &of_b));
  return sfshm_calls_compare(&of_a, &of_b, mine, theirs);
}

/* Two callers, of which the second one called an operation differently. */
static sfshm_calls_order_t compare_after(uint64_t n_a, uint64_t n_b, uint64_t odd, uint64_t *number)
{
  uint64_t mine = 0, theirs = 0;
  caller_t *a = make_caller(), *b = make_caller();
  call(a, n_a, 0);
  call(b, n_b, odd);
  sfshm_calls_order_t order = compare(a, b, &mine, &theirs);
  if (order == SFSHM_CALLS_DIFFER) {
    ck_assert_uint_eq(mine, signature_of(SFSHM_OP_SUM) | odd);
    ck_assert_uint_eq(theirs, signature_of(SFSHM_OP_MAX) | odd);
  }
  *number = mine & SFSHM_DESC_SEQUENCE_MASK;
  free(a);
  free(b);
  return order;
}

SFTEST(alike)
{
  uint64_t number;
  for (uint64_t n_a = 0; n_a < 200; n_a++)
    for (uint64_t n_b = 0; n_b < 200; n_b += 7)
      ck_assert_int_eq(compare_after(n_a, n_b, 0, &number), SFSHM_CALLS_ALIKE);
}

/* Among the last operations of both it is named; else it shows in the digests, if both took one at the same time. */
SFTEST(different)
{
  uint64_t number, every = sfshm_calls_every(0);
  for (uint64_t n_a = 1; n_a < 150; n_a++)
    for (uint64_t n_b = 1; n_b < 150; n_b++) {
      uint64_t odd = 70, least = n_a < n_b ? n_a : n_b, most = n_a < n_b ? n_b : n_a;
      bool named = least >= odd && most < odd + SFSHM_CALLS;
      bool digested = n_a / every == n_b / every && n_a / every > odd / every;
      sfshm_calls_order_t order = compare_after(n_a, n_b, odd, &number);
      ck_assert_int_eq(order, named ? SFSHM_CALLS_DIFFER : digested ? SFSHM_CALLS_DIFFERED : SFSHM_CALLS_ALIKE);
      ck_assert(!named || number == odd);
      ck_assert(!digested || number == n_a);
    }
}

/* However far they are apart, once both have come far enough. */
SFTEST(apart)
{
  uint64_t number;
  for (int level = 1; level < SFSHM_CALL_DIGESTS - 1; level++) {
    uint64_t every = sfshm_calls_every(level);
    ck_assert_int_eq(compare_after(every, every + every / 2, 10, &number), SFSHM_CALLS_DIFFERED);
    ck_assert_int_eq(compare_after(every, every + every / 2, 0, &number), SFSHM_CALLS_ALIKE);
    ck_assert_int_eq(compare_after(every, every + every / 2, every + 10, &number), SFSHM_CALLS_ALIKE);
  }
}

/* Of several differences the first is told. */
SFTEST(first)
{
  uint64_t mine, theirs;
  caller_t *a = make_caller(), *b = make_caller();
  call(a, 20, 0);
  call(b, 16, 0);
  for (uint64_t odd = 17; odd <= 20; odd++)
    call(b, 1, odd);
  ck_assert_int_eq(compare(a, b, &mine, &theirs), SFSHM_CALLS_DIFFER);
  ck_assert_uint_eq(mine & SFSHM_DESC_SEQUENCE_MASK, 17);
  ck_assert_int_eq(compare(b, a, &mine, &theirs), SFSHM_CALLS_DIFFER);
  ck_assert_uint_eq(mine & SFSHM_DESC_SEQUENCE_MASK, 17);
  free(a);
  free(b);
}

/* Numbers in descriptors repeat: who is that far ahead is not compared. */
SFTEST(far_apart)
{
  uint64_t mine, theirs;
  caller_t *a = make_caller(), *b = make_caller();
  call(a, 3, 0);
  call(b, 3, 2);
  ck_assert_int_eq(compare(a, b, &mine, &theirs), SFSHM_CALLS_DIFFER);
  sfshm_count(&b->counts.begun[SFSHM_BCAST], SFSHM_DESC_SEQUENCE_MASK + 1);
  ck_assert_int_eq(compare(a, b, &mine, &theirs), SFSHM_CALLS_ALIKE);
  ck_assert_int_eq(compare(b, a, &mine, &theirs), SFSHM_CALLS_ALIKE);
  free(a);
  free(b);
}

SFTEST(of_another_graph)
{
  sfshm_calls_t calls;
  caller_t *a = make_caller();
  ck_assert(!sfshm_calls_read(&a->counts, 8, &calls));
  atomic_store(&a->counts.graph, 0);
  ck_assert(!sfshm_calls_read(&a->counts, 7, &calls));
  free(a);
}
