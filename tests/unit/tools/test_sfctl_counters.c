/* Reading a rank's counters, also those of a rank that writes nonsense. */
#include "proto/report/counters.h"

#include <sys/mman.h>

#include "shm/base/error.h"
#include "shm/lane/message.h"
#include "shm/observe/counters_read.h"
#include "tests/unit/runner.h"

static sfshm_region_t region;
static sfreport_rank_counts_t counts;

static sfshm_counters_t *make_region(size_t length_bytes)
{
  ck_assert_int_eq(sfshm_region_create("counters", SFSHM_REGION_COUNTERS, length_bytes, SFSHM_SEAL_FUTURE_WRITE,
                                       SFSHM_COMMIT_ALL, &region),
                   SF_OK);
  return region.base;
}

static sf_status_t read_counters(int fd)
{
  const Sfproto__RankInfo rank = SFPROTO__RANK_INFO__INIT;
  return sfreport_counters_of(&rank, fd, &counts);
}

static void teardown(void)
{
  sfshm_region_destroy(&region);
}

SFTEST_FIXTURE(NULL, teardown);

/* A lane of a rank, or of a node, that has sent n bytes in slots, 2n inline, and received 3n. */
static void fill_lane(sfshm_lane_counters_t *lane, sfshm_peer_kind_t kind, uint64_t n)
{
  lane->kind = kind;
  lane->messages_sent = 1;
  lane->bytes_slots = n;
  lane->bytes_inline = 2 * n;
  lane->bytes_received = 3 * n;
  lane->leaf_edges = 10;
  lane->leaf_values = 7;
  lane->reduce_values = 8;
}

SFTEST(sums)
{
  sfshm_counters_t *shared = make_region(sizeof *shared);
  shared->graphs_used = SFSHM_COUNTED_GRAPHS;
  shared->lanes_used = 20;
  shared->total.bcasts = 10;
  shared->total.bytes_slots = 1000;
  shared->total.values_wanted = 100;
  shared->sleeps = 7;
  shared->graphs[0].graph = 5;
  shared->graphs[0].begun[SFSHM_BCAST] = 3;
  shared->graphs[0].begun[SFSHM_REDUCE] = 2;
  shared->graphs[0].latency[SFSHM_KIND_BCAST][12] = 3;
  shared->graphs[0].latency[SFSHM_KIND_FETCH_BACK][12] = 4;
  shared->graphs[0].latency[SFSHM_KIND_FETCH_OP][12] = 5;
  shared->graphs[0].latency_ns[SFSHM_KIND_FETCH_BACK] = 40;
  shared->graphs[0].latency_ns[SFSHM_KIND_FETCH_OP] = 50;
  for (uint64_t kind = 0; kind < SFSHM_KINDS; kind++)
    shared->graphs[0].ended[kind] = kind + 1;
  shared->graphs[0].multi_of = 4;
  shared->graphs[0].first_lane = 4;
  shared->graphs[0].nlanes = 2;
  fill_lane(&shared->lanes[3], SFSHM_PEER_RANK, 1 << 20); /* of another graph */
  fill_lane(&shared->lanes[4], SFSHM_PEER_RANK, 24);
  fill_lane(&shared->lanes[5], SFSHM_PEER_NODE, 100);
  fill_lane(&shared->graphs[0].rest[0], SFSHM_PEER_RANK, 10000);
  shared->graphs[1].begun[SFSHM_BCAST] = 99; /* of a free entry */
  shared->graphs[SFSHM_COUNTED_GRAPHS - 1].graph = 6;
  shared->graphs[SFSHM_COUNTED_GRAPHS - 1].begun[SFSHM_REDUCE] = 2;
  ck_assert_int_eq(read_counters(region.fd), SF_OK);
  ck_assert_uint_eq(counts.total.bcasts, 13);
  ck_assert_uint_eq(counts.total.reduces, 4);
  ck_assert_uint_eq(counts.total.messages_sent, 2);
  ck_assert_uint_eq(counts.total.bytes_slots, 11024);
  ck_assert_uint_eq(counts.total.bytes_to_nodes, 100);
  ck_assert_uint_eq(counts.total.bytes_received, 30072);
  ck_assert_uint_eq(counts.total.bytes_from_nodes, 300);
  ck_assert_uint_eq(counts.total.values_wanted, 100 + 3 * 5 * 10);
  ck_assert_uint_eq(counts.total.values_carried, 3 * (3 * 7 + 2 * 8));
  ck_assert_uint_eq(counts.sleeps, 7);
  ck_assert_int_eq(counts.ngraphs, 2);
  ck_assert_uint_eq(counts.graphs[0].graph, 5);
  ck_assert_uint_eq(counts.graphs[0].counts.bytes_slots, 10024);
  ck_assert_uint_eq(counts.graphs[0].latency.operations[SFSHM_BCAST][12], 3);
  ck_assert_uint_eq(counts.graphs[0].latency.operations[4][12], 9);
  ck_assert_uint_eq(counts.graphs[0].latency.sum_ns[4], 90);
  ck_assert_uint_eq(counts.graphs[0].counts.completed, 1 + 2 + 3 + 4 + 6 + 7);
  ck_assert_uint_eq(counts.graphs[0].multi_of, 4);
  ck_assert_uint_eq(counts.graphs[1].graph, 6);
  ck_assert_uint_eq(counts.graphs[1].multi_of, 0);
}

#define SECOND UINT64_C(1000000000)

/* Of the time since the machine's start, so that no wait begins before it; far longer than the test takes. */
static uint64_t part_ns;

/* A rank that sleeps on a graph, waits for rank 8 and a node, and has waited for rank 7. */
static sfshm_graph_counters_t *make_sleeper(uint64_t asleep_since_ns)
{
  sfshm_counters_t *shared = make_region(sizeof *shared);
  sfshm_graph_counters_t *graph = &shared->graphs[0];
  shared->graphs_used = 1;
  shared->lanes_used = 3;
  graph->graph = 5;
  graph->nlanes = 3;
  fill_lane(&shared->lanes[0], SFSHM_PEER_RANK, 0);
  fill_lane(&shared->lanes[1], SFSHM_PEER_RANK, 0);
  fill_lane(&shared->lanes[2], SFSHM_PEER_NODE, 0);
  shared->lanes[0].peer = 7;
  shared->lanes[1].peer = 8;
  shared->lanes[0].waited_ns = SECOND;
  shared->lanes[1].awaiting = SFSHM_AWAITS_MESSAGE;
  shared->lanes[2].awaiting = SFSHM_AWAITS_READER;
  graph->asleep_since_ns = asleep_since_ns;
  return graph;
}

static void expect_about(uint64_t ns, uint64_t expected_ns)
{
  ck_assert_uint_ge(ns, expected_ns);
  ck_assert_uint_lt(ns, expected_ns + part_ns / 2);
}

/* What passes while the rank sleeps counts for all lanes that it waits for, as the rank will count it. */
SFTEST(waits_that_last)
{
  uint64_t now_ns = sfshm_trace_now_ns();
  part_ns = now_ns / 8;
  sfshm_graph_counters_t *graph = make_sleeper(now_ns - 2 * part_ns);
  graph->wait_since_ns = now_ns - 3 * part_ns;
  ck_assert_int_eq(read_counters(region.fd), SF_OK);
  expect_about(counts.total.waited_ns, SECOND + 2 * (part_ns - 1));
  expect_about(counts.total.waited_nodes_ns, part_ns);
  expect_about(counts.oldest_wait_ns, 3 * part_ns);
  expect_about(counts.graphs[0].oldest_wait_ns, 3 * part_ns);
  ck_assert_int_eq(counts.nwaits_for, 3);
  ck_assert_int_eq(counts.waits_for[0].peer, 7);
  ck_assert_uint_eq(counts.waits_for[0].ns, SECOND);
  ck_assert_int_eq(counts.waits_for[1].peer, 8);
  expect_about(counts.waits_for[1].ns, part_ns);
  ck_assert(!counts.waits_for[1].node && counts.waits_for[2].node);
}

SFTEST(blocked_calls)
{
  sfshm_counters_t *shared = make_region(sizeof *shared);
  uint64_t now_ns = sfshm_trace_now_ns();
  part_ns = now_ns / 8;
  shared->blocked_since_ns = now_ns - 5 * part_ns;
  ck_assert_int_eq(read_counters(region.fd), SF_OK);
  expect_about(counts.oldest_wait_ns, 5 * part_ns);
  ck_assert_uint_eq(counts.total.waited_ns, 0);
}

/* Times that can't be, and a rank that was stopped while it counted, add nothing. */
SFTEST(no_time_asleep)
{
  const uint64_t times[] = {0, SFSHM_CHARGING, UINT64_MAX};
  for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
    make_sleeper(times[i]);
    ck_assert_int_eq(read_counters(region.fd), SF_OK);
    ck_assert_uint_eq(counts.total.waited_ns, SECOND);
    ck_assert_uint_eq(counts.oldest_wait_ns, 0);
    sfshm_region_destroy(&region);
  }
}

SFTEST(nonsense)
{
  sfshm_counters_t *shared = make_region(sizeof *shared);
  memset((char *)shared + sizeof shared->header, 0xff, sizeof *shared - sizeof shared->header);
  ck_assert_int_eq(read_counters(region.fd), SF_OK);
  ck_assert_int_eq(counts.ngraphs, SFSHM_COUNTED_GRAPHS);
  ck_assert_uint_eq(counts.total.bcasts, (uint64_t)0 - (SFSHM_COUNTED_GRAPHS + 1)); /* wrapped */
}

SFTEST(copies)
{
  sfshm_counters_t *shared = make_region(sizeof *shared), *copy;
  bool torn;
  shared->graphs_used = UINT32_MAX;
  shared->lanes_used = 10;
  memset(shared->job_name, 'x', sizeof shared->job_name);
  shared->program[0] = '\033';
  shared->graphs[3].graph = 77;
  shared->graphs[3].first_lane = 8;
  shared->graphs[3].nlanes = 3; /* one too many */
  shared->graphs[4].graph = 78;
  shared->graphs[4].first_lane = 8;
  shared->graphs[4].nlanes = 2;
  ck_assert_int_eq(sfshm_counters_copy(region.fd, &copy, &torn), SF_OK);
  ck_assert(!torn);
  ck_assert_uint_eq(copy->graphs_used, SFSHM_COUNTED_GRAPHS);
  ck_assert_uint_eq(strlen(copy->job_name), sizeof copy->job_name - 1);
  ck_assert_str_eq(copy->program, "?");
  ck_assert_ptr_eq(sfshm_counters_find_graph(copy, 77), &copy->graphs[3]);
  ck_assert_ptr_null(sfshm_counters_find_graph(copy, 0));
  ck_assert_ptr_null(sfshm_counters_find_graph(copy, 79));
  ck_assert_uint_eq(copy->graphs[3].nlanes, 0);
  ck_assert_uint_eq(copy->graphs[4].nlanes, 2);
  sfshm_counters_free(copy);
  shared->changes = 1; /* a rank that was stopped where it makes entries */
  ck_assert_int_eq(sfshm_counters_copy(region.fd, &copy, &torn), SF_OK);
  ck_assert(torn);
  sfshm_counters_free(copy);
}

static void expect_refused(int fd, sf_status_t expected, const char *text)
{
  ck_assert_int_eq(read_counters(fd), expected);
  ck_assert_msg(strstr(sfshm_error_detail(), text) != NULL, "\"%s\" is not in \"%s\"", text, sfshm_error_detail());
}

SFTEST(too_short)
{
  make_region(sizeof(sfshm_region_header_t));
  expect_refused(region.fd, SF_ERR_PROTO, "bytes expected");
}

SFTEST(another_version)
{
  sfshm_counters_t *shared = make_region(sizeof *shared);
  shared->header.version = SFSHM_LAYOUT_VERSION + 1;
  expect_refused(region.fd, SF_ERR_VERSION, "layout version");
}

SFTEST(not_a_region)
{
  int ends[2];
  make_region(sizeof(sfshm_counters_t));
  ck_assert_int_eq(pipe(ends), 0);
  expect_refused(ends[0], SF_ERR_PROTO, "no memfd");
  close(ends[0]);
  close(ends[1]);
  int unsealed = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ck_assert_int_eq(ftruncate(unsealed, sizeof(sfshm_counters_t)), 0);
  expect_refused(unsealed, SF_ERR_PROTO, "seals");
  close(unsealed);
}

SFTEST(merging_ranks_of_a_graph)
{
  sfreport_counts_t sum = {.bcasts = 99};
  const sfreport_counts_t a = {.bcasts = 5, .reduces = 2, .completed = 7, .bytes_inline = 8, .messages_sent = 7};
  const sfreport_counts_t b = {.bcasts = 6, .reduces = 2, .completed = 6, .bytes_inline = 16, .messages_sent = 8};
  sfreport_counts_merge(&sum, &a, true);
  ck_assert_mem_eq(&sum, &a, sizeof sum);
  sfreport_counts_merge(&sum, &b, false);
  ck_assert_uint_eq(sum.bcasts, 6);
  ck_assert_uint_eq(sum.reduces, 2);
  ck_assert_uint_eq(sum.completed, 6);
  ck_assert_uint_eq(sum.bytes_inline, 24);
  ck_assert_uint_eq(sum.messages_sent, 15);
}

SFTEST(sent_bytes)
{
  const sfreport_counts_t each = {.bytes_inline = 1,
                                  .bytes_slots = 10,
                                  .bytes_in_place = 100,
                                  .bytes_vm_read = 1000,
                                  .bytes_self = 10000,
                                  .bytes_received = 100000};
  ck_assert_uint_eq(sfreport_counts_sent_bytes(&each), 1111);
}
