/* Opens and checks trunk images from other processes or nodes: what root and leaf images share, and leaf images. Root
 * images: root_image.c. Any thread; stateless. */
#include "shm/trunk/trunk_image.h"

#include <assert.h>
#include <string.h>

#include "shm/base/error.h"

/* ---- Pieces of an image ------------------------------------------------------------------------------------------ */

bool sfshm_image_holds(const sfshm_image_t *image, uint64_t offset, uint64_t n, uint64_t width, uint64_t alignment)
{
  return offset % alignment == 0 && offset <= image->length_bytes && n <= (image->length_bytes - offset) / width;
}

uint64_t sfshm_image_array_bytes(const sfshm_stored_pattern_t *stored)
{
  uint64_t width = stored->kind == SFSHM_PATTERN_INDEX32   ? sizeof(uint32_t)
                   : stored->kind == SFSHM_PATTERN_INDEX64 ? sizeof(int64_t)
                                                           : 0;
  return (uint64_t)stored->n * width;
}

static bool open_arithmetic(const sfshm_stored_pattern_t *stored, sfshm_pattern_t *pattern)
{
  int64_t span, last;
  pattern->start = stored->start;
  pattern->stride = stored->kind == SFSHM_PATTERN_CONTIGUOUS ? 1 : stored->stride;
  if (pattern->stride == 0 || __builtin_mul_overflow(pattern->stride, pattern->n - 1, &span) ||
      __builtin_add_overflow(pattern->start, span, &last))
    return false;
  return pattern->start >= 0 && last >= 0;
}

static bool open_array(const sfshm_image_t *image, const sfshm_stored_pattern_t *stored, sfshm_pattern_t *pattern)
{
  bool narrow = stored->kind == SFSHM_PATTERN_INDEX32;
  uint64_t width = narrow ? sizeof(uint32_t) : sizeof(int64_t);
  if (!sfshm_image_holds(image, stored->offset, (uint64_t)stored->n, width, width))
    return false;
  if (narrow)
    pattern->index32 = sfshm_image_at(image, stored->offset);
  else
    pattern->index64 = sfshm_image_at(image, stored->offset);
  return true;
}

sf_status_t sfshm_image_open_pattern(const sfshm_image_t *image, const sfshm_stored_pattern_t *stored, const char *what,
                                     int64_t max_n, sfshm_pattern_t *pattern_p)
{
  sfshm_pattern_t pattern = {.kind = (sfshm_pattern_kind_t)stored->kind, .n = stored->n};
  if (stored->n < 1 || stored->n > max_n)
    return sfshm_error(SF_ERR_PROTO, "trunk image: %s: 1 to %lld entries expected, %lld found", what, (long long)max_n,
                       (long long)stored->n);
  bool sound = false;
  if (stored->kind == SFSHM_PATTERN_CONTIGUOUS || stored->kind == SFSHM_PATTERN_STRIDED)
    sound = open_arithmetic(stored, &pattern);
  else if (stored->kind == SFSHM_PATTERN_INDEX32 || stored->kind == SFSHM_PATTERN_INDEX64)
    sound = open_array(image, stored, &pattern);
  if (!sound)
    return sfshm_error(SF_ERR_PROTO, "trunk image: %s: malformed pattern of kind %u: %lld entries at %llu of %zu bytes",
                       what, stored->kind, (long long)stored->n, (unsigned long long)stored->offset,
                       image->length_bytes);
  *pattern_p = pattern;
  return SF_OK;
}

/* Opens a pattern of n positions or units that are all below limit. */
static sf_status_t open_positions(const sfshm_image_t *image, const sfshm_stored_pattern_t *stored, const char *what,
                                  int64_t n, int64_t limit, sfshm_pattern_t *pattern_p)
{
  sfshm_pattern_t pattern;
  sf_status_t status = sfshm_image_open_pattern(image, stored, what, n, &pattern);
  if (status != SF_OK)
    return status;
  sfshm_pattern_survey_t survey = sfshm_pattern_survey(&pattern);
  if (pattern.n != n || survey.min < 0 || survey.max >= limit)
    return sfshm_error(SF_ERR_PROTO, "trunk image: %s: %lld in 0..%lld expected, %lld in %lld..%lld found", what,
                       (long long)n, (long long)limit - 1, (long long)pattern.n, (long long)survey.min,
                       (long long)survey.max);
  *pattern_p = pattern;
  return SF_OK;
}

/* ---- The whole image --------------------------------------------------------------------------------------------- */

static size_t part_bytes(const sfshm_image_t *image)
{
  return image->header.magic == SFSHM_ROOT_IMAGE_MAGIC ? sizeof(sfshm_root_part_t) : sizeof(sfshm_leaf_part_t);
}

/* Checks numbers that follow from others. */
static bool header_is_sound(const sfshm_image_header_t *header)
{
  int64_t units;
  if (header->uncombined > 1 || header->bcast_values < 0 || header->reduce_values < 0 || header->staged < 0 ||
      __builtin_add_overflow(header->reduce_values, header->staged, &units))
    return false;
  if (header->uncombined == 0 && header->reduce_values != header->bcast_values)
    return false;
  if (header->magic == SFSHM_ROOT_IMAGE_MAGIC || header->uncombined != 0)
    return header->staged == 0 && header->nlayers == 0;
  /* Each contributor of a root beyond the lead has a layer. */
  return header->nlayers == 0 || header->nlayers < header->nparts;
}

static bool ascends_strictly(const sfshm_pattern_t *pattern)
{
  uint32_t bad = 0; /* collected without a branch, so that the loop vectorises */
  if (pattern->kind == SFSHM_PATTERN_CONTIGUOUS || pattern->kind == SFSHM_PATTERN_STRIDED)
    return pattern->n == 1 || pattern->stride > 0;
  if (pattern->kind == SFSHM_PATTERN_INDEX32)
    for (int64_t i = 1; i < pattern->n; i++)
      bad |= pattern->index32[i - 1] >= pattern->index32[i];
  else
    for (int64_t i = 1; i < pattern->n; i++)
      bad |= pattern->index64[i - 1] >= pattern->index64[i];
  return bad == 0;
}

static sfshm_stored_pattern_t stored_layer(const sfshm_image_t *image, uint32_t k)
{
  return ((const sfshm_stored_pattern_t *)sfshm_image_at(image, image->header.layers))[k];
}

/* Arrays of different layers do not overlap, so the number of indices read is bounded by the image. */
static sf_status_t check_layers(const sfshm_image_t *image)
{
  int64_t left = image->header.staged;
  uint64_t room = image->length_bytes;
  for (uint32_t k = 0; k < image->header.nlayers; k++) {
    sfshm_stored_pattern_t stored = stored_layer(image, k);
    sfshm_pattern_t positions;
    sf_status_t status = sfshm_image_open_pattern(image, &stored, "layer", left, &positions);
    if (status != SF_OK)
      return status;
    if (sfshm_image_array_bytes(&stored) > room)
      return sfshm_error(SF_ERR_PROTO, "trunk image: layers overlap");
    room -= sfshm_image_array_bytes(&stored);
    left -= positions.n;
    if (!ascends_strictly(&positions) || sfshm_pattern_at(&positions, 0) < 0 ||
        sfshm_pattern_at(&positions, positions.n - 1) >= image->header.reduce_values)
      return sfshm_error(SF_ERR_PROTO, "trunk image: positions of layer %u don't ascend from 0 to %lld", k,
                         (long long)image->header.reduce_values - 1);
  }
  if (left != 0)
    return sfshm_error(SF_ERR_PROTO, "trunk image: %lld units of staging expected, %lld found",
                       (long long)image->header.staged, (long long)(image->header.staged - left));
  return SF_OK;
}

sf_status_t sfshm_image_open(const void *base, size_t length_bytes, uint32_t magic, sfshm_image_t *image_p)
{
  sfshm_image_t image = {.base = base, .length_bytes = length_bytes};
  if (length_bytes < sizeof image.header)
    return sfshm_error(SF_ERR_PROTO, "trunk image: %zu bytes, its header has %zu", length_bytes, sizeof image.header);
  assert((uintptr_t)base % sizeof(uint64_t) == 0);
  memcpy(&image.header, base, sizeof image.header);
  const sfshm_image_header_t *header = &image.header;
  if (header->magic != magic)
    return sfshm_error(SF_ERR_PROTO, "trunk image: magic 0x%x expected, 0x%x found", magic, header->magic);
  if (!header_is_sound(header))
    return sfshm_error(SF_ERR_PROTO, "trunk image: %lld and %lld values, %lld staged in %u layers, %u parts",
                       (long long)header->bcast_values, (long long)header->reduce_values, (long long)header->staged,
                       header->nlayers, header->nparts);
  if (!sfshm_image_holds(&image, header->parts, header->nparts, part_bytes(&image), sizeof(uint64_t)) ||
      (header->nlayers > 0 &&
       !sfshm_image_holds(&image, header->layers, header->nlayers, sizeof(sfshm_stored_pattern_t), sizeof(uint64_t))))
    return sfshm_error(SF_ERR_PROTO, "trunk image: tables of %u parts and %u layers exceed %zu bytes", header->nparts,
                       header->nlayers, length_bytes);
  sf_status_t status = check_layers(&image);
  if (status == SF_OK)
    *image_p = image;
  return status;
}

int32_t sfshm_image_rank(const sfshm_image_t *image, uint32_t i)
{
  int32_t rank; /* stands first in both kinds of parts */
  memcpy(&rank, sfshm_image_at(image, image->header.parts + (uint64_t)i * part_bytes(image)), sizeof rank);
  return rank;
}

int64_t sfshm_image_find(const sfshm_image_t *image, int32_t rank)
{
  uint32_t low = 0, high = image->header.nparts;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (sfshm_image_rank(image, middle) < rank)
      low = middle + 1;
    else
      high = middle;
  }
  return low < image->header.nparts && sfshm_image_rank(image, low) == rank ? (int64_t)low : -1;
}

/* ---- Leaf images ------------------------------------------------------------------------------------------------- */

sf_status_t sfshm_leaf_part_open(const sfshm_image_t *image, uint32_t i, int64_t nvalues, int64_t nedges,
                                 sfshm_leaf_positions_t *part_p)
{
  const sfshm_image_header_t *header = &image->header;
  assert(header->magic == SFSHM_LEAF_IMAGE_MAGIC && i < header->nparts);
  sfshm_leaf_part_t stored = ((const sfshm_leaf_part_t *)sfshm_image_at(image, header->parts))[i];
  sfshm_leaf_positions_t part = {.rank = stored.rank};
  sf_status_t status =
      open_positions(image, &stored.from, "positions of values", nvalues, header->bcast_values, &part.from);
  if (status == SF_OK)
    status = open_positions(image, &stored.to, "units of contributions", header->uncombined != 0 ? nedges : nvalues,
                            header->reduce_values + header->staged, &part.to);
  if (status == SF_OK)
    *part_p = part;
  return status;
}

sf_status_t sfshm_leaf_layer_open(const sfshm_image_t *image, uint32_t k, sfshm_pattern_t *positions_p,
                                  int64_t *first_unit_p)
{
  int64_t first = 0;
  assert(k < image->header.nlayers);
  for (uint32_t j = 0; j < k; j++)
    first += stored_layer(image, j).n;
  sfshm_stored_pattern_t stored = stored_layer(image, k);
  sf_status_t status = sfshm_image_open_pattern(image, &stored, "layer", image->header.staged - first, positions_p);
  if (status == SF_OK)
    *first_unit_p = first;
  return status;
}
