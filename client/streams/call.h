/* Calls of operations on streams, as those are made of which they consist: see operation.c. The thread that uses the
 * graph.
 */
#ifndef SFC_STREAMS_CALL_H
#define SFC_STREAMS_CALL_H

#include "client/core.h"
#include "client/streams/move.h"

/* What a call asks for. */
typedef struct sfc_asked {
  sf_graph_t *graph;
  sfshm_operation_t operation;
  const sf_type_t *unit;
  const void *root;
  const void *leaf;
  const sf_op_t *op;
  const sfc_stream_pinned_t *slots; /* in place of root, and who uses it; NULL: none */
  bool slots_by_host;
  uint64_t signature; /* descriptor without number, as part of another call; 0: what follows from the above */
} sfc_asked_t;

/* Whether it is registered memory of a device. */
bool sfc_streams_is_on_device(const sf_graph_t *graph, const void *address);

/* The multi-graph, made if there is none. Also one that has failed, which the daemon may not know: ranks may wait to
 * meet there. before: what is wrong with this rank's call, which if the others wait is an error of all. */
sf_status_t sfc_streams_multi(sf_status_t before, sf_graph_t *graph, sf_graph_t **multi_p);

/* Returns what is wrong with a call on the graph. If it is the first there the others wait, and it is an error of all.
 */
sf_status_t sfc_streams_refuse(sf_status_t status, sf_graph_t *graph);

/* The graph has streams when it returns: collective and blocking for the first call, before which ranks meet. */
sf_status_t sfc_streams_ready(const sfc_asked_t *asked, void *stream);

/* Gives the stream all up to what is sent. Local errors come before anybody has been told of the call. */
sf_status_t sfc_streams_begin(const sfc_asked_t *asked, void *stream, sf_streamed_t **streamed_p);

/* Where the data are, whose vertices up to the last one are used; and that they may be used on these streams, with that
 * op. */
sf_status_t sfc_streams_find_buffer(const sfc_streams_t *streams, const char *name, const void *address, int64_t last,
                                    sfshm_unit_t unit, sfshm_op_t op, bool *on_host_p);

/* Around what is given to streams. leave is told what the plugin returned: if that is an error, what has been given is
 * incomplete and the graph of no use. */
sf_status_t sfc_streams_enter(sfc_streams_t *streams);
sf_status_t sfc_streams_leave(sfc_streams_t *streams, sf_status_t status);

#endif
