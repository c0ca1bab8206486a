/* Target side of one-sided operations: operations of ranks of other nodes on arrays of this node. The loop carries out
 * short operations at once, within a limit for each turn; workers carry out long ones. Each rank has a queue for each
 * array, in which operations wait, so that they take effect in the order of the rank's calls. The daemon's thread. */
#ifndef SFD_ONESIDED_TARGET_H
#define SFD_ONESIDED_TARGET_H

#include <stdbool.h>

#include "daemon/net.h"
#include "daemon/onesided/array.h"

/* Creates server->onesided, the state of operations between nodes. Errors: SF_ERR_NOMEM. */
sf_status_t sfd_onesided_create(sfd_server_t *server, int32_t nnodes);
void sfd_onesided_destroy(sfd_server_t *server);

/* Handle SFD_PEER_ARRAY, SFD_PEER_ARRAY_DATA and SFD_PEER_ARRAY_DONE; see sfd_channel_handlers_t. */
bool sfd_onesided_is_message(const sfd_message_head_t *head);
sfd_placing_t sfd_onesided_place(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p);
sf_status_t sfd_onesided_arrived(sfd_server_t *server, int32_t node, const sfd_message_head_t *head,
                                 const void *payload);
void sfd_onesided_lost(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);

/* Frees the messages that were arriving from a node, whose channel has ended. */
void sfd_onesided_node_lost(sfd_server_t *server, int32_t node);

/* Carries out waiting operations, up to the limit of a turn. Returns whether operations are left. */
bool sfd_onesided_attend(sfd_server_t *server);

/* Refuses all waiting operations of an array that ends. */
void sfd_array_drop_queues(sfd_array_t *array);

#endif
