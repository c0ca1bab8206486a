/* State of a graph's creation, shared by create.c (steps), create_messages.c (messages with the daemon) and
 * build_plan.c (lanes and trunks from edge lists). */
#ifndef SFC_SETUP_CREATE_INTERNAL_H
#define SFC_SETUP_CREATE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "client/graph.h"
#include "client/plan.h"
#include "client/setup/edge_exchange.h"
#include "client/setup/lane_addresses.h"
#include "client/setup/plan_cache.h"
#include "proto/conn.h"

/* Error of a set-up: of the errors found here the one with the lowest (rank, leaf). This rank sends it with its next
 * message, or fails the graph with it if the graph is ready. Or, if agreed, the error of all ranks, which ends the
 * set-up; its text is the thread's. */
typedef struct sfc_setup_error {
  sf_status_t status; /* SF_OK: none */
  bool agreed;
  int32_t rank;
  int64_t leaf;
  char detail[400];
} sfc_setup_error_t;

typedef struct sfc_setup {
  const char *caller;
  sf_group_t *group;
  sf_graph_t *graph;
  const sfc_edge_input_t *input;
  sfc_setup_error_t error;
  sfc_trace_phases_t phases;

  sfc_plan_t *plan;              /* cached plan of these edges, applied to the graph; NULL: the edges are sent, */
  sfc_edge_exchange_t lists;     /* in these lists */
  sfc_edge_snapshot_t *snapshot; /* snapshot of the edges; NULL: none */
  sfc_lane_addresses_t offered;  /* lanes sent with the next message; ends NULL: none */
  sfproto_incoming_t reply;      /* the last GraphReply; message NULL: none yet */
} sfc_setup_t;

/* Notes an error with the thread's detail, for a leaf (-1: none in particular) of a rank. */
void sfc_setup_note_error(sfc_setup_t *setup, sf_status_t status, int32_t rank, int64_t leaf);
static inline void sfc_setup_note(sfc_setup_t *setup, sf_status_t status)
{
  if (status != SF_OK)
    sfc_setup_note_error(setup, status, setup->group->rank, -1);
}

/* Sends GraphCreate and receives all answers. false: the set-up has ended with an error of all ranks. */
bool sfc_setup_create(sfc_setup_t *setup);

/* The same with GraphCommit. */
bool sfc_setup_commit(sfc_setup_t *setup);

/* The last answer. */
static inline const Sfproto__GraphReply *sfc_setup_reply(const sfc_setup_t *setup)
{
  return setup->reply.message->graph_reply;
}

/* Makes lanes, trunks, tables and slots from the edge lists of this rank and of others. Notes errors. */
void sfc_setup_make_plan(sfc_setup_t *setup);

#endif
