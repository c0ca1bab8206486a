/* Trunks of a graph: its data between this node and others. See shm/trunk/trunk.h for what ranks and daemon share; here
 * is the daemon's side: it makes the regions, sends the messages that ranks submit through their rings, and receives
 * into slots what other daemons send. */
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

/* One side, as set-up found it. */
typedef struct sfd_trunk_source {
  int32_t node; /* the other one */
  sfshm_trunk_role_t role;
  const void *image; /* checked, the caller's */
  size_t image_bytes;
} sfd_trunk_source_t;

/* Makes graph->trunks: the map of the sides (given by ascending (node, role)) and the board. Messages may arrive from
 * then on. Without sides nothing happens. SF_ERR_NOMEM, SF_ERR_LIMIT. */
sf_status_t sfd_trunks_create(sfd_graph_t *graph, const sfd_trunk_source_t sources[], uint32_t nsources);

/* What does not change of trunks, for graphs that are made again. NULL is accepted, and held as NULL. */
typedef struct sfd_trunk_plan sfd_trunk_plan_t;
sfd_trunk_plan_t *sfd_trunks_hold_plan(const sfd_trunks_t *trunks);
void sfd_trunk_plan_release(sfd_trunk_plan_t *plan);

/* As sfd_trunks_create, out of the plan of an earlier graph of the group; NULL: it has no trunks. */
sf_status_t sfd_trunks_create_again(sfd_graph_t *graph, sfd_trunk_plan_t *plan);

/* Frees graph->trunks; sends under way keep what they need. NULL is accepted. */
void sfd_trunks_free(sfd_trunks_t *trunks);

/* The graph, or its job, has failed: nothing is sent or taken any more. Streams of devices that wait for the trunks go
 * on when the last message under way has left its slot. To be called again when a member says so that has set
 * on_streams only then. NULL is accepted. */
void sfd_trunks_let_go(sfd_trunks_t *trunks);
void sfd_trunks_fail_job(sfd_job_t *job); /* all of the job */

/* Fills in the map, or returns its descriptor; else -1. */
int sfd_trunks_describe_map(const sfd_trunks_t *trunks, protobuf_c_boolean *has_map_p, ProtobufCBinaryData *map_p);

/* Fills in where the board is. */
void sfd_trunks_describe_board(const sfd_trunks_t *trunks, uint64_t *region_p, uint64_t *offset_p);

/* The sides in which a member of the group takes part: their numbers in the map; returns how many. sides has room for
 * sfd_trunks_nsides. */
uint32_t sfd_trunks_nsides(const sfd_trunks_t *trunks);
uint32_t sfd_trunks_sides_of(const sfd_trunks_t *trunks, int32_t member, uint32_t sides[]);

/* ---- What comes from ranks ---- */

void sfd_trunks_handle_exchange_get(sfd_session_t *session, const Sfproto__Message *message);

/* ---- What comes from other nodes ---- */

sfd_placing_t sfd_trunks_place(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p);
sf_status_t sfd_trunks_data(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);
sf_status_t sfd_trunks_credit(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);
sf_status_t sfd_trunks_awaited(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);

/* The descriptor of an operation after the first so many, for which another node has sent something, or has asked; 0:
 * there is none. */
uint64_t sfd_trunks_named(const sfd_trunks_t *trunks, uint64_t operations, int32_t *node_p);

/* Whether data has come from the node for the operation of that descriptor, or for a later one. Both: trunks may be
 * NULL. */
bool sfd_trunks_has_arrived(const sfd_trunks_t *trunks, int32_t node, uint64_t desc);

void sfd_trunks_data_lost(sfd_server_t *server, int32_t node);

#endif
