/* Edges of which no list can be made: what is said of them, and of which leaf. */
#include "shm/base/error.h"
#include "tests/unit/edge_lists.h"
#include "tests/unit/seed.h"

#define ROUNDS 5000

SFTEST_FIXTURE(sftest_edge_lists_setup, sftest_edge_lists_teardown);

SFTEST_SEED(20240906);

/* What is wrong with the input, and the lowest leaf that it concerns: the first kind of error that there is counts. */
static sf_status_t judge(const sftest_edge_input_t *input, int64_t *bad_leaf_p)
{
  int64_t range = INT64_MAX, twice = INT64_MAX, own = INT64_MAX;
  bool any_range = false;
  for (int64_t i = 0; i < input->n; i++) {
    int64_t leaf = input->leaf64[i], root = input->root64[i];
    int32_t rank = input->root_rank[i];
    if (rank < 0 || rank >= input->size || root < 0 || leaf < 0) {
      range = leaf < range ? leaf : range;
      any_range = true;
    }
    if (sftest_edge_input_find(input, leaf) < i && leaf < twice)
      twice = leaf;
    if (rank == input->rank && root >= input->nroots && leaf < own)
      own = leaf;
  }
  *bad_leaf_p = any_range ? range : twice < INT64_MAX ? twice : own < INT64_MAX ? own : -1;
  return any_range ? SF_ERR_RANGE : twice < INT64_MAX ? SF_ERR_ARG : own < INT64_MAX ? SF_ERR_RANGE : SF_OK;
}

static void spoil(sftest_edge_input_t *input, uint64_t *random)
{
  int64_t i = sftest_below(random, input->n);
  switch (sftest_below(random, 5)) {
  case 0:
    input->root_rank[i] = sftest_below(random, 2) == 0 ? -1 - (int32_t)sftest_below(random, 9) : input->size;
    break;
  case 1:
    input->root64[i] = -1 - sftest_below(random, 5);
    break;
  case 2:
    if (!input->numbered)
      input->leaf64[i] = -1 - sftest_below(random, 5);
    break;
  case 3:
    if (!input->numbered)
      input->leaf64[i] = input->leaf64[sftest_below(random, input->n)];
    break;
  default:
    input->nroots = sftest_below(random, 1000);
  }
}

SFTEST(the_lowest_bad_leaf_is_named)
{
  static sftest_edge_input_t input;
  uint64_t random = sftest_random_start(seed, 4);
  int good = 0;
  for (int round = 0; round < ROUNDS; round++) {
    sfc_edge_list_t list = {.nparts = -5};
    int64_t bad_leaf, expected_leaf;
    sftest_edge_input_make(&input, &random);
    if (input.n == 0)
      continue;
    for (int64_t errors = sftest_below(&random, 4); errors >= 0; errors--)
      spoil(&input, &random);
    sf_status_t expected = judge(&input, &expected_leaf);
    ck_assert_int_eq(sftest_edge_list_make(&input, input.wide, &list, &bad_leaf), expected);
    ck_assert_int_eq(bad_leaf, expected_leaf);
    if (expected == SF_OK) {
      good++;
      sfc_edge_list_destroy(&list);
    } else {
      ck_assert_int_eq(list.nparts, -5);
      ck_assert_str_ne(sfshm_error_detail(), "");
    }
  }
  ck_assert_int_lt(good, ROUNDS / 2);
}

SFTEST(errors_in_words)
{
  static sftest_edge_input_t input;
  sfc_edge_list_t list;
  int64_t bad_leaf;
  input = (sftest_edge_input_t){.size = 3, .rank = 1, .nroots = 10, .n = 2, .leaf64 = {4, 2}, .root_rank = {0, 1}};
  input.root64[1] = 10;
  ck_assert_int_eq(sftest_edge_list_make(&input, true, &list, &bad_leaf), SF_ERR_RANGE);
  ck_assert_str_eq(sfshm_error_detail(), "root index 10, but there are 10 roots");
  ck_assert_int_eq(bad_leaf, 2);
  input.root_rank[1] = 2; /* another rank's: that one knows */
  ck_assert_int_eq(sftest_edge_list_make(&input, true, &list, &bad_leaf), SF_OK);
  sfc_edge_list_destroy(&list);
  input.root_rank[0] = 3;
  ck_assert_int_eq(sftest_edge_list_make(&input, true, &list, &bad_leaf), SF_ERR_RANGE);
  ck_assert_str_eq(sfshm_error_detail(), "root rank 3, but the group's ranks are 0..2");
  ck_assert_int_eq(bad_leaf, 4);
  input.leaf64[1] = -2;
  ck_assert_int_eq(sftest_edge_list_make(&input, false, &list, &bad_leaf), SF_ERR_RANGE);
  ck_assert_str_eq(sfshm_error_detail(), "leaf_index[1] is -2");
  input.root_rank[0] = 0;
  input.leaf64[1] = 4;
  ck_assert_int_eq(sftest_edge_list_make(&input, false, &list, &bad_leaf), SF_ERR_ARG);
  ck_assert_str_eq(sfshm_error_detail(), "two edges have the same leaf");
  ck_assert_int_eq(bad_leaf, 4);
}
