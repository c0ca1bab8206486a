/* Protocol selection: see protocol.h. Stateless. */
#include "client/engine/protocol.h"

#define LINE_BYTES 64u

size_t sfc_protocol_cell_bytes_most(int32_t nlanes, bool nontemporal)
{
  size_t cell_bytes = SFC_CELL_BYTES_MAX;
  for (int32_t n = 1; n < nlanes && cell_bytes > SFC_CELL_BYTES_FIRST; n *= 2)
    cell_bytes /= 2;
  return nontemporal && cell_bytes > SFSHM_PIECE_BYTES_MAX ? SFSHM_PIECE_BYTES_MAX : cell_bytes;
}

size_t sfc_protocol_cell_bytes(size_t payload_bytes, uint64_t messages, int32_t nlanes, bool nontemporal)
{
  size_t cell_bytes = SFC_CELL_BYTES_MIN, most_bytes = SFC_CELL_BYTES_FIRST;
  if (messages >= SFC_FIRST_MESSAGES &&
      payload_bytes >= (nontemporal ? SFSHM_PIECE_BYTES_MAX + 1 : SFSHM_PIECE_MOVES_FROM))
    return sfc_protocol_cell_bytes_most(nlanes, nontemporal);
  while (cell_bytes < payload_bytes && cell_bytes < most_bytes)
    cell_bytes *= 2;
  return cell_bytes;
}

bool sfc_protocol_has_cells_of(size_t cell_bytes)
{
  return cell_bytes >= SFC_CELL_BYTES_MIN && cell_bytes <= SFC_CELL_BYTES_MAX && (cell_bytes & (cell_bytes - 1)) == 0;
}

/* A jump costs a line that is not prefetched. */
static uint64_t jumps_ps(uint32_t line_ps, int64_t runs)
{
  return ((uint64_t)runs - 1) * line_ps;
}

static uint64_t stream_ps(uint32_t line_ps, size_t bytes)
{
  return (bytes / LINE_BYTES + 1) * line_ps;
}

/* Whether jumps take less than half of the time of reading in place. */
static bool is_dense(const sfshm_costs_t *costs, int64_t runs, size_t bytes)
{
  return jumps_ps(costs->remote_line_ps, runs) <= stream_ps(costs->remote_stream_ps, bytes);
}

bool sfc_protocol_suits_worker(const sfshm_costs_t *costs, int64_t runs, size_t bytes)
{
  return bytes >= SFC_IN_PLACE_MIN || is_dense(costs, runs, bytes);
}

/* Packing and unpacking overlap, on two cores. Where the lane carries about as much in both directions, each core does
 * both, and so takes the time of two copies. */
static uint64_t packed_ps(const sfshm_costs_t *costs, const sfc_lane_t *lane, int64_t runs, size_t bytes)
{
  bool both_ways = lane->as_root.nedges > lane->as_leaf.nedges / 2 && lane->as_leaf.nedges > lane->as_root.nedges / 2;
  return jumps_ps(costs->local_line_ps, runs) + (both_ways ? 2 : 1) * stream_ps(costs->piece_stream_ps, bytes);
}

/* Ranks that share cores do not pack and unpack at the same time, and fill the cells once in a turn. */
static bool take_turns(const sfc_lane_t *lane)
{
  const sfshm_board_t *board = lane->graph->context->board;
  return atomic_load_explicit(&board->participants, memory_order_relaxed) >
         atomic_load_explicit(&board->cores, memory_order_relaxed);
}

/* Cells free the writer when begin returns, and for larger payloads writer and reader overlap. Zero-copy makes the
 * writer wait, but saves a copy. It is for payloads larger than the first cells, where one copy is faster than two
 * overlapping ones: not between distant cores, which mostly wait for lines, unless ranks take turns. Its end takes two
 * messages, for which both ranks have to look. */
sfshm_method_t sfc_protocol_choose(const sfshm_costs_t *costs, const sfc_lane_t *lane,
                                   const sfc_memory_ref_t *source_ref, const sfshm_pattern_t *pattern, int64_t runs,
                                   size_t bytes)
{
  uint64_t end_ps = 4 * (uint64_t)costs->handshake_ps;
  if (source_ref->class == SFC_MEMORY_DEVICE && source_ref->shared && (lane->graph->flags & SF_GRAPH_COPY) == 0)
    return SFSHM_METHOD_DEVICE;
  if (source_ref->class == SFC_MEMORY_UNKNOWN || source_ref->class == SFC_MEMORY_DEVICE ||
      (lane->graph->flags & SF_GRAPH_COPY) != 0)
    return SFSHM_METHOD_CELL;
  if (bytes < SFC_IN_PLACE_MIN)
    return SFSHM_METHOD_CELL;
  uint64_t packed = packed_ps(costs, lane, runs, bytes);
  if (source_ref->class == SFC_MEMORY_ALLOC) {
    uint64_t in_place = jumps_ps(costs->remote_line_ps, runs) + stream_ps(costs->remote_stream_ps, bytes) + end_ps;
    return in_place < packed || (take_turns(lane) && is_dense(costs, runs, bytes)) ? SFSHM_METHOD_IN_PLACE
                                                                                   : SFSHM_METHOD_CELL;
  }
  if (!lane->peer_can_read || pattern->kind != SFSHM_PATTERN_CONTIGUOUS)
    return SFSHM_METHOD_CELL;
  uint64_t vm_read = costs->vm_read_call_ps + stream_ps(costs->vm_read_stream_ps, bytes) + end_ps;
  return vm_read < packed ? SFSHM_METHOD_VM_READ : SFSHM_METHOD_CELL;
}

/* Private memory is read only where it has to be: two copies through cells by the ranks are faster than one by
 * process_vm_readv, which looks up each page. */
sfshm_method_t sfc_protocol_choose_blocks(const sfshm_costs_t *costs, const sfc_lane_t *lane, bool in_alloc, int64_t n,
                                          size_t bytes)
{
  bool is_long = bytes > SFC_EAGER_BYTES;
  if (bytes < SFC_IN_PLACE_MIN || (lane->graph->flags & SF_GRAPH_COPY) != 0)
    return SFSHM_METHOD_CELL;
  if (!in_alloc)
    return is_long && lane->peer_can_read ? SFSHM_METHOD_VM_READ : SFSHM_METHOD_CELL;
  uint64_t in_place = jumps_ps(costs->remote_line_ps, n) + stream_ps(costs->remote_stream_ps, bytes) +
                      4 * (uint64_t)costs->handshake_ps;
  return is_long || in_place < packed_ps(costs, lane, n, bytes) ? SFSHM_METHOD_IN_PLACE : SFSHM_METHOD_CELL;
}
