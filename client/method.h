/* The planner: how a message's payload travels. */
#ifndef SFC_METHOD_H
#define SFC_METHOD_H

#include "client/graph.h"
#include "shm/board.h"

/* Upper bound of a cell. Larger payloads go in pieces: small enough that writer and reader both find the pieces in
 * their caches, large enough that the flags don't count. */
#define SFC_CELL_BYTES_MAX ((size_t)32 << 10)

/* Cheapest method for a payload above SFSHM_INLINE_BYTES of bytes at source_ref, which lies in so many separate pieces
 * (runs) there. pattern: of the vertices there. */
sfshm_method_t sfc_method_choose(const sfshm_costs_t *costs, const sfc_lane_t *lane, const sfc_memory_ref_t *source_ref,
                                 const sfshm_pattern_t *pattern, int64_t runs, size_t bytes);

/* Cells for payloads of that size. */
size_t sfc_method_cell_bytes(size_t payload_bytes);

#endif
