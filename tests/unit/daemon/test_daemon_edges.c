/* Edge lists in graph set-up: those in regions and in inboxes, and that malformed ones are refused. */
#include "tests/unit/daemon_graphs.h"
#include "tests/unit/daemon_job.h"

#define SIZE 4

static uint64_t world(void)
{
  return clients[0].job_id;
}

/* Round 1 without edges for all but the first n ranks. */
static void send_empty_from(int n)
{
  for (int r = n; r < SIZE; r++)
    sftest_send_edges(&clients[r], &(sftest_edges_t){.group = world()});
}

/* The sender is disconnected and its job fails; no other job notices. */
static void expect_violation(sftest_client_t *client, const char *text)
{
  sftest_expect_error(client, SF_ERR_PROTO, text);
  sftest_expect_closed(client);
  for (int r = 0; r < SIZE; r++)
    if (&clients[r] != client)
      sftest_expect_alert(&clients[r], SFPROTO__ALERT__KIND__JOB_FAILED, text);
}

SFTEST_CASE(sftest_daemon_job(tests, SIZE));

SFTEST_FOR(malformed_blocks, 5)
{
  static const struct {
    int32_t ranks[2];
    const char *text;
  } cases[] = {
      {{0, 2}, "block for rank 0 of a group of 4"},
      {{SIZE, 0}, "block for rank 4"},
      {{-1, 0}, "block for rank -1"},
      {{2, 1}, "block for rank 1 after that for rank 2"},
      {{2, 2}, "block for rank 2 after"},
  };
  sftest_edges_t edges = {.group = world(), .nblocks = 2, .ranks = {cases[_i].ranks[0], cases[_i].ranks[1]}};
  sftest_send_edges(&clients[0], &edges);
  expect_violation(&clients[0], cases[_i].text);
}

static void send_create(sftest_client_t *client, int64_t nedges, int64_t nvalues, uint64_t offset, int fd)
{
  Sfproto__EdgeBlock block = SFPROTO__EDGE_BLOCK__INIT;
  block.rank = 1;
  block.offset = offset;
  block.nedges = nedges;
  block.nvalues = nvalues;
  Sfproto__EdgeBlock *blocks[] = {&block};
  Sfproto__GraphCreate create = SFPROTO__GRAPH_CREATE__INIT;
  create.group = world();
  create.nleaves = 100;
  create.blocks = blocks;
  create.n_blocks = 1;
  sftest_send_body(client, SFPROTO__MESSAGE__BODY_GRAPH_CREATE, &create, &fd, fd >= 0 ? 1 : 0);
}

SFTEST_FOR(impossible_numbers, 7)
{
  static const struct {
    int64_t nedges, nvalues;
    uint64_t offset;
    const char *text;
  } cases[] = {
      {0, 0, 0, "0 edges"},           {5, 6, 0, "5 edges and 6 values"}, {5, -1, 0, "-1 values"},
      {101, 5, 0, "100 leaves"},      {INT64_MAX, 5, 0, "100 leaves"},   {5, 5, 4096, "block at 4096 of 4096 bytes"},
      {5, 5, UINT64_MAX, "block at"},
  };
  int fd = sftest_region(SFSHM_REGION_EDGES, 4096);
  send_create(&clients[0], cases[_i].nedges, cases[_i].nvalues, cases[_i].offset, fd);
  close(fd);
  expect_violation(&clients[0], cases[_i].text);
}

SFTEST(edge_list_is_verified)
{
  int fd = sftest_region(SFSHM_REGION_INBOX, 4096); /* its owner can still write into it */
  send_create(&clients[0], 5, 5, 0, fd);
  close(fd);
  expect_violation(&clients[0], "edges region");
}

/* Blocks of rank 0 in its inboxes: for rank 1, and, second, for rank 2 in the edge list. */
static void send_in_inbox(uint64_t segment, uint64_t offset, uint64_t length, bool second, bool region)
{
  Sfproto__EdgeBlock block[2] = {SFPROTO__EDGE_BLOCK__INIT, SFPROTO__EDGE_BLOCK__INIT}, *blocks[] = {block, block + 1};
  for (int i = 0; i < 2; i++) {
    block[i].rank = i + 1;
    block[i].nedges = block[i].nvalues = 5;
  }
  block[0].offset = offset;
  block[0].has_segment = block[0].has_length = true;
  block[0].segment = segment;
  block[0].length = length;
  Sfproto__GraphCreate create = SFPROTO__GRAPH_CREATE__INIT;
  create.group = world();
  create.nleaves = 100;
  create.blocks = blocks;
  create.n_blocks = second ? 2 : 1;
  Sfproto__Message message = sftest_message(&clients[0]);
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_CREATE;
  message.graph_create = &create;
  int fd = region ? sftest_region(SFSHM_REGION_EDGES, 4096) : -1;
  sftest_send(&clients[0], &message, &fd, region ? 1 : 0);
  if (region)
    close(fd);
}

SFTEST_FOR(blocks_in_inboxes_are_checked, 7)
{
  static const struct {
    uint64_t segment, offset, length;
    bool second, region;
    const char *text;
  } cases[] = {
      {7, 128, 192, false, false, "segment 7, which is no inbox"},
      {0, 128, 0, false, false, "block of 0 bytes"},
      {0, 128, (4 << 20) + 1, false, false, "bytes at 128 in segment 0"},
      {0, UINT64_MAX, 192, false, false, "block of 192 bytes at"},
      {0, 128, UINT64_MAX, false, false, "bytes at 128 in segment 0"},
      {0, 128, 192, true, true, "1 of 2 blocks in inboxes"},
      {0, 128, 192, false, true, "1 blocks with 1 descriptors"},
  };
  send_in_inbox(cases[_i].segment, cases[_i].offset, cases[_i].length, cases[_i].second, cases[_i].region);
  expect_violation(&clients[0], cases[_i].text);
}

SFTEST(blocks_in_inboxes_are_turned_around)
{
  sfproto_incoming_t incoming;
  send_in_inbox(0, 128, 192, false, false);
  send_empty_from(1);
  sftest_expect(&clients[1], SFPROTO__MESSAGE__BODY_GRAPH_REPLY, &incoming);
  const Sfproto__GraphReply *peers = incoming.message->graph_reply;
  ck_assert_int_eq(incoming.nfds, 0);
  ck_assert_uint_eq(peers->n_blocks, 1);
  ck_assert(peers->blocks[0]->rank == 0 && peers->blocks[0]->has_segment && peers->blocks[0]->has_length);
  ck_assert(peers->blocks[0]->segment == 0 && peers->blocks[0]->offset == 128 && peers->blocks[0]->length == 192);
  sfproto_incoming_free(&incoming);
}

SFTEST(edge_list_is_missing)
{
  send_create(&clients[0], 5, 5, 0, -1);
  expect_violation(&clients[0], "1 blocks with 0 descriptors");
}
