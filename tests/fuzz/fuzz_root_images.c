/* Fuzz target: whatever another daemon sends as a root image, packed or not, is refused, or is one whose parts can all
 * be opened. Built with libFuzzer, or with SFTEST_STANDALONE as an ordinary program that makes up its inputs. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/edges/packed.h"
#include "shm/trunk/trunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (1u << 16)

static void require(bool condition, const char *what)
{
  if (condition)
    return;
  fprintf(stderr, "fuzz_root_images: %s: %s\n", what, sfshm_error_detail());
  abort();
}

/* What the daemon does when the message has come. */
static void *take(const uint8_t *data, size_t size, size_t *bytes_p)
{
  void *image = malloc(size), *unpacked;
  require(image != NULL, "no memory");
  memcpy(image, data, size);
  *bytes_p = size;
  if (!sfshm_is_packed(image, size))
    return image;
  bool sound = sfshm_unpack(image, size, &unpacked, bytes_p) == SF_OK;
  free(image);
  return sound ? unpacked : NULL;
}

/* What ranks do with an image that has been checked. */
static void open_all(const sfshm_image_t *image)
{
  for (uint32_t i = 0; i < image->header.nparts; i++) {
    sfshm_root_roots_t part;
    sfshm_root_turn_t turn;
    sfshm_pattern_t position;
    int32_t rank;
    require(sfshm_root_part_open(image, i, INT64_MAX, &part) == SF_OK, "a part");
    require(sfshm_image_find(image, part.rank) == (int64_t)i, "finding a part");
    for (uint32_t k = 0; k < part.nsegments; k++)
      require(sfshm_root_segment_open(image, &part, k, INT64_MAX, &turn) == SF_OK, "a turn");
    for (uint32_t k = 0; k < part.nwinners; k++)
      require(sfshm_root_winner_open(image, &part, k, &rank, &position) == SF_OK, "a winner");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  size_t bytes;
  sfshm_image_t image;
  if (size == 0 || size > INPUT_MAX)
    return 0;
  void *memory = take(data, size, &bytes);
  if (memory != NULL && sfshm_image_open(memory, bytes, SFSHM_ROOT_IMAGE_MAGIC, &image) == SF_OK &&
      sfshm_root_image_check(&image) == SF_OK)
    open_all(&image);
  free(memory);
  return 0;
}

#ifdef SFTEST_STANDALONE

#include "tests/fuzz/made.h"

#define ROUNDS 20000u
#define MAX_ROOTS 1000u

/* Roots of one owner that two ranks lead, and win. position stands right behind index. */
typedef struct root_bytes {
  sfshm_image_header_t header;
  sfshm_root_part_t part;
  sfshm_root_segment_t segments[2];
  sfshm_root_winner_t winners[2];
  uint32_t index[MAX_ROOTS];
  uint32_t position[MAX_ROOTS];
} root_bytes_t;

static sfshm_stored_pattern_t stored(unsigned first, unsigned n)
{
  return (sfshm_stored_pattern_t){
      .kind = SFSHM_PATTERN_INDEX32, .n = n, .offset = offsetof(root_bytes_t, index) + first * sizeof(uint32_t)};
}

static void make_image(root_bytes_t *bytes)
{
  unsigned n = 2 + below(MAX_ROOTS - 1), nled = 1 + below(n - 1);
  *bytes = (root_bytes_t){
      .header = {.magic = SFSHM_ROOT_IMAGE_MAGIC,
                 .bcast_values = n,
                 .reduce_values = n,
                 .nparts = 1,
                 .parts = offsetof(root_bytes_t, part)},
      .part = {.rank = 3,
               .nsegments = 2,
               .root = stored(0, n),
               .segments = offsetof(root_bytes_t, segments),
               .nwinners = 2,
               .winners = offsetof(root_bytes_t, winners)},
      .segments = {{.rank = 1, .root = stored(0, nled)}, {.rank = 4, .first = nled, .root = stored(nled, n - nled)}},
      .winners = {{.rank = 1, .position = stored(MAX_ROOTS, 1)},
                  {.rank = 4, .position = stored(MAX_ROOTS + 1, n - 1)}}};
  for (unsigned i = 0; i < n; i++) {
    bytes->index[i] = below(1u << (1 + below(15)));
    bytes->position[i] = i;
  }
}

static void spoil(uint8_t bytes[], size_t *size)
{
  spoil_bytes(bytes, size, below(2) || *size < 320 ? *size : 320); /* what comes first matters most */
}

static void require_back(const void *packed, size_t packed_bytes, const void *image, size_t image_bytes)
{
  void *unpacked;
  size_t unpacked_bytes;
  require(sfshm_unpack(packed, packed_bytes, &unpacked, &unpacked_bytes) == SF_OK, "unpacking");
  require(unpacked_bytes == image_bytes && memcmp(unpacked, image, image_bytes) == 0, "the image is another one");
  free(unpacked);
}

static void make_input(sftest_made_t *input)
{
  static root_bytes_t image;
  void *packed = NULL;
  make_image(&image);
  input->size = sizeof image;
  bool before = below(3) == 0;
  if (before)
    spoil((uint8_t *)&image, &(size_t){sizeof image});
  if (below(3) != 0) {
    require(sfshm_pack(&image, sizeof image, &packed, &input->size), "packing");
    require_back(packed, input->size, &image, sizeof image);
  }
  require(input->size <= INPUT_MAX, "the input is too long");
  memcpy(input->bytes, packed != NULL ? packed : &image, input->size);
  free(packed);
  if (!before && below(5) != 0)
    spoil(input->bytes, &input->size);
}

int main(void)
{
  return run_rounds("fuzz_root_images", ROUNDS, make_input);
}

#endif
