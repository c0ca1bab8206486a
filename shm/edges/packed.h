/* Images packed for their way to another node: they consist of indices and ranks, which lie close together, so that the
 * differences to the lowest of some take few bits each.
 *
 *   header    16 bytes, sfshm_packed_header_t
 *   blocks    one for each 256 words of 32 bits of the image, the last one filled up:
 *     head      8 bytes, sfshm_packed_block_t
 *     words     8 * width words: word 8k + l of the block, less base, has bits k * width and up of the stream that
 * words l, l + 8, l + 16, ... make, lowest bits first
 *
 * Pure functions; any thread. */
#ifndef SFSHM_EDGES_PACKED_H
#define SFSHM_EDGES_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#define SFSHM_PACKED_MAGIC 0x4b435053u /* the bytes "SPCK" */
#define SFSHM_PACKED_WORDS 256         /* words of a block */

typedef struct sfshm_packed_header {
  uint32_t magic;
  uint32_t reserved;    /* 0 */
  uint64_t image_bytes; /* a multiple of 4, not 0 */
} sfshm_packed_header_t;
_Static_assert(sizeof(sfshm_packed_header_t) == 16, "layout version 1");

typedef struct sfshm_packed_block {
  uint32_t base;
  uint32_t width; /* bits of a word, 0 to 32 */
} sfshm_packed_block_t;
_Static_assert(sizeof(sfshm_packed_block_t) == 8, "layout version 1");

/* Packs an image of a multiple of 4 bytes. The caller frees the result. Returns false if the result would not be
 * shorter, or without memory. */
bool sfshm_pack(const void *image, size_t image_bytes, void **packed_p, size_t *packed_bytes_p);

/* Whether the bytes begin with the header of a packed image. */
bool sfshm_is_packed(const void *bytes, size_t nbytes);

/* Unpacks an image from another node. The caller frees it; it has at most 128 times the packed length. Checks that the
 * image has exactly the blocks that it needs; callers check the contents. SF_ERR_PROTO, SF_ERR_NOMEM. */
sf_status_t sfshm_unpack(const void *packed, size_t packed_bytes, void **image_p, size_t *image_bytes_p);

#endif
