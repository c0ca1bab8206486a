/* Reading a rank's counters region. One thread. */
#include "proto/report/counters.h"

#include "shm/error.h"
#include "shm/region.h"

#define MAX_REGION_BYTES (1u << 20) /* far above what a region of counters has with any page size */

static uint64_t load(const _Atomic uint64_t *counter)
{
  return atomic_load_explicit(counter, memory_order_relaxed);
}

static sfreport_counts_t load_set(const sfshm_counter_set_t *set)
{
  sfreport_counts_t counts;
#define LOAD(field, text) counts.field = load(&set->field);
  SFSHM_COUNTER_TABLE(LOAD)
#undef LOAD
  return counts;
}

/* A graph that its rank destroys at this moment may be missing in the total once: its counts move there before its
 * entry is freed, and the total is read first. */
static void load_all(const sfshm_counters_t *counters, sfreport_rank_counts_t *counts)
{
  counts->total = load_set(&counters->total);
  counts->sleeps = load(&counters->sleeps);
  counts->ngraphs = 0;
  for (int i = 0; i < SFSHM_COUNTED_GRAPHS; i++) {
    uint64_t graph = load(&counters->graphs[i].graph);
    if (graph == 0)
      continue;
    sfreport_graph_counts_t *entry = &counts->graphs[counts->ngraphs++];
    *entry = (sfreport_graph_counts_t){.graph = graph, .counts = load_set(&counters->graphs[i].counts)};
    sfreport_counts_add(&counts->total, &entry->counts);
  }
}

sf_status_t sfreport_counters_read(int fd, sfreport_rank_counts_t *counts_p)
{
  sfshm_region_t region;
  sf_status_t status = sfshm_region_map(fd, SFSHM_REGION_COUNTERS, MAX_REGION_BYTES, SFSHM_READ_ONLY, &region);
  if (status != SF_OK)
    return status;
  if (region.length_bytes < sizeof(sfshm_counters_t))
    status = sfshm_error(SF_ERR_PROTO, "counters region: %zu bytes expected, %zu found", sizeof(sfshm_counters_t),
                         region.length_bytes);
  else
    load_all(region.base, counts_p);
  sfshm_region_destroy(&region);
  return status;
}

void sfreport_counts_add(sfreport_counts_t *sum, const sfreport_counts_t *counts)
{
#define ADD(field, text) sum->field += counts->field;
  SFSHM_COUNTER_TABLE(ADD)
#undef ADD
}

static uint64_t max(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

static uint64_t min(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

void sfreport_counts_merge(sfreport_counts_t *sum, const sfreport_counts_t *counts, bool first)
{
  if (first) {
    *sum = *counts;
    return;
  }
  sfreport_counts_t merged = *sum;
  sfreport_counts_add(&merged, counts);
  merged.bcasts = max(sum->bcasts, counts->bcasts);
  merged.reduces = max(sum->reduces, counts->reduces);
  merged.completed = min(sum->completed, counts->completed);
  *sum = merged;
}

uint64_t sfreport_counts_sent_bytes(const sfreport_counts_t *counts)
{
  return counts->bytes_inline + counts->bytes_slots + counts->bytes_in_place + counts->bytes_vm_read;
}
