/* Merging edge blocks of a node: particular instances, and what cannot be merged. Random ones: see test_merge.c. */
#include "shm/base/error.h"
#include "shm/trunk/merge/merge.h"
#include "shm/trunk/trunk.h"
#include "tests/unit/runner.h"

static sfshm_edges_t edges_to(const uint32_t root[], int64_t n)
{
  sfshm_edges_t edges = {.value_root = sfshm_pattern_from_index32(root, n),
                         .leaf = sfshm_pattern_contiguous(0, n),
                         .extra_value = sfshm_pattern_contiguous(0, 0)};
  edges.roots = sfshm_pattern_survey(&edges.value_root);
  edges.leaves = sfshm_pattern_survey(&edges.leaf);
  return edges;
}

SFTEST(one_rank_alone_has_its_own_order)
{
  static const uint32_t any_roots[] = {9, 2, 7, 4}, strided[] = {10, 13, 16};
  sfshm_edges_t first = edges_to(any_roots, 4), second = edges_to(strided, 3);
  const sfshm_merge_block_t blocks[] = {{2, 5, &first}, {3, 5, &second}};
  sfshm_merge_t merge;
  sfshm_image_t root, leaf;
  sfshm_leaf_positions_t positions;
  sfshm_root_roots_t part;
  ck_assert_int_eq(sfshm_merge_make(blocks, 2, false, &merge), SF_OK);
  ck_assert_int_eq(merge.values_before, 7);
  ck_assert_uint_eq(merge.leaf_image_bytes, sizeof(sfshm_image_header_t) + sizeof(sfshm_leaf_part_t));
  ck_assert_int_eq(sfshm_image_open(merge.leaf_image, merge.leaf_image_bytes, SFSHM_LEAF_IMAGE_MAGIC, &leaf), SF_OK);
  ck_assert_int_eq(sfshm_leaf_part_open(&leaf, 0, 7, 7, &positions), SF_OK);
  ck_assert_int_eq(positions.from.kind, SFSHM_PATTERN_CONTIGUOUS);
  ck_assert_int_eq(positions.to.kind, SFSHM_PATTERN_CONTIGUOUS);
  ck_assert_int_eq(sfshm_image_open(merge.root_image, merge.root_image_bytes, SFSHM_ROOT_IMAGE_MAGIC, &root), SF_OK);
  ck_assert_int_eq(sfshm_root_part_open(&root, 0, 10, &part), SF_OK);
  ck_assert_int_eq(part.root.kind, SFSHM_PATTERN_INDEX32);
  ck_assert_int_eq(memcmp(part.root.index32, any_roots, sizeof any_roots), 0);
  ck_assert_int_eq(sfshm_root_part_open(&root, 0, 9, &part), SF_ERR_RANGE);
  ck_assert_int_eq(sfshm_root_part_open(&root, 1, 17, &part), SF_OK);
  ck_assert_int_eq(part.root.kind, SFSHM_PATTERN_STRIDED);
  ck_assert_int_eq(part.first, 4);
  sfshm_merge_free(&merge);
  sfshm_merge_free(&merge);
}

SFTEST(disjoint_consecutive_roots_need_no_arrays)
{
  sfshm_edges_t edges[3];
  sfshm_merge_block_t blocks[3];
  sfshm_merge_t merge;
  for (int32_t i = 0; i < 3; i++) {
    edges[i] = (sfshm_edges_t){.value_root = sfshm_pattern_contiguous(1000 * i, 1000),
                               .leaf = sfshm_pattern_contiguous(0, 1000),
                               .roots = {1000 * i, 1000 * i + 999, 1}};
    blocks[i] = (sfshm_merge_block_t){0, 7 + i, &edges[i]};
  }
  ck_assert_int_eq(sfshm_merge_make(blocks, 3, false, &merge), SF_OK);
  ck_assert_uint_eq(merge.leaf_image_bytes, sizeof(sfshm_image_header_t) + 3 * sizeof(sfshm_leaf_part_t));
  ck_assert_uint_eq(merge.root_image_bytes,
                    sizeof(sfshm_image_header_t) + sizeof(sfshm_root_part_t) + 3 * sizeof(sfshm_root_segment_t));
  sfshm_merge_free(&merge);
}

SFTEST(contributors_fill_layers_in_order)
{
  static const uint32_t roots[] = {3, 1, 2};
  sfshm_edges_t all = edges_to(roots, 3), two = edges_to(roots + 1, 2), one = edges_to(roots + 1, 1);
  const sfshm_merge_block_t blocks[] = {{0, 1, &all}, {0, 4, &two}, {0, 6, &one}};
  sfshm_merge_t merge;
  sfshm_image_t leaf;
  sfshm_pattern_t positions;
  sfshm_leaf_positions_t part;
  int64_t first;
  ck_assert_int_eq(sfshm_merge_make(blocks, 3, false, &merge), SF_OK);
  ck_assert_int_eq(sfshm_image_open(merge.leaf_image, merge.leaf_image_bytes, SFSHM_LEAF_IMAGE_MAGIC, &leaf), SF_OK);
  ck_assert_uint_eq(leaf.header.nlayers, 2);
  ck_assert_int_eq(sfshm_leaf_layer_open(&leaf, 0, &positions, &first), SF_OK);
  ck_assert_int_eq(positions.n, 2);
  ck_assert_int_eq(first, 0);
  ck_assert_int_eq(sfshm_leaf_layer_open(&leaf, 1, &positions, &first), SF_OK);
  ck_assert_int_eq(positions.n, 1);
  ck_assert_int_eq(positions.start, 1);
  ck_assert_int_eq(first, 2);
  ck_assert_int_eq(sfshm_leaf_part_open(&leaf, 2, 1, 1, &part), SF_OK);
  ck_assert_int_eq(part.from.start, 1);
  ck_assert_int_eq(part.to.start, 5);
  sfshm_merge_free(&merge);
}

#define MANY 3000

/* Root number i of many that are far apart; narrow or wide. */
static int64_t far_root(int64_t i, bool wide)
{
  return 5 + i * (wide ? INT64_C(1) << 33 : 997);
}

static sfshm_edges_t edges_to_many(const int64_t root[], int64_t n)
{
  sfshm_edges_t edges = {.value_root = sfshm_pattern_from_index64(root, n),
                         .leaf = sfshm_pattern_contiguous(0, n),
                         .extra_value = sfshm_pattern_contiguous(0, 0)};
  edges.roots = sfshm_pattern_survey(&edges.value_root);
  return edges;
}

/* Both ranks want those whose number is in common, in different places, besides their own. */
static void merge_with_common(const int64_t common[], int64_t ncommon, bool wide)
{
  static int64_t first[MANY], second[MANY];
  sfshm_edges_t edges[2];
  const sfshm_merge_block_t blocks[] = {{0, 1, &edges[0]}, {0, 4, &edges[1]}};
  sfshm_merge_t merge;
  sfshm_image_t root, leaf;
  sfshm_root_roots_t roots;
  sfshm_leaf_positions_t part;
  for (int64_t i = 0; i < MANY; i++) {
    first[i] = far_root(i * 7 % MANY, wide);
    second[i] = far_root(MANY + i, wide);
  }
  for (int64_t c = 0; c < ncommon; c++)
    second[common[c]] = first[MANY - 1 - common[c]];
  edges[0] = edges_to_many(first, MANY);
  edges[1] = edges_to_many(second, MANY);
  ck_assert_int_eq(sfshm_merge_make(blocks, 2, false, &merge), SF_OK);
  ck_assert_int_eq(sfshm_image_open(merge.root_image, merge.root_image_bytes, SFSHM_ROOT_IMAGE_MAGIC, &root), SF_OK);
  ck_assert_int_eq(sfshm_image_open(merge.leaf_image, merge.leaf_image_bytes, SFSHM_LEAF_IMAGE_MAGIC, &leaf), SF_OK);
  ck_assert_int_eq(root.header.bcast_values, 2 * MANY - ncommon);
  ck_assert_int_eq(sfshm_root_part_open(&root, 0, INT64_MAX, &roots), SF_OK);
  ck_assert_int_eq(roots.root.n, 2 * MANY - ncommon);
  for (int32_t rank = 0; rank < 2; rank++) {
    ck_assert_int_eq(sfshm_leaf_part_open(&leaf, (uint32_t)rank, MANY, MANY, &part), SF_OK);
    for (int64_t i = 0; i < MANY; i++)
      ck_assert_int_eq(sfshm_pattern_at(&roots.root, sfshm_pattern_at(&part.from, i)), (rank == 0 ? first : second)[i]);
  }
  sfshm_merge_free(&merge);
}

SFTEST(roots_in_common_among_many_that_are_far_apart)
{
  static const int64_t none[1], some[] = {0, 1, 62, 63, 64, 191, 192, 1024, 1987, MANY - 2, MANY - 1};
  static int64_t all[MANY];
  for (int64_t i = 0; i < MANY; i++)
    all[i] = i;
  for (int wide = 0; wide < 2; wide++) {
    merge_with_common(none, 0, wide != 0);
    merge_with_common(some, sizeof some / sizeof some[0], wide != 0);
    merge_with_common(all, MANY, wide != 0);
  }
}

/* A key takes 32 bits as long as they hold the difference of the roots, whatever these are. */
SFTEST(keys_that_just_fit)
{
  static const int64_t bases[] = {0, 1, INT64_C(1) << 40};
  for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++)
    for (int64_t beyond = -1; beyond < 2; beyond++) {
      const int64_t ends[] = {bases[b] + UINT32_MAX + beyond, bases[b]};
      sfshm_edges_t edges = edges_to_many(ends, 2);
      const sfshm_merge_block_t blocks[] = {{0, 1, &edges}, {0, 4, &edges}};
      sfshm_merge_t merge;
      sfshm_image_t root;
      sfshm_root_roots_t roots;
      ck_assert_int_eq(sfshm_merge_make(blocks, 2, false, &merge), SF_OK);
      ck_assert_int_eq(sfshm_image_open(merge.root_image, merge.root_image_bytes, SFSHM_ROOT_IMAGE_MAGIC, &root),
                       SF_OK);
      ck_assert_int_eq(sfshm_root_part_open(&root, 0, INT64_MAX, &roots), SF_OK);
      ck_assert_int_eq(roots.root.n, 2);
      ck_assert_int_eq(sfshm_pattern_at(&roots.root, 0), ends[0]);
      ck_assert_int_eq(sfshm_pattern_at(&roots.root, 1), ends[1]);
      sfshm_merge_free(&merge);
    }
}

SFTEST(what_cannot_be_merged)
{
  static const uint32_t twice[] = {3, 1, 3}, once[] = {8};
  sfshm_edges_t bad = edges_to(twice, 3), good = edges_to(once, 1);
  const sfshm_merge_block_t blocks[] = {{0, 1, &good}, {0, 4, &bad}};
  sfshm_merge_t merge;
  ck_assert_int_eq(sfshm_merge_make(blocks, 2, false, &merge), SF_ERR_PROTO);
  ck_assert_str_eq(sfshm_error_detail(), "edge list of rank 4: a root of rank 0 is there twice");
  static int64_t far[MANY];
  for (int64_t i = 0; i < MANY; i++)
    far[i] = far_root(i, false);
  far[MANY - 1] = far[70];
  bad = edges_to_many(far, MANY);
  ck_assert_int_eq(sfshm_merge_make(blocks, 2, false, &merge), SF_ERR_PROTO);
  ck_assert_str_eq(sfshm_error_detail(), "edge list of rank 4: a root of rank 0 is there twice");
  good.leaf.n = UINT32_MAX;
  ck_assert_int_eq(sfshm_merge_make(blocks, 2, false, &merge), SF_ERR_LIMIT);
  good.leaf.n = INT64_MAX;
  ck_assert_int_eq(sfshm_merge_make(blocks, 2, false, &merge), SF_ERR_LIMIT);
}
