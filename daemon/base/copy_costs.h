/* Copy costs of this node, measured once when the daemon starts. */
#ifndef SFD_BASE_COPY_COSTS_H
#define SFD_BASE_COPY_COSTS_H

#include "shm/region/board.h"

/* Plausible costs (measured: 0). */
extern const sfshm_costs_t sfd_copy_costs_default;

/* Measures, or returns the default where that is not possible. Blocks for a fraction of a second. */
void sfd_copy_costs_measure(sfshm_costs_t *costs_p);

#endif
