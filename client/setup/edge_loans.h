/* Edge loans: edge lists that stay in this rank's inbox after set-up until every reader has acknowledged them, with a
 * flag in the control line of the lane. A list that all have acknowledged goes back to the inbox when the next graph is
 * made from its edges. Any list goes back when all ranks have destroyed its graph. */
#ifndef SFC_SETUP_EDGE_LOANS_H
#define SFC_SETUP_EDGE_LOANS_H

#include "client/graph.h"

/* The attachment of a graph whose edge list others may be reading. */
typedef struct sfc_loan {
  sfc_attachment_t attachment;
  sfc_block_t block;     /* address NULL: it has been given back */
  struct sfc_loan *next; /* in the context's list */
} sfc_loan_t;

/* Tells the ranks that have leaves on roots here that their lists have been read. The lanes are connected. */
void sfc_edge_loans_acknowledge(const sf_graph_t *graph);

/* The list in that block belongs to the graph now, which is in the context's list. It is given back if all have read
 * it, or when all have destroyed the graph. */
void sfc_edge_loans_add(sf_graph_t *graph, const sfc_block_t *block);

/* Gives back lists that all have read. */
void sfc_edge_loans_collect(sf_context_t *context);

#endif
