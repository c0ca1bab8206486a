/* The counters region of a rank: see counters_region.h. */
#include "client/core/counters_region.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shm/device/device_load.h"
#include "shm/observe/trace.h"

#define CHUNK_BYTES ((size_t)16 << 10) /* allocation step */

/* ---- The region -------------------------------------------------------------------------------------------------- */

sf_status_t sfc_counters_open(sfc_counters_t *counters, const char *job, const char *program, int32_t rank,
                              int32_t size)
{
  *counters = (sfc_counters_t){.region = {.fd = -1}};
  sf_status_t status = sfshm_region_create("sf-counters", SFSHM_REGION_COUNTERS, sizeof(sfshm_counters_t),
                                           SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_LATER, &counters->region);
  if (status != SF_OK)
    return status;
  status = sfshm_region_commit(&counters->region, 0, offsetof(sfshm_counters_t, graphs));
  if (status != SF_OK) {
    sfshm_region_destroy(&counters->region);
    return status;
  }
  sfshm_counters_t *shared = counters->shared = counters->region.base;
  shared->rank = rank;
  shared->size = size;
  strncpy(shared->job_name, job, sizeof shared->job_name - 1);
  strncpy(shared->program, program, sizeof shared->program - 1);
  return SF_OK;
}

void sfc_counters_close(sfc_counters_t *counters)
{
  const sfshm_device_ops_t *devices = sfshm_device_loaded();
  if (counters->shared != NULL && devices != NULL)
    devices->unwatch(&counters->shared->trace);
  if (counters->shared != NULL)
    sfshm_region_destroy(&counters->region);
  free(counters->gone);
  *counters = (sfc_counters_t){.region = {.fd = -1}};
}

void sfc_counters_joined(sfc_counters_t *counters, uint64_t job, int32_t node)
{
  counters->shared->node = node;
  atomic_store_explicit(&counters->shared->job, job, memory_order_release);
}

/* ---- Room -------------------------------------------------------------------------------------------------------- */

static bool is_taken(const uint64_t bits[], uint32_t i)
{
  return (bits[i / 64] >> i % 64 & 1) != 0;
}

void sfc_counters_set_taken(uint64_t bits[], uint32_t first, uint32_t n, bool taken)
{
  for (uint32_t i = first; i < first + n; i++)
    if (taken)
      bits[i / 64] |= UINT64_C(1) << i % 64;
    else
      bits[i / 64] &= ~(UINT64_C(1) << i % 64);
}

/* Finds n consecutive free entries. */
static bool find_run(const uint64_t bits[], uint32_t max, uint32_t n, uint32_t *first_p)
{
  uint32_t run = 0;
  for (uint32_t i = 0; i < max; i++) {
    if (i % 64 == 0 && bits[i / 64] == UINT64_MAX) {
      run = 0;
      i += 63;
      continue;
    }
    run = is_taken(bits, i) ? 0 : run + 1;
    if (run == n) {
      *first_p = i + 1 - n;
      return true;
    }
  }
  return false;
}

/* Allocates the pages of a table up to that many entries, at their first use. */
static bool reach(sfc_counters_t *counters, size_t table, size_t entry_bytes, uint32_t max, _Atomic uint32_t *used,
                  uint32_t entries)
{
  uint32_t before = atomic_load_explicit(used, memory_order_relaxed);
  if (entries <= before)
    return true;
  size_t have = (before * entry_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
  size_t need = (entries * entry_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES, all = max * entry_bytes;
  need = need < all ? need : all;
  if (need > have && sfshm_region_commit(&counters->region, table + have, need - have) != SF_OK)
    return false;
  atomic_store_explicit(used, entries, memory_order_release);
  return true;
}

/* Takes n consecutive entries of a table at that offset in the region. */
static void *take(sfc_counters_t *counters, uint64_t taken[], size_t table, size_t entry_bytes, uint32_t max,
                  _Atomic uint32_t *used, uint32_t n)
{
  uint32_t first;
  if (n == 0 || !find_run(taken, max, n, &first) || !reach(counters, table, entry_bytes, max, used, first + n))
    return NULL;
  sfc_counters_set_taken(taken, first, n, true);
  return memset((char *)counters->shared + table + first * entry_bytes, 0, n * entry_bytes);
}

sfshm_lane_counters_t *sfc_counters_take_lanes(sfc_counters_t *counters, uint32_t n)
{
  return take(counters, counters->lanes_taken, offsetof(sfshm_counters_t, lanes), sizeof(sfshm_lane_counters_t),
              SFSHM_COUNTED_LANES, &counters->shared->lanes_used, n);
}

sfshm_graph_counters_t *sfc_counters_take_graph(sfc_counters_t *counters)
{
  return take(counters, counters->graphs_taken, offsetof(sfshm_counters_t, graphs), sizeof(sfshm_graph_counters_t),
              SFSHM_COUNTED_GRAPHS, &counters->shared->graphs_used, 1);
}

sfshm_far_counters_t *sfc_counters_take_far(sfc_counters_t *counters, uint32_t n)
{
  return take(counters, counters->far_taken, offsetof(sfshm_counters_t, far), sizeof(sfshm_far_counters_t),
              SFSHM_COUNTED_FAR, &counters->shared->far_used, n);
}

/* ---- The trace --------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) sfshm_trace_t *make_trace(sfc_counters_t *counters)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  sfshm_counters_t *shared = counters->shared;
  pthread_mutex_lock(&lock);
  if (!counters->trace_failed && atomic_load_explicit(&shared->traced, memory_order_relaxed) == 0) {
    if (sfshm_region_commit(&counters->region, offsetof(sfshm_counters_t, trace), sizeof shared->trace) == SF_OK)
      atomic_store_explicit(&shared->traced, 1, memory_order_release);
    else
      counters->trace_failed = true;
  }
  bool made = !counters->trace_failed;
  pthread_mutex_unlock(&lock);
  return made ? &shared->trace : NULL;
}

sfshm_trace_t *sfc_counters_trace(sfc_counters_t *counters)
{
  if (atomic_load_explicit(&counters->shared->traced, memory_order_acquire) != 0)
    return &counters->shared->trace;
  return make_trace(counters);
}

/* ---- Blocking calls ---------------------------------------------------------------------------------------------- */

void sfc_counters_block(sfc_counters_t *counters, sfshm_blocked_t in, const char *place)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the text */
  sfshm_counters_t *shared = counters->shared;
  pthread_mutex_lock(&lock);
  sfc_counters_copy_call_site(shared->blocked_place, sizeof shared->blocked_place, place != NULL ? place : "");
  atomic_store_explicit(&shared->blocked_in, (uint32_t)in, memory_order_relaxed);
  atomic_store_explicit(&shared->blocked_since_ns, sfshm_trace_now_ns(), memory_order_release);
  pthread_mutex_unlock(&lock);
}

void sfc_counters_unblock(sfc_counters_t *counters)
{
  atomic_store_explicit(&counters->shared->blocked_since_ns, 0, memory_order_relaxed);
}

void sfc_counters_copy_call_site(char *to, size_t size, const char *place)
{
  size_t length = strlen(place), skipped = length < size ? 0 : length - (size - 1);
  memcpy(to, place + skipped, length - skipped + 1);
}
