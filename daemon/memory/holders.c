/* Holders: see holders.h. */
#include "daemon/memory/holders.h"

#include <stdlib.h>

static bool has(const sfd_holders_t *holders, int32_t number)
{
  return holders->bits != NULL && (holders->bits[number / 8] & (1 << number % 8)) != 0;
}

bool sfd_holders_add(sfd_holders_t *holders, const sfd_rank_t *rank)
{
  if (holders->bits == NULL)
    holders->bits = calloc((size_t)rank->job->size / 8 + 1, 1);
  if (holders->bits == NULL)
    return false;
  if (!has(holders, rank->number)) {
    holders->bits[rank->number / 8] |= (uint8_t)(1 << rank->number % 8);
    holders->n++;
  }
  return true;
}

bool sfd_holders_remove(sfd_holders_t *holders, int32_t number)
{
  if (!has(holders, number))
    return false;
  holders->bits[number / 8] &= (uint8_t) ~(1 << number % 8);
  holders->n--;
  return true;
}

void sfd_holders_send_alert(const sfd_holders_t *holders, const sfd_rank_t *owner, Sfproto__Alert *alert)
{
  const sfd_job_t *job = owner->job;
  alert->has_rank = true;
  alert->rank = owner->number;
  for (int32_t r = 0; holders->n > 0 && r < job->size; r++)
    if (has(holders, r) && sfd_rank_connected(job->ranks[r]))
      sfd_session_send_alert(job->ranks[r]->session, alert);
}

void sfd_holders_free(sfd_holders_t *holders)
{
  free(holders->bits);
  *holders = (sfd_holders_t){.n = 0};
}
