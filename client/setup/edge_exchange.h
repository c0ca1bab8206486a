/* Edge lists on their way between the ranks of a graph in the making. A list goes through the inbox of the rank that
 * made it: each owner of roots copies the part that concerns it, and when all have done so, the memory serves for the
 * next list. A long list is a sealed region instead, which the owners map. The thread that makes the graph. */
#ifndef SFC_SETUP_EDGE_EXCHANGE_H
#define SFC_SETUP_EDGE_EXCHANGE_H

#include <stdint.h>

#include <sf/sf.h>

#include "client/core.h"
#include "client/plan.h"
#include "proto/conn.h"

/* A leaf rank's list, as GraphReply brought it. */
typedef struct sfc_peer_list {
  int32_t rank;
  sfshm_region_t region;
  void *copy; /* of it, not mapped; NULL: none */
  uint64_t offset;
  int64_t nedges;
  int64_t nvalues;
} sfc_peer_list_t;

typedef struct sfc_edge_exchange {
  sf_group_t *group;
  sfc_edge_list_t own;
  sfc_block_t handed; /* the parts for others, in the inbox; address NULL: none */
  sfc_peer_list_t *peers;
  int32_t npeers;
} sfc_edge_exchange_t;

/* Makes the own list, which has been filled in, accessible to others. */
sf_status_t sfc_edge_exchange_publish(sfc_edge_exchange_t *lists);

/* Tells where the parts for others are, which blocks has room for, and returns their number. */
size_t sfc_edge_exchange_describe(const sfc_edge_exchange_t *lists, Sfproto__EdgeBlock blocks[],
                                  Sfproto__EdgeBlock *pointers[]);

/* Takes in what one GraphReply message tells. *rank_p: whose list an error concerns. */
sf_status_t sfc_edge_exchange_receive(sfc_edge_exchange_t *lists, const sfproto_incoming_t *incoming, int32_t *rank_p);

/* Puts them in the order of ranks. */
void sfc_edge_exchange_sort(sfc_edge_exchange_t *lists);

/* The link of a leaf rank's list to the roots here, which takes over its copy, if it has one. SF_ERR_RANGE: a root
 * index is not below nroots; *bad_leaf_p, else -1: the leaf. */
sf_status_t sfc_edge_exchange_open(sfc_edge_exchange_t *lists, sfc_peer_list_t *peer, int64_t nroots, sfc_link_t *link,
                                   int64_t *bad_leaf_p);

/* Nobody reads the own list any more. */
void sfc_edge_exchange_free(sfc_edge_exchange_t *lists);

#endif
