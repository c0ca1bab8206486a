/* Edges of a graph after set-up: edge lists, degrees, neighbour ranks, the multi-graph. Part of sf.h, which is what to
 * include. */
#ifndef SF_EDGES_H
#define SF_EDGES_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the edges of this rank's leaves in ascending order of leaf indices: edge i connects leaf leaf_index[i] to root
 * root_index[i] of group rank root_rank[i] (PetscSFGetGraph). The caller provides arrays of nleaves elements (see
 * sf_graph_info); a NULL array is not written. Local. SF_ERR_ARG: graph is NULL. SF_ERR_NOMEM. The error of the graph,
 * if the graph failed during its creation on this rank. */
SF_CHECK_RESULT sf_status_t sf_graph_edges(const sf_graph_t *graph, int64_t leaf_index[], int32_t root_rank[],
                                           int64_t root_index[]);

/* Writes to degrees[i] the number of leaves of root i of this rank, over all ranks [PetscSF 3.2]. The caller provides
 * an array of nroots elements. Collective and blocking: a reduce of ones. Errors of sf_reduce; SF_ERR_NOMEM. */
SF_CHECK_RESULT sf_status_t sf_graph_degrees(sf_graph_t *graph, int64_t degrees[]);

/* Edges grouped by the rank at their other end. Rank ranks[k] has the edges offset[k] .. offset[k + 1] - 1 of
 * root_index and leaf_index, in ascending order of leaf indices, so that both ends list them in the same order. Ranks
 * are in ascending order. Ranks without edges are left out; this rank itself may be included. The graph owns the
 * arrays, until it is destroyed. */
typedef struct sf_graph_ranks {
  int32_t nranks;            /* number of neighbour ranks */
  const int32_t *ranks;      /* nranks group ranks */
  const int64_t *offset;     /* nranks + 1 */
  const int64_t *root_index; /* on the rank that owns the root */
  const int64_t *leaf_index; /* on the rank that has the leaf */
} sf_graph_ranks_t;

/* The ranks that own the roots of this rank's leaves (PetscSFGetRootRanks). Local; the first call creates the arrays.
 * SF_ERR_ARG, SF_ERR_NOMEM, or the error of a graph that has failed. */
SF_CHECK_RESULT sf_status_t sf_graph_root_ranks(sf_graph_t *graph, sf_graph_ranks_t *ranks_p);

/* The ranks that have leaves of this rank's roots (PetscSFGetLeafRanks). The first call on a graph is collective and
 * blocking, unless the multi-graph exists; later calls are local. All ranks return the errors of sf_graph_create, among
 * them a NULL result pointer. SF_ERR_MISMATCH: ranks called something else, have destroyed the graph or left. That
 * fails the graph, and so does a rank without memory if other ranks may have the result already. */
SF_CHECK_RESULT sf_status_t sf_graph_leaf_ranks(sf_graph_t *graph, sf_graph_ranks_t *ranks_p);

/* The multi-graph: each root is split into one root per leaf, so that every root has exactly one leaf. The roots of a
 * rank are numbered in (root, leaf rank, leaf) order: those of root i follow those of root i-1, and sf_graph_degrees
 * returns their numbers. Leaves keep their numbers [SF 3.1; PetscSF 3.2].
 * The graph owns its one multi-graph and frees it; the caller must not destroy it. The first call on a graph is
 * collective and blocking, later calls are local. Operations that need the multi-graph create it at first use; begin
 * and init of these do not block if it exists. Creating it costs about three graph creations; it needs the memory of a
 * graph and 32 bytes per edge. All ranks return the errors of sf_graph_create, among them a NULL result pointer.
 * SF_ERR_MISMATCH: ranks called something else, have destroyed the graph or left. That fails the graph. */
SF_CHECK_RESULT sf_status_t sf_graph_multi(sf_graph_t *graph, sf_graph_t **multi_p);

#ifdef __cplusplus
}
#endif
#endif
