/* Measuring what copying costs on this node, once when the daemon starts. */
#ifndef SFD_CALIBRATE_H
#define SFD_CALIBRATE_H

#include "shm/board.h"

/* Fills *costs_p: measured, or defaults (measured 0) where that is not possible. Blocks for a fraction of a second. */
void sfd_calibrate(sfshm_costs_t *costs_p);

#endif
