/* What other rooms do when ranks, jobs, groups and graphs fail or end: lists of functions, which jobs/ calls in the
 * order in which they stand. Rooms above jobs/ are known to it only by these lists. daemon/life.c has the one table. */
#ifndef SFD_JOBS_LIFE_H
#define SFD_JOBS_LIFE_H

#include "daemon/jobs/graph.h"
#include "daemon/jobs/group.h"
#include "daemon/jobs/job.h"
#include "daemon/net.h"

#define SFD_LISTENERS 8 /* of a list, with the NULL at its end */

typedef struct sfd_life {
  const sfd_agreement_ops_t *agreements[SFD_AGREEMENT_KINDS];

  /* The rank's session ended without Goodbye; no one is told yet. */
  void (*rank_lost[SFD_LISTENERS])(sfd_rank_t *rank);
  void (*rank_freed[SFD_LISTENERS])(sfd_rank_t *rank);

  /* A running job has failed, or one that was joining. job->detail says why. */
  void (*job_failed[SFD_LISTENERS])(sfd_job_t *job);
  void (*joining_failed[SFD_LISTENERS])(sfd_job_t *job);
  void (*job_freed[SFD_LISTENERS])(sfd_job_t *job);

  /* A member on this node has left or destroyed the group; text says so. */
  void (*member_gone[SFD_LISTENERS])(sfd_group_t *group, int32_t group_rank, const char *text);
  /* Members on other nodes are gone, and whatever they sent before has come. */
  void (*members_swept[SFD_LISTENERS])(sfd_group_t *group);
  void (*group_freed[SFD_LISTENERS])(sfd_group_t *group);

  void (*graph_set_up[SFD_LISTENERS])(sfd_graph_t *graph);
  void (*graph_failed[SFD_LISTENERS])(sfd_graph_t *graph, const char *detail);
  void (*graph_freed[SFD_LISTENERS])(sfd_graph_t *graph);

  /* Another node has named an operation of the graph, by a message or a question; the same of a graph that is not here.
   */
  void (*graph_named[SFD_LISTENERS])(const sfd_graph_t *graph);
  void (*unknown_graph_named[SFD_LISTENERS])(sfd_server_t *server, int32_t node, const sfd_message_head_t *head);
} sfd_life_t;

/* Calls all functions of a list. */
#define SFD_CALL_LISTENERS(listeners, ...)                                                                             \
  do {                                                                                                                 \
    for (int i_ = 0; (listeners)[i_] != NULL; i_++)                                                                    \
      (listeners)[i_](__VA_ARGS__);                                                                                    \
  } while (0)

#endif
