/* Root merge: merges the edge blocks of this node's ranks that lead to one other node, so that each root is named once,
 * into images for both nodes. A merge owns copies of all that it reads: it may still run in a worker thread when the
 * graph's set-up is given up. */
#ifndef SFD_SETUP_ROOT_MERGE_H
#define SFD_SETUP_ROOT_MERGE_H

#include <uv.h>

#include "daemon/setup/setup.h"
#include "shm/trunk/merge/merge.h"

/* What a rank has written of its edges. */
typedef struct sfd_root_merge_list {
  sfshm_region_t region; /* mapped; or */
  char *copy;            /* of its blocks, one behind the other, out of inboxes, to which it may write */
} sfd_root_merge_list_t;

/* One block that leads to another node. */
typedef struct sfd_root_merge_block {
  int32_t node;
  int32_t owner;
  int32_t rank;
  const sfd_edge_block_t *block;
  sfshm_region_t list; /* with the block at its offset: all, or a piece, of one of the lists */
  sfshm_edges_t edges;
} sfd_root_merge_block_t;

/* What this node wants from another one. */
typedef struct sfd_root_merge_target {
  int32_t node;
  int32_t first; /* among the wants */
  int32_t nremote;
  bool answered;
  sfshm_merge_t merge;
} sfd_root_merge_target_t;

/* The work of merging; lives on by itself when the set-up is given up meanwhile. */
typedef struct sfd_root_merge {
  uv_work_t work;
  sfd_graph_t *graph; /* NULL: given up */
  sfd_root_merge_list_t *lists;
  int32_t nlists;
  sfd_edge_block_t *blocks;       /* copies */
  sfd_root_merge_block_t *remote; /* by (node, owner, rank) */
  int32_t nremote;
  int64_t nedges;
  int64_t effort;                   /* about how many indices have to be looked at */
  sfd_root_merge_target_t *targets; /* by node */
  int32_t ntargets;
  bool uncombined;
  sf_status_t status;
  char detail[SFD_TEXT_SIZE];
} sfd_root_merge_t;

/* What is to be merged: NULL if the ranks want nothing from other nodes. */
sf_status_t sfd_root_merge_collect(sfd_graph_t *graph, sfd_root_merge_t **merging_p);

/* Merges it all, into merging->status at last. Any thread. */
void sfd_root_merge_run(uv_work_t *work);

void sfd_root_merge_free(sfd_root_merge_t *merging);

#endif
