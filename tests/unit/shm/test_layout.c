/* What processes of different builds share: sizes and offsets in shared memory, and numbers that travel. Whoever
 * changes one of these changes SFSHM_LAYOUT_VERSION or the protocol's version, its list of changes, and this file. */
#include "proto/conn.h"
#include "shm/array/layout.h"
#include "shm/array/window.h"
#include "shm/edges/edges.h"
#include "shm/lane/lane.h"
#include "shm/lane/message.h"
#include "shm/observe/counters.h"
#include "shm/region/board.h"
#include "shm/region/inbox.h"
#include "shm/trunk/trunk.h"
#include "tests/unit/runner.h"

typedef struct number {
  const char *name;
  uint64_t is, expected;
} number_t;

static void expect_numbers(const char *of, const number_t numbers[], size_t n)
{
  for (size_t i = 0; i < n; i++)
    ck_assert_msg(numbers[i].is == numbers[i].expected, "%s%s is %llu, expected %llu", of, numbers[i].name,
                  (unsigned long long)numbers[i].is, (unsigned long long)numbers[i].expected);
}

/* Offsets of fields, and values of names: a list of AT(field, offset), of IS(name, value). */
#define EXPECT_NUMBERS(of, type, ...)                                                                                  \
  do {                                                                                                                 \
    typedef type in_t;                                                                                                 \
    const number_t numbers[] = {__VA_ARGS__};                                                                          \
    expect_numbers(of, numbers, sizeof numbers / sizeof numbers[0]);                                                   \
    (void)sizeof(in_t);                                                                                                \
  } while (false)
#define EXPECT_OFFSETS(type, ...) EXPECT_NUMBERS(#type ".", type, __VA_ARGS__)
#define EXPECT_VALUES(...) EXPECT_NUMBERS("", int, __VA_ARGS__)
#define AT(field, offset) ((number_t){#field, offsetof(in_t, field), offset})
#define IS(name, value) ((number_t){#name, (uint64_t)(name), value})
#define expect_size(type, bytes) ck_assert_uint_eq(sizeof(type), bytes)

SFTEST(region_headers)
{
  ck_assert_uint_eq(SFSHM_LAYOUT_VERSION, 27);
  ck_assert_uint_eq(SFSHM_REGION_MAGIC, UINT64_C(0x314d48534d46533c));
  expect_size(sfshm_region_header_t, 128);
  EXPECT_OFFSETS(sfshm_region_header_t, AT(magic, 0), AT(length_bytes, 8), AT(kind, 16), AT(owner_pid, 20),
                 AT(version, 24));
  EXPECT_VALUES(IS(SFSHM_REGION_INBOX, 1), IS(SFSHM_REGION_ALLOC, 2), IS(SFSHM_REGION_COUNTERS, 3),
                IS(SFSHM_REGION_EDGES, 4), IS(SFSHM_REGION_BOARD, 5));
}

SFTEST(inboxes)
{
  expect_size(sfshm_inbox_t, 256);
  EXPECT_OFFSETS(sfshm_inbox_t, AT(header, 0), AT(wake, 128));
  expect_size(sfshm_wake_t, 128);
  EXPECT_OFFSETS(sfshm_wake_t, AT(word, 0));
  ck_assert_uint_eq(SFSHM_WAKE_ARMED, 1);
}

SFTEST(arrays)
{
  ck_assert_int_eq(SFSHM_REGION_ARRAY, 11);
  ck_assert_uint_eq(SFSHM_ARRAY_DATA, 4096);
  ck_assert_uint_eq(sfshm_array_segment(7), UINT64_C(0x8000000000000007));
  ck_assert_int_eq(SFSHM_ARRAY_WAYS, 3);
  ck_assert_int_eq(SFSHM_ARRAY_ACCESSES, 4);
  EXPECT_OFFSETS(sfshm_array_head_t, AT(counters, 128), AT(locks, 320));
  EXPECT_OFFSETS(sfshm_array_counters_t, AT(bytes, 96));
  expect_size(sfshm_array_counters_t, 192);
  expect_size(sfshm_array_head_t, 320 + 32 * 64);

  EXPECT_OFFSETS(sfshm_array_request_t, AT(first, 8), AT(extent, 40), AT(operand, 72), AT(compare, 80));
  expect_size(sfshm_array_request_t, 128);
  EXPECT_OFFSETS(sfshm_window_slot_t, AT(data, 128), AT(done, 384), AT(status, 392), AT(text, 396));
  expect_size(sfshm_window_slot_t, 512);
  EXPECT_OFFSETS(sfshm_window_t, AT(slots, 4096), AT(chunks, 135168));
  expect_size(sfshm_window_t, 135168 + (4 << 20));
  EXPECT_VALUES(IS(SFSHM_REGION_WINDOW, 12), IS(SFSHM_SUBMIT_ARRAY, 7), IS(SFSHM_ARRAY_PATCH_PUT, 1),
                IS(SFSHM_ARRAY_COMPARE_SWAP, 8));
}

SFTEST(lanes)
{
  EXPECT_VALUES(IS(SFSHM_LANE_SLOTS, 8), IS(SFSHM_LANE_ACK_INTERVAL, 4), IS(SFSHM_EAGER_SLOTS, 32),
                IS(SFSHM_INLINE_BYTES, 112), IS(SFSHM_STAMP_BITS, 32));
  expect_size(sfshm_slot_t, 128);
  ck_assert_uint_eq(_Alignof(sfshm_slot_t), 128);
  EXPECT_OFFSETS(sfshm_slot_t, AT(stamp, 0), AT(desc, 8), AT(payload, 16));
  expect_size(sfshm_lane_control_t, 128);
  ck_assert_uint_eq(_Alignof(sfshm_lane_control_t), 128);
  EXPECT_OFFSETS(sfshm_lane_control_t, AT(consumed, 0), AT(grants, 8), AT(segment, 16), AT(offset, 24),
                 AT(cell_bytes, 32), AT(awaited, 40), AT(devices, 48), AT(edges, 52), AT(eager, 64),
                 AT(eager_segment, 72), AT(eager_offset, 80));
}

SFTEST(messages)
{
  EXPECT_VALUES(IS(SFSHM_BCAST, 0), IS(SFSHM_REDUCE, 1), IS(SFSHM_METHOD_INLINE, 0), IS(SFSHM_METHOD_CELL, 1),
                IS(SFSHM_METHOD_IN_PLACE, 2), IS(SFSHM_METHOD_VM_READ, 3), IS(SFSHM_METHOD_GROW, 4),
                IS(SFSHM_DESC_SEQUENCE_BITS, 24), IS(SFSHM_DESC_METHOD_SHIFT, 61));
  expect_size(sfshm_in_place_t, 16);
  EXPECT_OFFSETS(sfshm_in_place_t, AT(segment, 0), AT(offset, 8));
  expect_size(sfshm_vm_read_t, 8);
  expect_size(sfshm_grow_t, 8);
}

SFTEST(edge_lists)
{
  expect_size(sfshm_stored_pattern_t, 40);
  EXPECT_OFFSETS(sfshm_stored_pattern_t, AT(kind, 0), AT(n, 8), AT(start, 16), AT(stride, 24), AT(offset, 32));
  expect_size(sfshm_edge_block_t, 160);
  EXPECT_OFFSETS(sfshm_edge_block_t, AT(value_root, 0), AT(leaf, 40), AT(extra_value, 80), AT(extra_edge, 120));
  EXPECT_VALUES(IS(SFSHM_PATTERN_CONTIGUOUS, 0), IS(SFSHM_PATTERN_STRIDED, 1), IS(SFSHM_PATTERN_INDEX32, 2),
                IS(SFSHM_PATTERN_INDEX64, 3));
}

SFTEST(boards)
{
  expect_size(sfshm_board_t, 384);
  EXPECT_OFFSETS(sfshm_board_t, AT(costs, 128), AT(cores, 256), AT(participants, 260), AT(tracing, 268),
                 AT(crowded, 272));
  expect_size(sfshm_costs_t, 36);
  EXPECT_OFFSETS(sfshm_costs_t, AT(local_line_ps, 0), AT(piece_stream_ps, 4), AT(remote_line_ps, 8),
                 AT(remote_stream_ps, 12), AT(vm_read_call_ps, 16), AT(vm_read_stream_ps, 20), AT(handshake_ps, 24),
                 AT(measured, 28), AT(nontemporal, 32));
}

SFTEST(counter_sets)
{
  expect_size(sfshm_counter_set_t, 256);
  EXPECT_OFFSETS(sfshm_counter_set_t, AT(bcasts, 0), AT(reduces, 8), AT(gathers, 16), AT(scatters, 24),
                 AT(fetch_ops, 32), AT(exchanges, 40), AT(completed, 48), AT(messages_sent, 56), AT(bytes_inline, 64),
                 AT(bytes_slots, 72), AT(bytes_in_place, 80), AT(bytes_vm_read, 88), AT(bytes_self, 96),
                 AT(messages_received, 104), AT(bytes_received, 112), AT(bytes_to_nodes, 120),
                 AT(bytes_from_nodes, 128), AT(bytes_saved, 136), AT(node_messages_sent, 144), AT(node_bytes_sent, 152),
                 AT(node_values_sent, 160), AT(node_messages_received, 168), AT(node_bytes_received, 176),
                 AT(node_values_received, 184), AT(values_wanted, 192), AT(values_carried, 200), AT(waits, 208),
                 AT(waited_ns, 216), AT(waited_nodes_ns, 224), AT(samples, 232), AT(pack_ns, 240), AT(unpack_ns, 248));
}

SFTEST(lane_counters)
{
  expect_size(sfshm_lane_counters_t, 256);
  EXPECT_OFFSETS(sfshm_lane_counters_t, AT(kind, 0), AT(peer, 4), AT(messages_sent, 8), AT(bytes_inline, 16),
                 AT(messages_received, 24), AT(bytes_received, 32), AT(bytes_slots, 40), AT(bytes_in_place, 48),
                 AT(bytes_vm_read, 56), AT(bytes_saved, 64), AT(node_messages_sent, 72), AT(node_bytes_sent, 80),
                 AT(node_values_sent, 88), AT(node_messages_received, 96), AT(node_bytes_received, 104),
                 AT(node_values_received, 112), AT(values_wanted, 120), AT(values_carried, 128), AT(waits, 136),
                 AT(waited_ns, 144), AT(graph, 152), AT(leaf_edges, 160), AT(leaf_values, 168), AT(reduce_values, 176),
                 AT(awaiting, 184), AT(streams, 188));
  EXPECT_VALUES(IS(SFSHM_PEER_NONE, 0), IS(SFSHM_PEER_RANK, 1), IS(SFSHM_PEER_NODE, 2));
}

SFTEST(far_counters)
{
  expect_size(sfshm_far_counters_t, 48);
  EXPECT_OFFSETS(sfshm_far_counters_t, AT(taken, 0), AT(rank, 4), AT(values, 8), AT(reduce_values, 16), AT(graph, 24),
                 AT(bytes_from, 32), AT(bytes_to, 40));
}

SFTEST(graph_counters)
{
  expect_size(sfshm_graph_counters_t, 1984);
  EXPECT_OFFSETS(sfshm_graph_counters_t, AT(graph, 0), AT(begun, 8), AT(ended, 64), AT(bytes_self, 120),
                 AT(created_ns, 128), AT(rank, 136), AT(size, 140), AT(first_lane, 144), AT(nlanes, 148),
                 AT(nroots, 152), AT(nleaves, 160), AT(place, 168), AT(wait_since_ns, 264), AT(wait_sequence, 272),
                 AT(wait_desc, 280), AT(samples, 288), AT(pack_ns, 296), AT(unpack_ns, 304), AT(made, 312),
                 AT(multi_of, 320), AT(latency_ns, 400), AT(latency, 456), AT(unit_bytes, 1352), AT(first_far, 1368),
                 AT(nfar, 1372), AT(asleep_since_ns, 1376), AT(self_edges, 1384), AT(root_edges, 1392),
                 AT(top_root, 1400), AT(top_leaves, 1408), AT(top_rank, 1416), AT(rest, 1472));
}

SFTEST(rank_counters)
{
  expect_size(sfshm_counters_t, 125 * 4096 + 4096 * 256 + 353 * 4096);
  EXPECT_OFFSETS(sfshm_counters_t, AT(changes, 128), AT(rank, 132), AT(size, 136), AT(node, 140), AT(job, 144),
                 AT(sleeps, 152), AT(graphs_used, 160), AT(lanes_used, 164), AT(job_name, 168), AT(program, 424),
                 AT(traced, 488), AT(far_used, 492), AT(total, 512), AT(blocked_since_ns, 768), AT(blocked_in, 776),
                 AT(blocked_place, 784), AT(graphs, 4096), AT(lanes, 125 * 4096), AT(trace, 125 * 4096 + 4096 * 256),
                 AT(far, 638 * 4096));
  ck_assert_uint_eq(SFSHM_COUNTED_GRAPHS, 255);
  ck_assert_uint_eq(SFSHM_COUNTED_LANES, 4096);
}

SFTEST(traces)
{
  EXPECT_OFFSETS(sfshm_trace_t, AT(next, 0), AT(events, 128));
  expect_size(sfshm_trace_t, 128 + 64 * 16384);
  expect_size(sfshm_trace_record_t, 64);
  EXPECT_OFFSETS(sfshm_trace_record_t, AT(number, 0), AT(begin_ns, 8), AT(end_ns, 16), AT(graph, 24), AT(sequence, 32),
                 AT(message, 40), AT(bytes, 48), AT(peer, 56), AT(kind, 60), AT(flags, 61), AT(thread, 62));
  EXPECT_VALUES(IS(SFSHM_TRACE_BEGIN, 1), IS(SFSHM_TRACE_FRAME_IN, 10), IS(SFSHM_TRACE_PHASE_CONNECT, 5));
}

SFTEST(units_and_ops)
{
  const sfshm_base_t bases[] = {SFSHM_BASE_INT8,         SFSHM_BASE_UINT8,         SFSHM_BASE_INT16,
                                SFSHM_BASE_UINT16,       SFSHM_BASE_INT32,         SFSHM_BASE_UINT32,
                                SFSHM_BASE_INT64,        SFSHM_BASE_UINT64,        SFSHM_BASE_FLOAT,
                                SFSHM_BASE_DOUBLE,       SFSHM_BASE_FLOAT_COMPLEX, SFSHM_BASE_DOUBLE_COMPLEX,
                                SFSHM_BASE_OPAQUE,       SFSHM_BASE_INT16_INT32,   SFSHM_BASE_INT32_INT32,
                                SFSHM_BASE_INT64_INT32,  SFSHM_BASE_INT64_INT64,   SFSHM_BASE_FLOAT_INT32,
                                SFSHM_BASE_DOUBLE_INT32, SFSHM_BASE_DOUBLE_INT64,  SFSHM_BASE_COUNT};
  const sfshm_op_t ops[] = {SFSHM_OP_REPLACE, SFSHM_OP_SUM,    SFSHM_OP_PROD,   SFSHM_OP_MAX,  SFSHM_OP_MIN,
                            SFSHM_OP_LAND,    SFSHM_OP_LOR,    SFSHM_OP_LXOR,   SFSHM_OP_BAND, SFSHM_OP_BOR,
                            SFSHM_OP_BXOR,    SFSHM_OP_MAXLOC, SFSHM_OP_MINLOC, SFSHM_OP_COUNT};
  for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++)
    ck_assert_uint_eq((unsigned)bases[i], i);
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
    ck_assert_uint_eq((unsigned)ops[i], i);
  ck_assert_uint_eq(SFSHM_OP_APPLICATION, 15);
}

SFTEST(status_codes)
{
  const sf_status_t codes[] = {
      SF_OK,          SF_ERR_ARG,       SF_ERR_RANGE,       SF_ERR_NOMEM,       SF_ERR_SYS,      SF_ERR_PROTO,
      SF_ERR_VERSION, SF_ERR_NO_DAEMON, SF_ERR_DAEMON_LOST, SF_ERR_RANK_FAILED, SF_ERR_MISMATCH, SF_ERR_TIMEOUT,
      SF_ERR_PERM,    SF_ERR_EXISTS,    SF_ERR_STATE,       SF_ERR_UNSUPPORTED, SF_ERR_LIMIT,    SF_ERR_NOT_FOUND,
      SF_ERR_INTERNAL};
  for (int i = 0; i < (int)(sizeof codes / sizeof codes[0]); i++)
    ck_assert_int_eq(codes[i], -i);
#define COUNT_STATUS(name, value, text) +1
  ck_assert_int_eq(SF_STATUS_TABLE(COUNT_STATUS), (int)(sizeof codes / sizeof codes[0]));
#undef COUNT_STATUS
}

SFTEST(control_protocol)
{
  EXPECT_VALUES(IS(SFPROTO_VERSION, 1), IS(SFPROTO_MAGIC, 0x43464453u), IS(SFPROTO_MAX_FDS, 64),
                IS(SFPROTO_MAX_LENGTH, 1u << 20));
}
