/* State of a rank: see state.h. One thread. */
#include "proto/report/state.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/conn.h"
#include "shm/base/clock.h"
#include "shm/base/error.h"
#include "shm/lane/message.h"
#include "shm/observe/counters_read.h"

#define AWAITED_MAX 64 /* limit of ranks and nodes named per graph, and so of the message */

static uint64_t load(const _Atomic uint64_t *counter)
{
  return atomic_load_explicit(counter, memory_order_relaxed);
}

/* ---- The process ---- */

static const char *name_of_state(char letter)
{
  switch (letter) {
  case 'R':
    return "running";
  case 'S':
  case 'I':
    return "sleeping";
  case 'T':
    return "stopped";
  case 't':
    return "traced";
  case 'D':
    return "blocked";
  case 'Z':
    return "zombie";
  case 'X':
    return "gone";
  default:
    return "unknown";
  }
}

/* In /proc/PID/stat the state follows the name, which may have any bytes. */
static const char *process_state(int32_t pid)
{
  char path[32], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return "gone";
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  const char *end = strrchr(text, ')');
  return end != NULL && end[1] == ' ' ? name_of_state(end[2]) : "gone";
}

/* ---- Its graphs ---- */

static void add_awaited(Sfproto__GraphState *state, const sfshm_lane_counters_t *lane)
{
  uint32_t kind = atomic_load_explicit(&lane->kind, memory_order_relaxed);
  if (kind == SFSHM_PEER_NONE || atomic_load_explicit(&lane->awaiting, memory_order_relaxed) == 0)
    return;
  size_t named = state->n_awaited_nodes + state->n_awaited_ranks;
  if (lane->peer < 0 || named == AWAITED_MAX)
    state->awaits_others = state->has_awaits_others = true;
  else if (kind == SFSHM_PEER_NODE)
    state->awaited_nodes[state->n_awaited_nodes++] = lane->peer;
  else
    state->awaited_ranks[state->n_awaited_ranks++] = lane->peer;
}

static bool add_wait(Sfproto__GraphState *state, const sfshm_counters_t *copy, const sfshm_graph_counters_t *graph,
                     uint64_t since_ns)
{
  char call[96];
  uint64_t now = (uint64_t)sfshm_now_ns();
  sfshm_desc_text(load(&graph->wait_desc), call, sizeof call);
  state->has_waiting_ns = state->has_wait_sequence = true;
  state->waiting_ns = now > since_ns ? now - since_ns : 0;
  state->wait_sequence = load(&graph->wait_sequence);
  state->wait_call = strdup(call);
  state->awaited_ranks = calloc(AWAITED_MAX, sizeof *state->awaited_ranks);
  state->awaited_nodes = calloc(AWAITED_MAX, sizeof *state->awaited_nodes);
  if (state->wait_call == NULL || state->awaited_ranks == NULL || state->awaited_nodes == NULL)
    return false;
  for (uint32_t i = 0; i < graph->nlanes; i++)
    add_awaited(state, &copy->lanes[graph->first_lane + i]);
  add_awaited(state, &graph->rest[0]);
  add_awaited(state, &graph->rest[1]);
  return true;
}

static bool fill_graph(Sfproto__GraphState *state, const sfshm_counters_t *copy, const sfshm_graph_counters_t *graph)
{
  uint64_t since_ns = load(&graph->wait_since_ns);
  *state = (Sfproto__GraphState)SFPROTO_BODY(graph_state, .graph = load(&graph->graph), .place = strdup(graph->place),
                                             .rank = graph->rank, .size = graph->size);
  for (int kind = 0; kind < SFSHM_KINDS; kind++)
    state->begun += load(&graph->begun[kind]);
  for (int kind = 0; kind < SFSHM_KINDS; kind++)
    state->completed += load(&graph->ended[kind]);
  return state->place != NULL && (since_ns == 0 || add_wait(state, copy, graph, since_ns));
}

static bool fill_graphs(Sfproto__RankState *state, const sfshm_counters_t *copy)
{
  state->graphs = calloc(copy->graphs_used + 1, sizeof(Sfproto__GraphState *));
  if (state->graphs == NULL)
    return false;
  for (uint32_t i = 0; i < copy->graphs_used; i++) {
    if (load(&copy->graphs[i].graph) == 0)
      continue;
    Sfproto__GraphState *graph = malloc(sizeof *graph);
    if (graph == NULL)
      return false;
    state->graphs[state->n_graphs++] = graph;
    if (!fill_graph(graph, copy, &copy->graphs[i]))
      return false;
  }
  return true;
}

/* ---- The whole ---- */

static bool fill_blocked(Sfproto__RankState *state, const sfshm_counters_t *copy)
{
  uint64_t since_ns = load(&copy->blocked_since_ns), now = (uint64_t)sfshm_now_ns();
  uint32_t in = atomic_load_explicit(&copy->blocked_in, memory_order_relaxed);
  if (since_ns == 0)
    return true;
  state->has_blocked_ns = true;
  state->blocked_ns = now > since_ns ? now - since_ns : 0;
  state->blocked_in = strdup(in == SFSHM_BLOCKED_IN_GROUP  ? "sf_group_create"
                             : in == SFSHM_BLOCKED_IN_INIT ? "sf_init"
                                                           : "sf_graph_create");
  state->blocked_place = strdup(copy->blocked_place);
  return state->blocked_in != NULL && state->blocked_place != NULL;
}

static bool fill_rank(Sfproto__RankState *state, const sfshm_counters_t *copy, int32_t pid)
{
  sfproto__rank_state__init(state);
  state->pid = pid != 0 ? pid : copy->header.owner_pid;
  state->job_id = load(&copy->job);
  state->rank = copy->rank;
  state->node = copy->node;
  state->has_job_size = true;
  state->job_size = copy->size;
  state->job = strdup(copy->job_name);
  state->program = strdup(copy->program);
  state->process = strdup(process_state(state->pid));
  return state->job != NULL && state->program != NULL && state->process != NULL && fill_blocked(state, copy) &&
         fill_graphs(state, copy);
}

sf_status_t sfreport_state_read(int counters_fd, int32_t pid, Sfproto__Message **message_p)
{
  sfshm_counters_t *copy;
  bool torn;
  sf_status_t status = sfshm_counters_copy(counters_fd, &copy, &torn);
  if (status != SF_OK)
    return status;
  Sfproto__Message *message = malloc(sizeof *message);
  Sfproto__RankState *state = malloc(sizeof *state);
  if (message != NULL && state != NULL) {
    *message =
        (Sfproto__Message)SFPROTO_BODY(message, .body_case = SFPROTO__MESSAGE__BODY_RANK_STATE, .rank_state = state);
    if (!fill_rank(state, copy, pid)) {
      sfproto__message__free_unpacked(message, NULL);
      message = NULL;
    } else {
      state->torn = torn;
    }
  } else {
    free(message);
    free(state);
    message = NULL;
  }
  sfshm_counters_free(copy);
  *message_p = message;
  return message != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "no memory for the state of a rank");
}
