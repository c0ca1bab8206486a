/* Operations on CUDA streams: begin and end enqueue work on a stream, as kernel launches do, and return at once
 * [PetscSF 5.4]. Part of sf.h, which is what to include. No CUDA header is needed: a stream is a cudaStream_t or
 * CUstream, passed as void *; NULL is the default stream.
 *
 * Order. begin enqueues packing, end enqueues waiting for messages and unpacking. Work that was enqueued before begin
 * may write the data. Work that is enqueued after end may use the results; the host may use them once the stream has
 * reached that point (for instance after sf_streams_wait). Results are bitwise those of sf_bcast and sf_reduce; only
 * the bits of a NaN differ between processors and devices. Data on devices must be registered (sf_register) and on the
 * stream's device. Other data are in host memory; the host packs and unpacks them when the stream reaches the
 * operation. A rank whose data are on the host passes a stream as well.
 *
 * Matching. Operations are collective over the graph's group and matched by their order, separately from the operations
 * of sf.h. If ranks call different operations, they get SF_ERR_MISMATCH from this or a later call. (The check needs
 * hosts that are not many operations apart; between nodes it happens when a message arrives, or after a second without
 * one.) The first operation on a graph, and the first one that creates the multi-graph (gather, scatter, fetch_op), are
 * also matched with the operations of sf.h on that graph: all ranks must have begun the same number of those, else
 * SF_ERR_MISMATCH. Call sf_graph_multi first to avoid this for the multi-graph.
 *
 * Blocking. The first operation on a graph blocks until all ranks have called it; the ranks then agree on memory for
 * messages. An operation with a larger unit than all before blocks until all ranks that share edges with this one have
 * called it, and until their streams have finished; if memory is exhausted the graph fails. All other operations
 * enqueue kernels, memory operations and, for host data, host functions, and return.
 *
 * How far ahead. Drivers keep about 1,000 pending entries of a stream. An operation takes a few entries,
 * and more in a trace; once the stream is full, begin and end block, as kernel launches do, until the device has done
 * enough of it, that is until the other ranks have called the operations that the stream waits for. If one of them dies
 * the call returns the error. A host may therefore run ahead of the others by a few dozen operations, not by any
 * number: what the others wait for must not come behind more.
 *
 * Several streams. A device has few hardware queues (8, or CUDA_DEVICE_MAX_CONNECTIONS, which sfrun sets to 32, the
 * most; fewer under MPS), and a stream that waits for another rank holds up all streams in its queue. If all ranks call
 * the operations of all graphs on streams in the same order, nothing locks up, on any number of streams. If ranks call
 * them in different orders, on different streams, they need a queue for each stream.
 *
 * Message memory. The library chooses for each pair of ranks between device memory of the receiving rank (if the
 * sender's kernels reach it) and pinned host memory; messages to other nodes pass through pinned host memory. The first
 * operation, and each one with a larger unit than all before, decides. Device memory counts towards the daemon's option
 * max-device-memory. sfctl plan --pairs shows the choices; docs/design/devices.md has the conditions, and sfrun(1) the
 * environment variables that switch single ways off, for measurements.
 *
 * Failure. If a rank or a daemon dies, or the graph fails, waiting streams continue with undefined results. The next
 * call on the graph, sf_streams_check and sf_streams_wait return the error. sf_graph_destroy and sf_finalize require
 * that operations on streams have been ended (SF_ERR_STATE), and wait until the streams have finished. They, and other
 * calls that free graphs, may have to wait for all streams of the process, because drivers free memory only then: so
 * nothing that those streams wait for may depend on a later call of this rank.
 *
 * Errors of begin, in addition to those of sf_bcast_begin. SF_ERR_UNSUPPORTED: no driver, no device or no plugin; an op
 * of the application (except in fetch_op); data on another device than the stream's; a stream in capture for a CUDA
 * graph, because each operation needs its own numbers. SF_ERR_LIMIT: SF_STREAMS_IN_FLIGHT operations have not been
 * ended. SF_ERR_STATE: a larger unit than before while an operation is in flight, or device memory that was freed
 * before it was unregistered. SF_ERR_ARG: a stream of another device than the graph's first one. Local errors leave the
 * graph as it was, and the other ranks wait for this rank's correct call. Errors of the first operation are agreed: all
 * ranks return them, NULL arguments and undefined ops included. */
#ifndef SF_STREAMS_H
#define SF_STREAMS_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SF_STREAMS_IN_FLIGHT 4 /* maximum number of operations in flight on a graph */

typedef struct sf_streamed sf_streamed_t; /* operation in flight on a stream */

/* leaf = leaf op root, for every edge: sf_bcast_begin on a stream. */
SF_CHECK_RESULT sf_status_t sf_bcast_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata,
                                                     void *leafdata, const sf_op_t *op, void *stream,
                                                     sf_streamed_t **streamed_p);

/* root = root op leaf_1 op leaf_2 ..., in the order of sf_reduce_begin: reduce on a stream. */
SF_CHECK_RESULT sf_status_t sf_reduce_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                                      void *rootdata, const sf_op_t *op, void *stream,
                                                      sf_streamed_t **streamed_p);

/* sf_gather_begin and sf_scatter_begin on a stream. They are operations of the multi-graph, in the order of its
 * operations on streams. If the multi-graph does not exist begin creates it, as sf_gather_begin does. */
SF_CHECK_RESULT sf_status_t sf_gather_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                                      void *slotdata, void *stream, sf_streamed_t **streamed_p);
SF_CHECK_RESULT sf_status_t sf_scatter_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata,
                                                       void *leafdata, void *stream, sf_streamed_t **streamed_p);

/* sf_fetch_op_begin on a stream. The roots process the contributions, in the order of sf_fetch_op_begin, where the
 * stream reaches begin; leafupdate is complete where it reaches end. The call is an operation of the multi-graph, and
 * counts as two operations in flight. The owner of the roots keeps contributions in pinned memory: twice as many units,
 * of the largest size so far, as its roots have leaves. The first fetch_op with a larger unit than before waits until
 * the streams have finished. Ops of the application are accepted if rootdata is in host memory (SF_ERR_UNSUPPORTED
 * otherwise): a host function on the stream, in a thread of the driver, calls the op for one unit at a time; the op
 * must neither call CUDA nor wait. */
SF_CHECK_RESULT sf_status_t sf_fetch_op_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, void *rootdata,
                                                        const void *leafdata, void *leafupdate, const sf_op_t *op,
                                                        void *stream, sf_streamed_t **streamed_p);

/* Ends the operation, on the same or another stream of the device, and sets *streamed to NULL; also on error, except if
 * the stream is refused. Operations may be ended in any order. *streamed == NULL is accepted. Does not block. */
SF_CHECK_RESULT sf_status_t sf_end_on_stream(sf_streamed_t **streamed, void *stream);

/* Begin and end in one call. */
SF_CHECK_RESULT sf_status_t sf_bcast_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata,
                                               void *leafdata, const sf_op_t *op, void *stream);
SF_CHECK_RESULT sf_status_t sf_reduce_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                                void *rootdata, const sf_op_t *op, void *stream);
SF_CHECK_RESULT sf_status_t sf_gather_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                                void *slotdata, void *stream);
SF_CHECK_RESULT sf_status_t sf_scatter_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata,
                                                 void *leafdata, void *stream);
SF_CHECK_RESULT sf_status_t sf_fetch_op_on_stream(sf_graph_t *graph, const sf_type_t *unit, void *rootdata,
                                                  const void *leafdata, void *leafupdate, const sf_op_t *op,
                                                  void *stream);

/* Returns the error of the graph or of the device, or SF_OK. Local; waits only to learn the reason if another rank has
 * seen the graph fail. */
SF_CHECK_RESULT sf_status_t sf_streams_check(sf_graph_t *graph);

/* Blocks until the streams have finished all work that operations on the graph have enqueued. Returns the error of the
 * graph or of the device, or SF_OK. */
SF_CHECK_RESULT sf_status_t sf_streams_wait(sf_graph_t *graph);

#ifdef __cplusplus
}
#endif
#endif
