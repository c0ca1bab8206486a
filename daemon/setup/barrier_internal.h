/* What barrier.c and barrier_deadlock.c share. */
#ifndef SFD_MEETING_INTERNAL_H
#define SFD_MEETING_INTERNAL_H

#include "daemon/base/text.h"
#include "daemon/setup/barrier.h"
#include "daemon/setup/setup.h"

/* What somebody has come for. */
typedef struct sfd_point {
  int32_t what;      /* Sfproto__GraphMeet__What, if it is one */
  uint64_t position; /* operations of the graph begun before */
  int32_t rank;      /* of the group, who says so */
} sfd_point_t;

typedef struct sfd_meeting_member {
  bool here;
  uint64_t request;
} sfd_meeting_member_t;

struct sfd_meeting {
  TAILQ_ENTRY(sfd_meeting) entry; /* of the group */
  sfd_graph_t *graph;
  sfd_point_t point; /* of who came first */
  int32_t nhere;
  uint8_t children;        /* bit i: all below child i have come, and it waits for an answer */
  bool told;               /* the parent has been told */
  bool crossed;            /* something crossed it at the last look */
  sfd_setup_error_t error; /* the lowest with which somebody has come */
  sfd_meeting_member_t members[];
};

/* What they come for, as the others are told of it. */
const char *sfd_meeting_what_text(int32_t what);

/* That nobody on a node has the graph any more. */
void sfd_meeting_gone_text(uint64_t graph, int32_t node, char text[], size_t text_bytes);

/* Whether the job, NULL if it is not here any more, has not failed. */
bool sfd_meeting_goes_well(const sfd_server_t *server, const sfd_job_t *job, uint64_t id);

/* Whether no node below has said so; else the graph fails. */
bool sfd_meeting_is_everywhere(sfd_graph_t *graph);

#endif
