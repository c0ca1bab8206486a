/* Trunks of a graph: its data between this node and others. The daemon makes the memory that it shares with ranks
 * (shm/trunk/trunk.h), sends the messages that ranks submit, and receives messages of other nodes into slots. */
#ifndef SFD_DATA_TRUNKS_H
#define SFD_DATA_TRUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "daemon/clients.h"
#include "daemon/jobs.h"
#include "daemon/net.h"
#include "shm/trunk/trunk.h"

typedef struct sfd_trunks sfd_trunks_t;

/* A side of the trunks, from set-up. */
typedef struct sfd_trunk_source {
  int32_t node; /* the other node */
  sfshm_trunk_role_t role;
  const void *image; /* checked; owned by the caller */
  size_t image_bytes;
} sfd_trunk_source_t;

/* Creates graph->trunks: map (sides by ascending (node, role)) and board. Messages may arrive from then on. Without
 * sides nothing happens. SF_ERR_NOMEM, SF_ERR_LIMIT. */
sf_status_t sfd_trunks_create(sfd_graph_t *graph, const sfd_trunk_source_t sources[], uint32_t nsources);

/* The constant part of trunks, for graphs with the same edges. NULL is accepted and returned. */
typedef struct sfd_trunk_plan sfd_trunk_plan_t;
sfd_trunk_plan_t *sfd_trunks_hold_plan(const sfd_trunks_t *trunks);
void sfd_trunk_plan_release(sfd_trunk_plan_t *plan);

/* The same, from the plan of an earlier graph; NULL: without trunks. */
sf_status_t sfd_trunks_create_again(sfd_graph_t *graph, sfd_trunk_plan_t *plan);

/* Messages under way keep what they need. NULL is accepted. */
void sfd_trunks_free(sfd_trunks_t *trunks);

/* The graph or job has failed: nothing is sent or received any more. Device streams that wait for the trunks continue
 * after the last message under way has left its slot. To be repeated when a member has set on_streams later. NULL is
 * accepted. */
void sfd_trunks_let_go(sfd_trunks_t *trunks);
void sfd_trunks_fail_job(sfd_job_t *job); /* all graphs of the job */

/* Fills in the map; or returns its descriptor, else -1. */
int sfd_trunks_describe_map(const sfd_trunks_t *trunks, protobuf_c_boolean *has_map_p, ProtobufCBinaryData *map_p);

/* Fills in region and offset of the board. */
void sfd_trunks_describe_board(const sfd_trunks_t *trunks, uint64_t *region_p, uint64_t *offset_p);

/* Numbers of the sides in which a group rank takes part; returns their number, at most sfd_trunks_nsides. */
uint32_t sfd_trunks_nsides(const sfd_trunks_t *trunks);
uint32_t sfd_trunks_sides_of(const sfd_trunks_t *trunks, int32_t member, uint32_t sides[]);

/* ---- What comes from ranks ---- */

void sfd_trunks_handle_exchange_get(sfd_session_t *session, const Sfproto__Message *message);

/* ---- What comes from other nodes ---- */

sfd_placing_t sfd_trunks_place(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p);
sf_status_t sfd_trunks_data(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);
sf_status_t sfd_trunks_credit(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);
sf_status_t sfd_trunks_awaited(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);

/* Descriptor of an operation after the first so many that another node has named by data or a question; 0: none. trunks
 * may be NULL. */
uint64_t sfd_trunks_named(const sfd_trunks_t *trunks, uint64_t operations, int32_t *node_p);

/* Whether data for that operation, or a later one, has come from the node. trunks may be NULL. */
bool sfd_trunks_has_arrived(const sfd_trunks_t *trunks, int32_t node, uint64_t desc);

void sfd_trunks_data_lost(sfd_server_t *server, int32_t node);

#endif
