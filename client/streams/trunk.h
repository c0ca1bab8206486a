/* Operations on streams whose edges reach ranks of other nodes. They go by the trunks of a *copy* of the graph, which
 * carries nothing else, so that what streams send does not mix with what hosts send. Board and exchanges of the copy
 * are pinned:
 *
 *      member's stream, sending m                     member's stream, receiving m
 *   await granted >= m                             await arrived >= m
 *   pack its part into the slot                    unpack its part from the slot
 *   function: packed += 1; the last member         function: compares what was called, consumed += 1;
 *     adds up staging, and submits                   the last member submits a credit
 *
 * granted and arrived are the daemon's, who knows nothing of streams; the lower halves are awaited. Functions of the
 * host wait for nothing but room in the submission ring, which the daemon makes whatever streams do. Operations may be
 * ended in any order, so that credits are for all messages up to the first one that some member has not consumed; and
 * streams wait for each single one, which the credit says.
 *
 * If the graph fails the daemon lets streams go (shm/trunk/trunk.h), or if it is lost the guard of each process does.
 * What functions find released they don't publish. The thread that uses the graph, but for what is said. */
#ifndef SFC_STREAMS_TRUNK_H
#define SFC_STREAMS_TRUNK_H

#include <pthread.h>

#include "client/graph.h"
#include "client/streams/move.h"

#define SFC_STREAMS_CLASSES 38    /* of exchanges: 8 to 2^40 bytes */
#define SFC_STREAMS_HISTORY 1024u /* operations that a stream may be behind its host for a difference to be told */

typedef struct sfc_stream_nodes {
  sfc_streams_t *streams;
  sf_graph_t *copy;
  sfc_stream_pinned_t board; /* NULL: no edges to other nodes here */
  const sfc_exchange_t *exchanges[SFC_STREAMS_CLASSES];
  sfc_stream_pinned_t slots[SFC_STREAMS_CLASSES]; /* where they begin */
  int32_t nexchanges;

  _Atomic uint64_t found; /* on a stream, in place of mine: what another node called; 0: nothing */
  uint64_t mine;          /* written before found */
  _Atomic bool is_watched;

  pthread_mutex_t lock; /* what sides have sent and received, and: */
  uint64_t nbegun;
  uint64_t calls[SFC_STREAMS_HISTORY]; /* descriptors of the last ones */

  /* The guard: */
  bool is_told;      /* the daemon, that the copy has failed */
  uint64_t narrived; /* messages, when it last looked */
  int64_t since_ns;
} sfc_stream_nodes_t;

/* Makes streams->nodes, for units of that size. The copy is its own, also on failure. */
sf_status_t sfc_streams_nodes_open(sfc_streams_t *streams, sf_graph_t *copy, size_t unit_bytes);

/* Exchanges for larger units. */
sf_status_t sfc_streams_nodes_grow(sfc_stream_nodes_t *nodes, size_t unit_bytes);

/* Nothing is under way any more. NULL is accepted. */
void sfc_streams_nodes_unpin(sfc_stream_nodes_t *nodes);
void sfc_streams_nodes_close(sfc_stream_nodes_t *nodes);

/* ---- Operations, as the functions of those names in operation.c and messages.c ---- */

/* Compares what has been called with what other ranks of the node have. SF_ERR_MISMATCH. */
sf_status_t sfc_streams_nodes_compare(const sfc_stream_nodes_t *nodes, uint64_t desc);

/* Numbers what is received in the operation. */
void sfc_streams_nodes_expect(sfc_stream_nodes_t *nodes, sf_streamed_t *streamed);

/* Numbers a message; when the word that is returned has been awaited its slot is free. Then come the moves that fill
 * that, and the end. */
sfshm_stream_word_t sfc_streams_nodes_begin_send(sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane,
                                                 uint64_t *message_p, sfc_stream_pinned_t *slot_p);
void sfc_streams_nodes_add_send(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane,
                                char *slot, sfc_moves_t *moves);
sf_status_t sfc_streams_nodes_end_send(sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane,
                                       uint64_t message, sfc_stream_pinned_t slot);

/* The same with a message that is received. Moves are added, in a reduce, for one turn of the trunk. */
sfshm_stream_word_t sfc_streams_nodes_begin_receive(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed,
                                                    int32_t lane, sfc_stream_pinned_t *slot_p);
void sfc_streams_nodes_add_receive(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane,
                                   int32_t turn, const char *slot, sfc_moves_t *moves);
sf_status_t sfc_streams_nodes_end_receive(sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane);

/* ---- Differences, and failing ---- */

static inline bool sfc_streams_nodes_are_released(const sfc_stream_nodes_t *nodes)
{
  return nodes->board.host != NULL && atomic_load(&nodes->copy->trunks->board->released) != 0;
}

/* What a message says that has been called elsewhere. */
void sfc_streams_nodes_note(sfc_stream_nodes_t *nodes, uint64_t mine, uint64_t theirs);

/* Something has been given to streams: the guard looks whether other nodes call the same. */
void sfc_streams_nodes_watch(sfc_stream_nodes_t *nodes);

/* Streams have done all: fails the graph if what they received was called differently. */
void sfc_streams_nodes_judge(const sfc_stream_nodes_t *nodes);

/* The guard's looks at a graph that is good; whether again. calling: some call gives streams work, which the driver may
 * hold up, and with it whoever asks it something. And at one that has failed. */
bool sfc_streams_nodes_look(sfc_stream_nodes_t *nodes, bool calling);
void sfc_streams_nodes_let_go(sfc_stream_nodes_t *nodes);

#endif
