/* sfctl stuck: see stuck.h. The one thread of sfctl. */
#include "tools/sfctl/stuck.h"

#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "tools/sfctl/collect.h"
#include "tools/sfctl/connection.h"
#include "tools/sfctl/print/clip.h"
#include "tools/sfctl/print/short_id.h"
#include "tools/sfctl/silent.h"

#define PATIENCE_MS 500 /* with a daemon; a healthy one answers within a few */

/* Ranks of this node: a healthy daemon answers soon. */
static sf_status_t ask_here(const sfctl_options_t *options, sfreport_list_t *list_p)
{
  sfctl_connection_t connection;
  int64_t patience_ms = options->timeout_ms < PATIENCE_MS ? options->timeout_ms : PATIENCE_MS;
  sf_status_t status = sfctl_connect(options->socket, patience_ms, &connection);
  if (status != SF_OK)
    return status;
  status = sfctl_collect(&connection, SFPROTO__QUERY__WHAT__STATES, NULL, list_p);
  sfctl_disconnect(&connection);
  return status;
}

/* Ranks of all nodes, or of a named one. Missing nodes are kept for the end. */
static sf_status_t ask_nodes(const sfctl_options_t *options, sfctl_states_t *states)
{
  sfctl_connection_t connection;
  sf_status_t status = sfctl_connect(options->socket, options->timeout_ms, &connection);
  if (status != SF_OK)
    return status;
  connection.target = sfctl_target(options);
  connection.target.all = !connection.target.named;
  status = sfctl_collect(&connection, SFPROTO__QUERY__WHAT__STATES, NULL, &states->list);
  states->missing = connection.missing;
  connection.missing = (sfreport_list_t){0};
  sfctl_disconnect(&connection);
  return status;
}

/* Meaning of a word: the first of these that fits a job. */
typedef enum meaning { NAME, NUMBER, BEGINNING, MEANINGS } meaning_t;

static bool is_job(const Sfproto__RankState *state, const char *job, meaning_t meaning)
{
  if (meaning == NUMBER)
    return sfctl_id_match(state->job_id, job) != SFCTL_ID_OTHER;
  return meaning == NAME ? strcmp(state->job, job) == 0 : strncmp(state->job, job, strlen(job)) == 0;
}

static meaning_t find_meaning(const sfreport_list_t *list, const char *job)
{
  for (int m = 0; m < MEANINGS; m++)
    for (size_t i = 0; i < list->count; i++)
      if (is_job(list->items[i].message->rank_state, job, (meaning_t)m))
        return (meaning_t)m;
  return NAME;
}

static void keep_job(sfreport_list_t *list, const char *job)
{
  size_t kept = 0;
  meaning_t meaning = job != NULL ? find_meaning(list, job) : NAME;
  for (size_t i = 0; i < list->count; i++)
    if (job == NULL || is_job(list->items[i].message->rank_state, job, meaning))
      list->items[kept++] = list->items[i];
    else
      sfproto__message__free_unpacked(list->items[i].message, NULL);
  list->count = kept;
}

static void clear_states(sfctl_states_t *states)
{
  sfreport_list_clear(&states->list);
  sfreport_list_clear(&states->missing);
}

static sf_status_t collect_states(const sfctl_options_t *options, sfctl_states_t *states_p)
{
  sfctl_states_t states = {0};
  sf_status_t status = ask_here(options, &states.list);
  if (status == SF_OK) {
    sfreport_list_clear(&states.list);
    status = ask_nodes(options, &states);
  } else if (status == SF_ERR_TIMEOUT) {
    states.silent = true;
    status = sfctl_silent_collect(options->socket, &states.list);
  }
  size_t known = states.list.count;
  keep_job(&states.list, options->job);
  if (status == SF_OK && known > 0 && states.list.count == 0)
    status = sfshm_error(SF_ERR_NOT_FOUND, "no job \"%.80s\" is known, or it is another user's", options->job);
  if (status == SF_OK)
    *states_p = states;
  else
    clear_states(&states);
  return status;
}

size_t sfctl_stuck_count_blocked(const sfctl_states_t *states, int64_t threshold_ms)
{
  size_t n = 0;
  for (size_t i = 0; i < states->list.count; i++)
    n += sfreport_is_blocked(states->list.items[i].message->rank_state, (uint64_t)threshold_ms * 1000000);
  return n;
}

size_t sfctl_stuck_count_arrays(const sfctl_states_t *states, int64_t threshold_ms)
{
  size_t n = 0;
  for (size_t i = 0; i < states->list.count; i++)
    n += sfreport_array_wait(states->list.items[i].message->rank_state, (uint64_t)threshold_ms * 1000000) != NULL;
  return n;
}

sf_status_t sfctl_stuck(const sfctl_options_t *options, FILE *file, bool *stuck_p)
{
  sfctl_states_t states;
  sfreport_stalls_t stalls;
  sf_status_t status = collect_states(options, &states);
  if (status != SF_OK)
    return status;
  status = sfreport_stalls_find(&states.list, (uint64_t)options->threshold_ms * 1000000, &stalls);
  if (status == SF_OK) {
    *stuck_p = stalls.count > 0 || sfctl_stuck_count_blocked(&states, options->threshold_ms) > 0 ||
               sfctl_stuck_count_arrays(&states, options->threshold_ms) > 0;
    if (options->json)
      sfctl_stuck_print_json(&states, &stalls, options->threshold_ms, file);
    else
      status = sfctl_stuck_print_text(&states, &stalls, options->threshold_ms,
                                      options->wide ? 0 : sfctl_clip_terminal_width(), file);
    sfreport_stalls_clear(&stalls);
  }
  clear_states(&states);
  return status;
}
