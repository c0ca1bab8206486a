/* Edge lists for offloading: those of the members of a graph that are on this node, kept from set-up, and the ways that
 * workers go along them. Graphs that are made again with the same edges share them, also after the first one has been
 * destroyed. The daemon's thread. */
#ifndef SFD_OFFLOAD_LISTS_H
#define SFD_OFFLOAD_LISTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/graph.h"
#include "daemon/offload_job.h"
#include "daemon/setup.h"

typedef struct sfd_lists sfd_lists_t;

/* Takes the lists of the members, whose round 1 is over, for one use. NULL: there is no memory, and they stay. */
sfd_lists_t *sfd_lists_create(const sfd_graph_t *graph);

/* One use more, and one less; NULL is accepted by both. The last one ends before the group does. */
sfd_lists_t *sfd_lists_hold(sfd_lists_t *lists);
void sfd_lists_release(sfd_lists_t *lists);

/* Whether each of them is at most so long: what they take of memory is the ranks', but only those who hold them keep it
 * from being freed. */
bool sfd_lists_are_small(const sfd_lists_t *lists, uint64_t bytes);

/* The blocks of the member at that place of the group, and its list; NULL if it can't be had: its blocks are in
 * inboxes. */
int32_t sfd_lists_blocks(sfd_lists_t *lists, int32_t place, const sfd_block_t **blocks_p, sfd_mapping_t **list_p);

/* The way from the roots of one rank to the leaves of another or back, both by place in the group; made at first use,
 * and the lists'. NULL: there is none. */
sfd_route_t *sfd_lists_route(sfd_lists_t *lists, int32_t writer, int32_t reader, sfshm_operation_t operation);

/* What a pair of ranks is found by in search trees, per operation. */
uint64_t sfd_lists_key(int32_t writer, int32_t reader, sfshm_operation_t operation);

#endif
