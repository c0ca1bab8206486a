/* What a graph's trunks carry, for people. */
#ifndef SFD_DATA_SURVEY_H
#define SFD_DATA_SURVEY_H

#include <stdint.h>

#include "daemon/data/trunks.h"

typedef struct sfd_trunk_survey {
  const sfshm_trunk_side_t *told; /* stays the trunks' */
  int64_t values_before; /* what the ranks here want of the other node, each for itself; AS_ROOT: 0, not known here */
  int64_t contiguous_values; /* of a bcast's positions (AS_LEAF: of values_before), those that need no index array */
  int64_t box_values;        /* of the same, those whose indices are those of boxes in up to three dimensions */
  uint64_t sent;             /* messages, since the graph was made */
  uint64_t received;
  uint8_t on_device; /* which slots: SFSHM_SLOTS_SEND, SFSHM_SLOTS_RECEIVE */
} sfd_trunk_survey_t;

/* Goes through the parts of the side's image, one for each member. side: below sfd_trunks_nsides. */
void sfd_trunks_survey(const sfd_trunks_t *trunks, uint32_t side, sfd_trunk_survey_t *survey_p);

#endif
