/* What create.c and build_plan.c share: a graph in the making. */
#ifndef SFC_SETUP_INTERNAL_H
#define SFC_SETUP_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "client/graph/graph.h"
#include "client/graph/trace.h"
#include "client/plan/edge_snapshot.h"
#include "client/setup/edge_exchange.h"
#include "client/setup/lane_addresses.h"
#include "client/setup/reuse.h"
#include "client/setup/trunk_plan.h"
#include "proto/conn.h"

typedef struct sfc_setup {
  const char *caller;
  sf_group_t *group;
  sf_graph_t *graph;
  sfc_lists_t lists;
  sfc_trunk_block_t *remote; /* blocks of the own list that lead to other nodes, by rank */
  int32_t nremote;
  uint32_t *sides; /* of the trunk map, in which this rank takes part */
  size_t nsides;
  sfc_given_map_t map;
  sfc_watch_phases_t phases;
  sfc_given_t *given; /* copy of the edges; NULL: none */
  sfc_reuse_t reuse;
  sfc_ends_t offered;      /* to ranks to whose roots edges lead */
  sfproto_incoming_t told; /* the last GraphPeers; message NULL: it has not come */
  bool ready;              /* with that */
  /* The error found here with the lowest (rank, leaf), if any. */
  sf_status_t status;
  int32_t error_rank;
  int64_t error_leaf;
  char error_detail[400];
} sfc_setup_t;

/* Notes an error that concerns the leaf (-1: none in particular) of a rank, with the thread's detail text. */
void sfc_setup_note_error(sfc_setup_t *setup, sf_status_t status, int32_t rank, int64_t leaf);

/* Lanes, trunks, tables and slots, out of the lists of this rank and of others; in a graph that is ready the lanes are
 * connected, too. Errors are noted. */
void sfc_setup_make_plan(sfc_setup_t *setup);

#endif
