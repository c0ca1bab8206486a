/* Slots of a graph's trunks on a device, where the fabric accepts device memory. Operations on streams use them: MPI
 * sends from the device and receives there, without a copy in the host's memory. The daemon allocates the slots, so
 * that they outlive a rank that dies while messages are under way.
 *
 * ASKING ---all ranks here that take part in some side have asked---> MAKING ---allocated---> MADE
 *    |                                                                   |                      |
 *    |  a rank has not asked when another wants them; nothing to gain    | not allocated, or    | all ranks that use
 *    \-----------------> NONE <-------------------------------------------/ the graph fails      v them have them open
 *                         ^                                                                    USED
 * MADE -------------------/ a rank can't open them, and no rank has them open any more
 *
 * A rank that can't take a step leaves the step out, or says so, and then all messages go through the exchanges.
 * Between two steps all ranks of the group meet, and no message is sent before the last one. The daemon's thread. */
#ifndef SFD_DATA_DEVICE_SLOTS_H
#define SFD_DATA_DEVICE_SLOTS_H

#include <stdint.h>

#include "daemon/clients.h"
#include "daemon/data/trunks.h"

/* Where message number `message` of units of so many bytes is: where says SFSHM_SLOTS_SEND or SFSHM_SLOTS_RECEIVE.
 * NULL: it is not on a device. */
char *sfd_trunk_devices_slot(const sfd_trunks_t *trunks, uint32_t side, uint8_t where, uint64_t unit_bytes,
                             uint64_t message);

/* Which slots of a side are there, for sfctl. */
uint8_t sfd_trunk_devices_where(const sfd_trunks_t *trunks, uint32_t side);

/* The graph has failed, or its job. */
void sfd_trunk_devices_let_go(sfd_trunks_t *trunks);

/* The graph is gone, but something may be under way; and nothing is. */
void sfd_trunk_devices_retire(sfd_trunks_t *trunks);
void sfd_trunk_devices_free(sfd_trunks_t *trunks);

void sfd_trunk_devices_handle_ask(sfd_session_t *session, const Sfproto__Message *message);
void sfd_trunk_devices_handle_get(sfd_session_t *session, const Sfproto__Message *message);
void sfd_trunk_devices_handle_have(sfd_session_t *session, const Sfproto__Message *message);

#endif
