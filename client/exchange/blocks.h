/* Exchanges: bcasts whose values are blocks of bytes of any size (sf_exchange.h). Their requests
 * have no fields; they take the general path of operations, which calls the functions here (sfc_payload_ops_t) where
 * data are sent and taken.
 *
 * A message of n values is a stream of bytes: the n sizes, then the data, in the order of the link's values. Its forms,
 * by the method of its descriptor, are those of other operations (shm/lane/message.h has the structs):
 *   INLINE            sizes of one byte each and the data, in the slot
 *   CELL              a piece in the slot's cell, with its length in the slot. Up to SFSHM_BLOCKS_IN_SLOT sizes are in
 *                     the slot of the first piece, more of them at the beginning of the stream
 *   CELL, eager slot  the rest of the stream, all sizes included, in a block of the writer's inbox
 *   VM_READ, IN_PLACE a list of sizes and places, in the slot, or in a block of the writer's inbox
 *
 * The reader believes none of it: it reads each size once, checks it, and keeps it until it has taken the data, which
 * never go beyond the room of the application's block.
 *
 * An exchange without memory for its leaves takes sizes but leaves the messages where they are, and counts the missing
 * memory as one more lane that is to be received from. The thread that uses the graph. */
#ifndef SFC_EXCHANGE_BLOCKS_H
#define SFC_EXCHANGE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf.h>

#include "client/engine.h"
#include "shm/edges/pattern.h"

#define SFC_BLOCK_BYTES_MAX ((size_t)1 << 40)

#define SFC_NO_BYTES SIZE_MAX

typedef struct sfc_blocks {
  sf_request_t request; /* of the operation */
  sf_request_t sizes;   /* stands for the sizes: receives_left is the number of lanes whose sizes are unknown */
  const sf_block_t *root;
  const sf_block_t *leaf;       /* of the operation in flight; NULL: not supplied yet, or no leaves */
  const sf_block_t *given_leaf; /* argument of the call */
  size_t *given_bytes;          /* argument of the call: where sizes go; NULL: nowhere */
  size_t *own_bytes;            /* of an exchange without memory: for probes; SFC_NO_BYTES where there is no leaf */
  bool lacks_memory;            /* leaves here, but no memory yet */
  bool was_short;               /* of the first block that did not fit: */
  int64_t short_leaf;
  size_t short_bytes;
  size_t short_room;
  struct sfc_exchanges *owner;
  struct sfc_blocks *next;    /* in the list of unused ones */
  struct sfc_blocks *sibling; /* in the list of all of the graph */
} sfc_blocks_t;

extern const sfc_payload_ops_t sfc_blocks_payload;

/* Of a request of an exchange. */
static inline sfc_blocks_t *sfc_blocks_of(const sf_request_t *request)
{
  return request->whole;
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* Makes a request for an exchange. */
sf_status_t sfc_blocks_make(sf_graph_t *graph, const sf_block_t root[], const sf_block_t leaf[], size_t leaf_bytes[],
                            bool persistent, sf_request_t **request_p);

/* Begins it; the caller flushes wakes. split: another call will end it, so everything is handed over at once. */
sf_status_t sfc_blocks_begin(sf_request_t *request, sfc_thread_t *thread, bool split);

/* Waits for its end, and ends it. */
sf_status_t sfc_blocks_wait(sf_request_t *request, sfc_thread_t *thread);

/* Supplies the leaves' memory. */
sf_status_t sfc_blocks_supply(sf_request_t *request, const sf_block_t leaf[]);

/* ---- Arriving blocks --------------------------------------------------------------------------------------------- */

/* Notes the size of the block that arrives at a leaf. */
static inline void sfc_blocks_tell(const sfc_blocks_t *blocks, int64_t leaf, uint64_t bytes)
{
  if (blocks->given_bytes != NULL)
    blocks->given_bytes[leaf] = (size_t)bytes;
  if (blocks->own_bytes != NULL)
    blocks->own_bytes[leaf] = (size_t)bytes;
}

/* Room of the leaf for bytes from offset on, of a block of block_bytes; notes a block that does not fit. */
size_t sfc_blocks_room(sfc_blocks_t *blocks, int64_t leaf, uint64_t block_bytes, uint64_t offset, size_t bytes);

/* Copies bytes from offset on, of a block of block_bytes, to the leaf, as far as it has room. */
void sfc_blocks_put(sfc_blocks_t *blocks, int64_t leaf, uint64_t block_bytes, uint64_t offset, const void *from,
                    size_t bytes);

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

/* See sfc_payload_ops_t. */
bool sfc_blocks_send(sfc_lane_t *lane, sf_request_t *request);
bool sfc_blocks_send_eagerly(sfc_lane_t *lane, sf_request_t *request);
sf_status_t sfc_blocks_take(sfc_lane_t *lane, sf_request_t *request, const sfc_link_t *link, const sfshm_slot_t *slot,
                            sfshm_method_t method, sfc_taken_t *taken);
bool sfc_blocks_take_short(sfc_lane_t *lane, const sfshm_slot_t *slot);
bool sfc_blocks_send_to_node(sfc_lane_t *lane, sf_request_t *request);
sfc_taking_t sfc_blocks_take_from_node(sfc_lane_t *lane, sf_request_t *request);

#endif
