/* Operations of ranks of other nodes on arrays here. The loop carries out short ones at once, within a limit for each
 * turn, and workers long ones; others wait in the queue of their rank and array, so that the operations of a rank on an
 * array take effect in the order of its calls. The daemon's thread. */
#ifndef SFD_ONESIDED_TARGET_H
#define SFD_ONESIDED_TARGET_H

#include <stdbool.h>

#include "daemon/net.h"
#include "daemon/onesided/array.h"

/* Creates server->onesided, the state of operations between nodes. SF_ERR_NOMEM. */
sf_status_t sfd_onesided_create(sfd_server_t *server, int32_t nnodes);
void sfd_onesided_destroy(sfd_server_t *server);

/* Messages SFD_PEER_ARRAY, SFD_PEER_ARRAY_DATA, SFD_PEER_ARRAY_DONE; see sfd_channel_handlers_t. */
bool sfd_onesided_is_message(const sfd_message_head_t *head);
sfd_placing_t sfd_onesided_place(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p);
sf_status_t sfd_onesided_arrived(sfd_server_t *server, int32_t node, const sfd_message_head_t *head,
                                 const void *payload);
void sfd_onesided_lost(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);

/* The channel to the node has ended. */
void sfd_onesided_node_lost(sfd_server_t *server, int32_t node);

/* Carries out waiting operations, up to the limit of a turn. Returns whether there are more. */
bool sfd_onesided_attend(sfd_server_t *server);

/* The array ends: no operation is carried out any more. */
void sfd_array_drop_queues(sfd_array_t *array);

#endif
