/* The edges of a star forest after set-up. Part of sf.h, which is what to include. */
#ifndef SF_EDGES_H
#define SF_EDGES_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The edges of this rank's leaves, by ascending leaf index: edge i connects leaf leaf_index[i] of the leaf buffer to
 * root root_index[i] of group rank root_rank[i] (PetscSFGetGraph). The arrays are the caller's, each of nleaves
 * elements as sf_graph_info says, or NULL if it is not wanted. Local. SF_ERR_ARG: graph is NULL. SF_ERR_NOMEM. */
SF_CHECK_RESULT sf_status_t sf_graph_edges(const sf_graph_t *graph, int64_t leaf_index[], int32_t root_rank[],
                                           int64_t root_index[]);

#ifdef __cplusplus
}
#endif
#endif
