/* Merged images spoilt at random, which have to be refused or to stay within their limits. */
#include "shm/trunk/merge/merge.h"

#include "shm/base/error.h"
#include "shm/trunk/trunk.h"
#include "tests/unit/merge_instance.h"

static sftest_instance_t instance;

/* An image at the very end of memory of its own. */
static char *copy_image(const void *image, size_t bytes)
{
  char *copy = malloc(bytes);
  memcpy(copy, image, bytes);
  return copy;
}

static void spoil(char *image, size_t bytes)
{
  static const uint64_t words[] = {0, 1, UINT32_MAX, INT64_MAX, UINT64_MAX, (uint64_t)1 << 63, (uint64_t)1 << 62};
  size_t limit = sftest_merge_below(2) ? bytes : bytes < 300 ? bytes : 300; /* the tables, rather than arrays */
  for (int64_t i = sftest_merge_below(3); i >= 0; i--) {
    uint64_t word =
        sftest_merge_below(2) ? words[sftest_merge_below(7)] : (uint64_t)sftest_merge_below((int64_t)bytes + 16);
    if (sftest_merge_below(2) == 0)
      image[sftest_merge_below((int64_t)limit)] ^= (char)(1 << sftest_merge_below(8));
    else
      memcpy(image + (size_t)sftest_merge_below((int64_t)limit / 8) * 8, &word, sizeof word);
  }
}

static void expect_within(const sfshm_pattern_t *pattern, int64_t limit)
{
  bool arithmetic = pattern->kind == SFSHM_PATTERN_CONTIGUOUS || pattern->kind == SFSHM_PATTERN_STRIDED;
  int64_t step = arithmetic && pattern->n > 1 ? pattern->n - 1 : 1;
  sftest_merge_expect(pattern->n > 0, "patterns have entries");
  for (int64_t i = 0; i < pattern->n; i += step) {
    int64_t index = sfshm_pattern_at(pattern, i);
    sftest_merge_expect(index >= 0 && index < limit, "indices are in range");
    if (i > INT64_MAX - step)
      break;
  }
}

static bool use_winners(const sfshm_image_t *image, const sfshm_root_roots_t *part)
{
  bool sound = true;
  for (uint32_t k = 0; k < part->nwinners; k++) {
    int32_t rank;
    sfshm_pattern_t position;
    if (sfshm_root_winner_open(image, part, k, &rank, &position) == SF_OK) {
      sftest_merge_expect(rank >= 0, "winners are ranks");
      expect_within(&position, part->first + part->root.n);
    } else {
      sound = false;
    }
  }
  return sound;
}

static bool use_root_image(const sfshm_image_t *image, int64_t nroots)
{
  bool sound = true;
  for (uint32_t i = 0; i < image->header.nparts; i++) {
    sfshm_root_roots_t part;
    if (sfshm_root_part_open(image, i, nroots, &part) != SF_OK) {
      sound = false;
      continue;
    }
    expect_within(&part.root, nroots);
    sftest_merge_expect(part.first >= 0 && part.root.n <= image->header.bcast_values - part.first,
                        "positions are in range");
    for (uint32_t k = 0; k < part.nsegments; k++) {
      sfshm_root_turn_t turn;
      if (sfshm_root_segment_open(image, &part, k, nroots, &turn) != SF_OK) {
        sound = false;
        continue;
      }
      expect_within(&turn.root, nroots);
      sftest_merge_expect(turn.first >= 0 && turn.root.n <= image->header.reduce_values - turn.first,
                          "positions are in range");
    }
    sound = use_winners(image, &part) && sound;
  }
  return sound;
}

static int naccepted, nrefused;

static void try_root_image(const void *bytes, size_t length_bytes, int64_t nroots)
{
  sfshm_image_t image;
  if (sfshm_image_open(bytes, length_bytes, SFSHM_ROOT_IMAGE_MAGIC, &image) != SF_OK)
    return;
  sf_status_t status = sfshm_root_image_check(&image);
  sftest_merge_expect(status == SF_OK || status == SF_ERR_PROTO, "spoilt images are malformed");
  naccepted += status == SF_OK;
  nrefused += status != SF_OK;
  sftest_merge_expect(status != SF_OK || use_root_image(&image, INT64_MAX),
                      "an image that is sound as a whole is so in parts");
  use_root_image(&image, nroots);
  for (int32_t rank = -1; rank < 20; rank++)
    sftest_merge_expect(sfshm_image_find(&image, rank) < (int64_t)image.header.nparts, "parts are found within");
}

static void use_layers(const sfshm_image_t *image)
{
  int64_t end = 0;
  for (uint32_t k = 0; k < image->header.nlayers; k++) {
    sfshm_pattern_t positions;
    int64_t first;
    sftest_merge_expect(sfshm_leaf_layer_open(image, k, &positions, &first) == SF_OK, "layers were checked");
    expect_within(&positions, image->header.reduce_values);
    sftest_merge_expect(first == end, "layers stand behind each other");
    end = first + positions.n;
  }
  sftest_merge_expect(end == image->header.staged, "staging is in range");
}

static void try_leaf_image(const void *bytes, size_t length_bytes)
{
  sfshm_image_t image;
  if (sfshm_image_open(bytes, length_bytes, SFSHM_LEAF_IMAGE_MAGIC, &image) != SF_OK)
    return;
  use_layers(&image);
  for (int32_t r = 0; r < instance.nranks; r++) {
    int64_t nvalues = 0, nedges = 0, i = sfshm_image_find(&image, instance.ranks[r]);
    sfshm_leaf_positions_t part;
    for (int32_t b = 0; b < instance.nblocks; b++) {
      nvalues += instance.given[b].rank == instance.ranks[r] ? instance.blocks[b].edges.value_root.n : 0;
      nedges += instance.given[b].rank == instance.ranks[r] ? instance.blocks[b].edges.leaf.n : 0;
    }
    if (i < 0 || sfshm_leaf_part_open(&image, (uint32_t)i, nvalues, nedges, &part) != SF_OK)
      continue;
    sftest_merge_expect(part.from.n == nvalues && part.to.n == (image.header.uncombined ? nedges : nvalues),
                        "none is missing");
    expect_within(&part.from, image.header.bcast_values);
    expect_within(&part.to, image.header.reduce_values + image.header.staged);
  }
}

SFTEST(spoilt_images_are_refused_or_stay_in_range)
{
  sftest_merge_start(2);
  for (int i = 0; i < 1000; i++) {
    sftest_instance_make(&instance);
    sfshm_merge_t *merge = &instance.merge;
    for (int k = 0; k < 60; k++) {
      size_t root_bytes = sftest_merge_below(8) ? merge->root_image_bytes
                                                : (size_t)sftest_merge_below((int64_t)merge->root_image_bytes);
      size_t leaf_bytes = sftest_merge_below(8) ? merge->leaf_image_bytes
                                                : (size_t)sftest_merge_below((int64_t)merge->leaf_image_bytes);
      char *root = copy_image(merge->root_image, root_bytes), *leaf = copy_image(merge->leaf_image, leaf_bytes);
      if (root_bytes >= 8 && sftest_merge_below(8))
        spoil(root, root_bytes);
      if (leaf_bytes >= 8 && sftest_merge_below(8))
        spoil(leaf, leaf_bytes);
      try_root_image(root, root_bytes, sftest_merge_below(2) ? INT64_C(1) << 62 : sftest_merge_below(1000000));
      try_leaf_image(leaf, leaf_bytes);
      free(root);
      free(leaf);
    }
    sfshm_merge_free(merge);
  }
  sftest_merge_expect(naccepted > 1000 && nrefused > 1000, "many images have to be looked at closely");
}
