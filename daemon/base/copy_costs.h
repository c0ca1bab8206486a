/* Measuring what copying costs on this node, once when the daemon starts. */
#ifndef SFD_BASE_COPY_COSTS_H
#define SFD_BASE_COPY_COSTS_H

#include "shm/region/board.h"

/* Costs that are plausible for present machines (measured: 0). */
extern const sfshm_costs_t sfd_copy_costs_default;

/* Fills *costs_p with what it measures, or with the defaults where that is not possible. Blocks for a fraction of a
 * second. */
void sfd_copy_costs_measure(sfshm_costs_t *costs_p);

#endif
