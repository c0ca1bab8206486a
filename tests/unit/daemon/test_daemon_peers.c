/* Edge blocks in inboxes: how much of them a rank may have, of graphs on one node and over several. */
#include "daemon/base/id_map.h"
#include "daemon/jobs/group.h"
#include "daemon/memory/segment.h"
#include "daemon/setup/round1_edges.h"
#include "shm/base/error.h"
#include "shm/edges/edges.h"
#include "tests/unit/runner.h"

#define NBLOCKS 3

static sfd_segment_t inbox = {.number = 5, .length = 8u << 20, .kind = SFSHM_REGION_INBOX};

/* Blocks of group rank 0 for the next ones, of these lengths. */
static sf_status_t check(int32_t nnodes, const uint64_t lengths[NBLOCKS])
{
  Sfproto__EdgeBlock block[NBLOCKS], *blocks[NBLOCKS];
  sfd_group_t group = {.size = NBLOCKS + 1, .nnodes = nnodes};
  sfd_rank_t rank = {.number = 0};
  Sfproto__GraphCreate create = SFPROTO__GRAPH_CREATE__INIT;
  ck_assert(sfd_id_map_insert(&rank.segments_by_number, &inbox));
  for (int i = 0; i < NBLOCKS; i++) {
    sfproto__edge_block__init(&block[i]);
    block[i].rank = i + 1;
    block[i].nedges = block[i].nvalues = 1;
    block[i].has_segment = block[i].has_length = true;
    block[i].segment = inbox.number;
    block[i].length = lengths[i];
    blocks[i] = &block[i];
  }
  create.nleaves = NBLOCKS;
  create.blocks = blocks;
  create.n_blocks = NBLOCKS;
  sf_status_t status = sfd_setup_edges_check(&create, &rank, &group, 0, NULL, 0);
  sfd_id_map_remove(&rank.segments_by_number, &inbox);
  return status;
}

SFTEST(one_node_takes_long_blocks)
{
  ck_assert_int_eq(check(1, (uint64_t[]){SFSHM_EDGES_MAX_COPIED, SFSHM_EDGES_MAX_COPIED, 192}), SF_OK);
  ck_assert_int_eq(check(1, (uint64_t[]){SFSHM_EDGES_MAX_COPIED + 1, 192, 192}), SF_ERR_PROTO);
}

/* The daemon copies them: it can't be made to take more than that. */
SFTEST(several_nodes_take_short_ones)
{
  uint64_t most = SFSHM_EDGES_MAX_FETCHED;
  ck_assert_int_eq(check(2, (uint64_t[]){most - 384, 192, 192}), SF_OK);
  ck_assert_int_eq(check(2, (uint64_t[]){most - 384, 192, 193}), SF_ERR_PROTO);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "more than 262144 bytes of blocks in inboxes"));
  ck_assert_int_eq(check(2, (uint64_t[]){192, UINT64_MAX, 192}), SF_ERR_PROTO);
}
