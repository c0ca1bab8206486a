/* The planner's decisions where they are clear, and at extremes. */
#include "client/engine/protocol.h"

#include "tests/unit/runner.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define FIRST_CELLS (SFSHM_LANE_SLOTS * SFC_CELL_BYTES_FIRST)

/* A machine as many are. */
static const sfshm_costs_t usual = {.local_line_ps = 3000,
                                    .piece_stream_ps = 7000,
                                    .remote_line_ps = 40000,
                                    .remote_stream_ps = 5000,
                                    .vm_read_call_ps = 500000,
                                    .vm_read_stream_ps = 6000,
                                    .handshake_ps = 100000,
                                    .measured = 1};

static sfshm_board_t board;
static sf_context_t context = {.board = &board};
static sf_graph_t graph;
static sfc_lane_t lane;

static void setup(void)
{
  atomic_store(&board.participants, 2);
  atomic_store(&board.cores, 2);
  graph = (sf_graph_t){.context = &context, .flags = SF_GRAPH_DEFAULT};
  lane = (sfc_lane_t){.graph = &graph, .peer_can_read = true, .as_root = {.nvalues = 1}, .as_leaf = {.nvalues = 1}};
}

SFTEST_FIXTURE(setup, NULL);

/* What is chosen for bytes in so many pieces. */
static sfshm_method_t choose_with(const sfshm_costs_t *costs, sfc_memory_class_t class, int64_t runs, size_t bytes)
{
  const sfc_memory_ref_t ref = {.class = class, .bytes_left = bytes};
  sfshm_pattern_t pattern = sfshm_pattern_contiguous(0, (int64_t)(bytes / 8));
  if (runs > 1) {
    pattern.kind = SFSHM_PATTERN_STRIDED;
    pattern.stride = 3;
  }
  return sfc_protocol_choose(costs, &lane, &ref, &pattern, runs, bytes);
}

static sfshm_method_t choose(sfc_memory_class_t class, int64_t runs, size_t bytes)
{
  return choose_with(&usual, class, runs, bytes);
}

SFTEST(memory_that_nobody_else_can_reach_is_packed)
{
  for (size_t bytes = 120; bytes < 1000 * MIB; bytes *= 2)
    ck_assert_int_eq(choose(SFC_MEMORY_UNKNOWN, 1, bytes), SFSHM_METHOD_CELL);
  lane.peer_can_read = false;
  for (size_t bytes = 120; bytes < 1000 * MIB; bytes *= 2)
    ck_assert_int_eq(choose(SFC_MEMORY_REGISTERED, 1, bytes), SFSHM_METHOD_CELL);
  ck_assert_int_eq(choose(SFC_MEMORY_ALLOC, 1, MIB), SFSHM_METHOD_IN_PLACE); /* needs no such right */
}

SFTEST(a_graph_may_demand_copies)
{
  graph.flags = SF_GRAPH_COPY;
  for (size_t bytes = 120; bytes < 1000 * MIB; bytes *= 2) {
    ck_assert_int_eq(choose(SFC_MEMORY_ALLOC, 1, bytes), SFSHM_METHOD_CELL);
    ck_assert_int_eq(choose(SFC_MEMORY_REGISTERED, 1, bytes), SFSHM_METHOD_CELL);
  }
}

SFTEST(large_dense_memory_is_read_where_it_is)
{
  ck_assert_int_eq(choose(SFC_MEMORY_ALLOC, 1, 2 * MIB), SFSHM_METHOD_IN_PLACE);
  ck_assert_int_eq(choose(SFC_MEMORY_REGISTERED, 1, 2 * MIB), SFSHM_METHOD_VM_READ);
}

/* Between cores that are far apart, one packing and one unpacking are done sooner than one that copies. */
SFTEST(dense_memory_is_packed_where_two_copy_sooner_than_one)
{
  sfshm_costs_t costs = usual;
  costs.remote_stream_ps = costs.vm_read_stream_ps = costs.piece_stream_ps + 1;
  for (size_t bytes = 120; bytes < 1000 * MIB; bytes *= 2) {
    ck_assert_int_eq(choose_with(&costs, SFC_MEMORY_ALLOC, 1, bytes), SFSHM_METHOD_CELL);
    ck_assert_int_eq(choose_with(&costs, SFC_MEMORY_REGISTERED, 1, bytes), SFSHM_METHOD_CELL);
    ck_assert(bytes < 64 * KIB || sfc_protocol_suits_worker(&costs, 1, bytes)); /* which copies while both compute */
  }
}

/* Ranks that pack and unpack copy twice, and nobody copies sooner. */
SFTEST(dense_memory_is_read_where_it_is_if_both_ranks_send)
{
  sfshm_costs_t costs = usual;
  costs.remote_stream_ps = costs.vm_read_stream_ps = costs.piece_stream_ps + 1;
  lane.as_root.nedges = lane.as_leaf.nedges = 1000;
  ck_assert_int_eq(choose_with(&costs, SFC_MEMORY_ALLOC, 1, 2 * MIB), SFSHM_METHOD_IN_PLACE);
  lane.as_leaf.nedges = 500;
  ck_assert_int_eq(choose_with(&costs, SFC_MEMORY_ALLOC, 1, 2 * MIB), SFSHM_METHOD_CELL);
}

SFTEST(dense_memory_is_read_where_it_is_if_ranks_take_turns)
{
  sfshm_costs_t costs = usual;
  costs.remote_stream_ps = costs.vm_read_stream_ps = costs.piece_stream_ps + 1;
  atomic_store(&board.participants, 3);
  ck_assert_int_eq(choose_with(&costs, SFC_MEMORY_ALLOC, 1, 2 * MIB), SFSHM_METHOD_IN_PLACE);
  ck_assert_int_eq(choose_with(&costs, SFC_MEMORY_ALLOC, (int64_t)(2 * MIB / 8), 2 * MIB), SFSHM_METHOD_CELL);
  ck_assert_int_eq(choose_with(&costs, SFC_MEMORY_REGISTERED, 1, 2 * MIB), SFSHM_METHOD_CELL);
  ck_assert_int_eq(choose_with(&costs, SFC_MEMORY_ALLOC, 1, FIRST_CELLS), SFSHM_METHOD_CELL);
}

SFTEST(scattered_values_are_packed_by_their_owner)
{
  for (size_t bytes = 120; bytes < 1000 * MIB; bytes *= 2) {
    ck_assert_int_eq(choose(SFC_MEMORY_ALLOC, (int64_t)(bytes / 8), bytes), SFSHM_METHOD_CELL);
    ck_assert_int_eq(choose(SFC_MEMORY_REGISTERED, (int64_t)(bytes / 8), bytes), SFSHM_METHOD_CELL);
  }
}

/* The daemon's workers read in place. */
SFTEST(workers_get_no_scattered_values_that_cells_hold)
{
  for (size_t bytes = 64 * KIB; bytes < 1000 * MIB; bytes *= 2) {
    ck_assert(sfc_protocol_suits_worker(&usual, 1, bytes));
    ck_assert(sfc_protocol_suits_worker(&usual, (int64_t)(bytes / 8), bytes) == (bytes > FIRST_CELLS));
  }
}

/* Even if a read seems cheap. */
SFTEST(blocks_of_private_memory_are_copied_as_long_as_begin_can_hand_them_over)
{
  sfshm_costs_t costs = usual;
  costs.vm_read_call_ps = costs.vm_read_stream_ps = 1;
  for (size_t bytes = 120; bytes <= SFC_EAGER_BYTES; bytes *= 2)
    ck_assert_int_eq(sfc_protocol_choose_blocks(&costs, &lane, false, 2, bytes), SFSHM_METHOD_CELL);
  ck_assert_int_eq(sfc_protocol_choose_blocks(&usual, &lane, false, 2, SFC_EAGER_BYTES + 1), SFSHM_METHOD_VM_READ);
  ck_assert_int_eq(sfc_protocol_choose_blocks(&usual, &lane, true, 2, SFC_EAGER_BYTES), SFSHM_METHOD_IN_PLACE);
  lane.peer_can_read = false;
  ck_assert_int_eq(sfc_protocol_choose_blocks(&usual, &lane, false, 2, SFC_EAGER_BYTES + 1), SFSHM_METHOD_CELL);
}

/* process_vm_readv reads one piece at a time. */
SFTEST(private_memory_is_read_only_in_one_piece)
{
  ck_assert_int_eq(choose(SFC_MEMORY_REGISTERED, 2, 100 * MIB), SFSHM_METHOD_CELL);
  ck_assert_int_eq(choose(SFC_MEMORY_ALLOC, 2, 100 * MIB), SFSHM_METHOD_IN_PLACE);
}

SFTEST(small_parts_are_not_worth_a_handshake)
{
  ck_assert_int_eq(choose(SFC_MEMORY_ALLOC, 1, SFSHM_INLINE_BYTES + 8), SFSHM_METHOD_CELL);
  ck_assert_int_eq(choose(SFC_MEMORY_REGISTERED, 1, SFSHM_INLINE_BYTES + 8), SFSHM_METHOD_CELL);
}

/* Its own core has nothing else to do then, and begin returns at once. */
SFTEST(a_rank_that_only_sends_packs_what_the_cells_hold)
{
  for (int i = 0; i < 2; i++) {
    lane.as_root.nvalues = i;
    lane.as_leaf.nvalues = 1 - i;
    ck_assert_int_eq(choose(SFC_MEMORY_ALLOC, 1, FIRST_CELLS), SFSHM_METHOD_CELL);
    ck_assert_int_eq(choose(SFC_MEMORY_ALLOC, 1, FIRST_CELLS + 1), SFSHM_METHOD_IN_PLACE);
  }
}

/* Who reads large parts in place does so with larger ones, and with less scattered ones. */
SFTEST(choices_change_once)
{
  for (int64_t piece_bytes = 8; piece_bytes <= 1 << 20; piece_bytes *= 2) {
    bool in_place = false;
    for (size_t bytes = (size_t)piece_bytes; bytes < 1000 * MIB; bytes *= 2) {
      sfshm_method_t method = choose(SFC_MEMORY_ALLOC, (int64_t)bytes / piece_bytes, bytes);
      ck_assert(method == SFSHM_METHOD_IN_PLACE || !in_place);
      in_place = method == SFSHM_METHOD_IN_PLACE;
    }
  }
  for (size_t bytes = 1 * KIB; bytes < 1000 * MIB; bytes *= 4) {
    bool cell = false;
    for (int64_t runs = 1; runs <= (int64_t)(bytes / 8); runs *= 2) {
      sfshm_method_t method = choose(SFC_MEMORY_ALLOC, runs, bytes);
      ck_assert(method == SFSHM_METHOD_CELL || !cell);
      cell = method == SFSHM_METHOD_CELL;
    }
  }
}

/* Costs come from measurements, which may be odd. */
SFTEST(extreme_costs)
{
  const sfshm_costs_t nothing = {0};
  const sfshm_costs_t all = {.local_line_ps = UINT32_MAX,
                             .piece_stream_ps = UINT32_MAX,
                             .remote_line_ps = UINT32_MAX,
                             .remote_stream_ps = UINT32_MAX,
                             .vm_read_call_ps = UINT32_MAX,
                             .vm_read_stream_ps = UINT32_MAX,
                             .handshake_ps = UINT32_MAX};
  ck_assert_int_eq(choose_with(&nothing, SFC_MEMORY_ALLOC, 1, MIB), SFSHM_METHOD_CELL);
  ck_assert_int_eq(choose_with(&all, SFC_MEMORY_ALLOC, 1, MIB), SFSHM_METHOD_CELL);
  ck_assert_int_eq(choose_with(&all, SFC_MEMORY_REGISTERED, 1, MIB), SFSHM_METHOD_CELL);
  sfshm_costs_t costs = usual;
  costs.handshake_ps = UINT32_MAX; /* 4 ms */
  ck_assert_int_eq(choose_with(&costs, SFC_MEMORY_ALLOC, 1, MIB), SFSHM_METHOD_CELL);
  ck_assert_int_eq(choose_with(&costs, SFC_MEMORY_ALLOC, 1, (size_t)1 << 40), SFSHM_METHOD_IN_PLACE);
  costs = usual;
  costs.vm_read_stream_ps = UINT32_MAX;
  ck_assert_int_eq(choose_with(&costs, SFC_MEMORY_REGISTERED, 1, 100 * MIB), SFSHM_METHOD_CELL);
  ck_assert_int_eq(choose_with(&costs, SFC_MEMORY_ALLOC, 1, 100 * MIB), SFSHM_METHOD_IN_PLACE);
}

SFTEST(sizes_of_cells)
{
  ck_assert_uint_eq(sfc_protocol_cell_bytes(0, 0, 1, false), SFC_CELL_BYTES_MIN);
  ck_assert_uint_eq(sfc_protocol_cell_bytes(256, 0, 1, false), 256);
  ck_assert_uint_eq(sfc_protocol_cell_bytes(257, 0, 1, false), 512);
  ck_assert_uint_eq(sfc_protocol_cell_bytes(SIZE_MAX, 0, 1, false), SFC_CELL_BYTES_FIRST);
  for (uint64_t messages = 0; messages < 100; messages += 99)
    for (size_t bytes = 0; bytes < 3 * SFC_CELL_BYTES_FIRST; bytes += 7) {
      size_t cell_bytes = sfc_protocol_cell_bytes(bytes, messages, 1, false);
      ck_assert(sfc_protocol_has_cells_of(cell_bytes));
      ck_assert(cell_bytes >= bytes || cell_bytes == SFC_CELL_BYTES_FIRST);
      ck_assert(cell_bytes / 2 < bytes || cell_bytes == SFC_CELL_BYTES_MIN || cell_bytes == SFC_CELL_BYTES_MAX);
    }
}

SFTEST(cells_of_lanes_in_use_are_large_unless_there_are_many)
{
  const size_t bytes = SFSHM_PIECE_MOVES_FROM;
  ck_assert_uint_eq(sfc_protocol_cell_bytes(bytes, 63, 1, false), bytes);
  ck_assert_uint_eq(sfc_protocol_cell_bytes(bytes, 64, 1, false), SFC_CELL_BYTES_MAX);
  ck_assert_uint_eq(sfc_protocol_cell_bytes(bytes, UINT64_MAX, 1, false), SFC_CELL_BYTES_MAX);
  ck_assert_uint_eq(sfc_protocol_cell_bytes(bytes - 1, 64, 1, false), bytes);
  for (int32_t nlanes = 1; nlanes < 10000; nlanes++) {
    size_t cell_bytes = sfc_protocol_cell_bytes(SIZE_MAX, 64, nlanes, false);
    ck_assert(cell_bytes == SFC_CELL_BYTES_FIRST || (size_t)nlanes * cell_bytes <= SFC_CELL_BYTES_MAX);
    ck_assert(cell_bytes >= SFC_CELL_BYTES_FIRST);
  }
}

/* Payloads of at least two pieces have cells of whole pieces, others those that they began with. */
SFTEST(cells_of_lanes_past_the_caches)
{
  const size_t piece = SFSHM_PIECE_BYTES_MAX;
  for (size_t bytes = 0; bytes <= piece; bytes += 64)
    ck_assert_uint_eq(sfc_protocol_cell_bytes(bytes, 64, 1, true), sfc_protocol_cell_bytes(bytes, 0, 1, true));
  ck_assert_uint_eq(sfc_protocol_cell_bytes(piece + 1, 63, 1, true), SFC_CELL_BYTES_FIRST);
  ck_assert_uint_eq(sfc_protocol_cell_bytes(piece + 1, 64, 1, true), piece);
  ck_assert_uint_eq(sfc_protocol_cell_bytes(SIZE_MAX, UINT64_MAX, 1, true), piece);
  ck_assert_uint_eq(sfc_protocol_cell_bytes(SIZE_MAX, UINT64_MAX, 1000, true), SFC_CELL_BYTES_FIRST);
}

/* Sizes that a writer may ask for, and others. */
SFTEST(wishes_of_others)
{
  const size_t others[] = {0, 1, 128, 255, 257, 384, SFC_CELL_BYTES_MAX - 1, 2 * SFC_CELL_BYTES_MAX, SIZE_MAX};
  for (size_t cell_bytes = SFC_CELL_BYTES_MIN; cell_bytes <= SFC_CELL_BYTES_MAX; cell_bytes *= 2)
    ck_assert(sfc_protocol_has_cells_of(cell_bytes));
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    ck_assert(!sfc_protocol_has_cells_of(others[i]));
}
