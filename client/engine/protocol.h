/* Protocol selection: how a message's payload travels. */
#ifndef SFC_ENGINE_PROTOCOL_H
#define SFC_ENGINE_PROTOCOL_H

#include "client/graph.h"

/* Cell sizes; larger payloads travel in pieces. Writing a line that is still in the reader's cache costs more than the
 * copy. Therefore the cells of a lane in constant use hold more than a core's caches, 2 MiB, and pieces cycle through
 * all of it. Cells start small, and stay small where a rank has so many lanes that they hold as much together.
 *
 * Lanes that write past the caches (lane.h) need not cycle: a cell is as large as a piece, or half a payload, so that
 * writer and reader overlap. */
#define SFC_CELL_BYTES_MAX ((size_t)256 << 10)
#define SFC_CELL_BYTES_FIRST ((size_t)32 << 10)
#define SFC_CELL_BYTES_MIN ((size_t)256)

/* Smallest copy past the caches: fewer lines are fetched back sooner than such stores reach memory. */
#define SFC_NONTEMPORAL_MIN ((size_t)2 << 10)

/* Limit of eager bytes to one rank beyond slots and cells: begin hands over payloads up to this size whatever the
 * reader does. */
#define SFC_EAGER_BYTES ((size_t)1 << 20)

/* Messages of a lane before its cells grow: in the first cells they would have moved as much as large cells hold. */
#define SFC_FIRST_MESSAGES (SFSHM_LANE_SLOTS * (SFC_CELL_BYTES_MAX / SFC_CELL_BYTES_FIRST))

/* Cheapest protocol for a payload of bytes (more than SFSHM_INLINE_BYTES) at source_ref, in that many runs. pattern: of
 * the vertices there. */
sfshm_method_t sfc_protocol_choose(const sfshm_costs_t *costs, const sfc_lane_t *lane,
                                   const sfc_memory_ref_t *source_ref, const sfshm_pattern_t *pattern, int64_t runs,
                                   size_t bytes);

/* The same for n blocks of an exchange, of so many bytes together. in_alloc: all are in sf_alloc memory. What exceeds
 * the limit of eager bytes is read in place whenever the reader can: nothing else would hand it over at once. */
sfshm_method_t sfc_protocol_choose_blocks(const sfshm_costs_t *costs, const sfc_lane_t *lane, bool in_alloc, int64_t n,
                                          size_t bytes);

/* Zero-copy minimum: more than a lane's first cells hold. */
#define SFC_IN_PLACE_MIN (SFSHM_LANE_SLOTS * SFC_CELL_BYTES_FIRST + 1)

/* Whether to offer the payload to workers if possible: they read in place, which is slower than packing if it is
 * scattered. Small payloads go to cells: the writer is done at once, and the reader may be waiting. */
bool sfc_protocol_suits_worker(const sfshm_costs_t *costs, int64_t runs, size_t bytes);

/* Cell size for the payload on a lane that has carried that many messages, one of nlanes on the node. */
size_t sfc_protocol_cell_bytes(size_t payload_bytes, uint64_t messages, int32_t nlanes, bool nontemporal);

/* Largest cell size of a lane in constant use, one of nlanes on the node. */
size_t sfc_protocol_cell_bytes_most(int32_t nlanes, bool nontemporal);

/* Whether the cell size is valid. */
bool sfc_protocol_has_cells_of(size_t cell_bytes);

#endif
