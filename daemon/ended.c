/* Jobs that have ended: see ended.h. The daemon's thread. */
#include "daemon/ended.h"

void sfd_ended_note(sfd_ended_t *ended, uint64_t job)
{
  ended->jobs[ended->n++ % SFD_ENDED] = job;
}

sf_status_t sfd_ended_answer(const sfd_ended_t *ended, uint64_t job)
{
  for (uint64_t i = 0; i < ended->n && i < SFD_ENDED; i++)
    if (ended->jobs[i] == job)
      return SF_OK;
  return SF_ERR_NOT_FOUND;
}
