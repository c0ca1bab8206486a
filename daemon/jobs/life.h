/* Listeners: functions that other rooms have called when ranks, jobs, groups and graphs fail or end. jobs/ calls them
 * in the listed order, and knows the rooms above it by these lists only. daemon/life.c has the table. */
#ifndef SFD_JOBS_LIFE_H
#define SFD_JOBS_LIFE_H

#include "daemon/jobs/graph.h"
#include "daemon/jobs/group.h"
#include "daemon/jobs/job.h"
#include "daemon/net.h"
#include "shm/lane/ring.h"
#include "shm/trunk/trunk.h"

#define SFD_LISTENERS 8 /* per list, with the final NULL */

typedef struct sfd_life {
  const sfd_agreement_ops_t *agreements[SFD_AGREEMENT_KINDS];

  /* A rank has submitted an entry of its ring, of that kind. NULL: there is no such kind. */
  void (*submitted[SFSHM_SUBMIT_KINDS])(sfd_rank_t *rank, const sfshm_ring_entry_t *entry);

  /* The rank's session ended without Goodbye; no rank has been told. */
  void (*rank_lost[SFD_LISTENERS])(sfd_rank_t *rank);
  void (*rank_freed[SFD_LISTENERS])(sfd_rank_t *rank);

  /* A running, or a joining, job has failed; job->detail says why. */
  void (*job_failed[SFD_LISTENERS])(sfd_job_t *job);
  void (*joining_failed[SFD_LISTENERS])(sfd_job_t *job);
  void (*job_freed[SFD_LISTENERS])(sfd_job_t *job);

  /* A member on this node has left or destroyed the group; text says so. */
  void (*member_gone[SFD_LISTENERS])(sfd_group_t *group, int32_t group_rank, const char *text);
  /* Members on other nodes are gone, and what they sent before has arrived. */
  void (*members_swept[SFD_LISTENERS])(sfd_group_t *group);
  void (*group_freed[SFD_LISTENERS])(sfd_group_t *group);

  void (*graph_set_up[SFD_LISTENERS])(sfd_graph_t *graph);
  void (*graph_failed[SFD_LISTENERS])(sfd_graph_t *graph, const char *detail);
  void (*graph_freed[SFD_LISTENERS])(sfd_graph_t *graph);

  /* Another node has named an operation of a graph, which is here, or not. */
  void (*graph_named[SFD_LISTENERS])(const sfd_graph_t *graph);
  void (*unknown_graph_named[SFD_LISTENERS])(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);
} sfd_life_t;

#define SFD_CALL_LISTENERS(listeners, ...)                                                                             \
  do {                                                                                                                 \
    for (int i_ = 0; (listeners)[i_] != NULL; i_++)                                                                    \
      (listeners)[i_](__VA_ARGS__);                                                                                    \
  } while (0)

#endif
