/* Reads a rank's counters: see counters_read.h. Any reader. */
#include "shm/observe/counters_read.h"

#include <sched.h>
#include <stdlib.h>

#include "shm/base/clock.h"
#include "shm/base/error.h"
#include "shm/lane/message.h"

#define MAX_REGION_BYTES (UINT64_C(16) << 20) /* far above what a region of counters has with any page size */
#define TRIES 100                             /* to find nobody making or freeing entries */

static uint64_t load(const _Atomic uint64_t *counter)
{
  return atomic_load_explicit(counter, memory_order_relaxed);
}

/* The rank writes concurrently, in whole words. */
static void copy_words(void *to, const void *from, size_t bytes)
{
  _Atomic uint64_t *into = to;
  const _Atomic uint64_t *words = from;
  for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
    atomic_store_explicit(&into[i], load(&words[i]), memory_order_relaxed);
}

static uint32_t bounded(uint32_t n, uint32_t max)
{
  return n < max ? n : max;
}

/* ---- Waits in progress ------------------------------------------------------------------------------------------- */

/* The graph's lane entries, within the table. */
static sfshm_lane_counters_t *lanes_of(sfshm_counters_t *copy, sfshm_graph_counters_t *graph, uint32_t *n_p)
{
  bool own = graph->nlanes > 0 && graph->first_lane <= copy->lanes_used &&
             graph->nlanes <= copy->lanes_used - graph->first_lane;
  *n_p = own ? graph->nlanes : 2;
  return own ? &copy->lanes[graph->first_lane] : graph->rest;
}

/* Whether the rank has charged no lane of the graph during the copy. The fence orders the loads of the copy before that
 * of the time. It pairs with the rank's stores of the time, between which the rank charges. */
static bool is_even(const sfshm_graph_counters_t *shared, const sfshm_graph_counters_t *copy)
{
  atomic_thread_fence(memory_order_acquire);
  uint64_t since_ns = load(&copy->asleep_since_ns);
  return since_ns != SFSHM_CHARGING && load(&shared->asleep_since_ns) == since_ns;
}

/* Copies a graph with its lanes until both are consistent; a rank that was stopped meanwhile is read as it is. */
static void copy_evenly(const sfshm_counters_t *shared, sfshm_counters_t *copy, uint32_t i)
{
  for (int tries = 0; tries < TRIES && !is_even(&shared->graphs[i], &copy->graphs[i]); tries++) {
    uint32_t n;
    copy_words(&copy->graphs[i], &shared->graphs[i], sizeof copy->graphs[i]);
    sfshm_lane_counters_t *lanes = lanes_of(copy, &copy->graphs[i], &n);
    atomic_thread_fence(memory_order_acquire);
    if (lanes != copy->graphs[i].rest)
      copy_words(lanes, &shared->lanes[lanes - copy->lanes], n * sizeof *lanes);
    else
      copy_words(lanes, shared->graphs[i].rest, n * sizeof *lanes);
  }
}

/* Adds the time since the rank fell asleep, as the rank will when it wakes: counters grow while it waits. */
static void add_lasting(sfshm_counters_t *copy, sfshm_graph_counters_t *graph)
{
  uint32_t n, awaited = 0;
  uint64_t since_ns = load(&graph->asleep_since_ns);
  sfshm_lane_counters_t *lanes = lanes_of(copy, graph, &n);
  if (load(&graph->graph) == 0 || since_ns <= SFSHM_CHARGING || since_ns > copy->copied_ns)
    return;
  for (uint32_t i = 0; i < n; i++)
    awaited += atomic_load_explicit(&lanes[i].awaiting, memory_order_relaxed) != 0;
  for (uint32_t i = 0; i < n; i++)
    if (atomic_load_explicit(&lanes[i].awaiting, memory_order_relaxed) != 0)
      sfshm_count(&lanes[i].waited_ns, (copy->copied_ns - since_ns) / awaited);
}

/* ---- The copy ---------------------------------------------------------------------------------------------------- */

static void copy_all(const sfshm_counters_t *shared, sfshm_counters_t *copy)
{
  copy_words(copy, shared, offsetof(sfshm_counters_t, graphs));
  copy->graphs_used = bounded(copy->graphs_used, SFSHM_COUNTED_GRAPHS);
  copy->lanes_used = bounded(copy->lanes_used, SFSHM_COUNTED_LANES);
  copy_words(copy->graphs, shared->graphs, copy->graphs_used * sizeof copy->graphs[0]);
  copy_words(copy->lanes, shared->lanes, copy->lanes_used * sizeof copy->lanes[0]);
  copy->far_used = bounded(copy->far_used, SFSHM_COUNTED_FAR);
  copy_words(copy->far, shared->far, copy->far_used * sizeof copy->far[0]);
  for (uint32_t i = 0; i < copy->graphs_used; i++)
    copy_evenly(shared, copy, i);
}

/* Whether no entries were created or freed during the copy. The fence orders the loads of the copy before that of the
 * count. It pairs with the rank's read-modify-writes of the count. */
static bool copy_once(const sfshm_counters_t *shared, sfshm_counters_t *copy)
{
  uint32_t before = atomic_load_explicit(&shared->changes, memory_order_acquire);
  copy_all(shared, copy);
  atomic_thread_fence(memory_order_acquire);
  return before % 2 == 0 && atomic_load_explicit(&shared->changes, memory_order_relaxed) == before;
}

static void make_printable(char text[], size_t size)
{
  text[size - 1] = '\0';
  for (char *c = text; *c != '\0'; c++)
    if (*c < ' ' || *c > '~')
      *c = '?';
}

static void check(sfshm_counters_t *copy)
{
  make_printable(copy->job_name, sizeof copy->job_name);
  make_printable(copy->program, sizeof copy->program);
  make_printable(copy->blocked_place, sizeof copy->blocked_place);
  for (uint32_t i = 0; i < copy->graphs_used; i++) {
    sfshm_graph_counters_t *graph = &copy->graphs[i];
    make_printable(graph->place, sizeof graph->place);
    if (graph->first_lane > copy->lanes_used || graph->nlanes > copy->lanes_used - graph->first_lane)
      graph->first_lane = graph->nlanes = 0;
    if (graph->first_far > copy->far_used || graph->nfar > copy->far_used - graph->first_far)
      graph->first_far = graph->nfar = 0;
  }
}

static sf_status_t copy_region(const sfshm_region_t *region, sfshm_counters_t **copy_p, bool *torn_p)
{
  if (region->length_bytes < sizeof(sfshm_counters_t))
    return sfshm_error(SF_ERR_PROTO, "counters region: %zu bytes expected, %zu found", sizeof(sfshm_counters_t),
                       region->length_bytes);
  sfshm_counters_t *copy = aligned_alloc(_Alignof(sfshm_counters_t), sizeof *copy);
  if (copy == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a copy of a rank's counters");
  bool whole = copy_once(region->base, copy);
  for (int tries = 1; !whole && tries < TRIES; tries++) {
    sched_yield();
    whole = copy_once(region->base, copy);
  }
  check(copy);
  copy->copied_ns = (uint64_t)sfshm_now_ns();
  for (uint32_t i = 0; i < copy->graphs_used; i++)
    add_lasting(copy, &copy->graphs[i]);
  *copy_p = copy;
  *torn_p = !whole;
  return SF_OK;
}

sf_status_t sfshm_counters_copy(int fd, sfshm_counters_t **copy_p, bool *torn_p)
{
  sfshm_region_t region;
  sf_status_t status = sfshm_region_map(fd, SFSHM_REGION_COUNTERS, MAX_REGION_BYTES, SFSHM_READ_ONLY, &region);
  if (status != SF_OK)
    return status;
  status = copy_region(&region, copy_p, torn_p);
  sfshm_region_destroy(&region);
  return status;
}

static uint64_t lasting_ns(uint64_t since_ns, uint64_t now)
{
  return since_ns != 0 && now > since_ns ? now - since_ns : 0;
}

uint64_t sfshm_counters_graph_wait(const sfshm_graph_counters_t *graph, uint64_t now)
{
  return load(&graph->graph) != 0 ? lasting_ns(load(&graph->wait_since_ns), now) : 0;
}

uint64_t sfshm_counters_rank_wait(const sfshm_counters_t *counters, uint64_t now)
{
  uint32_t n = bounded(atomic_load_explicit(&counters->graphs_used, memory_order_relaxed), SFSHM_COUNTED_GRAPHS);
  uint64_t longest = lasting_ns(load(&counters->blocked_since_ns), now);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t wait_ns = sfshm_counters_graph_wait(&counters->graphs[i], now);
    longest = wait_ns > longest ? wait_ns : longest;
  }
  return longest;
}

sf_status_t sfshm_counters_longest_wait(int fd, uint64_t *wait_ns_p)
{
  sfshm_region_t region;
  sf_status_t status = sfshm_region_map(fd, SFSHM_REGION_COUNTERS, MAX_REGION_BYTES, SFSHM_READ_ONLY, &region);
  if (status != SF_OK)
    return status;
  if (region.length_bytes >= sizeof(sfshm_counters_t))
    *wait_ns_p = sfshm_counters_rank_wait(region.base, (uint64_t)sfshm_now_ns());
  else
    status = sfshm_error(SF_ERR_PROTO, "counters region of %zu bytes", region.length_bytes);
  sfshm_region_destroy(&region);
  return status;
}

void sfshm_counters_free(sfshm_counters_t *copy)
{
  free(copy);
}

/* ---- Sums -------------------------------------------------------------------------------------------------------- */

/* Values of one lane in the operations that the rank has begun: values that its leaves need (one per edge), and values
 * that travel for them. graph == NULL: the entry is of destroyed graphs and has the sums itself. */
static void values_of_lane(const sfshm_graph_counters_t *graph, const sfshm_lane_counters_t *lane, uint64_t *wanted_p,
                           uint64_t *carried_p)
{
  uint64_t bcasts = graph != NULL ? sfshm_counters_begun(graph, SFSHM_BCAST) : 0;
  uint64_t reduces = graph != NULL ? sfshm_counters_begun(graph, SFSHM_REDUCE) : 0;
  *wanted_p = load(&lane->values_wanted) + (bcasts + reduces) * lane->leaf_edges;
  *carried_p = load(&lane->values_carried) + bcasts * lane->leaf_values + reduces * lane->reduce_values;
}

static void sum_lane(const sfshm_graph_counters_t *graph, const sfshm_lane_counters_t *lane, sfshm_counter_set_t *sum)
{
  uint64_t wanted, carried;
  sfshm_counters_add_lane(sum, lane);
  values_of_lane(graph, lane, &wanted, &carried);
  sfshm_count(&sum->values_wanted, wanted - load(&lane->values_wanted));
  sfshm_count(&sum->values_carried, carried - load(&lane->values_carried));
}

void sfshm_counters_sum_graph(const sfshm_counters_t *copy, const sfshm_graph_counters_t *graph,
                              sfshm_counter_set_t *sum)
{
  sfshm_counters_add_graph(sum, graph);
  for (uint32_t i = 0; i < graph->nlanes; i++)
    sum_lane(graph, &copy->lanes[graph->first_lane + i], sum);
  sum_lane(graph, &graph->rest[0], sum);
  sum_lane(graph, &graph->rest[1], sum);
}

void sfshm_counters_sum_all(const sfshm_counters_t *copy, sfshm_counter_set_t *sum)
{
#define ADD(field, text) sfshm_count(&sum->field, load(&copy->total.field));
  SFSHM_COUNTER_TABLE(ADD)
#undef ADD
  for (uint32_t i = 0; i < copy->graphs_used; i++)
    if (load(&copy->graphs[i].graph) != 0)
      sfshm_counters_sum_graph(copy, &copy->graphs[i], sum);
}

const sfshm_graph_counters_t *sfshm_counters_find_graph(const sfshm_counters_t *copy, uint64_t graph)
{
  for (uint32_t i = 0; i < copy->graphs_used; i++)
    if (graph != 0 && load(&copy->graphs[i].graph) == graph)
      return &copy->graphs[i];
  return NULL;
}
