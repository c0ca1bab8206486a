/* The form in which edge lists are stored: lines in place of arrays, narrow arrays, and nothing for no edges. */
#include "tests/unit/edge_lists.h"

/* The first block of a list of n edges to rank 0 with the given lines of leaves and roots. */
static sfshm_edge_block_t block_of(sftest_edge_input_t *input, int64_t n, int64_t leaf, int64_t leaf_step, int64_t root,
                                   int64_t root_step)
{
  sfc_edge_list_t list;
  sfshm_edge_block_t block;
  int64_t bad_leaf;
  *input = (sftest_edge_input_t){.size = 2, .rank = 1, .nroots = 1, .n = n};
  for (int64_t i = 0; i < n; i++) {
    input->leaf64[i] = leaf + i * leaf_step;
    input->root64[i] = root + i * root_step;
  }
  ck_assert_int_eq(sftest_edge_list_make(input, true, &list, &bad_leaf), SF_OK);
  ck_assert_int_eq(list.nparts, 1);
  sfshm_region_t region = sftest_edge_list_map(&list);
  memcpy(&block, (const char *)region.base + list.parts[0].offset, sizeof block);
  sfshm_region_destroy(&region);
  sfc_edge_list_destroy(&list);
  return block;
}

SFTEST_FIXTURE(sftest_edge_lists_setup, sftest_edge_lists_teardown);

SFTEST(the_shortest_form_is_stored)
{
  static sftest_edge_input_t input;
  sfshm_edge_block_t block = block_of(&input, 10, 100, 1, 7, 1);
  ck_assert_uint_eq(block.leaf.kind, SFSHM_PATTERN_CONTIGUOUS);
  ck_assert_int_eq(block.leaf.start, 100);
  ck_assert_uint_eq(block.value_root.kind, SFSHM_PATTERN_CONTIGUOUS);
  ck_assert_int_eq(block.value_root.start, 7);
  ck_assert_int_eq(block.extra_value.n, 0);

  block = block_of(&input, 10, 0, 3, 5000000000, 8);
  ck_assert_uint_eq(block.leaf.kind, SFSHM_PATTERN_STRIDED);
  ck_assert_int_eq(block.leaf.stride, 3);
  ck_assert_uint_eq(block.value_root.kind, SFSHM_PATTERN_STRIDED);
  ck_assert_int_eq(block.value_root.start, 5000000000);

  block = block_of(&input, 10, 0, 1, 42, 0); /* one root for all */
  ck_assert_int_eq(block.value_root.n, 1);
  ck_assert_int_eq(block.leaf.n, 10);
  ck_assert_int_eq(block.extra_value.n, 9);
}

SFTEST(lists_without_arrays_are_not_mapped)
{
  static sftest_edge_input_t input;
  sfc_edge_list_t list;
  int64_t bad_leaf;
  input = (sftest_edge_input_t){.size = 2, .rank = 1, .nroots = 1, .n = 3, .leaf64 = {4, 5, 6}, .root64 = {9, 7, 5}};
  ck_assert_int_eq(sftest_edge_list_make(&input, true, &list, &bad_leaf), SF_OK);
  ck_assert_ptr_null(list.region.base);
  ck_assert_int_eq(list.parts[0].edges.value_root.stride, -2);
  sfc_edge_list_destroy(&list);
  input.root64[2] = 6;
  ck_assert_int_eq(sftest_edge_list_make(&input, true, &list, &bad_leaf), SF_OK);
  ck_assert_ptr_nonnull(list.region.base);
  sfc_edge_list_destroy(&list);
}

/* An array is as narrow as its highest index allows. */
SFTEST(arrays_are_narrow_if_they_can_be)
{
  static sftest_edge_input_t input;
  const int64_t highest[] = {UINT32_MAX, (int64_t)UINT32_MAX + 1, INT64_MAX};
  for (int i = 0; i < 3; i++) {
    sfc_edge_list_t list;
    sfshm_edges_t edges;
    int64_t bad_leaf;
    input = (sftest_edge_input_t){.size = 1, .nroots = INT64_MAX, .n = 3};
    memcpy(input.leaf64, (const int64_t[]){0, 5, highest[i]}, 24);
    memcpy(input.root64, (const int64_t[]){0, highest[i] - 1, 9}, 24);
    ck_assert_int_eq(sftest_edge_list_make(&input, true, &list, &bad_leaf), SF_OK);
    sfshm_region_t region = sftest_edge_list_map(&list);
    edges = sftest_edge_part_open(&region, list.parts);
    ck_assert_int_eq(edges.leaf.kind, i == 0 ? SFSHM_PATTERN_INDEX32 : SFSHM_PATTERN_INDEX64);
    ck_assert_int_eq(edges.value_root.kind, i <= 1 ? SFSHM_PATTERN_INDEX32 : SFSHM_PATTERN_INDEX64);
    ck_assert_int_eq(edges.leaves.max, i == 0 ? SFSHM_EDGES_UNKNOWN : highest[i]);
    ck_assert_int_eq(list.parts[0].root_max, highest[i] - 1);
    sfshm_region_destroy(&region);
    sftest_edge_list_check(&input, &list);
    sfc_edge_list_destroy(&list);
  }
}

SFTEST(no_edges)
{
  sfc_edge_list_t list;
  int64_t bad_leaf = -7;
  const sfc_edge_input_t input = {.nroots = 5};
  ck_assert_int_eq(sfc_edge_list_make(&input, 0, 1, &list, &bad_leaf), SF_OK);
  ck_assert_int_eq(sfc_edge_list_seal(&list), SF_OK);
  ck_assert_uint_eq(list.region.length_bytes, 0);
  ck_assert_int_eq(list.nparts, 0);
  ck_assert_int_eq(bad_leaf, -1);
  sfc_edge_list_destroy(&list);
}
