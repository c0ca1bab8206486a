/* Survey of trunks: see survey.h. Reads the map, which was checked when it was made and cannot change. The daemon's
 * thread. */
#include "daemon/data/survey.h"

#include "daemon/data/trunks_internal.h"

static const void *at(const sfd_trunks_t *trunks, uint64_t offset)
{
  return (const char *)trunks->plan->map.base + offset;
}

static int64_t contiguous(const sfshm_stored_pattern_t *pattern)
{
  return pattern->kind == SFSHM_PATTERN_CONTIGUOUS || pattern->kind == SFSHM_PATTERN_STRIDED ? pattern->n : 0;
}

/* The number of values, if their indices form a box: then kernels of devices need no index array. */
static int64_t in_box(const sfd_trunks_t *trunks, uint64_t image, const sfshm_stored_pattern_t *stored)
{
  sfshm_pattern_t pattern = {.kind = (sfshm_pattern_kind_t)stored->kind, .n = stored->n};
  if (stored->kind == SFSHM_PATTERN_INDEX32)
    pattern.index32 = at(trunks, image + stored->offset);
  else if (stored->kind == SFSHM_PATTERN_INDEX64)
    pattern.index64 = at(trunks, image + stored->offset);
  else
    return 0;
  sfshm_pattern_find_box(&pattern);
  return pattern.row > 0 ? pattern.n : 0;
}

void sfd_trunks_survey(const sfd_trunks_t *trunks, uint32_t side, sfd_trunk_survey_t *survey_p)
{
  const sfd_trunk_side_t *from = &trunks->sides[side];
  const sfshm_image_header_t *header = at(trunks, from->told.image);
  uint64_t image = from->told.image, parts = image + header->parts;
  sfd_trunk_survey_t survey = {.told = &from->told, .sent = from->sent, .received = from->arrived};
  if (from->told.role == SFSHM_AS_ROOT) {
    const sfshm_root_part_t *part = at(trunks, parts);
    for (uint32_t i = 0; i < header->nparts; i++) {
      survey.contiguous_values += contiguous(&part[i].root);
      survey.box_values += in_box(trunks, image, &part[i].root);
    }
  } else {
    const sfshm_leaf_part_t *part = at(trunks, parts);
    for (uint32_t i = 0; i < header->nparts; i++) {
      survey.values_before += part[i].from.n;
      survey.contiguous_values += contiguous(&part[i].from);
      survey.box_values += in_box(trunks, image, &part[i].from);
    }
  }
  *survey_p = survey;
}
