/* Edge lists that lie in this rank's inbox and that owners of roots may still be reading, of graphs that are ready. Who
 * has read one says so in the control line of the lane. A list that all have read is given back to the inbox when the
 * next graph is made from its edges, and any list when all have destroyed its graph. */
#ifndef SFC_LENT_H
#define SFC_LENT_H

#include "client/graph/graph.h"

/* The attachment of a graph whose edge list others may be reading. */
typedef struct sfc_loan {
  sfc_attachment_t attachment;
  sfc_block_t block;     /* address NULL: it has been given back */
  struct sfc_loan *next; /* in the context's list */
} sfc_loan_t;

/* Tells the ranks that have leaves on roots here that their lists have been read. The lanes are connected. */
void sfc_lent_say_read(const sf_graph_t *graph);

/* The list in that block belongs to the graph now, which is in the context's list. It is given back if all have read
 * it, or when all have destroyed the graph. */
void sfc_lent_add(sf_graph_t *graph, const sfc_block_t *block);

/* Gives back lists that all have read. */
void sfc_lent_collect(sf_context_t *context);

#endif
