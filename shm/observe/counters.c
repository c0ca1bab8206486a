/* Sums of counters. The thread that owns the sum. */
#include "shm/observe/counters.h"

#include <stdbool.h>

#include "shm/lane/message.h"

static uint64_t load(const _Atomic uint64_t *counter)
{
  return atomic_load_explicit(counter, memory_order_relaxed);
}

void sfshm_counters_add_lane(sfshm_counter_set_t *sum, const sfshm_lane_counters_t *lane)
{
  bool node = atomic_load_explicit(&lane->kind, memory_order_relaxed) == SFSHM_PEER_NODE;
  sfshm_count(&sum->messages_sent, node ? 0 : load(&lane->messages_sent));
  sfshm_count(&sum->messages_received, node ? 0 : load(&lane->messages_received));
  sfshm_count(node ? &sum->bytes_to_nodes : &sum->bytes_slots, load(&lane->bytes_slots));
  sfshm_count(node ? &sum->bytes_from_nodes : &sum->bytes_received, load(&lane->bytes_received));
  sfshm_count(&sum->waited_nodes_ns, node ? load(&lane->waited_ns) : 0);
#define ADD(field) sfshm_count(&sum->field, load(&lane->field));
  ADD(bytes_inline)
  ADD(bytes_in_place)
  ADD(bytes_vm_read)
  ADD(bytes_saved)
  ADD(node_messages_sent)
  ADD(node_bytes_sent)
  ADD(node_values_sent)
  ADD(node_messages_received)
  ADD(node_bytes_received)
  ADD(node_values_received)
  ADD(values_wanted)
  ADD(values_carried)
  ADD(waits)
  ADD(waited_ns)
#undef ADD
}

void sfshm_counters_add_graph(sfshm_counter_set_t *sum, const sfshm_graph_counters_t *graph)
{
  sfshm_count(&sum->bcasts, load(&graph->begun[SFSHM_KIND_BCAST]));
  sfshm_count(&sum->reduces, load(&graph->begun[SFSHM_KIND_REDUCE]));
  sfshm_count(&sum->gathers, load(&graph->begun[SFSHM_KIND_GATHER]));
  sfshm_count(&sum->scatters, load(&graph->begun[SFSHM_KIND_SCATTER]));
  sfshm_count(&sum->fetch_ops, load(&graph->begun[SFSHM_KIND_FETCH_OP]));
  sfshm_count(&sum->exchanges, load(&graph->begun[SFSHM_KIND_EXCHANGE]));
  for (int kind = 0; kind < SFSHM_KINDS; kind++)
    sfshm_count(&sum->completed, kind != SFSHM_KIND_FETCH_BACK ? load(&graph->ended[kind]) : 0);
#define ADD(field) sfshm_count(&sum->field, load(&graph->field));
  ADD(bytes_self)
  ADD(samples)
  ADD(pack_ns)
  ADD(unpack_ns)
#undef ADD
}
