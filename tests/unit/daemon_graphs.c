/* Setting up graphs by hand. */
#include "tests/unit/daemon_graphs.h"

#define NLEAVES 1000

Sfproto__SetupError sftest_setup_error(sf_status_t status, int32_t rank, int64_t leaf, const char *detail)
{
  Sfproto__SetupError error = SFPROTO__SETUP_ERROR__INIT;
  error.status = status;
  error.rank = rank;
  error.leaf = leaf;
  error.detail = (char *)(uintptr_t)detail;
  return error;
}

/* The ends of lanes to these ranks. */
static void fill_lanes(const int32_t ranks[], int32_t n, Sfproto__LaneEnd lanes[], Sfproto__LaneEnd *pointers[])
{
  for (int32_t i = 0; i < n; i++) {
    lanes[i] = (Sfproto__LaneEnd)SFPROTO__LANE_END__INIT;
    lanes[i].rank = ranks[i];
    lanes[i].job_rank = -1; /* the daemon knows better */
    lanes[i].slots = 128 * ((uint64_t)ranks[i] + 1);
    lanes[i].control = lanes[i].slots + 64;
    lanes[i].can_read = ranks[i] % 2 == 0;
    pointers[i] = &lanes[i];
  }
}

void sftest_send_edges(sftest_client_t *client, const sftest_edges_t *edges)
{
  Sfproto__EdgeBlock blocks[SFTEST_MAX_RANKS], *pointers[SFTEST_MAX_RANKS];
  Sfproto__LaneEnd lanes[SFTEST_MAX_RANKS], *ends[SFTEST_MAX_RANKS];
  for (int32_t i = 0; i < edges->nblocks; i++) {
    blocks[i] = (Sfproto__EdgeBlock)SFPROTO__EDGE_BLOCK__INIT;
    blocks[i].rank = edges->ranks[i];
    blocks[i].offset = 128 * ((uint64_t)i + 1);
    blocks[i].nedges = 4;
    blocks[i].nvalues = 3;
    blocks[i].has_root_max = edges->at_once && edges->root_max >= 0;
    blocks[i].root_max = edges->root_max;
    pointers[i] = &blocks[i];
  }
  Sfproto__GraphCreate create = SFPROTO__GRAPH_CREATE__INIT;
  create.group = edges->group;
  create.nroots = 10;
  create.nleaves = NLEAVES;
  create.flags = edges->flags;
  create.blocks = pointers;
  create.n_blocks = (size_t)edges->nblocks;
  create.error = edges->error;
  create.has_proposes = create.proposes = edges->at_once;
  if (edges->at_once) {
    create.n_lanes = (size_t)(edges->nblocks + edges->more_lanes);
    create.lanes = ends;
    fill_lanes(edges->ranks, (int32_t)create.n_lanes, lanes, ends);
  }
  Sfproto__Message message = sftest_message(client);
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_CREATE;
  message.graph_create = &create;
  int nfds = edges->nblocks > 0 ? 1 : 0;
  int fd = nfds > 0 ? sftest_region(SFSHM_REGION_EDGES, 128 * (SFTEST_MAX_RANKS + 2)) : -1;
  sftest_send(client, &message, &fd, nfds);
  if (fd >= 0)
    close(fd);
}

static void take_peers(const Sfproto__GraphReply *message, const sfproto_incoming_t *incoming, sftest_peers_t *peers)
{
  ck_assert_uint_le(message->n_blocks, 32);
  ck_assert_int_eq(incoming->nfds, (int)message->n_blocks);
  peers->graph = message->graph;
  peers->nmessages++;
  for (size_t i = 0; i < message->n_blocks; i++) {
    const Sfproto__EdgeBlock *block = message->blocks[i];
    size_t length;
    ck_assert_int_eq(sfshm_region_verify(incoming->fds[i], SFSHM_REGION_EDGES, 1 << 20, &length), SF_OK);
    ck_assert_int_eq(block->nedges, 4);
    ck_assert_int_eq(block->nvalues, 3);
    if (peers->n > 0)
      ck_assert_int_gt(block->rank, peers->ranks[peers->n - 1]);
    peers->ranks[peers->n] = block->rank;
    peers->offsets[peers->n++] = block->offset;
  }
  peers->ready = message->ready;
  for (size_t i = 0; i < message->n_lanes; i++) {
    peers->lane_ranks[i] = message->lanes[i]->rank;
    peers->slots[i] = message->lanes[i]->slots;
    ck_assert_int_eq(message->lanes[i]->job_rank, message->lanes[i]->rank);
  }
  peers->nlanes = (int32_t)message->n_lanes;
  ck_assert(!message->more || (!peers->ready && peers->nlanes == 0));
}

void sftest_expect_peers(sftest_client_t *client, sftest_peers_t *peers)
{
  *peers = (sftest_peers_t){0};
  bool more;
  do {
    sfproto_incoming_t incoming;
    sftest_expect(client, SFPROTO__MESSAGE__BODY_GRAPH_REPLY, &incoming);
    more = incoming.message->graph_reply->more;
    take_peers(incoming.message->graph_reply, &incoming, peers);
    sfproto_incoming_free(&incoming);
  } while (more);
}

void sftest_send_lanes(sftest_client_t *client, uint64_t graph, const int32_t ranks[], int32_t n,
                       Sfproto__SetupError *error)
{
  Sfproto__LaneEnd lanes[SFTEST_MAX_RANKS], *pointers[SFTEST_MAX_RANKS];
  fill_lanes(ranks, n, lanes, pointers);
  Sfproto__GraphCommit commit = SFPROTO__GRAPH_COMMIT__INIT;
  commit.graph = graph;
  commit.lanes = pointers;
  commit.n_lanes = (size_t)n;
  commit.error = error;
  sftest_send_body(client, SFPROTO__MESSAGE__BODY_GRAPH_COMMIT, &commit, NULL, 0);
}

void sftest_expect_ready(sftest_client_t *client, uint64_t graph, int32_t own, const int32_t ranks[], int32_t n,
                         const int32_t job_ranks[])
{
  sfproto_incoming_t incoming;
  sftest_expect(client, SFPROTO__MESSAGE__BODY_GRAPH_REPLY, &incoming);
  const Sfproto__GraphReply *ready = incoming.message->graph_reply;
  ck_assert_uint_eq(ready->graph, graph);
  ck_assert_uint_eq(ready->n_lanes, (size_t)n);
  for (int32_t i = 0; i < n; i++) {
    const Sfproto__LaneEnd *lane = ready->lanes[i];
    ck_assert_int_eq(lane->rank, ranks[i]);
    ck_assert_int_eq(lane->job_rank, job_ranks != NULL ? job_ranks[ranks[i]] : ranks[i]);
    ck_assert_uint_eq(lane->segment, 0);
    ck_assert_uint_eq(lane->slots, 128 * ((uint64_t)own + 1));
    ck_assert_uint_eq(lane->control, 128 * ((uint64_t)own + 1) + 64);
    ck_assert_int_eq(lane->can_read, own % 2 == 0);
  }
  sfproto_incoming_free(&incoming);
}

/* The neighbours of a rank in the ring, ascending; how many. */
static int32_t neighbours(int32_t r, int32_t size, int32_t out[2])
{
  int32_t a = (r + size - 1) % size, b = (r + 1) % size;
  out[0] = a < b ? a : b;
  out[1] = a < b ? b : a;
  return a == b ? 1 : 2;
}

uint64_t sftest_ring(sftest_client_t clients[], int32_t size)
{
  sftest_peers_t peers = {0};
  int32_t around[2];
  for (int32_t r = 0; r < size; r++) {
    sftest_edges_t edges = {.group = clients[0].job_id, .nblocks = 1, .ranks = {(r + 1) % size}};
    sftest_send_edges(&clients[r], &edges);
  }
  for (int32_t r = 0; r < size; r++) {
    sftest_expect_peers(&clients[r], &peers);
    ck_assert_int_eq(peers.n, 1);
    ck_assert_int_eq(peers.ranks[0], (r + size - 1) % size);
  }
  for (int32_t r = 0; r < size; r++)
    sftest_send_lanes(&clients[r], peers.graph, around, neighbours(r, size, around), NULL);
  for (int32_t r = 0; r < size; r++)
    sftest_expect_ready(&clients[r], peers.graph, r, around, neighbours(r, size, around), NULL);
  return peers.graph;
}

/* ---- A job beside those of the test ---- */

#define OTHER_SIZE 2

static sftest_client_t other[OTHER_SIZE];

static void join_other(void)
{
  sftest_join_all(&daemon_, other, "other", OTHER_SIZE);
}

static void drop_other(void)
{
  sftest_ring(other, OTHER_SIZE);
  for (int r = 0; r < OTHER_SIZE; r++)
    sftest_expect_no_alert(&other[r]);
  sftest_drop_all(other, OTHER_SIZE);
}

void sftest_daemon_beside_job(TCase *tcase)
{
  sftest_daemon_for_case(tcase);
  tcase_add_checked_fixture(tcase, join_other, drop_other);
}
