/* Operations on streams of CUDA devices: they are given to a stream as kernels are, and return at once [PetscSF 5.4].
 * Packing and unpacking take their places among the work on the stream, and wait there for what other ranks do, not on
 * the host. No CUDA header is needed: a stream is what cudaStream_t or CUstream is, as void *; NULL is the default
 * stream.
 *
 * All are collective over the graph's group and matched by order among themselves: a rank that calls one while others
 * call another gets SF_ERR_MISMATCH, or they do, as far as the hosts of both are not many operations apart. (Ranks of
 * different nodes find out when a message comes, or after a second without one: SF_ERR_MISMATCH comes with a later
 * call.) The first of them on a graph, and the first that makes the multi-graph (gather, scatter, fetch_op), have a
 * place among the operations of the host on the graph, too: before it all ranks have begun the same of these, else
 * SF_ERR_MISMATCH. For the multi-graph sf_graph_multi beforehand rules that out. Every rank calls with a stream, also
 * one whose data are on the host. What a stream was given before begin may write the data, what it is given after end
 * may use the results; the host may do so when the stream has come that far (for instance after sf_streams_wait). Data
 * on devices are registered (sf_register) and are on the stream's device; others are memory of the host, which the host
 * packs and unpacks when the stream comes to it. Results are bit by bit those of sf_bcast and sf_reduce.
 *
 * Between two ranks of a node whose data are on devices messages pass through memory of the device of the rank that
 * gets them, if the other one's kernels reach it: the same device, or a peer. The daemon allocates it, for four
 * messages from each neighbour; it counts among the memory of devices that a job may have (option max-device-memory),
 * as a whole number of blocks for each graph and rank (see sf_alloc_on_device).
 * Otherwise they pass through pinned memory of the host that both devices see: that is so if the daemon has no driver,
 * or as SF_DEVICE_SHARE, SF_DEVICE_PEER or SF_DEVICE_KERNEL are off (see sf_register), or an end's data are on the
 * host, or a device that may see late what others store in its memory lacks memory operations on streams. What is
 * decided by the first operation on a graph, and again by each with a larger unit than any before, stays until the next
 * one of these; where data turn out to be on the host then, one kernel more copies a message. sfctl plan
 * --pairs says what was decided.
 *
 * What goes to other nodes passes through pinned memory, or through memory of a device, which the daemon gives to MPI
 * to send from and to receive into. That is so if its MPI takes memory of devices (option device-mpi of sfd), for
 * messages of more than 64 KiB, of units no larger than those of the first operation on the graph. A node's messages to
 * another one leave a device if the data of all its ranks that have part in them are on devices whose kernels reach
 * that memory, which is on the device of one of the ranks, and, in a reduce, no two of the ranks contribute to the same
 * root; they arrive on a device if all data are on that one, and it can flush what network adapters have written to it,
 * or need not. The daemon allocates the memory, as that for messages within the node; data of the host take a kernel
 * more. SF_DEVICE_MPI=off in the environment of one of the ranks, like SF_DEVICE_SHARE=off, has the node do without.
 * sfctl plan of the graph's copy says what was decided. The host's part, telling the daemon, is a function of the host
 * on the stream in any case.
 *
 * The first operation on a graph blocks until all ranks have called it: it agrees on memory for the messages. One with
 * a larger unit than any before blocks until the ranks with which this one shares edges have called it, also for what
 * streams have to do still, and fails the graph if it cannot have more memory. All others give kernels, memory
 * operations and, for data of the host, calls of host functions to the stream, and wait for nothing. Where the driver
 * lacks memory operations on streams (or the environment says SF_STREAM_MEMOPS=off), host functions raise the words
 * that others wait for and a kernel of one thread waits for them. SF_STREAM_COPY=on has the driver copy what is
 * contiguous at both ends, replaces and has 64 KiB or more, in place of kernels, but in a default stream: for
 * comparison, and only where each rank's operations are all on one stream, since the driver may put copies of one
 * stream behind those of another that wait for them.
 *
 * If a rank or a daemon dies, or the graph fails, streams that wait go on, with undefined results: the next call on
 * the graph says so, and so do sf_streams_check and sf_streams_wait. sf_graph_destroy and sf_finalize want operations
 * on streams to have been ended, as others (SF_ERR_STATE), and wait for what streams have to do still. That may be all
 * streams of the process, whatever the graph, as drivers give memory back only then: so may other calls that free
 * graphs, and a rank must not have to make another call before those streams get what they wait for.
 *
 * Errors of begin, beside those of sf_bcast_begin: SF_ERR_UNSUPPORTED: no driver, no device or no plugin; an op of
 * the application, but for a fetch_op; data on another device than the stream's; a stream that is being captured into a
 * CUDA graph, as each operation is given numbers of its own. SF_ERR_LIMIT: the operation
 * SF_STREAMS_IN_FLIGHT before has not been ended. SF_ERR_STATE: a larger unit than before while an operation has
 * not been ended, or device memory that was freed before it was unregistered. SF_ERR_ARG: a stream of another
 * device than the graph's first one. Local errors leave the graph as it was: the other ranks wait for this one's
 * call. So do errors of the first operation, which all ranks get: NULL where something is needed and an op that can't
 * be are among them, and SF_ERR_MISMATCH. */
#ifndef SF_STREAMS_H
#define SF_STREAMS_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SF_STREAMS_IN_FLIGHT 4 /* operations of a graph that have been begun and not ended */

typedef struct sf_streamed sf_streamed_t; /* an operation on a stream that has been begun and not ended */

/* leaf = leaf op root, for every edge; see sf_bcast_begin. */
SF_CHECK_RESULT sf_status_t sf_bcast_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata,
                                                     void *leafdata, const sf_op_t *op, void *stream,
                                                     sf_streamed_t **streamed_p);

/* root = root op leaf_1 op leaf_2 ..., in the order of sf_reduce_begin. */
SF_CHECK_RESULT sf_status_t sf_reduce_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                                      void *rootdata, const sf_op_t *op, void *stream,
                                                      sf_streamed_t **streamed_p);

/* As sf_gather and sf_scatter: operations on the multi-graph, whose order is its own, apart from those above. Without a
 * multi-graph begin makes it, as that of sf_gather does. */
SF_CHECK_RESULT sf_status_t sf_gather_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                                      void *slotdata, void *stream, sf_streamed_t **streamed_p);
SF_CHECK_RESULT sf_status_t sf_scatter_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata,
                                                       void *leafdata, void *stream, sf_streamed_t **streamed_p);

/* As sf_fetch_op: the roots meet the contributions when the stream comes to the place of begin, one after the other in
 * the order of sf_fetch_op_begin, and leafupdate has been written where the stream has come to the place of end. Of the
 * order of the multi-graph's operations, too, and counts as two of those that are in flight. Contributions to the roots
 * here are kept in pinned memory meanwhile, of twice so many units, of the largest so far, as the roots have leaves;
 * the first fetch_op with a larger unit than those before waits for what streams have to do still. op may be one of the
 * application if rootdata is memory of the host: it is called by a function of the host on the stream, from a thread of
 * the driver's, one unit at a time, and must neither call CUDA nor wait for anything (SF_ERR_UNSUPPORTED: rootdata on a
 * device). */
SF_CHECK_RESULT sf_status_t sf_fetch_op_begin_on_stream(sf_graph_t *graph, const sf_type_t *unit, void *rootdata,
                                                        const void *leafdata, void *leafupdate, const sf_op_t *op,
                                                        void *stream, sf_streamed_t **streamed_p);

/* Ends the operation, on the same stream or another one of the device, and sets *streamed to NULL, also on failure but
 * for a stream that is refused. Operations may be ended in any order; NULL is accepted. */
SF_CHECK_RESULT sf_status_t sf_end_on_stream(sf_streamed_t **streamed, void *stream);

/* Begin and end. */
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

/* Whether the graph, or the device, has failed. Local, does not wait but for the reason, if another rank has seen the
 * graph fail already. */
SF_CHECK_RESULT sf_status_t sf_streams_check(sf_graph_t *graph);

/* Blocks until streams have done all that operations on the graph have given them, and tells whether it is good. */
SF_CHECK_RESULT sf_status_t sf_streams_wait(sf_graph_t *graph);

#ifdef __cplusplus
}
#endif
#endif
