/* Packing of images: see packed.h. Words of 8 streams are interleaved, so that the loops vectorise. */
#include "shm/edges/packed.h"

#include <stdlib.h>
#include <string.h>

#include "shm/base/clones.h"
#include "shm/base/error.h"

#if defined(__GNUC__) && !defined(__clang__)
/* Options that -O2 lacks: vectorise loops of unknown length. */
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

#define LANES 8
#define ROWS (SFSHM_PACKED_WORDS / LANES)
#define BLOCK_BYTES (SFSHM_PACKED_WORDS * sizeof(uint32_t))
_Static_assert(ROWS == 32, "so that a stream takes as many words as a word takes bits");

static size_t count_blocks(uint64_t image_bytes)
{
  return (size_t)(image_bytes / BLOCK_BYTES + (image_bytes % BLOCK_BYTES != 0));
}

static size_t words_bytes(uint32_t width)
{
  return width * LANES * sizeof(uint32_t);
}

static inline unsigned width_of(uint32_t difference)
{
  return difference == 0 ? 0 : 32 - (unsigned)__builtin_clz(difference);
}

SFSHM_CLONES static sfshm_packed_block_t survey(const uint32_t word[SFSHM_PACKED_WORDS])
{
  uint32_t min = UINT32_MAX, max = 0;
  for (int i = 0; i < SFSHM_PACKED_WORDS; i++) {
    min = word[i] < min ? word[i] : min;
    max = word[i] > max ? word[i] : max;
  }
  return (sfshm_packed_block_t){min, width_of(max - min)};
}

/* stream: width * LANES words. */
SFSHM_CLONES static void pack_words(const uint32_t word[SFSHM_PACKED_WORDS], sfshm_packed_block_t head,
                                    uint32_t stream[])
{
  for (unsigned k = 0, bit = 0; k < ROWS; k++, bit += head.width) {
    uint32_t *to = stream + bit / 32 * LANES;
    unsigned shift = bit % 32;
    for (int l = 0; l < LANES; l++)
      to[l] |= (word[k * LANES + (unsigned)l] - head.base) << shift;
    for (int l = 0; shift + head.width > 32 && l < LANES; l++)
      to[LANES + l] = (word[k * LANES + (unsigned)l] - head.base) >> (32 - shift);
  }
}

SFSHM_CLONES static void unpack_words(const uint32_t stream[], sfshm_packed_block_t head,
                                      uint32_t word[SFSHM_PACKED_WORDS])
{
  uint32_t mask = head.width == 32 ? UINT32_MAX : (UINT32_C(1) << head.width) - 1;
  for (unsigned k = 0, bit = 0; k < ROWS; k++, bit += head.width) {
    const uint32_t *from = stream + bit / 32 * LANES;
    unsigned shift = bit % 32;
    uint32_t row[LANES];
    for (int l = 0; l < LANES; l++)
      row[l] = from[l] >> shift;
    for (int l = 0; shift + head.width > 32 && l < LANES; l++)
      row[l] |= from[LANES + l] << (32 - shift);
    for (int l = 0; l < LANES; l++)
      word[k * LANES + (unsigned)l] = head.base + (row[l] & mask);
  }
}

/* Packs a block of nbytes of the image at to. Returns the end of the packed block. */
static char *pack_block(const char *image, size_t nbytes, char *to)
{
  uint32_t word[SFSHM_PACKED_WORDS], stream[SFSHM_PACKED_WORDS] = {0};
  memcpy(word, image, nbytes);
  for (size_t i = nbytes / sizeof word[0]; i < SFSHM_PACKED_WORDS; i++)
    word[i] = word[0];
  sfshm_packed_block_t head = survey(word);
  if (head.width > 0)
    pack_words(word, head, stream);
  memcpy(to, &head, sizeof head);
  memcpy(to + sizeof head, stream, words_bytes(head.width));
  return to + sizeof head + words_bytes(head.width);
}

bool sfshm_pack(const void *image, size_t image_bytes, void **packed_p, size_t *packed_bytes_p)
{
  sfshm_packed_header_t header = {.magic = SFSHM_PACKED_MAGIC, .image_bytes = image_bytes};
  size_t nblocks = count_blocks(image_bytes);
  char *packed = malloc(sizeof header + nblocks * (sizeof(sfshm_packed_block_t) + BLOCK_BYTES));
  if (packed == NULL)
    return false;
  char *end = packed + sizeof header;
  memcpy(packed, &header, sizeof header);
  for (size_t done = 0; done < image_bytes; done += BLOCK_BYTES) {
    size_t left = image_bytes - done;
    end = pack_block((const char *)image + done, left < BLOCK_BYTES ? left : BLOCK_BYTES, end);
  }
  if ((size_t)(end - packed) >= image_bytes) {
    free(packed);
    return false;
  }
  *packed_p = packed;
  *packed_bytes_p = (size_t)(end - packed);
  return true;
}

bool sfshm_is_packed(const void *bytes, size_t nbytes)
{
  uint32_t magic;
  if (nbytes < sizeof(sfshm_packed_header_t))
    return false;
  memcpy(&magic, bytes, sizeof magic);
  return magic == SFSHM_PACKED_MAGIC;
}

/* Unpacks a block with room for nbytes of the image. Returns the number of packed bytes; 0: the block is malformed. */
static size_t unpack_block(const char *packed, size_t left, size_t nbytes, char *image)
{
  uint32_t word[SFSHM_PACKED_WORDS], stream[SFSHM_PACKED_WORDS] = {0};
  sfshm_packed_block_t head;
  if (left < sizeof head)
    return 0;
  memcpy(&head, packed, sizeof head);
  if (head.width > 32 || left - sizeof head < words_bytes(head.width))
    return 0;
  memcpy(stream, packed + sizeof head, words_bytes(head.width));
  unpack_words(stream, head, word);
  memcpy(image, word, nbytes);
  return sizeof head + words_bytes(head.width);
}

static sf_status_t unpack_blocks(const char *packed, size_t packed_bytes, char *image, size_t image_bytes)
{
  size_t taken = sizeof(sfshm_packed_header_t);
  for (size_t done = 0; done < image_bytes; done += BLOCK_BYTES) {
    size_t left = image_bytes - done;
    size_t block =
        unpack_block(packed + taken, packed_bytes - taken, left < BLOCK_BYTES ? left : BLOCK_BYTES, image + done);
    if (block == 0)
      return sfshm_error(SF_ERR_PROTO, "packed image: malformed block at %zu of %zu bytes", taken, packed_bytes);
    taken += block;
  }
  if (taken != packed_bytes)
    return sfshm_error(SF_ERR_PROTO, "packed image: its blocks take %zu of %zu bytes", taken, packed_bytes);
  return SF_OK;
}

sf_status_t sfshm_unpack(const void *packed, size_t packed_bytes, void **image_p, size_t *image_bytes_p)
{
  sfshm_packed_header_t header = {0};
  if (packed_bytes >= sizeof header)
    memcpy(&header, packed, sizeof header);
  if (header.magic != SFSHM_PACKED_MAGIC || header.reserved != 0 || header.image_bytes == 0 ||
      header.image_bytes % sizeof(uint32_t) != 0 ||
      count_blocks(header.image_bytes) > (packed_bytes - sizeof header) / sizeof(sfshm_packed_block_t))
    return sfshm_error(SF_ERR_PROTO, "packed image: %zu bytes for an image of %llu", packed_bytes,
                       (unsigned long long)header.image_bytes);
  void *image = malloc(header.image_bytes);
  if (image == NULL)
    return sfshm_error(SF_ERR_NOMEM, "image of %llu bytes", (unsigned long long)header.image_bytes);
  sf_status_t status = unpack_blocks(packed, packed_bytes, image, header.image_bytes);
  if (status != SF_OK) {
    free(image);
    return status;
  }
  *image_p = image;
  *image_bytes_p = header.image_bytes;
  return SF_OK;
}
