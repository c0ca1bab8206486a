/* A graph in the making, as the files of set-up share it: create.c (the steps), create_messages.c (what ranks and
 * daemon tell each other), build_plan.c (lanes and trunks out of edge lists). */
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

/* The error of a set-up: of those found here the one with the lowest (rank, leaf). This rank tells it with its next
 * message, or fails the graph with it if the graph is ready. Or the error that all ranks have agreed on, which ends the
 * set-up: its text is the thread's. */
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

  sfc_plan_t *plan;             /* kept, of these edges, and applied to the graph; NULL: the edges are told, */
  sfc_edge_exchange_t lists;    /* in these */
  sfc_edge_snapshot_t *given;   /* copy of the edges; NULL: none */
  sfc_lane_addresses_t offered; /* lanes that are told with the next message; ends NULL: none */
  sfproto_incoming_t reply;     /* the last GraphReply; message NULL: it has not come */
} sfc_setup_t;

/* Notes an error that concerns the leaf (-1: none in particular) of a rank, with the thread's detail text. */
void sfc_setup_note_error(sfc_setup_t *setup, sf_status_t status, int32_t rank, int64_t leaf);
static inline void sfc_setup_note(sfc_setup_t *setup, sf_status_t status)
{
  if (status != SF_OK)
    sfc_setup_note_error(setup, status, setup->group->rank, -1);
}

/* Sends GraphCreate, and takes in all answers: false if the set-up is over with an error of all. */
bool sfc_setup_create(sfc_setup_t *setup);

/* Sends GraphCommit, and waits for the answer. */
bool sfc_setup_commit(sfc_setup_t *setup);

/* The last answer: only after one of these. */
static inline const Sfproto__GraphReply *sfc_setup_reply(const sfc_setup_t *setup)
{
  return setup->reply.message->graph_reply;
}

/* Lanes, trunks, tables and slots, out of the lists of this rank and of others. Errors are noted. */
void sfc_setup_make_plan(sfc_setup_t *setup);

#endif
