/* Merge of the edge blocks of this node's ranks that lead to one other node, so that each root is named once. The
 * result is an image for each of the two nodes. A merge owns copies of its input, as it may still run in a worker
 * thread after the set-up has ended. */
#ifndef SFD_SETUP_ROOT_MERGE_H
#define SFD_SETUP_ROOT_MERGE_H

#include <uv.h>

#include "daemon/setup/setup.h"
#include "shm/trunk/merge/merge.h"

/* Edge list of one rank. */
typedef struct sfd_root_merge_list {
  sfshm_region_t region; /* mapped; or: */
  char *copy;            /* of its blocks without leaves, as the rank may write to its inbox */
} sfd_root_merge_list_t;

/* A block that leads to another node. */
typedef struct sfd_root_merge_block {
  int32_t node;
  int32_t owner;
  int32_t rank;
  const sfd_edge_block_t *block;
  sfshm_region_t list; /* the rank's, mapped; or a copy of the block */
  sfshm_edges_t edges;
} sfd_root_merge_block_t;

/* Root request to one other node. */
typedef struct sfd_root_merge_target {
  int32_t node;
  int32_t first; /* of its blocks, in remote */
  int32_t nremote;
  bool answered;
  sfshm_merge_block_t *blocks;
  sfshm_merge_t merge;
} sfd_root_merge_target_t;

/* A merge; survives its set-up while a worker runs it. */
typedef struct sfd_root_merge {
  uv_work_t work;
  sfd_graph_t *graph; /* NULL: the set-up has ended */
  sfd_root_merge_list_t *lists;
  int32_t nlists;
  sfd_edge_block_t *blocks;       /* copies */
  sfd_root_merge_block_t *remote; /* by (node, owner, rank) */
  int32_t nremote;
  int64_t nedges;
  int64_t effort;                   /* approximate number of indices to read */
  sfd_root_merge_target_t *targets; /* by node */
  int32_t ntargets;
  bool uncombined;
  sf_status_t status;
  char detail[SFD_TEXT_SIZE];
} sfd_root_merge_t;

/* Collects the blocks; *merging_p is NULL if no edge leads to another node. */
sf_status_t sfd_root_merge_collect(sfd_graph_t *graph, sfd_root_merge_t **merging_p);

/* Makes the root images; the result is merging->status. Any thread, as the others. */
void sfd_root_merge_begin(sfd_root_merge_t *merging);

/* Makes the leaf images, unless they are made. */
sf_status_t sfd_root_merge_finish(sfd_root_merge_t *merging);

/* Both. */
void sfd_root_merge_run(uv_work_t *work);

void sfd_root_merge_free(sfd_root_merge_t *merging);

#endif
