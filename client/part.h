/* Graphs that are parts of others: some of the edges, on the same roots and leaves. Their plan is filtered out of the
 * whole's, by each rank for what it shares with ranks of its node, by the daemons for what nodes share (shm/merge), and
 * the ranks agree with one message each way, as on a graph that is made again (reuse.h). An owner of roots has to know
 * which edges stay of those that other ranks have to it: from marks of its own roots; or from marks that these ranks
 * leave in the memory that they give to the new graph. The part has nothing of the whole, which may end at once. The
 * thread that makes the graph. */
#ifndef SFC_PART_H
#define SFC_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "client/buckets.h"
#include "client/graph.h"
#include "client/reuse.h"

typedef struct sfc_part {
  const sf_graph_t *whole;
  const uint8_t *roots;  /* marks of the roots whose edges stay; NULL: the leaves decide */
  const uint8_t *leaves; /* marks of the leaves whose edges stay, up to the highest of the whole */
  /* Reads the edges that stay, for ordinary set-up. */
  sf_status_t (*read)(void *argument, sfc_edge_input_t *input_p);
  void *argument;
} sfc_part_t;

/* Whether parts of the graph can be made in this way; the same on all ranks. */
bool sfc_part_is_possible(const sf_graph_t *whole);

/* As sfc_reuse_try. The graph's number of leaves follows from the marks. */
sf_status_t sfc_part_try(sf_graph_t *graph, const sfc_part_t *part, sfc_reuse_t *reuse_p);

#endif
