/* Jobs and graphs that have ended here, the last ones. Other nodes may still have something to say of a job, such as
 * that a rank has left: nothing waits for that, and it is not kept as what comes too early is (early_messages.h). Of a
 * graph they may still wait for something: call_compare.h says what becomes of that. */
#ifndef SFD_JOBS_ENDED_JOBS_H
#define SFD_JOBS_ENDED_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#define SFD_ENDED 1024

/* A rank that calls nothing more on a graph. */
typedef struct sfd_ended_rank {
  int32_t rank;        /* of the group; -1: nobody is known */
  bool left;           /* it has left the job; otherwise it has destroyed the graph */
  uint64_t operations; /* that it called */
} sfd_ended_rank_t;

typedef struct sfd_ended_graph {
  uint64_t job;
  uint64_t id;
  bool failed;
  sfd_ended_rank_t rank; /* that called the fewest */
} sfd_ended_graph_t;

typedef struct sfd_ended_job {
  uint64_t id;
  bool failed;
} sfd_ended_job_t;

typedef struct sfd_ended_jobs {
  sfd_ended_job_t jobs[SFD_ENDED];
  uint64_t n; /* so far */
  sfd_ended_graph_t graphs[SFD_ENDED];
  uint64_t ngraphs;
} sfd_ended_jobs_t;

/* The job of that id has ended here, or, failed, will never begin. */
void sfd_ended_jobs_add(sfd_ended_jobs_t *ended, uint64_t job, bool failed);

/* What the handler of a message of another node says if there is no such job: SF_OK if it has ended, SF_ERR_NOT_FOUND
 * if it may begin yet. */
sf_status_t sfd_ended_jobs_status(const sfd_ended_jobs_t *ended, uint64_t job);

/* Whether it has ended without having failed, of which all nodes hear. */
bool sfd_ended_jobs_ended_well(const sfd_ended_jobs_t *ended, uint64_t job);

void sfd_ended_jobs_add_graph(sfd_ended_jobs_t *ended, const sfd_ended_graph_t *graph);

/* NULL: it is not known any more. */
const sfd_ended_graph_t *sfd_ended_jobs_find_graph(const sfd_ended_jobs_t *ended, uint64_t job, uint64_t id);

#endif
