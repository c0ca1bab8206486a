/* Exchanges: memory of the daemon with the slots of a graph's trunks, for one class of unit sizes, made when a rank
 * asks for it or a message arrives. Its bytes are counted for the user while it exists, its descriptor for the job
 * while the graph exists. The daemon's thread. */
#ifndef SFD_DATA_SLOTS_H
#define SFD_DATA_SLOTS_H

#include "daemon/clients.h"
#include "daemon/data/trunks.h"

/* The graph goes, while messages may be under way; and none is. */
void sfd_trunk_exchanges_retire(sfd_trunks_t *trunks);
void sfd_trunk_exchanges_free(sfd_trunks_t *trunks);

#endif
