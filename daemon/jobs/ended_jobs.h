/* The last jobs and graphs that ended here. Messages about an ended job that still arrive from other nodes are dropped,
 * and not kept like messages that arrive early (early_messages.h). For an ended graph see call_compare.h. */
#ifndef SFD_JOBS_ENDED_JOBS_H
#define SFD_JOBS_ENDED_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#define SFD_ENDED 1024

/* A rank that calls no more operations on a graph. */
typedef struct sfd_ended_rank {
  int32_t rank;        /* group rank; -1: not known */
  bool left;           /* left the job; else destroyed the graph */
  uint64_t operations; /* that it has called */
} sfd_ended_rank_t;

typedef struct sfd_ended_graph {
  uint64_t job;
  uint64_t id;
  bool failed;
  sfd_ended_rank_t rank; /* the one that called the fewest */
} sfd_ended_graph_t;

typedef struct sfd_ended_job {
  uint64_t id;
  bool failed;
} sfd_ended_job_t;

typedef struct sfd_ended_jobs {
  sfd_ended_job_t jobs[SFD_ENDED];
  uint64_t n; /* added so far */
  sfd_ended_graph_t graphs[SFD_ENDED];
  uint64_t ngraphs;
} sfd_ended_jobs_t;

/* The job has ended here; failed also if it will never begin here. */
void sfd_ended_jobs_add(sfd_ended_jobs_t *ended, uint64_t job, bool failed);

/* Result of a peer message's handler that finds no such job: SF_OK if the job has ended, SF_ERR_NOT_FOUND if it may
 * still begin. */
sf_status_t sfd_ended_jobs_status(const sfd_ended_jobs_t *ended, uint64_t job);

/* Whether the job has ended without failure. All nodes hear of a failure. */
bool sfd_ended_jobs_ended_well(const sfd_ended_jobs_t *ended, uint64_t job);

void sfd_ended_jobs_add_graph(sfd_ended_jobs_t *ended, const sfd_ended_graph_t *graph);

/* NULL: not known any more. */
const sfd_ended_graph_t *sfd_ended_jobs_find_graph(const sfd_ended_jobs_t *ended, uint64_t job, uint64_t id);

#endif
