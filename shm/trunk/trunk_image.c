/* Opens and checks trunk images from other processes or nodes. Any thread; stateless. */
#include "shm/trunk/trunk.h"

#include <assert.h>
#include <string.h>

#include "shm/base/error.h"

/* ---- Pieces of an image ------------------------------------------------------------------------------------------ */

static bool lies_within(const sfshm_image_t *image, uint64_t offset, uint64_t n, uint64_t width, uint64_t alignment)
{
  return offset % alignment == 0 && offset <= image->length_bytes && n <= (image->length_bytes - offset) / width;
}

static inline const void *at(const sfshm_image_t *image, uint64_t offset)
{
  return (const char *)image->base + offset;
}

/* Bytes of a pattern's index array. */
static uint64_t array_bytes(const sfshm_stored_pattern_t *stored)
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
  if (!lies_within(image, stored->offset, (uint64_t)stored->n, width, width))
    return false;
  if (narrow)
    pattern->index32 = at(image, stored->offset);
  else
    pattern->index64 = at(image, stored->offset);
  return true;
}

/* Neither function reads the indices. */
static sf_status_t open_pattern(const sfshm_image_t *image, const sfshm_stored_pattern_t *stored, const char *what,
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
  sf_status_t status = open_pattern(image, stored, what, n, &pattern);
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
  return ((const sfshm_stored_pattern_t *)at(image, image->header.layers))[k];
}

/* Arrays of different layers do not overlap, so the number of indices read is bounded by the image. */
static sf_status_t check_layers(const sfshm_image_t *image)
{
  int64_t left = image->header.staged;
  uint64_t room = image->length_bytes;
  for (uint32_t k = 0; k < image->header.nlayers; k++) {
    sfshm_stored_pattern_t stored = stored_layer(image, k);
    sfshm_pattern_t positions;
    sf_status_t status = open_pattern(image, &stored, "layer", left, &positions);
    if (status != SF_OK)
      return status;
    if (array_bytes(&stored) > room)
      return sfshm_error(SF_ERR_PROTO, "trunk image: layers overlap");
    room -= array_bytes(&stored);
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
  if (!lies_within(&image, header->parts, header->nparts, part_bytes(&image), sizeof(uint64_t)) ||
      (header->nlayers > 0 &&
       !lies_within(&image, header->layers, header->nlayers, sizeof(sfshm_stored_pattern_t), sizeof(uint64_t))))
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
  memcpy(&rank, at(image, image->header.parts + (uint64_t)i * part_bytes(image)), sizeof rank);
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

/* ---- Root images ------------------------------------------------------------------------------------------------- */

static sfshm_root_part_t stored_root_part(const sfshm_image_t *image, uint32_t i)
{
  assert(image->header.magic == SFSHM_ROOT_IMAGE_MAGIC && i < image->header.nparts);
  return ((const sfshm_root_part_t *)at(image, image->header.parts))[i];
}

/* Whether positions from first on exist for at least one value; *room_p: for how many. */
static bool find_room(int64_t first, int64_t values, int64_t *room_p)
{
  if (first < 0 || first >= values)
    return false;
  *room_p = values - first;
  return true;
}

/* All but the indices. */
static sf_status_t open_root_part(const sfshm_image_t *image, const sfshm_root_part_t *stored,
                                  sfshm_root_roots_t *part_p)
{
  int64_t room;
  sfshm_root_roots_t part = {.rank = stored->rank,
                             .nsegments = stored->nsegments,
                             .first = stored->first,
                             .segments = stored->segments,
                             .nwinners = stored->nwinners,
                             .winners = stored->winners};
  if (stored->rank < 0 || !find_room(stored->first, image->header.bcast_values, &room) ||
      !lies_within(image, stored->segments, stored->nsegments, sizeof(sfshm_root_segment_t), sizeof(uint64_t)) ||
      !lies_within(image, stored->winners, stored->nwinners, sizeof(sfshm_root_winner_t), sizeof(uint64_t)))
    return sfshm_error(SF_ERR_PROTO,
                       "trunk image: roots of rank %d: position %lld of %lld, %u segments at %llu, %u winners at %llu",
                       stored->rank, (long long)stored->first, (long long)image->header.bcast_values, stored->nsegments,
                       (unsigned long long)stored->segments, stored->nwinners, (unsigned long long)stored->winners);
  sf_status_t status = open_pattern(image, &stored->root, "roots", room, &part.root);
  if (status == SF_OK)
    *part_p = part;
  return status;
}

static sf_status_t check_roots(const sfshm_pattern_survey_t *survey, int32_t rank, int64_t nroots)
{
  if (survey->min < 0)
    return sfshm_error(SF_ERR_PROTO, "trunk image: root %lld of rank %d", (long long)survey->min, rank);
  if (survey->max >= nroots)
    return sfshm_error(SF_ERR_RANGE, "root index %lld, but rank %d has %lld roots", (long long)survey->max, rank,
                       (long long)nroots);
  return SF_OK;
}

sf_status_t sfshm_root_part_open(const sfshm_image_t *image, uint32_t i, int64_t nroots, sfshm_root_roots_t *part_p)
{
  sfshm_root_part_t stored = stored_root_part(image, i);
  sfshm_root_roots_t part;
  sf_status_t status = open_root_part(image, &stored, &part);
  if (status != SF_OK)
    return status;
  part.survey = sfshm_pattern_survey(&part.root);
  status = check_roots(&part.survey, part.rank, nroots);
  if (status == SF_OK)
    *part_p = part;
  return status;
}

static sfshm_root_segment_t stored_segment(const sfshm_image_t *image, uint64_t segments, uint32_t i)
{
  return ((const sfshm_root_segment_t *)at(image, segments))[i];
}

/* All but the indices. */
static sf_status_t open_segment(const sfshm_image_t *image, const sfshm_root_segment_t *stored,
                                sfshm_root_turn_t *turn_p)
{
  int64_t room;
  sfshm_root_turn_t turn = {.rank = stored->rank, .first = stored->first};
  if (stored->rank < 0 || !find_room(stored->first, image->header.reduce_values, &room))
    return sfshm_error(SF_ERR_PROTO, "trunk image: turn of rank %d at position %lld of %lld", stored->rank,
                       (long long)stored->first, (long long)image->header.reduce_values);
  sf_status_t status = open_pattern(image, &stored->root, "roots of a turn", room, &turn.root);
  if (status == SF_OK)
    *turn_p = turn;
  return status;
}

sf_status_t sfshm_root_segment_open(const sfshm_image_t *image, const sfshm_root_roots_t *part, uint32_t i,
                                    int64_t nroots, sfshm_root_turn_t *turn_p)
{
  assert(i < part->nsegments);
  sfshm_root_segment_t stored = stored_segment(image, part->segments, i);
  sfshm_root_turn_t turn;
  sf_status_t status = open_segment(image, &stored, &turn);
  if (status != SF_OK)
    return status;
  sfshm_pattern_survey_t survey = sfshm_pattern_survey(&turn.root);
  status = check_roots(&survey, part->rank, nroots);
  if (status == SF_OK)
    *turn_p = turn;
  return status;
}

static sfshm_root_winner_t stored_winner(const sfshm_image_t *image, const sfshm_root_roots_t *part, uint32_t i)
{
  return ((const sfshm_root_winner_t *)at(image, part->winners))[i];
}

sf_status_t sfshm_root_winner_open(const sfshm_image_t *image, const sfshm_root_roots_t *part, uint32_t i,
                                   int32_t *rank_p, sfshm_pattern_t *position_p)
{
  assert(i < part->nwinners);
  sfshm_root_winner_t stored = stored_winner(image, part, i);
  sfshm_pattern_t position;
  sf_status_t status = open_pattern(image, &stored.position, "positions of a winner", part->root.n, &position);
  if (status != SF_OK)
    return status;
  sfshm_pattern_survey_t survey = sfshm_pattern_survey(&position);
  if (stored.rank < 0 || survey.min < part->first || survey.max - part->first >= part->root.n)
    return sfshm_error(SF_ERR_PROTO, "trunk image: rank %d wins at positions %lld to %lld; rank %d has %lld from %lld",
                       stored.rank, (long long)survey.min, (long long)survey.max, part->rank, (long long)part->root.n,
                       (long long)part->first);
  *rank_p = stored.rank;
  *position_p = position;
  return SF_OK;
}

/* Check of a whole root image. Turns may use parts of the arrays of their owners' parts; nothing else overlaps. So the
 * work is at most twice the length of a valid image, and an image designed for endless work is refused. */
typedef struct sfshm_root_check {
  const sfshm_image_t *image;
  uint64_t room;
  int64_t bcast_values; /* so far */
  int64_t reduce_values;
} sfshm_root_check_t;

static bool take_room(sfshm_root_check_t *check, uint64_t bytes)
{
  if (bytes > check->room)
    return false;
  check->room -= bytes;
  return true;
}

/* n: the values of the segment. */
static sf_status_t check_segment(sfshm_root_check_t *check, const sfshm_root_segment_t *stored, int32_t owner,
                                 int64_t *n)
{
  sfshm_root_turn_t turn;
  sf_status_t status = open_segment(check->image, stored, &turn);
  if (status != SF_OK)
    return status;
  if (stored->first != check->reduce_values)
    return sfshm_error(SF_ERR_PROTO, "trunk image: turn of rank %d is at %lld, the one before ends at %lld",
                       stored->rank, (long long)stored->first, (long long)check->reduce_values);
  if (!take_room(check, array_bytes(&stored->root)))
    return sfshm_error(SF_ERR_PROTO, "trunk image: turns overlap");
  check->reduce_values += turn.root.n;
  *n += turn.root.n;
  sfshm_pattern_survey_t survey = sfshm_pattern_survey(&turn.root);
  return check_roots(&survey, owner, INT64_MAX);
}

static sf_status_t check_segments(sfshm_root_check_t *check, const sfshm_root_roots_t *part)
{
  int64_t n = 0;
  if (!take_room(check, (uint64_t)part->nsegments * sizeof(sfshm_root_segment_t)))
    return sfshm_error(SF_ERR_PROTO, "trunk image: tables of turns overlap");
  for (uint32_t i = 0, previous = 0; i < part->nsegments; i++) {
    sfshm_root_segment_t stored = stored_segment(check->image, part->segments, i);
    if (stored.rank < 0 || (uint32_t)stored.rank < previous)
      return sfshm_error(SF_ERR_PROTO, "trunk image: turns of ranks %u and %d in disorder", previous, stored.rank);
    previous = (uint32_t)stored.rank + 1;
    sf_status_t status = check_segment(check, &stored, part->rank, &n);
    if (status != SF_OK)
      return status;
  }
  if (check->image->header.uncombined == 0 ? n != part->root.n : n < part->root.n)
    return sfshm_error(SF_ERR_PROTO, "trunk image: %lld contributions to %lld roots of rank %d", (long long)n,
                       (long long)part->root.n, part->rank);
  return SF_OK;
}

/* Winners ascend, and win no more than all contributions of the part. */
static sf_status_t check_winners(sfshm_root_check_t *check, const sfshm_root_roots_t *part)
{
  const sfshm_image_t *image = check->image;
  sfshm_pattern_t position;
  int32_t rank, previous = -1;
  int64_t n = 0;
  if (part->nwinners > 0 &&
      (image->header.uncombined != 0 || !take_room(check, (uint64_t)part->nwinners * sizeof(sfshm_root_winner_t))))
    return sfshm_error(SF_ERR_PROTO, "trunk image: %u winners of rank %d, uncombined or overlapping", part->nwinners,
                       part->rank);
  for (uint32_t i = 0; i < part->nwinners; i++) {
    sfshm_root_winner_t stored = stored_winner(image, part, i);
    if (!take_room(check, array_bytes(&stored.position)))
      return sfshm_error(SF_ERR_PROTO, "trunk image: winners overlap");
    sf_status_t status = sfshm_root_winner_open(image, part, i, &rank, &position);
    if (status != SF_OK)
      return status;
    if (rank <= previous)
      return sfshm_error(SF_ERR_PROTO, "trunk image: winners %d and %d in disorder", previous, rank);
    previous = rank;
    n += position.n;
  }
  return n <= part->root.n ? SF_OK
                           : sfshm_error(SF_ERR_PROTO, "trunk image: %lld of %lld contributions to rank %d are won",
                                         (long long)n, (long long)part->root.n, part->rank);
}

static sf_status_t check_root_part(sfshm_root_check_t *check, uint32_t i)
{
  sfshm_root_part_t stored = stored_root_part(check->image, i);
  sfshm_root_roots_t part;
  sf_status_t status = open_root_part(check->image, &stored, &part);
  if (status != SF_OK)
    return status;
  if (stored.first != check->bcast_values || (i > 0 && sfshm_image_rank(check->image, i - 1) >= stored.rank) ||
      !take_room(check, sizeof stored + array_bytes(&stored.root)))
    return sfshm_error(SF_ERR_PROTO, "trunk image: roots of rank %d, from %lld on, are in disorder or overlap",
                       stored.rank, (long long)stored.first);
  check->bcast_values += part.root.n;
  part.survey = sfshm_pattern_survey(&part.root);
  status = check_roots(&part.survey, part.rank, INT64_MAX);
  if (status == SF_OK)
    status = check_segments(check, &part);
  return status == SF_OK ? check_winners(check, &part) : status;
}

sf_status_t sfshm_root_image_check(const sfshm_image_t *image)
{
  sfshm_root_check_t check = {.image = image, .room = 2 * (uint64_t)image->length_bytes};
  for (uint32_t i = 0; i < image->header.nparts; i++) {
    sf_status_t status = check_root_part(&check, i);
    if (status != SF_OK) /* with INT64_MAX roots, none is out of range but that index itself */
      return status == SF_ERR_RANGE ? SF_ERR_PROTO : status;
  }
  if (check.bcast_values != image->header.bcast_values || check.reduce_values != image->header.reduce_values)
    return sfshm_error(SF_ERR_PROTO, "trunk image: %lld and %lld values expected, %lld and %lld found",
                       (long long)image->header.bcast_values, (long long)image->header.reduce_values,
                       (long long)check.bcast_values, (long long)check.reduce_values);
  return SF_OK;
}

/* ---- Leaf images ------------------------------------------------------------------------------------------------- */

sf_status_t sfshm_leaf_part_open(const sfshm_image_t *image, uint32_t i, int64_t nvalues, int64_t nedges,
                                 sfshm_leaf_positions_t *part_p)
{
  const sfshm_image_header_t *header = &image->header;
  assert(header->magic == SFSHM_LEAF_IMAGE_MAGIC && i < header->nparts);
  sfshm_leaf_part_t stored = ((const sfshm_leaf_part_t *)at(image, header->parts))[i];
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
  sf_status_t status = open_pattern(image, &stored, "layer", image->header.staged - first, positions_p);
  if (status == SF_OK)
    *first_unit_p = first;
  return status;
}
