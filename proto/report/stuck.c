/* Stalls: see stuck.h. */
#include "proto/report/stuck.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/base/error.h"

#define NAMED_MAX 4 /* ranks named in a line */

const char *sfreport_part_name(sfreport_part_t part)
{
  static const char *const names[] = {"waits", "not-begun", "begun", "ended"};
  return names[part];
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

/* One rank's state on one graph. */
typedef struct entry {
  const Sfproto__RankState *rank;
  const Sfproto__GraphState *graph;
} entry_t;

static int compare(uint64_t a, uint64_t b)
{
  return a < b ? -1 : a > b;
}

static int by_graph(const void *a, const void *b)
{
  const entry_t *x = a, *y = b;
  int order = compare(x->rank->job_id, y->rank->job_id);
  order = order != 0 ? order : compare(x->graph->graph, y->graph->graph);
  return order != 0 ? order : compare((uint64_t)(int64_t)x->rank->rank, (uint64_t)(int64_t)y->rank->rank);
}

static bool same_graph(const entry_t *a, const entry_t *b)
{
  return a->rank->job_id == b->rank->job_id && a->graph->graph == b->graph->graph;
}

static size_t count_entries(const sfreport_list_t *states)
{
  size_t n = 0;
  for (size_t i = 0; i < states->count; i++)
    n += states->items[i].message->rank_state->n_graphs;
  return n;
}

static void list_entries(const sfreport_list_t *states, entry_t entries[])
{
  size_t n = 0;
  for (size_t i = 0; i < states->count; i++) {
    const Sfproto__RankState *rank = states->items[i].message->rank_state;
    for (size_t k = 0; k < rank->n_graphs; k++)
      entries[n++] = (entry_t){rank, rank->graphs[k]};
  }
  qsort(entries, n, sizeof *entries, by_graph);
}

/* Another graph on which the rank waits. */
static uint64_t waits_elsewhere(const Sfproto__RankState *rank, uint64_t graph)
{
  for (size_t i = 0; i < rank->n_graphs; i++)
    if (rank->graphs[i]->graph != graph && rank->graphs[i]->has_waiting_ns)
      return rank->graphs[i]->graph;
  return 0;
}

static sfreport_part_t part_of(const Sfproto__GraphState *graph, uint64_t sequence)
{
  if (graph->has_waiting_ns)
    return SFREPORT_WAITS;
  if (graph->begun < sequence)
    return SFREPORT_NOT_BEGUN;
  return graph->completed >= graph->begun || graph->completed >= sequence ? SFREPORT_ENDED : SFREPORT_BEGUN;
}

/* A rank that has ended the operation has sent what others need; a rank that was stopped while it waited can't go on.
 * */
static bool is_culprit(const sfreport_stalled_rank_t *rank)
{
  const char *process = rank->rank->process;
  if (strcmp(process, "stopped") == 0 || strcmp(process, "traced") == 0)
    return rank->part != SFREPORT_ENDED;
  return rank->part == SFREPORT_NOT_BEGUN || rank->part == SFREPORT_BEGUN;
}

static int culprits_first(const void *a, const void *b)
{
  const sfreport_stalled_rank_t *x = a, *y = b;
  bool is_x = is_culprit(x), is_y = is_culprit(y);
  if (is_x != is_y)
    return is_x ? -1 : 1;
  return (x->rank->rank > y->rank->rank) - (x->rank->rank < y->rank->rank);
}

/* Finds the first operation of one graph that is waited for, if a rank has waited so long for that or a later one;
 * false: none has. */
static bool survey(const entry_t entries[], size_t n, uint64_t threshold_ns, sfreport_stall_t *stall)
{
  bool found = false;
  for (size_t i = 0; i < n; i++) {
    const Sfproto__GraphState *graph = entries[i].graph;
    if (!graph->has_waiting_ns)
      continue;
    if (stall->call == NULL || graph->wait_sequence < stall->sequence) {
      stall->sequence = graph->wait_sequence;
      stall->call = graph->wait_call != NULL ? graph->wait_call : "";
    }
    stall->waiting_ns = graph->waiting_ns > stall->waiting_ns ? graph->waiting_ns : stall->waiting_ns;
    found = found || graph->waiting_ns >= threshold_ns;
  }
  return found;
}

static sf_status_t add_stall(sfreport_stalls_t *stalls, const entry_t entries[], size_t n,
                             const sfreport_stall_t *surveyed)
{
  sfreport_stall_t *list = reallocarray(stalls->stalls, stalls->count + 1, sizeof *list);
  sfreport_stalled_rank_t *ranks = calloc(n, sizeof *ranks);
  if (list != NULL)
    stalls->stalls = list;
  if (list == NULL || ranks == NULL) {
    free(ranks);
    return sfshm_error(SF_ERR_NOMEM, "no memory for the ranks of a graph");
  }
  sfreport_stall_t *stall = &list[stalls->count++];
  *stall = *surveyed;
  stall->job_id = entries[0].rank->job_id;
  stall->job = entries[0].rank->job;
  stall->graph = entries[0].graph->graph;
  stall->place = entries[0].graph->place;
  stall->size = entries[0].graph->size;
  stall->ranks = ranks;
  stall->nranks = n;
  for (size_t i = 0; i < n; i++) {
    sfreport_part_t part = part_of(entries[i].graph, stall->sequence);
    ranks[i] = (sfreport_stalled_rank_t){entries[i].rank, entries[i].graph, part,
                                         waits_elsewhere(entries[i].rank, stall->graph)};
    stall->nculprits += is_culprit(&ranks[i]);
  }
  qsort(ranks, n, sizeof *ranks, culprits_first);
  return SF_OK;
}

static int longest_first(const void *a, const void *b)
{
  const sfreport_stall_t *x = a, *y = b;
  return compare(y->waiting_ns, x->waiting_ns);
}

sf_status_t sfreport_stalls_find(const sfreport_list_t *states, uint64_t threshold_ns, sfreport_stalls_t *stalls_p)
{
  size_t n = count_entries(states), end;
  sfreport_stalls_t stalls = {0};
  sf_status_t status = SF_OK;
  entry_t *entries = calloc(n + 1, sizeof *entries);
  if (entries == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu graphs", n);
  list_entries(states, entries);
  for (size_t first = 0; first < n && status == SF_OK; first = end) {
    sfreport_stall_t stall = {0};
    end = first + 1;
    while (end < n && same_graph(&entries[first], &entries[end]))
      end++;
    if (survey(&entries[first], end - first, threshold_ns, &stall))
      status = add_stall(&stalls, &entries[first], end - first, &stall);
  }
  free(entries);
  if (status != SF_OK) {
    sfreport_stalls_clear(&stalls);
    return status;
  }
  if (stalls.count > 0)
    qsort(stalls.stalls, stalls.count, sizeof *stalls.stalls, longest_first);
  *stalls_p = stalls;
  return SF_OK;
}

void sfreport_stalls_clear(sfreport_stalls_t *stalls)
{
  for (size_t i = 0; i < stalls->count; i++)
    free(stalls->stalls[i].ranks);
  free(stalls->stalls);
  *stalls = (sfreport_stalls_t){0};
}

bool sfreport_is_blocked(const Sfproto__RankState *rank, uint64_t threshold_ns)
{
  return rank->has_blocked_ns && rank->blocked_ns >= threshold_ns && rank->blocked_in != NULL &&
         rank->blocked_place != NULL;
}

const Sfproto__ArrayWait *sfreport_array_wait(const Sfproto__RankState *rank, uint64_t threshold_ns)
{
  const Sfproto__ArrayWait *oldest = NULL;
  for (size_t i = 0; i < rank->n_array_waits; i++)
    if (rank->array_waits[i]->waiting_ns >= threshold_ns &&
        (oldest == NULL || rank->array_waits[i]->waiting_ns > oldest->waiting_ns))
      oldest = rank->array_waits[i];
  return oldest;
}

/* ---- In words ---------------------------------------------------------------------------------------------------- */

void sfreport_stalled_rank_describe(const sfreport_stalled_rank_t *rank, char *text, size_t text_size)
{
  static const char *const parts[] = {"waits for it", "has not begun it", "has begun it, but does not wait for its end",
                                      "has ended it"};
  char elsewhere[64] = "";
  if (rank->elsewhere != 0)
    snprintf(elsewhere, sizeof elsewhere, ": it waits on graph %" PRIu64, rank->elsewhere);
  snprintf(text, text_size, "rank %d (pid %d, %s) %s%s", rank->rank->rank, rank->rank->pid, rank->rank->process,
           parts[rank->part], elsewhere);
}

static void append(char *text, size_t text_size, const char *more)
{
  size_t length = strlen(text);
  snprintf(text + length, text_size - length, "%s", more);
}

static bool has_ranks_on(const sfreport_stall_t *stall, int32_t node)
{
  for (size_t i = 0; i < stall->nranks; i++)
    if (stall->ranks[i].rank->node == node)
      return true;
  return false;
}

/* The next node above that one for which ranks wait, and of whose ranks no state is known; -1: none. */
static int32_t next_awaited_node(const sfreport_stall_t *stall, int32_t above)
{
  int32_t next = -1;
  for (size_t i = 0; i < stall->nranks; i++)
    for (size_t k = 0; k < stall->ranks[i].graph->n_awaited_nodes; k++) {
      int32_t node = stall->ranks[i].graph->awaited_nodes[k];
      if (node > above && (next < 0 || node < next) && !has_ranks_on(stall, node))
        next = node;
    }
  return next;
}

/* If only ranks of one node are known, as in its log. */
static void append_awaited_nodes(const sfreport_stall_t *stall, char *text, size_t text_size)
{
  char more[32];
  int32_t node = next_awaited_node(stall, -1);
  for (int n = 0; node >= 0 && n < NAMED_MAX; n++, node = next_awaited_node(stall, node)) {
    snprintf(more, sizeof more, n == 0 ? "; ranks wait for node %d" : ", %d", node);
    append(text, text_size, more);
  }
}

/* If all ranks are known, and none is behind. */
static void append_under_way(const sfreport_stall_t *stall, char *text, size_t text_size)
{
  size_t n = 0;
  for (size_t i = 0; i < stall->nranks; i++)
    n += stall->ranks[i].graph->n_awaited_nodes;
  if (n > 0 && stall->nculprits == 0 && next_awaited_node(stall, -1) < 0 && stall->nranks == (size_t)stall->size)
    append(text, text_size, "; no rank is behind: what they wait for is on the way between nodes, see sfctl peers");
}

void sfreport_stall_describe(const sfreport_stall_t *stall, char *text, size_t text_size)
{
  char duration[SFREPORT_TEXT_SIZE], rank[256];
  bool known = stall->place[0] != '\0';
  snprintf(text, text_size, "graph %" PRIu64 "%s%s: %s number %" PRIu64 " has kept ranks waiting for %s", stall->graph,
           known ? ", made at " : "", stall->place, stall->call, stall->sequence,
           sfreport_text_duration((double)stall->waiting_ns / 1e9, duration));
  for (size_t i = 0; i < stall->nculprits && i < NAMED_MAX; i++) {
    sfreport_stalled_rank_describe(&stall->ranks[i], rank, sizeof rank);
    append(text, text_size, "; ");
    append(text, text_size, rank);
  }
  if (stall->nculprits > NAMED_MAX) {
    snprintf(rank, sizeof rank, "; and %zu more", stall->nculprits - NAMED_MAX);
    append(text, text_size, rank);
  }
  append_awaited_nodes(stall, text, text_size);
  append_under_way(stall, text, text_size);
}
