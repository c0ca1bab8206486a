/* Exchanges of blocks of bytes, whose sizes travel with the messages: what particle codes, load balancing and
 * MPI_Neighbor_alltoallv need. Applications include sf.h.
 *
 * An exchange is a bcast in which the value of each root is a block of bytes of any size: each leaf receives the block
 * of its root, and its rank learns the size with it. A rank knows the sizes of its own roots only, and they may differ
 * from call to call: nothing is agreed among ranks but the graph. An exchange can run on any graph, also beside
 * operations of other kinds; ranks without edges on it need not call anything for the others to go on, except that the
 * calls of a graph are collective as always: all its ranks that have edges call in the same order.
 *
 *   sf_exchange_graph_create(group, nsources, sources, ndests, dests, 0, &graph);   once
 *   sf_exchange(graph, to, from, bytes);       sends to[j] to dests[j], receives from sources[i] into from[i]
 */
#ifndef SF_EXCHANGE_H
#define SF_EXCHANGE_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A block. Of a root: the bytes to send. Of a leaf: room for bytes to be received. data NULL: 0 bytes. */
typedef struct sf_block {
  void *data;   /* first byte */
  size_t bytes; /* at most 2^40 */
} sf_block_t;

/* Begins an exchange. root has a block for each root up to the last one with a leaf, leaf one for each leaf index up to
 * the largest. leaf_bytes, indexed as leaf, or NULL: gets the number of bytes of the block that arrived at each leaf.
 * Other elements of leaf and leaf_bytes are not touched. Collective over the ranks with edges; does not block: the data
 * are handed over to ranks of this node even if they come late, and this rank next waits elsewhere. root, leaf, what
 * they refer to, and leaf_bytes stay in use until the operation ends: sf_wait, sf_test and their like end it. If
 * several leaves of the rank share memory, which of their blocks it gets is not defined.
 *
 * leaf NULL: the memory is supplied later, by sf_exchange_receive; until then operations that were begun afterwards on
 * the graph may wait for this one.
 *
 * Errors at begin. SF_ERR_ARG: a root's block has bytes, but data NULL. SF_ERR_LIMIT: a block of more than 2^40 bytes.
 * SF_ERR_UNSUPPORTED: a block is in memory of a device. Errors of the end (sf_wait): SF_ERR_RANGE: a block was larger
 * than its leaf's room; the detail names the leaf, bytes and room. The room then has the beginning of the block, all
 * other leaves, other ranks and the graph are not affected, and leaf_bytes has the size that was sent. SF_ERR_MISMATCH:
 * another rank called another operation. SF_ERR_LIMIT, SF_ERR_NOMEM: the blocks of this node's ranks for another node
 * need more memory than there is for the messages of a graph; the graph has failed for all ranks.
 *
 * Between nodes an exchange is one message for each pair of nodes and direction. Four exchanges of a graph may be on
 * their way to another node, eight if the message has no more than 128 KiB; what is begun beyond is handed over when
 * this rank next waits or tests. */
SF_CHECK_RESULT sf_status_t sf_exchange_begin(sf_graph_t *graph, const sf_block_t root[], const sf_block_t leaf[],
                                              size_t leaf_bytes[], sf_request_t **request_p);

/* The same, blocking until it has ended; leaf must not be NULL if the rank has leaves. */
SF_CHECK_RESULT sf_status_t sf_exchange(sf_graph_t *graph, const sf_block_t root[], const sf_block_t leaf[],
                                        size_t leaf_bytes[]);

/* Creates a persistent exchange. The arrays are read at each sf_start, so blocks may have other addresses and other
 * sizes in each operation. Local; sf_start is as sf_exchange_begin, with its errors. Exchanges are not joined by
 * SF_GRAPH_TOGETHER. */
SF_CHECK_RESULT sf_status_t sf_exchange_init(sf_graph_t *graph, const sf_block_t root[], const sf_block_t leaf[],
                                             size_t leaf_bytes[], sf_request_t **request_p);

/* Waits until the sizes of all blocks that this rank receives in an exchange with leaf NULL are known, and writes them
 * to leaf_bytes, indexed by leaf. Blocking. SF_ERR_ARG: the request is no exchange. SF_ERR_STATE: it is not in flight,
 * has its memory, or another thread began it. Failures of the graph, after which sf_wait ends the request. */
SF_CHECK_RESULT sf_status_t sf_exchange_probe(sf_request_t *request, size_t leaf_bytes[]);

/* Supplies the memory of an exchange that began with leaf NULL: as the argument of sf_exchange_begin. Once for each
 * operation, with or without a probe before, on each rank with leaves: sf_wait before it returns SF_ERR_STATE, and the
 * request remains in flight. Does not block. Errors of sf_exchange_probe; SF_ERR_UNSUPPORTED: a leaf's memory is on a
 * device. */
SF_CHECK_RESULT sf_status_t sf_exchange_receive(sf_request_t *request, const sf_block_t leaf[]);

/* Creates the graph of an exchange with neighbours, as MPI_Dist_graph_create_adjacent describes them: this rank
 * receives from nsources ranks of the group and sends to ndests, whose numbers in the group are in the two lists. Block
 * j of root goes to rank dests[j]; leaf i gets the block from rank sources[i]. A rank may be there several times: the
 * k-th time that rank s is among the sources of rank r belongs to the k-th time that r is among the dests of s. A rank
 * may be its own neighbour, and have no neighbours. flags: as sf_graph_create. Collective and blocking over the group;
 * the caller owns the graph. Errors are agreed: all ranks return the same. SF_ERR_ARG: a number is negative, or a list
 * NULL. SF_ERR_RANGE: no such rank in the group. SF_ERR_MISMATCH: the lists of two ranks, which the detail names,
 * disagree. */
SF_CHECK_RESULT sf_status_t sf_exchange_graph_create(sf_group_t *group, int32_t nsources, const int32_t sources[],
                                                     int32_t ndests, const int32_t dests[], uint32_t flags,
                                                     sf_graph_t **graph_p);

#ifdef __cplusplus
}
#endif

/* Records the call site: see sf_place.h. */
#ifndef SF_NO_PLACES
#define sf_exchange_graph_create(...) (sf_at(SF_HERE), (sf_exchange_graph_create)(__VA_ARGS__))
#endif

#endif
