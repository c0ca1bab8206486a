/* Root and leaf images: what good ones say, and that malformed ones are refused. */
#include "shm/trunk/trunk.h"

#include "shm/base/error.h"
#include "tests/unit/trunk_images.h"

/* ---- A root image ------------------------------------------------------------------------------------------------ */

static sftest_root_image_t bytes;
static size_t length_bytes;
static sfshm_image_t image;

static void setup_root(void)
{
  bytes = sftest_root_image_make();
  length_bytes = sizeof bytes;
}

/* What a node does with an image that comes from another. */
static sf_status_t open_root(void)
{
  sf_status_t status = sfshm_image_open(&bytes, length_bytes, SFSHM_ROOT_IMAGE_MAGIC, &image);
  return status == SF_OK ? sfshm_root_image_check(&image) : status;
}

SFTEST_FIXTURE(setup_root, NULL);

SFTEST(a_good_root_image)
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

#define EXPECT_ROOT_MALFORMED(change)                                                                                  \
  do {                                                                                                                 \
    setup_root();                                                                                                      \
    change;                                                                                                            \
    ck_assert_msg(open_root() == SF_ERR_PROTO, "%s is accepted", #change);                                             \
  } while (0)

SFTEST(headers_and_tables_that_do_not_fit)
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

SFTEST(parts_and_turns_in_disorder)
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

SFTEST(winners_that_do_not_fit)
{
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

SFTEST(patterns_that_leave_the_image)
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

/* As many turns as there is room for, which all look at one large array: refused before that takes long. */
SFTEST(an_image_that_is_made_to_take_long)
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

/* ---- A leaf image ------------------------------------------------------------------------------------------------ */

static sftest_leaf_image_t leaves;

static void setup_leaf(void)
{
  leaves = sftest_leaf_image_make();
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

SFTEST_FIXTURE(setup_leaf, NULL);

SFTEST(a_good_leaf_image)
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

SFTEST(uncombined_there_is_a_unit_for_each_edge)
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

#define EXPECT_LEAF_MALFORMED(change)                                                                                  \
  do {                                                                                                                 \
    setup_leaf();                                                                                                      \
    change;                                                                                                            \
    ck_assert_msg(open_leaf() == SF_ERR_PROTO, "%s is accepted", #change);                                             \
  } while (0)

SFTEST(malformed_leaf_images)
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
