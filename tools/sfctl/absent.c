/* Absent ranks: see absent.h. The one thread of sfctl. */
#include "tools/sfctl/absent.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/stuck.h"
#include "shm/base/error.h"

#define MAX_SIZE (1 << 20) /* of jobs; larger sizes are false */

static bool is_same_job(const Sfproto__RankState *a, const Sfproto__RankState *b)
{
  return a->job_id == b->job_id && strcmp(a->job, b->job) == 0;
}

/* Each job is taken from its first waiting rank. */
static bool speaks(const sfreport_list_t *states, size_t i, uint64_t threshold_ns)
{
  const Sfproto__RankState *state = states->items[i].message->rank_state;
  if (!sfreport_is_blocked(state, threshold_ns) || state->job_size > MAX_SIZE)
    return false;
  for (size_t k = 0; k < i; k++) {
    const Sfproto__RankState *other = states->items[k].message->rank_state;
    if (sfreport_is_blocked(other, threshold_ns) && is_same_job(state, other))
      return false;
  }
  return true;
}

static sf_status_t add_job(const sfreport_list_t *states, const Sfproto__RankState *of, sfctl_absent_t **absent,
                           size_t *n)
{
  int32_t size = of->job_size > 0 ? of->job_size : 0;
  bool *known = calloc((size_t)size + 1, sizeof *known);
  sfctl_absent_t *grown = reallocarray(*absent, *n + (size_t)size + 1, sizeof *grown);
  if (grown != NULL)
    *absent = grown;
  if (known == NULL || grown == NULL) {
    free(known);
    return sfshm_error(SF_ERR_NOMEM, "no memory for the %d ranks of a job", size);
  }
  for (size_t i = 0; i < states->count; i++) {
    const Sfproto__RankState *state = states->items[i].message->rank_state;
    if (is_same_job(state, of) && state->rank >= 0 && state->rank < size)
      known[state->rank] = true;
  }
  for (int32_t rank = 0; rank < size; rank++)
    if (!known[rank])
      grown[(*n)++] = (sfctl_absent_t){of, rank};
  free(known);
  return SF_OK;
}

sf_status_t sfctl_absent_find(const sfreport_list_t *states, uint64_t threshold_ns, sfctl_absent_t **absent_p,
                              size_t *n_p)
{
  sf_status_t status = SF_OK;
  *absent_p = NULL;
  *n_p = 0;
  for (size_t i = 0; i < states->count && status == SF_OK; i++)
    if (speaks(states, i, threshold_ns))
      status = add_job(states, states->items[i].message->rank_state, absent_p, n_p);
  if (status != SF_OK) {
    free(*absent_p);
    *absent_p = NULL;
    *n_p = 0;
  }
  return status;
}
