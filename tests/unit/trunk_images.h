/* Sound root and leaf images, for tests to spoil. */
#ifndef SFTEST_TRUNK_IMAGES_H
#define SFTEST_TRUNK_IMAGES_H

#include "shm/trunk/trunk.h"

#include "tests/unit/runner.h"

/* Owner 3: roots 8, 3, 5, of which rank 1 leads the first two and rank 2 the third; rank 2 contributes to root 3 too.
 * So rank 1 wins root 8 and rank 2 roots 3 and 5. Owner 7: roots 10, 12, which rank 1 leads. */
typedef struct sftest_root_image {
  sfshm_image_header_t header;
  sfshm_root_part_t parts[2];
  sfshm_root_segment_t segments[3];
  sfshm_root_winner_t winners[2];
  uint32_t index[4];
} sftest_root_image_t;

#define STORED(member, length)                                                                                         \
  (sfshm_stored_pattern_t)                                                                                             \
  {                                                                                                                    \
    .kind = SFSHM_PATTERN_INDEX32, .n = length, .offset = member                                                       \
  }

static inline sftest_root_image_t sftest_root_image_make(void)
{
  size_t index = offsetof(sftest_root_image_t, index);
  return (sftest_root_image_t){
      .header = {.magic = SFSHM_ROOT_IMAGE_MAGIC,
                 .bcast_values = 5,
                 .reduce_values = 5,
                 .nparts = 2,
                 .parts = offsetof(sftest_root_image_t, parts)},
      .parts = {{.rank = 3,
                 .nsegments = 2,
                 .root = STORED(index, 3),
                 .segments = offsetof(sftest_root_image_t, segments),
                 .winners = offsetof(sftest_root_image_t, winners),
                 .nwinners = 2},
                {.rank = 7,
                 .nsegments = 1,
                 .first = 3,
                 .root = {.kind = SFSHM_PATTERN_STRIDED, .n = 2, .start = 10, .stride = 2},
                 .segments = offsetof(sftest_root_image_t, segments[2])}},
      .segments = {{.rank = 1, .root = STORED(index, 2)},
                   {.rank = 2, .first = 2, .root = STORED(index + 8, 1)},
                   {.rank = 1, .first = 3, .root = {.kind = SFSHM_PATTERN_STRIDED, .n = 2, .start = 10, .stride = 2}}},
      .winners = {{.rank = 1, .position = {.kind = SFSHM_PATTERN_CONTIGUOUS, .n = 1}},
                  {.rank = 2, .position = {.kind = SFSHM_PATTERN_CONTIGUOUS, .n = 2, .start = 1}}},
      .index = {8, 3, 5}};
}

/* Three ranks; roots at positions 0..3; rank 4 leads all, rank 6 contributes to 1 and 3, rank 9 to 3. */
typedef struct sftest_leaf_image {
  sfshm_image_header_t header;
  sfshm_leaf_part_t parts[3];
  sfshm_stored_pattern_t layers[2];
  uint32_t index[2];
} sftest_leaf_image_t;

static inline sftest_leaf_image_t sftest_leaf_image_make(void)
{
  return (sftest_leaf_image_t){
      .header = {.magic = SFSHM_LEAF_IMAGE_MAGIC,
                 .bcast_values = 4,
                 .reduce_values = 4,
                 .staged = 3,
                 .nparts = 3,
                 .nlayers = 2,
                 .parts = offsetof(sftest_leaf_image_t, parts),
                 .layers = offsetof(sftest_leaf_image_t, layers)},
      .parts = {{.rank = 4, .from = {.n = 4}, .to = {.n = 4}},
                {.rank = 6, .from = STORED(offsetof(sftest_leaf_image_t, index), 2), .to = {.n = 2, .start = 4}},
                {.rank = 9, .from = {.n = 1, .start = 3}, .to = {.n = 1, .start = 6}}},
      .layers = {STORED(offsetof(sftest_leaf_image_t, index), 2), {.n = 1, .start = 3}},
      .index = {1, 3}};
}

#endif
