/* Exchanges: memory with the slots of a graph's trunks, for units of one class of sizes, made when a rank asks for it
 * or a message comes. It is the daemon's, on behalf of clients, so it is counted: its bytes for the user, whose jobs
 * may come and go, as long as it is there; its descriptor, which only ranks need that map it, for the job while it has
 * the graph. The daemon's thread. */
#ifndef SFD_DATA_SLOTS_H
#define SFD_DATA_SLOTS_H

#include "daemon/clients.h"
#include "daemon/data/trunks.h"

/* The graph is going; something may be under way. And nothing is. */
void sfd_trunk_exchanges_retire(sfd_trunks_t *trunks);
void sfd_trunk_exchanges_free(sfd_trunks_t *trunks);

#endif
