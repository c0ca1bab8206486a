/* Offloading what bcasts bring from other nodes: when a message has arrived in its slot, a worker takes the part of
 * each rank that has offered its sf_alloc memory as the target, unless the rank is there first. The daemon's thread,
 * but for sfd_unpack_open. */
#ifndef SFD_OFFLOAD_UNPACK_H
#define SFD_OFFLOAD_UNPACK_H

#include "daemon/offload_job.h"
#include "daemon/trunks_internal.h"
#include "shm/ring.h"

struct sfd_block;
struct sfd_offload;
typedef struct sfd_offer sfd_offer_t;

/* What one rank has said of an operation. */
struct sfd_offer {
  uint64_t sequence; /* 0: nothing */
  uint64_t desc;
  uint64_t segment;
  uint64_t offset;
  uint32_t ticket;
  uint32_t claim;
};

/* In offload.c: what an entry says; a member's blocks and its list, NULL if it can't be had; and the job of a worker
 * that copies from a slot. */
sfd_offer_t sfd_offload_offer(const sfshm_ring_entry_t *entry);
int32_t sfd_offload_blocks(struct sfd_offload *offload, int32_t place, const struct sfd_block **blocks_p,
                           sfd_mapping_t **list_p);
void sfd_offload_start_unpack(sfd_trunks_t *trunks, sfd_route_t *route, const sfd_extent_t *source,
                              const struct sfd_rank *reader, const sfd_offer_t *target);

/* An UNPACK entry of the member at that place of the group. */
void sfd_unpack_submit(sfd_graph_t *graph, int32_t place, const sfshm_ring_entry_t *entry);

/* A message has arrived on the side, with units of so many bytes. */
void sfd_unpack_arrived(sfd_trunks_t *trunks, sfd_side_t *side, uint64_t message, uint64_t desc, uint64_t unit_bytes);

/* With the side. */
void sfd_unpacks_free(sfd_side_t *side);

/* Prepares the ways from a message to a rank's leaves. Any thread, under the route's lock. */
sf_status_t sfd_unpack_open(sfd_route_t *route);

#endif
