/* Ended jobs and graphs: see ended_jobs.h. The daemon's thread. */
#include "daemon/jobs/ended_jobs.h"

#include <stddef.h>

void sfd_ended_jobs_add(sfd_ended_jobs_t *ended, uint64_t job, bool failed)
{
  ended->jobs[ended->n++ % SFD_ENDED] = (sfd_ended_job_t){job, failed};
}

static const sfd_ended_job_t *find(const sfd_ended_jobs_t *ended, uint64_t job)
{
  for (uint64_t i = 0; i < ended->n && i < SFD_ENDED; i++)
    if (ended->jobs[i].id == job)
      return &ended->jobs[i];
  return NULL;
}

sf_status_t sfd_ended_jobs_status(const sfd_ended_jobs_t *ended, uint64_t job)
{
  return find(ended, job) != NULL ? SF_OK : SF_ERR_NOT_FOUND;
}

bool sfd_ended_jobs_ended_well(const sfd_ended_jobs_t *ended, uint64_t job)
{
  const sfd_ended_job_t *found = find(ended, job);
  return found != NULL && !found->failed;
}

void sfd_ended_jobs_add_graph(sfd_ended_jobs_t *ended, const sfd_ended_graph_t *graph)
{
  ended->graphs[ended->ngraphs++ % SFD_ENDED] = *graph;
}

const sfd_ended_graph_t *sfd_ended_jobs_find_graph(const sfd_ended_jobs_t *ended, uint64_t job, uint64_t id)
{
  for (uint64_t i = 0; i < ended->ngraphs && i < SFD_ENDED; i++)
    if (ended->graphs[i].job == job && ended->graphs[i].id == id)
      return &ended->graphs[i];
  return NULL;
}
