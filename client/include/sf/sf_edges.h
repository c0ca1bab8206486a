/* The edges of a star forest after set-up. Part of sf.h, which is what to include. */
#ifndef SF_EDGES_H
#define SF_EDGES_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The edges of this rank's leaves, by ascending leaf index: edge i connects leaf leaf_index[i] of the leaf buffer to
 * root root_index[i] of group rank root_rank[i] (PetscSFGetGraph). The arrays are the caller's, each of nleaves
 * elements as sf_graph_info says, or NULL if it is not wanted. Local. SF_ERR_ARG: graph is NULL. SF_ERR_NOMEM. What
 * made the graph fail, if that was when it was made here. */
SF_CHECK_RESULT sf_status_t sf_graph_edges(const sf_graph_t *graph, int64_t leaf_index[], int32_t root_rank[],
                                           int64_t root_index[]);

/* Writes to degrees[i] the number of leaves of root i of this rank, on all ranks together [PetscSF 3.2]. The array is
 * the caller's, of nroots elements. Collective and blocking: a reduce of ones. Errors of sf_reduce; SF_ERR_NOMEM. */
SF_CHECK_RESULT sf_status_t sf_graph_degrees(sf_graph_t *graph, int64_t degrees[]);

/* Edges by the rank at their other end. Those of entry k, with rank ranks[k], are numbers offset[k] .. offset[k+1]-1 of
 * the lists, by ascending leaf index: in the same order at both ends. Only ranks with edges are in it, by ascending
 * rank; the rank itself may be one of them. The arrays belong to the graph and stay valid until its destruction. */
typedef struct sf_graph_ranks {
  int32_t nranks;            /* of the following arrays */
  const int32_t *ranks;      /* nranks, in the group */
  const int64_t *offset;     /* nranks + 1 */
  const int64_t *root_index; /* on the rank that owns the root */
  const int64_t *leaf_index; /* on the rank that has the leaf */
} sf_graph_ranks_t;

/* The ranks that own the roots of this rank's leaves (PetscSFGetRootRanks). Local; made at the first call. SF_ERR_ARG,
 * SF_ERR_NOMEM, or why the graph has failed. */
SF_CHECK_RESULT sf_status_t sf_graph_root_ranks(sf_graph_t *graph, sf_graph_ranks_t *ranks_p);

/* The ranks that have leaves of this rank's roots (PetscSFGetLeafRanks). Collective and blocking at the first call on a
 * graph, unless sf_graph_multi has come before; local afterwards. Errors of sf_graph_create, which all ranks return: no
 * place for the result is one; SF_ERR_MISMATCH: ranks call something else, and SF_ERR_STATE: one has left, both of
 * which fail the graph. So does what fails on one rank, for want of memory, when others may have the result already. */
SF_CHECK_RESULT sf_status_t sf_graph_leaf_ranks(sf_graph_t *graph, sf_graph_ranks_t *ranks_p);

/* The multi-graph: each root is split into as many roots as it has leaves, so that every root has exactly one leaf. The
 * roots of a rank are numbered by (root, rank of the leaf, leaf): those of root i come right behind those of root i-1,
 * and sf_graph_degrees tells how many there are. Leaves are the same [SF 3.1; PetscSF 3.2].
 * It belongs to the graph: it is always the same one, must not be destroyed, and is freed with the graph. Collective
 * and blocking at the first call on a graph, local afterwards. Operations that need it make it at first use; their
 * begin and init do not block if it has been made before. Costs about three graph creations, and afterwards the memory
 * of one and 32 bytes an edge. Errors of sf_graph_create, which all ranks return: no place for the result is one;
 * SF_ERR_MISMATCH: ranks call something else, and SF_ERR_STATE: one has left, both of which fail the graph. */
SF_CHECK_RESULT sf_status_t sf_graph_multi(sf_graph_t *graph, sf_graph_t **multi_p);

#ifdef __cplusplus
}
#endif
#endif
