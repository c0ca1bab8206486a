/* Opens and checks root images from other processes or nodes. Any thread; stateless. */
#include <assert.h>

#include "shm/base/error.h"
#include "shm/trunk/trunk_image.h"

static sfshm_root_part_t stored_root_part(const sfshm_image_t *image, uint32_t i)
{
  assert(image->header.magic == SFSHM_ROOT_IMAGE_MAGIC && i < image->header.nparts);
  return ((const sfshm_root_part_t *)sfshm_image_at(image, image->header.parts))[i];
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
      !sfshm_image_holds(image, stored->segments, stored->nsegments, sizeof(sfshm_root_segment_t), sizeof(uint64_t)) ||
      !sfshm_image_holds(image, stored->winners, stored->nwinners, sizeof(sfshm_root_winner_t), sizeof(uint64_t)))
    return sfshm_error(SF_ERR_PROTO,
                       "trunk image: roots of rank %d: position %lld of %lld, %u segments at %llu, %u winners at %llu",
                       stored->rank, (long long)stored->first, (long long)image->header.bcast_values, stored->nsegments,
                       (unsigned long long)stored->segments, stored->nwinners, (unsigned long long)stored->winners);
  sf_status_t status = sfshm_image_open_pattern(image, &stored->root, "roots", room, &part.root);
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
  return ((const sfshm_root_segment_t *)sfshm_image_at(image, segments))[i];
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
  sf_status_t status = sfshm_image_open_pattern(image, &stored->root, "roots of a turn", room, &turn.root);
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
  return ((const sfshm_root_winner_t *)sfshm_image_at(image, part->winners))[i];
}

sf_status_t sfshm_root_winner_open(const sfshm_image_t *image, const sfshm_root_roots_t *part, uint32_t i,
                                   int32_t *rank_p, sfshm_pattern_t *position_p)
{
  assert(i < part->nwinners);
  sfshm_root_winner_t stored = stored_winner(image, part, i);
  sfshm_pattern_t position;
  sf_status_t status =
      sfshm_image_open_pattern(image, &stored.position, "positions of a winner", part->root.n, &position);
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
  if (!take_room(check, sfshm_image_array_bytes(&stored->root)))
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
    if (!take_room(check, sfshm_image_array_bytes(&stored.position)))
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
      !take_room(check, sizeof stored + sfshm_image_array_bytes(&stored.root)))
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
