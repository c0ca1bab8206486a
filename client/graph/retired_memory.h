/* Memory of destroyed graphs. Peers may access it until every rank has destroyed the graph, which the daemon reports.
 * Each destroyed graph has a record, found by its number in constant time. The daemon is told of each destruction,
 * later if sending fails. */
#ifndef SFC_GRAPH_RETIRED_MEMORY_H
#define SFC_GRAPH_RETIRED_MEMORY_H

#include <sf/sf.h>

#include "client/core.h"

typedef struct sfc_retired_record sfc_retired_record_t;
struct sfc_retired_block;

#define SFC_RETIRED_CHAINS 1024

/* Under the context's lock. */
typedef struct sfc_retired {
  sfc_retired_record_t *chains[SFC_RETIRED_CHAINS]; /* by graph number modulo their count */
  sfc_retired_record_t *unreported;                 /* not reported to the daemon yet */
} sfc_retired_t;

/* Allocates the records of a context; NULL: no memory. */
sfc_retired_t *sfc_retired_new(void);

/* Allocates a record with its graph, so that destroying cannot fail; NULL: no memory. */
sfc_retired_record_t *sfc_retired_record_new(void);

/* Returns the block to its heap once every rank has destroyed the graph. */
void sfc_graph_retire_block(sf_graph_t *graph, const sfc_block_t *block);

/* Frees block records. give: returns the blocks to their heaps. */
void sfc_retired_blocks_free(struct sfc_retired_block *left, bool give);

/* Fills in the graph's record, with its blocks, and keeps it. */
void sfc_retired_add(sf_graph_t *graph);

/* Reports all unreported destructions to the daemon. */
void sfc_retired_tell_daemon(sf_context_t *context);

/* Every rank has destroyed the graph. Called by the listener. */
void sfc_retired_graph_gone(sf_context_t *context, uint64_t number);

/* Frees all records, at the end of the context. */
void sfc_retired_free(sf_context_t *context);

#endif
