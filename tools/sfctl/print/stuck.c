/* Printing of stalls: see tools/sfctl/stuck.h. The one thread of sfctl. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/base/error.h"
#include "tools/sfctl/absent.h"
#include "tools/sfctl/print/json.h"
#include "tools/sfctl/print/table.h"
#include "tools/sfctl/stuck.h"

#define LIST_SIZE 64

/* ---- For people -------------------------------------------------------------------------------------------------- */

static void append_peer(char text[LIST_SIZE], const char *kind, int32_t number)
{
  size_t length = strlen(text);
  if (length < LIST_SIZE - 16)
    snprintf(text + length, LIST_SIZE - length, "%s%s%d", length > 0 ? ", " : "", kind, number);
  else if (length < LIST_SIZE - 4 && text[length - 1] != '.')
    snprintf(text + length, LIST_SIZE - length, " ...");
}

/* "rank 3, rank 4, node 1" */
static const char *list_awaited(const Sfproto__GraphState *graph, char text[LIST_SIZE])
{
  text[0] = '\0';
  for (size_t i = 0; i < graph->n_awaited_ranks; i++)
    append_peer(text, "rank ", graph->awaited_ranks[i]);
  for (size_t i = 0; i < graph->n_awaited_nodes; i++)
    append_peer(text, "node ", graph->awaited_nodes[i]);
  return text[0] != '\0' || !graph->awaits_others ? text : "others";
}

static const char *what_it_does(const sfreport_stalled_rank_t *rank, char text[LIST_SIZE])
{
  static const char *const parts[] = {"waits", "has not begun it", "has begun it", "has ended it"};
  if (rank->elsewhere != 0)
    snprintf(text, LIST_SIZE, "%s, waits on graph %" PRIu64, parts[rank->part], rank->elsewhere);
  else
    snprintf(text, LIST_SIZE, "%s", parts[rank->part]);
  return text;
}

static void add_row(sfctl_table_t *table, const sfreport_stalled_rank_t *rank)
{
  char does[LIST_SIZE], awaited[LIST_SIZE];
  const Sfproto__GraphState *graph = rank->graph;
  sfctl_table_add(table, SFCTL_VALUE(rank->rank->rank), SFCTL_VALUE(rank->rank->node), SFCTL_VALUE(rank->rank->pid),
                  SFCTL_VALUE(what_it_does(rank, does)),
                  sfctl_if(graph->has_waiting_ns, sfctl_seconds((double)graph->waiting_ns / 1e9)),
                  SFCTL_VALUE(list_awaited(graph, awaited)), SFCTL_VALUE(rank->rank->process),
                  SFCTL_VALUE(graph->begun), SFCTL_VALUE(graph->completed));
}

static sf_status_t print_stall(const sfreport_stall_t *stall, int width, FILE *file)
{
  static const sfctl_column_t columns[] = {{"RANK", SFCTL_RIGHT},   {"NODE", SFCTL_RIGHT},  {"PID", SFCTL_RIGHT},
                                           {"DOES", SFCTL_LEFT},    {"WAITS", SFCTL_RIGHT}, {"FOR", SFCTL_LEFT},
                                           {"PROCESS", SFCTL_LEFT}, {"BEGUN", SFCTL_RIGHT}, {"ENDED", SFCTL_RIGHT}};
  sfctl_table_t table = {SFCTL_COLUMNS(columns)};
  char job[SFREPORT_PRINTABLE_SIZE(255)], text[2048], printable[SFREPORT_PRINTABLE_SIZE(2047)];
  sfreport_stall_describe(stall, text, sizeof text);
  fprintf(file, "job %s (%" PRIu64 "): %s\n", sfreport_text_printable(stall->job, job, sizeof job), stall->job_id,
          sfreport_text_printable(text, printable, sizeof printable));
  for (size_t i = 0; i < stall->nranks; i++)
    add_row(&table, &stall->ranks[i]);
  sf_status_t status = sfctl_table_print(&table, width, file);
  if (stall->nranks < (size_t)stall->size)
    fprintf(file, "of %zu of its %d ranks nothing is known here\n", (size_t)stall->size - stall->nranks, stall->size);
  return status;
}

/* Ranks in a collective call don't know which others are missing: prints the ranks of the job that are in no such call.
 * */
static sf_status_t print_blocked(const sfctl_states_t *states, uint64_t threshold_ns, int width, FILE *file)
{
  static const sfctl_column_t columns[] = {{"JOB", SFCTL_LEFT},  {"RANK", SFCTL_RIGHT},    {"NODE", SFCTL_RIGHT},
                                           {"PID", SFCTL_RIGHT}, {"PROCESS", SFCTL_LEFT},  {"WAITS", SFCTL_RIGHT},
                                           {"IN", SFCTL_LEFT},   {"CALLED AT", SFCTL_LEFT}};
  sfctl_table_t table = {SFCTL_COLUMNS(columns)};
  for (size_t i = 0; i < states->list.count; i++) {
    const Sfproto__RankState *rank = states->list.items[i].message->rank_state;
    bool blocked = sfreport_is_blocked(rank, threshold_ns);
    sfctl_table_add(
        &table, SFCTL_VALUE(rank->job), SFCTL_VALUE(rank->rank), SFCTL_VALUE(rank->node), SFCTL_VALUE(rank->pid),
        SFCTL_VALUE(rank->process), sfctl_if(blocked, sfctl_seconds((double)rank->blocked_ns / 1e9)),
        sfctl_if(blocked, SFCTL_VALUE(rank->blocked_in)), sfctl_if(blocked, SFCTL_VALUE(rank->blocked_place)));
  }
  fprintf(file, "ranks wait in calls that others have to make, too:\n");
  return sfctl_table_print(&table, width, file);
}

/* Ranks without state, for instance before sf_init. */
static sf_status_t print_absent(const sfctl_states_t *states, uint64_t threshold_ns, FILE *file)
{
  sfctl_absent_t *absent;
  size_t n;
  sf_status_t status = sfctl_absent_find(&states->list, threshold_ns, &absent, &n);
  for (size_t i = 0; i < n && status == SF_OK; i++) {
    char job[SFREPORT_PRINTABLE_SIZE(255)], ranks[LIST_SIZE] = "";
    size_t first = i;
    while (i + 1 < n && absent[i + 1].state == absent[first].state)
      i++;
    for (size_t k = first; k <= i; k++)
      append_peer(ranks, "rank ", absent[k].rank);
    fprintf(file, "of job %s %zu of %d ranks are not known: %s\n",
            sfreport_text_printable(absent[first].state->job, job, sizeof job), i + 1 - first,
            absent[first].state->job_size, ranks);
  }
  free(absent);
  return status;
}

/* Stopped ranks, for which others may wait outside the library. */
static void print_stopped(const sfctl_states_t *states, FILE *file)
{
  for (size_t i = 0; i < states->list.count; i++) {
    char job[SFREPORT_PRINTABLE_SIZE(255)];
    const Sfproto__RankState *rank = states->list.items[i].message->rank_state;
    if (strcmp(rank->process, "stopped") == 0 || strcmp(rank->process, "traced") == 0)
      fprintf(file, "but rank %d of job %s (pid %d, node %d) is %s: others may wait for it elsewhere, as in MPI\n",
              rank->rank, sfreport_text_printable(rank->job, job, sizeof job), rank->pid, rank->node, rank->process);
  }
}

/* A flush of such a rank waits, too. */
static void print_arrays(const sfctl_states_t *states, uint64_t threshold_ns, FILE *file)
{
  for (size_t i = 0; i < states->list.count; i++) {
    char job[SFREPORT_PRINTABLE_SIZE(255)], duration[SFREPORT_TEXT_SIZE];
    const Sfproto__RankState *rank = states->list.items[i].message->rank_state;
    const Sfproto__ArrayWait *wait = sfreport_array_wait(rank, threshold_ns);
    if (wait != NULL)
      fprintf(file,
              "rank %d of job %s (pid %d, node %d) waits for a flush from node %d: %u request%s on the array of graph "
              "%" PRIu64 ", the oldest for %s\n",
              rank->rank, sfreport_text_printable(rank->job, job, sizeof job), rank->pid, rank->node, wait->node,
              wait->requests, wait->requests == 1 ? "" : "s", wait->graph,
              sfreport_text_duration((double)wait->waiting_ns / 1e9, duration));
  }
}

sf_status_t sfctl_stuck_print_text(const sfctl_states_t *states, const sfreport_stalls_t *stalls, int64_t threshold_ms,
                                   int width, FILE *file)
{
  sf_status_t status = SF_OK;
  if (states->silent)
    fprintf(file, "sfd does not answer; this is read from the memory of its ranks\n");
  for (size_t i = 0; i < states->missing.count; i++) {
    char detail[SFREPORT_PRINTABLE_SIZE(511)];
    const Sfproto__NodeMissing *missing = states->missing.items[i].message->node_missing;
    fprintf(file, "of node %d nothing is known: %s\n", missing->node,
            sfreport_text_printable(missing->detail, detail, sizeof detail));
  }
  size_t nblocked = sfctl_stuck_count_blocked(states, threshold_ms);
  if (nblocked > 0)
    status = print_blocked(states, (uint64_t)threshold_ms * 1000000, width, file);
  if (nblocked > 0 && status == SF_OK)
    status = print_absent(states, (uint64_t)threshold_ms * 1000000, file);
  print_arrays(states, (uint64_t)threshold_ms * 1000000, file);
  if (stalls->count == 0 && nblocked == 0 && sfctl_stuck_count_arrays(states, threshold_ms) == 0) {
    fprintf(file, "nothing is stuck: none of %zu rank%s has waited for %g s\n", states->list.count,
            states->list.count == 1 ? "" : "s", (double)threshold_ms / 1000);
    print_stopped(states, file);
  }
  for (size_t i = 0; i < stalls->count && status == SF_OK; i++) {
    if (i > 0 || nblocked > 0)
      fputc('\n', file);
    status = print_stall(&stalls->stalls[i], width, file);
  }
  return status;
}

/* ---- For programs ------------------------------------------------------------------------------------------------ */

static void print_rank(sfctl_json_t *json, const sfreport_stalled_rank_t *rank)
{
  const Sfproto__GraphState *graph = rank->graph;
  sfctl_json_begin_object(json, NULL);
  sfctl_json_add(json, SFCTL_MEMBER("rank", rank->rank->rank), SFCTL_MEMBER("node", rank->rank->node),
                 SFCTL_MEMBER("pid", rank->rank->pid), SFCTL_MEMBER("process", rank->rank->process),
                 SFCTL_MEMBER("program", rank->rank->program), SFCTL_FIELD(graph, begun), SFCTL_FIELD(graph, completed),
                 SFCTL_MEMBER("does", sfreport_part_name(rank->part)),
                 SFCTL_MEMBER_IF("waiting_s", graph->has_waiting_ns, (double)graph->waiting_ns / 1e9));
  sfctl_json_put_numbers(json, "waits_for_ranks", graph->awaited_ranks, graph->n_awaited_ranks);
  sfctl_json_put_numbers(json, "waits_for_nodes", graph->awaited_nodes, graph->n_awaited_nodes);
  sfctl_json_add(json, SFCTL_MEMBER_IF("waits_on_graph", rank->elsewhere != 0, rank->elsewhere));
  sfctl_json_end_object(json);
}

static void print_one(sfctl_json_t *json, const sfreport_stall_t *stall)
{
  sfctl_json_begin_object(json, NULL);
  sfctl_json_add(json, SFCTL_FIELD(stall, job_id), SFCTL_FIELD(stall, job), SFCTL_FIELD(stall, graph),
                 SFCTL_MEMBER("place", stall->place[0] != '\0' ? stall->place : NULL),
                 SFCTL_MEMBER("operation", stall->sequence), SFCTL_FIELD(stall, call),
                 SFCTL_MEMBER("waiting_s", (double)stall->waiting_ns / 1e9), SFCTL_FIELD(stall, size));
  sfctl_json_begin_array(json, "ranks");
  for (size_t i = 0; i < stall->nranks; i++)
    print_rank(json, &stall->ranks[i]);
  sfctl_json_end_array(json);
  sfctl_json_end_object(json);
}

static void print_blocked_rank(sfctl_json_t *json, const Sfproto__RankState *rank)
{
  sfctl_json_object(json, NULL, SFCTL_FIELD(rank, job_id), SFCTL_FIELD(rank, job), SFCTL_FIELD(rank, rank),
                    SFCTL_FIELD(rank, node), SFCTL_FIELD(rank, pid), SFCTL_FIELD(rank, process),
                    SFCTL_MEMBER("call", rank->blocked_in),
                    SFCTL_MEMBER("place", rank->blocked_place[0] != '\0' ? rank->blocked_place : NULL),
                    SFCTL_MEMBER("waiting_s", (double)rank->blocked_ns / 1e9));
}

static void print_array_wait(sfctl_json_t *json, const Sfproto__RankState *rank, uint64_t threshold_ns)
{
  const Sfproto__ArrayWait *wait = sfreport_array_wait(rank, threshold_ns);
  if (wait == NULL)
    return;
  sfctl_json_object(json, NULL, SFCTL_FIELD(rank, job_id), SFCTL_FIELD(rank, job), SFCTL_FIELD(rank, rank),
                    SFCTL_FIELD(rank, node), SFCTL_FIELD(rank, pid), SFCTL_FIELD(wait, graph),
                    SFCTL_MEMBER("waits_for_node", wait->node), SFCTL_FIELD(wait, requests),
                    SFCTL_MEMBER("waiting_s", (double)wait->waiting_ns / 1e9));
}

/* null without memory. */
static void print_absent_json(sfctl_json_t *json, const sfreport_list_t *states, uint64_t threshold_ns)
{
  sfctl_absent_t *absent;
  size_t n;
  if (sfctl_absent_find(states, threshold_ns, &absent, &n) != SF_OK) {
    sfctl_json_put(json, "absent", sfctl_string(NULL));
    return;
  }
  sfctl_json_begin_array(json, "absent");
  for (size_t i = 0; i < n; i++) {
    sfctl_json_object(json, NULL, SFCTL_MEMBER("job_id", absent[i].state->job_id),
                      SFCTL_MEMBER("job", absent[i].state->job), SFCTL_MEMBER("rank", absent[i].rank));
  }
  sfctl_json_end_array(json);
  free(absent);
}

void sfctl_stuck_print_json(const sfctl_states_t *states, const sfreport_stalls_t *stalls, int64_t threshold_ms,
                            FILE *file)
{
  sfctl_json_t json = {.file = file};
  sfctl_json_begin_object(&json, NULL);
  sfctl_json_add(&json, SFCTL_MEMBER("daemon_answers", (bool)!states->silent),
                 SFCTL_MEMBER("threshold_s", (double)threshold_ms / 1000),
                 SFCTL_MEMBER("ranks_known", states->list.count));
  sfctl_json_begin_array(&json, "nodes_missing");
  for (size_t i = 0; i < states->missing.count; i++)
    sfctl_json_put(&json, NULL, sfctl_int(states->missing.items[i].message->node_missing->node));
  sfctl_json_end_array(&json);
  sfctl_json_begin_array(&json, "blocked");
  for (size_t i = 0; i < states->list.count; i++)
    if (sfreport_is_blocked(states->list.items[i].message->rank_state, (uint64_t)threshold_ms * 1000000))
      print_blocked_rank(&json, states->list.items[i].message->rank_state);
  sfctl_json_end_array(&json);
  sfctl_json_begin_array(&json, "array_requests");
  for (size_t i = 0; i < states->list.count; i++)
    print_array_wait(&json, states->list.items[i].message->rank_state, (uint64_t)threshold_ms * 1000000);
  sfctl_json_end_array(&json);
  print_absent_json(&json, &states->list, (uint64_t)threshold_ms * 1000000);
  sfctl_json_begin_array(&json, "stalls");
  for (size_t i = 0; i < stalls->count; i++)
    print_one(&json, &stalls->stalls[i]);
  sfctl_json_end_array(&json);
  sfctl_json_end_object(&json);
}
