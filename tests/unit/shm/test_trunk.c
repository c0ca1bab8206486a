/* Opening what trunks share: good images and maps, and ones that only somebody hostile makes; and the layout of
 * exchanges. */
#include "shm/trunk/trunk.h"

#include <string.h>

#include "shm/base/error.h"
#include "tests/unit/runner.h"

/* ---- A root image ------------------------------------------------------------------------------------------------ */

/* Owner 3: roots 8, 3, 5, of which rank 1 leads the first two and rank 2 the third; rank 2 contributes to root 3 too.
 * So rank 1 wins root 8 and rank 2 roots 3 and 5. Owner 7: roots 10, 12, which rank 1 leads. */
typedef struct root_bytes {
  sfshm_image_header_t header;
  sfshm_root_part_t parts[2];
  sfshm_root_segment_t segments[3];
  sfshm_root_winner_t winners[2];
  uint32_t index[4];
} root_bytes_t;

#define STORED(member, length)                                                                                         \
  (sfshm_stored_pattern_t)                                                                                             \
  {                                                                                                                    \
    .kind = SFSHM_PATTERN_INDEX32, .n = length, .offset = member                                                       \
  }

static root_bytes_t make_root_bytes(void)
{
  size_t index = offsetof(root_bytes_t, index);
  return (root_bytes_t){
      .header = {.magic = SFSHM_ROOT_IMAGE_MAGIC,
                 .bcast_values = 5,
                 .reduce_values = 5,
                 .nparts = 2,
                 .parts = offsetof(root_bytes_t, parts)},
      .parts = {{.rank = 3,
                 .nsegments = 2,
                 .root = STORED(index, 3),
                 .segments = offsetof(root_bytes_t, segments),
                 .winners = offsetof(root_bytes_t, winners),
                 .nwinners = 2},
                {.rank = 7,
                 .nsegments = 1,
                 .first = 3,
                 .root = {.kind = SFSHM_PATTERN_STRIDED, .n = 2, .start = 10, .stride = 2},
                 .segments = offsetof(root_bytes_t, segments[2])}},
      .segments = {{.rank = 1, .root = STORED(index, 2)},
                   {.rank = 2, .first = 2, .root = STORED(index + 8, 1)},
                   {.rank = 1, .first = 3, .root = {.kind = SFSHM_PATTERN_STRIDED, .n = 2, .start = 10, .stride = 2}}},
      .winners = {{.rank = 1, .position = {.kind = SFSHM_PATTERN_CONTIGUOUS, .n = 1}},
                  {.rank = 2, .position = {.kind = SFSHM_PATTERN_CONTIGUOUS, .n = 2, .start = 1}}},
      .index = {8, 3, 5}};
}

static root_bytes_t bytes;
static size_t length_bytes;
static sfshm_image_t image;

static void setup_root(void)
{
  bytes = make_root_bytes();
  length_bytes = sizeof bytes;
}

/* What a node does with an image that comes from another. */
static sf_status_t open_root(void)
{
  sf_status_t status = sfshm_image_open(&bytes, length_bytes, SFSHM_ROOT_IMAGE_MAGIC, &image);
  return status == SF_OK ? sfshm_root_image_check(&image) : status;
}

START_TEST(a_good_root_image)
{
  sfshm_root_roots_t part;
  sfshm_root_turn_t turn;
  sfshm_pattern_t position;
  int32_t rank;
  ck_assert_int_eq(open_root(), SF_OK);
  ck_assert_int_eq(sfshm_image_find(&image, 3), 0);
  ck_assert_int_eq(sfshm_image_find(&image, 7), 1);
  ck_assert_int_eq(sfshm_image_find(&image, 5), -1);
  ck_assert_int_eq(sfshm_image_find(&image, 8), -1);
  ck_assert_int_eq(sfshm_image_find(&image, -1), -1);
  ck_assert_int_eq(sfshm_root_part_open(&image, 0, 9, &part), SF_OK);
  ck_assert_int_eq(part.rank, 3);
  ck_assert_int_eq(part.root.n, 3);
  ck_assert_int_eq(part.survey.max, 8);
  ck_assert_int_eq(sfshm_root_segment_open(&image, &part, 0, 9, &turn), SF_OK);
  ck_assert_int_eq(turn.rank, 1);
  ck_assert_int_eq(turn.root.n, 2);
  ck_assert_int_eq(sfshm_root_segment_open(&image, &part, 1, 9, &turn), SF_OK);
  ck_assert_int_eq(turn.first, 2);
  ck_assert_int_eq(sfshm_pattern_at(&turn.root, 0), 5);
  ck_assert_int_eq(part.nwinners, 2);
  ck_assert_int_eq(sfshm_root_winner_open(&image, &part, 1, &rank, &position), SF_OK);
  ck_assert_int_eq(rank, 2);
  ck_assert_int_eq(position.n, 2);
  ck_assert_int_eq(sfshm_pattern_at(&position, 0), 1);
  ck_assert_int_eq(sfshm_root_segment_open(&image, &part, 0, 8, &turn), SF_ERR_RANGE);
  ck_assert_int_eq(sfshm_root_part_open(&image, 0, 8, &part), SF_ERR_RANGE);
  ck_assert_str_eq(sfshm_error_detail(), "root index 8, but rank 3 has 8 roots");
  ck_assert_int_eq(sfshm_root_part_open(&image, 1, 13, &part), SF_OK);
  ck_assert_int_eq(sfshm_root_part_open(&image, 1, 12, &part), SF_ERR_RANGE);
}
END_TEST

#define EXPECT_ROOT_MALFORMED(change)                                                                                  \
  do {                                                                                                                 \
    setup_root();                                                                                                      \
    change;                                                                                                            \
    ck_assert_msg(open_root() == SF_ERR_PROTO, "%s is accepted", #change);                                             \
  } while (0)

START_TEST(headers_and_tables_that_do_not_fit)
{
  EXPECT_ROOT_MALFORMED(length_bytes = 0);
  EXPECT_ROOT_MALFORMED(length_bytes = sizeof bytes.header - 1);
  EXPECT_ROOT_MALFORMED(length_bytes = sizeof bytes.header);
  EXPECT_ROOT_MALFORMED(length_bytes = sizeof bytes - 8);
  EXPECT_ROOT_MALFORMED(bytes.header.magic = SFSHM_LEAF_IMAGE_MAGIC);
  EXPECT_ROOT_MALFORMED(bytes.header.uncombined = 2);
  EXPECT_ROOT_MALFORMED(bytes.header.uncombined = 1);
  EXPECT_ROOT_MALFORMED(bytes.header.bcast_values = 6);
  EXPECT_ROOT_MALFORMED(bytes.header.bcast_values = bytes.header.reduce_values = 6);
  EXPECT_ROOT_MALFORMED(bytes.header.bcast_values = bytes.header.reduce_values = 4);
  EXPECT_ROOT_MALFORMED(bytes.header.bcast_values = bytes.header.reduce_values = -1);
  EXPECT_ROOT_MALFORMED(bytes.header.staged = 1);
  EXPECT_ROOT_MALFORMED(bytes.header.nlayers = 1);
  EXPECT_ROOT_MALFORMED(bytes.header.nparts = 1);
  EXPECT_ROOT_MALFORMED(bytes.header.nparts = UINT32_MAX);
  EXPECT_ROOT_MALFORMED(bytes.header.parts += 4);
  EXPECT_ROOT_MALFORMED(bytes.header.parts = sizeof bytes - 8);
  EXPECT_ROOT_MALFORMED(bytes.header.parts = UINT64_MAX - 7);
}
END_TEST

START_TEST(parts_and_turns_in_disorder)
{
  EXPECT_ROOT_MALFORMED(bytes.parts[0].rank = -1);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].rank = 7);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].first = 1);
  EXPECT_ROOT_MALFORMED(bytes.parts[1].first = 2);
  EXPECT_ROOT_MALFORMED(bytes.parts[1].first = INT64_MIN);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].nsegments = 1);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].nsegments = 3);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].nsegments = UINT32_MAX);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].segments = UINT64_MAX - 7);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].segments += 4);
  EXPECT_ROOT_MALFORMED(bytes.parts[1].segments = bytes.parts[0].segments);
  EXPECT_ROOT_MALFORMED(bytes.segments[0].rank = -1);
  EXPECT_ROOT_MALFORMED(bytes.segments[1].rank = 1);
  EXPECT_ROOT_MALFORMED(bytes.segments[0].first = 1);
  EXPECT_ROOT_MALFORMED(bytes.segments[1].first = 1);
  EXPECT_ROOT_MALFORMED(bytes.segments[1].first = -1);
  EXPECT_ROOT_MALFORMED(bytes.segments[2].first = INT64_MAX);
}
END_TEST

START_TEST(winners_that_do_not_fit)
{
  EXPECT_ROOT_MALFORMED(bytes.parts[0].nwinners = 1);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].nwinners = 3);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].nwinners = UINT32_MAX);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].winners += 4);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].winners = sizeof bytes - 8);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].winners = UINT64_MAX - 7);
  EXPECT_ROOT_MALFORMED(bytes.winners[0].rank = -1);
  EXPECT_ROOT_MALFORMED(bytes.winners[0].rank = 2);
  EXPECT_ROOT_MALFORMED(bytes.winners[0].rank = 3);
  EXPECT_ROOT_MALFORMED(bytes.winners[0].position.n = 2);
  EXPECT_ROOT_MALFORMED(bytes.winners[0].position.n = 0);
  EXPECT_ROOT_MALFORMED(bytes.winners[0].position.start = -1);
  EXPECT_ROOT_MALFORMED(bytes.winners[1].position.start = 2);
  EXPECT_ROOT_MALFORMED(bytes.winners[1].position.start = INT64_MAX - 1);
  EXPECT_ROOT_MALFORMED(bytes.winners[1].position.kind = 4);
}
END_TEST

START_TEST(patterns_that_leave_the_image)
{
  EXPECT_ROOT_MALFORMED(bytes.parts[0].root.kind = 4);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].root.kind = UINT32_MAX);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].root.n = 0);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].root.n = -3);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].root.n = INT64_MAX);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].root.offset = sizeof bytes - 8);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].root.offset = UINT64_MAX - 3);
  EXPECT_ROOT_MALFORMED(bytes.parts[0].root.offset++);
  EXPECT_ROOT_MALFORMED(bytes.parts[1].root.start = -1);
  EXPECT_ROOT_MALFORMED(bytes.parts[1].root.stride = 0);
  EXPECT_ROOT_MALFORMED(bytes.parts[1].root.stride = -11);
  EXPECT_ROOT_MALFORMED(bytes.parts[1].root.stride = INT64_MAX);
  EXPECT_ROOT_MALFORMED(bytes.parts[1].root.stride = INT64_MIN);
  EXPECT_ROOT_MALFORMED(bytes.parts[1].root.start = INT64_MAX);
  EXPECT_ROOT_MALFORMED(bytes.segments[0].root.n = 3);
  EXPECT_ROOT_MALFORMED(bytes.segments[0].root.kind = 17);
}
END_TEST

/* As many turns as there is room for, which all look at one large array: refused before that takes long. */
START_TEST(an_image_that_is_made_to_take_long)
{
  enum { NTURNS = 20000, NROOTS = 400000 };
  typedef struct long_image {
    sfshm_image_header_t header;
    sfshm_root_part_t part;
    sfshm_root_segment_t segments[NTURNS];
    uint32_t index[NROOTS];
  } long_image_t;
  long_image_t *slow = calloc(1, sizeof *slow);
  int64_t n = (int64_t)NTURNS * NROOTS;
  slow->header = (sfshm_image_header_t){.magic = SFSHM_ROOT_IMAGE_MAGIC,
                                        .uncombined = 1,
                                        .bcast_values = NROOTS,
                                        .reduce_values = n,
                                        .nparts = 1,
                                        .parts = offsetof(long_image_t, part)};
  slow->part =
      (sfshm_root_part_t){.nsegments = NTURNS, .root = {.n = NROOTS}, .segments = offsetof(long_image_t, segments)};
  for (int32_t i = 0; i < NTURNS; i++)
    slow->segments[i] = (sfshm_root_segment_t){
        .rank = i, .first = (int64_t)i * NROOTS, .root = STORED(offsetof(long_image_t, index), NROOTS)};
  ck_assert_int_eq(sfshm_image_open(slow, sizeof *slow, SFSHM_ROOT_IMAGE_MAGIC, &image), SF_OK);
  ck_assert_int_eq(sfshm_root_image_check(&image), SF_ERR_PROTO);
  ck_assert_str_eq(sfshm_error_detail(), "trunk image: turns overlap");
  free(slow);
}
END_TEST

/* ---- A leaf image ------------------------------------------------------------------------------------------------ */

/* Three ranks; roots at positions 0..3; rank 4 leads all, rank 6 contributes to 1 and 3, rank 9 to 3. */
typedef struct leaf_bytes {
  sfshm_image_header_t header;
  sfshm_leaf_part_t parts[3];
  sfshm_stored_pattern_t layers[2];
  uint32_t index[2];
} leaf_bytes_t;

static leaf_bytes_t make_leaf_bytes(void)
{
  return (leaf_bytes_t){
      .header = {.magic = SFSHM_LEAF_IMAGE_MAGIC,
                 .bcast_values = 4,
                 .reduce_values = 4,
                 .staged = 3,
                 .nparts = 3,
                 .nlayers = 2,
                 .parts = offsetof(leaf_bytes_t, parts),
                 .layers = offsetof(leaf_bytes_t, layers)},
      .parts = {{.rank = 4, .from = {.n = 4}, .to = {.n = 4}},
                {.rank = 6, .from = STORED(offsetof(leaf_bytes_t, index), 2), .to = {.n = 2, .start = 4}},
                {.rank = 9, .from = {.n = 1, .start = 3}, .to = {.n = 1, .start = 6}}},
      .layers = {STORED(offsetof(leaf_bytes_t, index), 2), {.n = 1, .start = 3}},
      .index = {1, 3}};
}

static leaf_bytes_t leaves;

static void setup_leaf(void)
{
  leaves = make_leaf_bytes();
  length_bytes = sizeof leaves;
}

static sf_status_t open_leaf(void)
{
  static const int64_t nvalues[] = {4, 2, 1};
  sfshm_leaf_positions_t part;
  sf_status_t status = sfshm_image_open(&leaves, length_bytes, SFSHM_LEAF_IMAGE_MAGIC, &image);
  for (uint32_t i = 0; i < 3 && status == SF_OK; i++)
    status =
        i < image.header.nparts ? sfshm_leaf_part_open(&image, i, nvalues[i], nvalues[i] + 5, &part) : SF_ERR_PROTO;
  return status;
}

START_TEST(a_good_leaf_image)
{
  sfshm_leaf_positions_t part;
  sfshm_pattern_t positions;
  int64_t first;
  ck_assert_int_eq(open_leaf(), SF_OK);
  ck_assert_int_eq(sfshm_image_find(&image, 6), 1);
  ck_assert_int_eq(sfshm_image_find(&image, 7), -1);
  ck_assert_int_eq(sfshm_leaf_part_open(&image, 1, 2, 2, &part), SF_OK);
  ck_assert_int_eq(part.rank, 6);
  ck_assert_int_eq(sfshm_pattern_at(&part.from, 1), 3);
  ck_assert_int_eq(sfshm_pattern_at(&part.to, 1), 5);
  ck_assert_int_eq(sfshm_leaf_layer_open(&image, 0, &positions, &first), SF_OK);
  ck_assert_int_eq(positions.n, 2);
  ck_assert_int_eq(first, 0);
  ck_assert_int_eq(sfshm_leaf_layer_open(&image, 1, &positions, &first), SF_OK);
  ck_assert_int_eq(positions.n, 1);
  ck_assert_int_eq(first, 2);
}
END_TEST

START_TEST(uncombined_there_is_a_unit_for_each_edge)
{
  sfshm_leaf_positions_t part;
  leaves.header.uncombined = 1;
  leaves.header.staged = 0;
  leaves.header.nlayers = 0;
  leaves.header.reduce_values = 9;
  leaves.parts[0].to.n = 9;
  ck_assert_int_eq(sfshm_image_open(&leaves, length_bytes, SFSHM_LEAF_IMAGE_MAGIC, &image), SF_OK);
  ck_assert_int_eq(sfshm_leaf_part_open(&image, 0, 4, 9, &part), SF_OK);
  ck_assert_int_eq(part.to.n, 9);
  ck_assert_int_eq(sfshm_leaf_part_open(&image, 0, 4, 8, &part), SF_ERR_PROTO);
}
END_TEST

#define EXPECT_LEAF_MALFORMED(change)                                                                                  \
  do {                                                                                                                 \
    setup_leaf();                                                                                                      \
    change;                                                                                                            \
    ck_assert_msg(open_leaf() == SF_ERR_PROTO, "%s is accepted", #change);                                             \
  } while (0)

START_TEST(malformed_leaf_images)
{
  EXPECT_LEAF_MALFORMED(length_bytes = sizeof leaves - 8);
  EXPECT_LEAF_MALFORMED(leaves.header.bcast_values = leaves.header.reduce_values = 3);
  EXPECT_LEAF_MALFORMED(leaves.header.reduce_values = INT64_MAX);
  EXPECT_LEAF_MALFORMED(leaves.header.bcast_values = leaves.header.reduce_values = INT64_MAX);
  EXPECT_LEAF_MALFORMED(leaves.header.uncombined = 1);
  EXPECT_LEAF_MALFORMED(leaves.header.staged = 2);
  EXPECT_LEAF_MALFORMED(leaves.header.staged = 4);
  EXPECT_LEAF_MALFORMED(leaves.header.staged = -1);
  EXPECT_LEAF_MALFORMED(leaves.header.nparts = 2);
  EXPECT_LEAF_MALFORMED(leaves.header.nlayers = 1);
  EXPECT_LEAF_MALFORMED(leaves.header.nlayers = 3);
  EXPECT_LEAF_MALFORMED(leaves.header.nlayers = UINT32_MAX);
  EXPECT_LEAF_MALFORMED(leaves.header.layers++);
  EXPECT_LEAF_MALFORMED(leaves.header.layers = sizeof leaves - 16);
  EXPECT_LEAF_MALFORMED(leaves.header.layers = UINT64_MAX - 7);
  EXPECT_LEAF_MALFORMED(leaves.index[1] = 1);
  EXPECT_LEAF_MALFORMED(leaves.index[1] = 0);
  EXPECT_LEAF_MALFORMED(leaves.index[1] = 4);
  EXPECT_LEAF_MALFORMED(leaves.layers[1].start = 4);
  EXPECT_LEAF_MALFORMED(leaves.layers[1].start = -1);
  EXPECT_LEAF_MALFORMED(leaves.layers[1].n = 0);
  EXPECT_LEAF_MALFORMED(leaves.layers[1].n = INT64_MIN);
  EXPECT_LEAF_MALFORMED(leaves.layers[0].offset = sizeof leaves - 4);
  EXPECT_LEAF_MALFORMED(leaves.parts[0].from.n = 3);
  EXPECT_LEAF_MALFORMED(leaves.parts[0].from.n = 5);
  EXPECT_LEAF_MALFORMED(leaves.parts[0].from.start = 1);
  EXPECT_LEAF_MALFORMED(leaves.parts[0].to.start = 4);
  EXPECT_LEAF_MALFORMED(leaves.parts[2].to.start = 7);
  EXPECT_LEAF_MALFORMED(leaves.parts[1].from.offset = sizeof leaves);
}
END_TEST

/* ---- Maps -------------------------------------------------------------------------------------------------------- */

typedef struct map_bytes {
  sfshm_region_header_t header;
  uint32_t nsides;
  uint32_t reserved;
  sfshm_trunk_side_t sides[3];
  root_bytes_t root;
  leaf_bytes_t leaf;
  root_bytes_t other;
} map_bytes_t;

static map_bytes_t map;
static sfshm_region_t region;

static void setup_map(void)
{
  memset(&map, 0, sizeof map);
  map.nsides = 3;
  map.root = make_root_bytes();
  map.leaf = make_leaf_bytes();
  map.other = make_root_bytes();
  map.sides[0] = (sfshm_trunk_side_t){.node = 1,
                                      .role = SFSHM_AS_ROOT,
                                      .nmembers = 2,
                                      .send_values = 5,
                                      .send_units = 5,
                                      .receive_values = 5,
                                      .image = offsetof(map_bytes_t, root),
                                      .image_bytes = sizeof map.root};
  map.sides[1] = (sfshm_trunk_side_t){.node = 1,
                                      .role = SFSHM_AS_LEAF,
                                      .nmembers = 3,
                                      .send_values = 4,
                                      .send_units = 7,
                                      .receive_values = 4,
                                      .image = offsetof(map_bytes_t, leaf),
                                      .image_bytes = sizeof map.leaf};
  map.sides[2] = map.sides[0];
  map.sides[2].node = 2;
  map.sides[2].image = offsetof(map_bytes_t, other);
  region = (sfshm_region_t){.fd = -1, .base = &map, .length_bytes = sizeof map};
}

#define EXPECT_MAP_MALFORMED(change)                                                                                   \
  do {                                                                                                                 \
    const sfshm_trunk_map_t *refused = NULL;                                                                           \
    setup_map();                                                                                                       \
    change;                                                                                                            \
    ck_assert_msg(sfshm_trunk_map_open(&region, &refused) == SF_ERR_PROTO, "%s is accepted", #change);                 \
    ck_assert_ptr_null(refused);                                                                                       \
  } while (0)

START_TEST(maps)
{
  const sfshm_trunk_map_t *opened = NULL;
  setup_map();
  ck_assert_int_eq(sfshm_trunk_map_open(&region, &opened), SF_OK);
  ck_assert_uint_eq(opened->nsides, 3);
  ck_assert_int_eq(opened->sides[1].send_units, 7);
  EXPECT_MAP_MALFORMED(region.length_bytes = sizeof map.header);
  EXPECT_MAP_MALFORMED(region.length_bytes = sizeof map - 1);
  EXPECT_MAP_MALFORMED(map.nsides = 100);
  EXPECT_MAP_MALFORMED(map.nsides = UINT32_MAX);
  EXPECT_MAP_MALFORMED(map.sides[0].role = SFSHM_AS_LEAF);
  EXPECT_MAP_MALFORMED(map.sides[2].role = 2);
  EXPECT_MAP_MALFORMED(map.sides[2].node = 1);
  EXPECT_MAP_MALFORMED(map.sides[1].nmembers = 0);
  EXPECT_MAP_MALFORMED(map.sides[1].nmembers = -1);
  EXPECT_MAP_MALFORMED(map.sides[0].send_values = 4);
  EXPECT_MAP_MALFORMED(map.sides[0].send_units = 6);
  EXPECT_MAP_MALFORMED(map.sides[0].receive_values = 0);
  EXPECT_MAP_MALFORMED(map.sides[1].send_values = 7);
  EXPECT_MAP_MALFORMED(map.sides[1].send_units = 4);
  EXPECT_MAP_MALFORMED(map.sides[1].receive_values = INT64_MAX);
  EXPECT_MAP_MALFORMED(map.sides[0].image += 4);
  EXPECT_MAP_MALFORMED(map.sides[0].image = UINT64_MAX - 7);
  EXPECT_MAP_MALFORMED(map.sides[0].image = sizeof map + 8);
  EXPECT_MAP_MALFORMED(map.sides[0].image_bytes = UINT64_MAX);
  EXPECT_MAP_MALFORMED(map.sides[0].image_bytes = sizeof map - offsetof(map_bytes_t, root)); /* overlaps others */
  EXPECT_MAP_MALFORMED(map.sides[2].image_bytes = sizeof(sfshm_image_header_t));
  EXPECT_MAP_MALFORMED(map.leaf.index[1] = 4);
}
END_TEST

/* ---- Exchanges --------------------------------------------------------------------------------------------------- */

START_TEST(classes_of_units)
{
  ck_assert_uint_eq(sfshm_exchange_class(1), 8);
  ck_assert_uint_eq(sfshm_exchange_class(8), 8);
  ck_assert_uint_eq(sfshm_exchange_class(9), 16);
  ck_assert_uint_eq(sfshm_exchange_class(24), 32);
  ck_assert_uint_eq(sfshm_exchange_class((size_t)1 << 40), (uint64_t)1 << 40);
  ck_assert_uint_eq(sfshm_exchange_class(((size_t)1 << 40) + 1), 0);
  ck_assert_uint_eq(sfshm_exchange_class(SIZE_MAX), 0);
}
END_TEST

START_TEST(slots_stand_behind_each_other)
{
  sfshm_trunk_side_t sides[] = {{.send_values = 10, .send_units = 20, .receive_values = 1},
                                {.send_values = 16, .send_units = 16, .receive_values = 17}};
  sfshm_side_slots_t slots[2];
  uint64_t length;
  ck_assert_int_eq(sfshm_exchange_layout(sides, 2, 8, 1 << 20, slots, &length), SF_OK);
  ck_assert_uint_eq(slots[0].send, 128);
  ck_assert_uint_eq(slots[0].send_stride, 256);
  ck_assert_uint_eq(slots[0].receive, 128 + 2048);
  ck_assert_uint_eq(slots[0].receive_stride, 128);
  ck_assert_uint_eq(slots[1].send, 128 + 2048 + 1024);
  ck_assert_uint_eq(slots[1].send_stride, 128);
  ck_assert_uint_eq(slots[1].receive, 128 + 2048 + 1024 + 1024);
  ck_assert_uint_eq(slots[1].receive_stride, 256);
  ck_assert_uint_eq(length, 128 + 2048 + 1024 + 1024 + 2048);
  ck_assert_int_eq(sfshm_exchange_layout(sides, 2, 8, length, slots, &length), SF_OK);
  ck_assert_int_eq(sfshm_exchange_layout(sides, 2, 8, length - 1, slots, &length), SF_ERR_LIMIT);
}
END_TEST

START_TEST(large_messages_have_fewer_slots)
{
  enum { SMALL = SFSHM_TRUNK_LARGE / 16 };
  sfshm_trunk_side_t side = {.send_values = SMALL, .send_units = SMALL + 1, .receive_values = SMALL + 1};
  sfshm_side_slots_t slots;
  uint64_t length;
  ck_assert_int_eq(sfshm_exchange_layout(&side, 1, 16, 1 << 24, &slots, &length), SF_OK);
  ck_assert_uint_eq(slots.nsend, SFSHM_TRUNK_SLOTS);
  ck_assert_uint_eq(slots.nreceive, SFSHM_TRUNK_LARGE_SLOTS);
  ck_assert_uint_eq(sfshm_send_slot(&slots, SFSHM_TRUNK_SLOTS + 1), slots.send + slots.send_stride);
  ck_assert_uint_eq(sfshm_receive_slot(&slots, SFSHM_TRUNK_LARGE_SLOTS + 1), slots.receive + slots.receive_stride);
  ck_assert_uint_eq(length, slots.receive + SFSHM_TRUNK_LARGE_SLOTS * slots.receive_stride);
  /* A message may be written when the one before it in its slot is over: 8 more than that is granted then. */
  ck_assert_uint_eq(sfshm_trunk_needs(20, SMALL, 16), 20);
  ck_assert_uint_eq(sfshm_trunk_needs(20, SMALL + 1, 16), 20 - SFSHM_TRUNK_LARGE_SLOTS + SFSHM_TRUNK_SLOTS);
  ck_assert_uint_eq(sfshm_trunk_slots(1, 0), SFSHM_TRUNK_SLOTS);
}
END_TEST

START_TEST(slots_that_no_memory_can_hold)
{
  static const int64_t counts[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX / 8, INT64_MAX / 32, (int64_t)1 << 58};
  sfshm_side_slots_t slots[2];
  uint64_t length = 77;
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    sfshm_trunk_side_t sides[] = {{.send_units = 5, .receive_values = counts[i]},
                                  {.send_units = counts[i], .receive_values = 5}};
    ck_assert_int_eq(sfshm_exchange_layout(sides, 1, 8, UINT64_MAX / 4, slots, &length), SF_ERR_LIMIT);
    ck_assert_int_eq(sfshm_exchange_layout(sides + 1, 1, 8, UINT64_MAX / 4, slots, &length), SF_ERR_LIMIT);
    ck_assert_int_eq(sfshm_exchange_layout(sides, 2, (uint64_t)1 << 40, UINT64_MAX, slots, &length), SF_ERR_LIMIT);
  }
  ck_assert_int_eq(sfshm_exchange_layout(NULL, 0, 8, 100, slots, &length), SF_ERR_LIMIT);
  ck_assert_uint_eq(length, 77);
}
END_TEST

/* Only those that are told of; of messages that are long enough, in units that fit. */
START_TEST(slots_on_a_device)
{
  sfshm_trunk_side_t sides[] = {{.send_values = 10, .send_units = 20, .receive_values = 1},
                                {.send_values = 16, .send_units = 16, .receive_values = 17},
                                {.send_values = 1, .send_units = 1, .receive_values = 1}};
  uint8_t where[] = {SFSHM_SLOTS_SEND, SFSHM_SLOTS_RECEIVE, SFSHM_SLOTS_SEND | SFSHM_SLOTS_RECEIVE};
  sfshm_side_slots_t slots[3];
  uint64_t length = 77;
  ck_assert_int_eq(sfshm_slots_layout(sides, where, 3, 8, 1 << 20, slots, &length), SF_OK);
  ck_assert_uint_eq(slots[0].send, 0);
  ck_assert_uint_eq(slots[0].send_stride, 256);
  ck_assert_uint_eq(slots[0].receive_stride, 0);
  ck_assert_uint_eq(slots[1].send_stride, 0);
  ck_assert_uint_eq(slots[1].receive, 2048);
  ck_assert_uint_eq(slots[1].receive_stride, 256);
  ck_assert_uint_eq(slots[2].send, 4096);
  ck_assert_uint_eq(slots[2].receive, 4096 + 1024);
  ck_assert_uint_eq(length, 4096 + 2048);
  ck_assert_int_eq(sfshm_slots_layout(sides, where, 3, 8, length - 1, slots, &length), SF_ERR_LIMIT);
  ck_assert(!sfshm_slots_take(8192, 8, 8) && sfshm_slots_take(8193, 8, 8));
  ck_assert(!sfshm_slots_take(13107, 5, 8) && sfshm_slots_take(13108, 5, 8));
  ck_assert(!sfshm_slots_take(8193, 9, 8) && !sfshm_slots_take(INT64_MAX, 0, 8));
  ck_assert(sfshm_slots_take(INT64_MAX, UINT64_C(1) << 40, UINT64_C(1) << 40));
}
END_TEST

static Suite *trunk_suite(void)
{
  Suite *suite = suite_create("trunk");
  TCase *roots = tcase_create("root image"), *leaf_case = tcase_create("leaf image"), *others = tcase_create("others");
  tcase_add_checked_fixture(roots, setup_root, NULL);
  tcase_add_test(roots, a_good_root_image);
  tcase_add_test(roots, headers_and_tables_that_do_not_fit);
  tcase_add_test(roots, parts_and_turns_in_disorder);
  tcase_add_test(roots, winners_that_do_not_fit);
  tcase_add_test(roots, patterns_that_leave_the_image);
  tcase_add_test(roots, an_image_that_is_made_to_take_long);
  tcase_add_checked_fixture(leaf_case, setup_leaf, NULL);
  tcase_add_test(leaf_case, a_good_leaf_image);
  tcase_add_test(leaf_case, uncombined_there_is_a_unit_for_each_edge);
  tcase_add_test(leaf_case, malformed_leaf_images);
  tcase_add_test(others, maps);
  tcase_add_test(others, classes_of_units);
  tcase_add_test(others, slots_stand_behind_each_other);
  tcase_add_test(others, large_messages_have_fewer_slots);
  tcase_add_test(others, slots_that_no_memory_can_hold);
  tcase_add_test(others, slots_on_a_device);
  suite_add_tcase(suite, roots);
  suite_add_tcase(suite, leaf_case);
  suite_add_tcase(suite, others);
  return suite;
}

int main(void)
{
  return sftest_run(trunk_suite());
}
