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

#define expect_offset(type, field, offset) ck_assert_uint_eq(offsetof(type, field), offset)
#define expect_size(type, bytes) ck_assert_uint_eq(sizeof(type), bytes)

SFTEST(region_headers)
{
  ck_assert_uint_eq(SFSHM_LAYOUT_VERSION, 27);
  ck_assert_uint_eq(SFSHM_REGION_MAGIC, UINT64_C(0x314d48534d46533c));
  expect_size(sfshm_region_header_t, 128);
  expect_offset(sfshm_region_header_t, magic, 0);
  expect_offset(sfshm_region_header_t, length_bytes, 8);
  expect_offset(sfshm_region_header_t, kind, 16);
  expect_offset(sfshm_region_header_t, owner_pid, 20);
  expect_offset(sfshm_region_header_t, version, 24);
  ck_assert_int_eq(SFSHM_REGION_INBOX, 1);
  ck_assert_int_eq(SFSHM_REGION_ALLOC, 2);
  ck_assert_int_eq(SFSHM_REGION_COUNTERS, 3);
  ck_assert_int_eq(SFSHM_REGION_EDGES, 4);
  ck_assert_int_eq(SFSHM_REGION_BOARD, 5);
}

SFTEST(inboxes)
{
  expect_size(sfshm_inbox_t, 256);
  expect_offset(sfshm_inbox_t, header, 0);
  expect_offset(sfshm_inbox_t, wake, 128);
  expect_size(sfshm_wake_t, 128);
  expect_offset(sfshm_wake_t, word, 0);
  ck_assert_uint_eq(SFSHM_WAKE_ARMED, 1);
}

SFTEST(arrays)
{
  ck_assert_int_eq(SFSHM_REGION_ARRAY, 11);
  ck_assert_uint_eq(SFSHM_ARRAY_DATA, 4096);
  ck_assert_uint_eq(sfshm_array_segment(7), UINT64_C(0x8000000000000007));
  ck_assert_int_eq(SFSHM_ARRAY_WAYS, 3);
  ck_assert_int_eq(SFSHM_ARRAY_ACCESSES, 4);
  expect_offset(sfshm_array_head_t, counters, 128);
  expect_offset(sfshm_array_head_t, locks, 320);
  expect_offset(sfshm_array_counters_t, bytes, 96);
  expect_size(sfshm_array_counters_t, 192);
  expect_size(sfshm_array_head_t, 320 + 32 * 64);

  expect_offset(sfshm_array_request_t, first, 8);
  expect_offset(sfshm_array_request_t, extent, 40);
  expect_offset(sfshm_array_request_t, operand, 72);
  expect_offset(sfshm_array_request_t, compare, 80);
  expect_size(sfshm_array_request_t, 128);
  expect_offset(sfshm_window_slot_t, data, 128);
  expect_offset(sfshm_window_slot_t, done, 384);
  expect_offset(sfshm_window_slot_t, status, 392);
  expect_offset(sfshm_window_slot_t, text, 396);
  expect_size(sfshm_window_slot_t, 512);
  expect_offset(sfshm_window_t, slots, 4096);
  expect_offset(sfshm_window_t, chunks, 135168);
  expect_size(sfshm_window_t, 135168 + (4 << 20));
  ck_assert_int_eq(SFSHM_REGION_WINDOW, 12);
  ck_assert_int_eq(SFSHM_SUBMIT_ARRAY, 7);
  ck_assert_int_eq(SFSHM_ARRAY_PATCH_PUT, 1);
  ck_assert_int_eq(SFSHM_ARRAY_COMPARE_SWAP, 8);
}

SFTEST(lanes)
{
  ck_assert_uint_eq(SFSHM_LANE_SLOTS, 8);
  ck_assert_uint_eq(SFSHM_LANE_ACK_INTERVAL, 4);
  ck_assert_uint_eq(SFSHM_EAGER_SLOTS, 32);
  ck_assert_uint_eq(SFSHM_INLINE_BYTES, 112);
  ck_assert_uint_eq(SFSHM_STAMP_BITS, 32);
  expect_size(sfshm_slot_t, 128);
  ck_assert_uint_eq(_Alignof(sfshm_slot_t), 128);
  expect_offset(sfshm_slot_t, stamp, 0);
  expect_offset(sfshm_slot_t, desc, 8);
  expect_offset(sfshm_slot_t, payload, 16);
  expect_size(sfshm_lane_control_t, 128);
  ck_assert_uint_eq(_Alignof(sfshm_lane_control_t), 128);
  expect_offset(sfshm_lane_control_t, consumed, 0);
  expect_offset(sfshm_lane_control_t, grants, 8);
  expect_offset(sfshm_lane_control_t, segment, 16);
  expect_offset(sfshm_lane_control_t, offset, 24);
  expect_offset(sfshm_lane_control_t, cell_bytes, 32);
  expect_offset(sfshm_lane_control_t, awaited, 40);
  expect_offset(sfshm_lane_control_t, devices, 48);
  expect_offset(sfshm_lane_control_t, edges, 52);
  expect_offset(sfshm_lane_control_t, eager, 64);
  expect_offset(sfshm_lane_control_t, eager_segment, 72);
  expect_offset(sfshm_lane_control_t, eager_offset, 80);
}

SFTEST(messages)
{
  ck_assert_int_eq(SFSHM_BCAST, 0);
  ck_assert_int_eq(SFSHM_REDUCE, 1);
  ck_assert_int_eq(SFSHM_METHOD_INLINE, 0);
  ck_assert_int_eq(SFSHM_METHOD_CELL, 1);
  ck_assert_int_eq(SFSHM_METHOD_IN_PLACE, 2);
  ck_assert_int_eq(SFSHM_METHOD_VM_READ, 3);
  ck_assert_int_eq(SFSHM_METHOD_GROW, 4);
  ck_assert_uint_eq(SFSHM_DESC_SEQUENCE_BITS, 24);
  ck_assert_uint_eq(SFSHM_DESC_METHOD_SHIFT, 61);
  expect_size(sfshm_in_place_t, 16);
  expect_offset(sfshm_in_place_t, segment, 0);
  expect_offset(sfshm_in_place_t, offset, 8);
  expect_size(sfshm_vm_read_t, 8);
  expect_size(sfshm_grow_t, 8);
}

SFTEST(edge_lists)
{
  expect_size(sfshm_stored_pattern_t, 40);
  expect_offset(sfshm_stored_pattern_t, kind, 0);
  expect_offset(sfshm_stored_pattern_t, n, 8);
  expect_offset(sfshm_stored_pattern_t, start, 16);
  expect_offset(sfshm_stored_pattern_t, stride, 24);
  expect_offset(sfshm_stored_pattern_t, offset, 32);
  expect_size(sfshm_edge_block_t, 160);
  expect_offset(sfshm_edge_block_t, value_root, 0);
  expect_offset(sfshm_edge_block_t, leaf, 40);
  expect_offset(sfshm_edge_block_t, extra_value, 80);
  expect_offset(sfshm_edge_block_t, extra_edge, 120);
  ck_assert_int_eq(SFSHM_PATTERN_CONTIGUOUS, 0);
  ck_assert_int_eq(SFSHM_PATTERN_STRIDED, 1);
  ck_assert_int_eq(SFSHM_PATTERN_INDEX32, 2);
  ck_assert_int_eq(SFSHM_PATTERN_INDEX64, 3);
}

SFTEST(boards)
{
  expect_size(sfshm_board_t, 384);
  expect_offset(sfshm_board_t, costs, 128);
  expect_offset(sfshm_board_t, cores, 256);
  expect_offset(sfshm_board_t, participants, 260);
  expect_offset(sfshm_board_t, tracing, 268);
  expect_offset(sfshm_board_t, crowded, 272);
  expect_size(sfshm_costs_t, 36);
  expect_offset(sfshm_costs_t, local_line_ps, 0);
  expect_offset(sfshm_costs_t, piece_stream_ps, 4);
  expect_offset(sfshm_costs_t, remote_line_ps, 8);
  expect_offset(sfshm_costs_t, remote_stream_ps, 12);
  expect_offset(sfshm_costs_t, vm_read_call_ps, 16);
  expect_offset(sfshm_costs_t, vm_read_stream_ps, 20);
  expect_offset(sfshm_costs_t, handshake_ps, 24);
  expect_offset(sfshm_costs_t, measured, 28);
  expect_offset(sfshm_costs_t, nontemporal, 32);
}

SFTEST(counter_sets)
{
  expect_size(sfshm_counter_set_t, 256);
  expect_offset(sfshm_counter_set_t, bcasts, 0);
  expect_offset(sfshm_counter_set_t, reduces, 8);
  expect_offset(sfshm_counter_set_t, gathers, 16);
  expect_offset(sfshm_counter_set_t, scatters, 24);
  expect_offset(sfshm_counter_set_t, fetch_ops, 32);
  expect_offset(sfshm_counter_set_t, exchanges, 40);
  expect_offset(sfshm_counter_set_t, completed, 48);
  expect_offset(sfshm_counter_set_t, messages_sent, 56);
  expect_offset(sfshm_counter_set_t, bytes_inline, 64);
  expect_offset(sfshm_counter_set_t, bytes_slots, 72);
  expect_offset(sfshm_counter_set_t, bytes_in_place, 80);
  expect_offset(sfshm_counter_set_t, bytes_vm_read, 88);
  expect_offset(sfshm_counter_set_t, bytes_self, 96);
  expect_offset(sfshm_counter_set_t, messages_received, 104);
  expect_offset(sfshm_counter_set_t, bytes_received, 112);
  expect_offset(sfshm_counter_set_t, bytes_to_nodes, 120);
  expect_offset(sfshm_counter_set_t, bytes_from_nodes, 128);
  expect_offset(sfshm_counter_set_t, bytes_saved, 136);
  expect_offset(sfshm_counter_set_t, node_messages_sent, 144);
  expect_offset(sfshm_counter_set_t, node_bytes_sent, 152);
  expect_offset(sfshm_counter_set_t, node_values_sent, 160);
  expect_offset(sfshm_counter_set_t, node_messages_received, 168);
  expect_offset(sfshm_counter_set_t, node_bytes_received, 176);
  expect_offset(sfshm_counter_set_t, node_values_received, 184);
  expect_offset(sfshm_counter_set_t, values_wanted, 192);
  expect_offset(sfshm_counter_set_t, values_carried, 200);
  expect_offset(sfshm_counter_set_t, waits, 208);
  expect_offset(sfshm_counter_set_t, waited_ns, 216);
  expect_offset(sfshm_counter_set_t, waited_nodes_ns, 224);
  expect_offset(sfshm_counter_set_t, samples, 232);
  expect_offset(sfshm_counter_set_t, pack_ns, 240);
  expect_offset(sfshm_counter_set_t, unpack_ns, 248);
}

SFTEST(lane_counters)
{
  expect_size(sfshm_lane_counters_t, 256);
  expect_offset(sfshm_lane_counters_t, kind, 0);
  expect_offset(sfshm_lane_counters_t, peer, 4);
  expect_offset(sfshm_lane_counters_t, messages_sent, 8);
  expect_offset(sfshm_lane_counters_t, bytes_inline, 16);
  expect_offset(sfshm_lane_counters_t, messages_received, 24);
  expect_offset(sfshm_lane_counters_t, bytes_received, 32);
  expect_offset(sfshm_lane_counters_t, bytes_slots, 40);
  expect_offset(sfshm_lane_counters_t, bytes_in_place, 48);
  expect_offset(sfshm_lane_counters_t, bytes_vm_read, 56);
  expect_offset(sfshm_lane_counters_t, bytes_saved, 64);
  expect_offset(sfshm_lane_counters_t, node_messages_sent, 72);
  expect_offset(sfshm_lane_counters_t, node_bytes_sent, 80);
  expect_offset(sfshm_lane_counters_t, node_values_sent, 88);
  expect_offset(sfshm_lane_counters_t, node_messages_received, 96);
  expect_offset(sfshm_lane_counters_t, node_bytes_received, 104);
  expect_offset(sfshm_lane_counters_t, node_values_received, 112);
  expect_offset(sfshm_lane_counters_t, values_wanted, 120);
  expect_offset(sfshm_lane_counters_t, values_carried, 128);
  expect_offset(sfshm_lane_counters_t, waits, 136);
  expect_offset(sfshm_lane_counters_t, waited_ns, 144);
  expect_offset(sfshm_lane_counters_t, graph, 152);
  expect_offset(sfshm_lane_counters_t, leaf_edges, 160);
  expect_offset(sfshm_lane_counters_t, leaf_values, 168);
  expect_offset(sfshm_lane_counters_t, reduce_values, 176);
  expect_offset(sfshm_lane_counters_t, awaiting, 184);
  expect_offset(sfshm_lane_counters_t, streams, 188);
  ck_assert_int_eq(SFSHM_PEER_NONE, 0);
  ck_assert_int_eq(SFSHM_PEER_RANK, 1);
  ck_assert_int_eq(SFSHM_PEER_NODE, 2);
}

SFTEST(far_counters)
{
  expect_size(sfshm_far_counters_t, 48);
  expect_offset(sfshm_far_counters_t, taken, 0);
  expect_offset(sfshm_far_counters_t, rank, 4);
  expect_offset(sfshm_far_counters_t, values, 8);
  expect_offset(sfshm_far_counters_t, reduce_values, 16);
  expect_offset(sfshm_far_counters_t, graph, 24);
  expect_offset(sfshm_far_counters_t, bytes_from, 32);
  expect_offset(sfshm_far_counters_t, bytes_to, 40);
}

SFTEST(graph_counters)
{
  expect_size(sfshm_graph_counters_t, 1984);
  expect_offset(sfshm_graph_counters_t, graph, 0);
  expect_offset(sfshm_graph_counters_t, begun, 8);
  expect_offset(sfshm_graph_counters_t, ended, 64);
  expect_offset(sfshm_graph_counters_t, bytes_self, 120);
  expect_offset(sfshm_graph_counters_t, created_ns, 128);
  expect_offset(sfshm_graph_counters_t, rank, 136);
  expect_offset(sfshm_graph_counters_t, size, 140);
  expect_offset(sfshm_graph_counters_t, first_lane, 144);
  expect_offset(sfshm_graph_counters_t, nlanes, 148);
  expect_offset(sfshm_graph_counters_t, nroots, 152);
  expect_offset(sfshm_graph_counters_t, nleaves, 160);
  expect_offset(sfshm_graph_counters_t, place, 168);
  expect_offset(sfshm_graph_counters_t, wait_since_ns, 264);
  expect_offset(sfshm_graph_counters_t, wait_sequence, 272);
  expect_offset(sfshm_graph_counters_t, wait_desc, 280);
  expect_offset(sfshm_graph_counters_t, samples, 288);
  expect_offset(sfshm_graph_counters_t, pack_ns, 296);
  expect_offset(sfshm_graph_counters_t, unpack_ns, 304);
  expect_offset(sfshm_graph_counters_t, made, 312);
  expect_offset(sfshm_graph_counters_t, multi_of, 320);
  expect_offset(sfshm_graph_counters_t, latency_ns, 400);
  expect_offset(sfshm_graph_counters_t, latency, 456);
  expect_offset(sfshm_graph_counters_t, unit_bytes, 1352);
  expect_offset(sfshm_graph_counters_t, first_far, 1368);
  expect_offset(sfshm_graph_counters_t, nfar, 1372);
  expect_offset(sfshm_graph_counters_t, asleep_since_ns, 1376);
  expect_offset(sfshm_graph_counters_t, self_edges, 1384);
  expect_offset(sfshm_graph_counters_t, root_edges, 1392);
  expect_offset(sfshm_graph_counters_t, top_root, 1400);
  expect_offset(sfshm_graph_counters_t, top_leaves, 1408);
  expect_offset(sfshm_graph_counters_t, top_rank, 1416);
  expect_offset(sfshm_graph_counters_t, rest, 1472);
}

SFTEST(rank_counters)
{
  expect_size(sfshm_counters_t, 125 * 4096 + 4096 * 256 + 353 * 4096);
  expect_offset(sfshm_counters_t, changes, 128);
  expect_offset(sfshm_counters_t, rank, 132);
  expect_offset(sfshm_counters_t, size, 136);
  expect_offset(sfshm_counters_t, node, 140);
  expect_offset(sfshm_counters_t, job, 144);
  expect_offset(sfshm_counters_t, sleeps, 152);
  expect_offset(sfshm_counters_t, graphs_used, 160);
  expect_offset(sfshm_counters_t, lanes_used, 164);
  expect_offset(sfshm_counters_t, job_name, 168);
  expect_offset(sfshm_counters_t, program, 424);
  expect_offset(sfshm_counters_t, traced, 488);
  expect_offset(sfshm_counters_t, far_used, 492);
  expect_offset(sfshm_counters_t, total, 512);
  expect_offset(sfshm_counters_t, blocked_since_ns, 768);
  expect_offset(sfshm_counters_t, blocked_in, 776);
  expect_offset(sfshm_counters_t, blocked_place, 784);
  expect_offset(sfshm_counters_t, graphs, 4096);
  expect_offset(sfshm_counters_t, lanes, 125 * 4096);
  expect_offset(sfshm_counters_t, trace, 125 * 4096 + 4096 * 256);
  expect_offset(sfshm_counters_t, far, 638 * 4096);
  ck_assert_uint_eq(SFSHM_COUNTED_GRAPHS, 255);
  ck_assert_uint_eq(SFSHM_COUNTED_LANES, 4096);
}

SFTEST(traces)
{
  expect_offset(sfshm_trace_t, next, 0);
  expect_offset(sfshm_trace_t, events, 128);
  expect_size(sfshm_trace_t, 128 + 64 * 16384);
  expect_size(sfshm_trace_record_t, 64);
  expect_offset(sfshm_trace_record_t, number, 0);
  expect_offset(sfshm_trace_record_t, begin_ns, 8);
  expect_offset(sfshm_trace_record_t, end_ns, 16);
  expect_offset(sfshm_trace_record_t, graph, 24);
  expect_offset(sfshm_trace_record_t, sequence, 32);
  expect_offset(sfshm_trace_record_t, message, 40);
  expect_offset(sfshm_trace_record_t, bytes, 48);
  expect_offset(sfshm_trace_record_t, peer, 56);
  expect_offset(sfshm_trace_record_t, kind, 60);
  expect_offset(sfshm_trace_record_t, flags, 61);
  expect_offset(sfshm_trace_record_t, thread, 62);
  ck_assert_int_eq(SFSHM_TRACE_BEGIN, 1);
  ck_assert_int_eq(SFSHM_TRACE_FRAME_IN, 10);
  ck_assert_int_eq(SFSHM_TRACE_PHASE_CONNECT, 5);
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
  ck_assert_uint_eq(SFPROTO_VERSION, 1);
  ck_assert_uint_eq(SFPROTO_MAGIC, 0x43464453u);
  ck_assert_int_eq(SFPROTO_MAX_FDS, 64);
  ck_assert_uint_eq(SFPROTO_MAX_LENGTH, 1u << 20);
}
