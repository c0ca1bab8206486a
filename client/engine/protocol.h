/* The planner: how a message's payload travels. */
#ifndef SFC_ENGINE_PROTOCOL_H
#define SFC_ENGINE_PROTOCOL_H

#include "client/graph.h"
#include "shm/region/board.h"

/* Upper bounds of a cell; larger payloads go in pieces. A line that goes round while the reader still has it in its
 * cache has to be taken back from there before it can be written, which costs more than the copy: so the cells of a
 * lane that is used again and again hold more than caches of cores do, 2 MiB, and pieces go round through all of that.
 * At first, when that memory would cost more than it saves, and where a rank has so many lanes that they hold as much
 * together, they are small. */
#define SFC_CELL_BYTES_MAX ((size_t)256 << 10)
#define SFC_CELL_BYTES_FIRST ((size_t)32 << 10)
#define SFC_CELL_BYTES_MIN ((size_t)256)

/* Bytes of values that may be on their way to one rank eagerly, beyond what is in slots and cells: a begin hands over
 * payloads of at most this size whatever the reader does. */
#define SFC_EAGER_BYTES ((size_t)1 << 20)

/* Messages of a lane, of any size, before its cells grow: if they had filled the first ones, as much as large ones hold
 * would have gone through these. */
#define SFC_FIRST_MESSAGES (SFSHM_LANE_SLOTS * (SFC_CELL_BYTES_MAX / SFC_CELL_BYTES_FIRST))

/* Cheapest method for a payload above SFSHM_INLINE_BYTES of bytes at source_ref, which lies in so many separate pieces
 * (runs) there. pattern: of the vertices there. */
sfshm_method_t sfc_protocol_choose(const sfshm_costs_t *costs, const sfc_lane_t *lane,
                                   const sfc_memory_ref_t *source_ref, const sfshm_pattern_t *pattern, int64_t runs,
                                   size_t bytes);

/* Whether a payload in so many pieces is offered to the daemon's workers where that is possible: they read it in place,
 * which takes longer than packing if it is scattered. What cells hold is not worth that: the writer is done with it at
 * once, and the reader may be waiting. */
bool sfc_protocol_suits_worker(const sfshm_costs_t *costs, int64_t runs, size_t bytes);

/* Cells for payloads of that size on a lane that has carried so many messages, one of so many to ranks of the node. */
size_t sfc_protocol_cell_bytes(size_t payload_bytes, uint64_t messages, int32_t nlanes);

/* The largest cells of a lane that is used again and again, one of so many of a rank to others of the node. */
size_t sfc_protocol_cell_bytes_most(int32_t nlanes);

/* Whether there are cells of that size. */
bool sfc_protocol_has_cells_of(size_t cell_bytes);

#endif
