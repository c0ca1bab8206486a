/* Shared memory of destroyed graphs: others may still write to it, or read it, until every rank has destroyed the
 * graph, which the daemon says then. The daemon is told of each graph that this rank destroys; of one of which it could
 * not be told it is told later. Records are found by the graph's number, in constant time however many there are. */
#ifndef SFC_GRAPH_RETIRED_MEMORY_H
#define SFC_GRAPH_RETIRED_MEMORY_H

#include <sf/sf.h>

#include "client/core.h"

typedef struct sfc_retired_record sfc_retired_record_t;
struct sfc_retired_block; /* blocks of a graph that this rank is done with */

#define SFC_RETIRED_CHAINS 1024

/* Under the context's lock. */
typedef struct sfc_retired {
  sfc_retired_record_t *chains[SFC_RETIRED_CHAINS]; /* by graph number modulo their count */
  sfc_retired_record_t *unreported;                 /* those of which the daemon has not been told */
} sfc_retired_t;

/* The records of a context; NULL: no memory. */
sfc_retired_t *sfc_retired_new(void);

/* Memory for the record of a graph, made with it so that destroying cannot fail; NULL: there is none. */
sfc_retired_record_t *sfc_retired_record_new(void);

/* The block is the inbox's again when every rank has destroyed the graph. */
void sfc_graph_retire_block(sf_graph_t *graph, const sfc_block_t *block);

/* Frees the records of blocks. inbox: to which the blocks are given back; NULL: they go with it. */
void sfc_retired_blocks_free(struct sfc_retired_block *left, sfc_heap_t *inbox);

/* Fills in the record, with the blocks that the graph has left, and keeps it: the daemon is to be told. */
void sfc_retired_add(sf_graph_t *graph);

/* Tells the daemon which graphs this rank has destroyed, also of those of which it could not be told before: until then
 * they stay there, with their memory here. */
void sfc_retired_tell_daemon(sf_context_t *context);

/* Every rank has destroyed the graph. The listener. */
void sfc_retired_graph_gone(sf_context_t *context, uint64_t number);

/* Forgets all, at the end of the context: the memory goes with the inbox. */
void sfc_retired_free(sf_context_t *context);

#endif
