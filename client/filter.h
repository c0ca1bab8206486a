/* Some of a link's edges, as a block of an edge list. Both ends of a link that leave out the same edges get the same
 * values in the same order. Any thread. */
#ifndef SFC_FILTER_H
#define SFC_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include "client/link.h"
#include "shm/edges.h"

/* 64-bit words of a set of the link's edges: one bit each, lowest first, in the plan's order. */
static inline int64_t sfc_filter_words(const sfc_link_t *link)
{
  return (link->nedges + 63) / 64;
}

/* Adds the edges whose leaves, or roots, are marked to an empty set. */
void sfc_filter_by_leaves(const sfc_link_t *link, const uint8_t leaves[], uint64_t kept[]);
void sfc_filter_by_roots(const sfc_link_t *link, const uint8_t roots[], uint64_t kept[]);

/* The values of the link of which some edge is in the set: adds them to an empty set as first, first + 1, ... */
void sfc_filter_values(const sfc_link_t *link, const uint64_t kept[], int64_t first, uint64_t values[]);

/* How many edges of the link are in the set; bits beyond them count for nothing. */
int64_t sfc_filter_count(const sfc_link_t *link, const uint64_t kept[]);

/* Bytes that the arrays of a block with nkept > 0 of the link's edges may take: a multiple of SFC_EDGE_ALIGN. */
size_t sfc_filter_room(const sfc_link_t *link, int64_t nkept);

/* Writes the arrays of the block with the nkept edges in the set at that offset of an image, which is aligned to
 * SFC_EDGE_ALIGN. The block is for sfshm_edges_open_own. SF_ERR_NOMEM. */
sf_status_t sfc_filter_write(const sfc_link_t *link, const uint64_t kept[], int64_t nkept, char *image, size_t offset,
                             sfshm_edge_block_t *block_p);

#endif
