/* Slots of a graph's trunks on a device, where the fabric takes its memory: what ranks here send goes from there to
 * MPI, and what comes goes there, without the host's having it in its memory. The daemon allocates them, so that they
 * are there as long as something is under way, whoever dies.
 *
 * ASKING ---all ranks here that have part in some side have asked---> MAKING ---allocated---> MADE
 *    |                                                                   |                      |
 *    |  one has not when another one wants them; nothing is worth it     | not allocated, or    | all who use them
 *    \-----------------> NONE <-------------------------------------------/ the graph fails      v have them open
 *                         ^                                                                    USED
 * MADE -------------------/ one can't open them, and nobody has them open any more
 *
 * Who can't take a step leaves it out, or says so, and then all messages go through the exchanges.
 *
 * Of streams ranks take these steps while all make them, with all of the group between one step and the next, so that
 * nobody waits for others here; and no message comes before the last one. Else each takes them when it begins an
 * operation: it asks when its data are on a device and worth it, or another one has asked (the board says so), and
 * opens them when they are there. Messages are under way then, whose slots are to be found where they were written. So
 * those are the first on the device that no rank may have begun to write: behind all that have been granted, and behind
 * what has arrived or is arriving. Ranks find that number in the flow, where it stands before granted or arrived reach
 * it. The daemon's thread. */
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

void sfd_trunk_devices_handle_ask(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);
void sfd_trunk_devices_handle_get(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);
void sfd_trunk_devices_handle_have(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

#endif
