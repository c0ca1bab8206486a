/* Edge loans: edge lists that stay in this rank's inbox after set-up until every reader has acknowledged them, by a
 * flag in the lane's control line. Acknowledged lists return to the inbox when the next graph is created from its
 * edges; others when all ranks have destroyed the graph. */
#ifndef SFC_SETUP_EDGE_LOANS_H
#define SFC_SETUP_EDGE_LOANS_H

#include "client/graph.h"

/* Attachment of a graph whose edge list may still be read. */
typedef struct sfc_loan {
  sfc_attachment_t attachment;
  sfc_block_t block;     /* address NULL: returned */
  struct sfc_loan *next; /* in the context's list */
} sfc_loan_t;

/* Acknowledges the lists of ranks with leaves on roots here. The lanes are connected. */
void sfc_edge_loans_acknowledge(const sf_graph_t *graph);

/* Lends the list in that block, for a graph in the context's list. */
void sfc_edge_loans_add(sf_graph_t *graph, const sfc_block_t *block);

/* Returns lists that all readers have acknowledged. */
void sfc_edge_loans_collect(sf_context_t *context);

#endif
