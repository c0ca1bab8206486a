/* Survey of a graph's trunks, for tools. */
#ifndef SFD_DATA_SURVEY_H
#define SFD_DATA_SURVEY_H

#include <stdint.h>

#include "daemon/data/trunks.h"

typedef struct sfd_trunk_survey {
  const sfshm_trunk_side_t *told; /* owned by the trunks */
  int64_t values_before;          /* that the ranks here need, without merging; AS_ROOT: 0, not known here */
  int64_t contiguous_values;      /* of a bcast's positions (AS_LEAF: of values_before), those without index array */
  int64_t box_values;             /* of these, those in boxes of up to three dimensions */
  uint64_t sent;                  /* messages so far */
  uint64_t received;
} sfd_trunk_survey_t;

/* side: below sfd_trunks_nsides. */
void sfd_trunks_survey(const sfd_trunks_t *trunks, uint32_t side, sfd_trunk_survey_t *survey_p);

#endif
