/* Exchange of edge lists between the ranks of a new graph. A list is written to the inbox of its rank; each owner of
 * roots copies its part; then the memory is reused. A long list is a sealed region instead, which owners map. The
 * thread that creates the graph. */
#ifndef SFC_SETUP_EDGE_EXCHANGE_H
#define SFC_SETUP_EDGE_EXCHANGE_H

#include <stdint.h>

#include <sf/sf.h>

#include "client/core.h"
#include "client/plan.h"
#include "proto/conn.h"

/* A leaf rank's list, from GraphReply. */
typedef struct sfc_peer_list {
  int32_t rank;
  sfshm_region_t region;
  void *copy; /* copy of the list; NULL: the region is mapped */
  uint64_t offset;
  int64_t nedges;
  int64_t nvalues;
} sfc_peer_list_t;

typedef struct sfc_edge_exchange {
  sf_group_t *group;
  sfc_edge_list_t own;
  sfc_block_t handed; /* parts for others in the inbox; address NULL: none */
  sfc_peer_list_t *peers;
  int32_t npeers;
} sfc_edge_exchange_t;

/* Makes this rank's list, which is complete, accessible to others. */
sf_status_t sfc_edge_exchange_publish(sfc_edge_exchange_t *lists);

/* Describes the parts for others in blocks, and returns their number. */
size_t sfc_edge_exchange_describe(const sfc_edge_exchange_t *lists, Sfproto__EdgeBlock blocks[],
                                  Sfproto__EdgeBlock *pointers[]);

/* Takes the lists of one GraphReply. *rank_p: rank whose list an error concerns. */
sf_status_t sfc_edge_exchange_receive(sfc_edge_exchange_t *lists, const sfproto_incoming_t *incoming, int32_t *rank_p);

/* Sorts the peers' lists by rank. */
void sfc_edge_exchange_sort(sfc_edge_exchange_t *lists);

/* Opens a leaf rank's list as a link to the roots here. The link takes over the copy, if any. SF_ERR_RANGE: a root
 * index is not below nroots; *bad_leaf_p is its leaf, else -1. */
sf_status_t sfc_edge_exchange_open(sfc_edge_exchange_t *lists, sfc_peer_list_t *peer, int64_t nroots, sfc_link_t *link,
                                   int64_t *bad_leaf_p);

/* Frees everything; no rank reads this rank's list any more. */
void sfc_edge_exchange_free(sfc_edge_exchange_t *lists);

#endif
