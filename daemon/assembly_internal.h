/* What the files of assembly.h share. */
#ifndef SFD_ASSEMBLY_INTERNAL_H
#define SFD_ASSEMBLY_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include <sf/sf_status.h>

#include "daemon/home.h"
#include "daemon/job.h"
#include "daemon/server.h"

/* Where a rank is, unless on a node. */
#define SFD_ASSEMBLY_AWAITED (-1) /* it has not come; of a job that was started: its node has not said that it runs */
#define SFD_ASSEMBLY_OVER (-2)    /* it was on a node, and the job is over there, or the node is lost */

/* A job that is joining, or that starts, at its home. */
typedef struct sfd_assembly {
  TAILQ_ENTRY(sfd_assembly) entry;
  sfd_server_t *server;
  uint64_t job; /* 0: it is joining */
  uint32_t uid;
  char name[SFD_NAME_SIZE];
  uint8_t digest[SFD_HOME_DIGEST_BYTES]; /* of the key */
  int32_t size;
  int32_t ncame;
  bool told_again;        /* a home before this one, the channel to which was lost */
  int32_t moved_to;       /* the home is another one now, for who still comes here; -1: it is not. size is 0 then */
  bool started_here;      /* no other node was its home before */
  int32_t *all_nodes;     /* by rank, when it has been started; else NULL */
  uint64_t *incarnations; /* by rank that has come: its node's, see proto/sf_peer.proto */
  int32_t claimed_by;     /* node that is refused and says to have ranks of it; -1: none */
  uint64_t deadline_ms;   /* the earliest; 0: none */
  bool asked;             /* whether other nodes agree with this one, as ranks are missing */
  uint32_t untold;        /* bit i - 1: of those asked, the i-th node behind this one has not heard why */
  uv_timer_t timer;       /* until then */
  int32_t rank_nodes[];   /* or one of those above, all of which are negative */
} sfd_assembly_t;

/* The one that is joining, or has moved; NULL: none. */
sfd_assembly_t *sfd_assembly_find(const sfd_server_t *server, uint32_t uid, const char *name);

/* The one that runs; NULL: none. */
sfd_assembly_t *sfd_assembly_find_running(const sfd_server_t *server, uint64_t job);

/* SF_ERR_NOMEM. */
sf_status_t sfd_assembly_new(sfd_server_t *server, uint32_t uid, const char *name, int32_t size,
                             sfd_assembly_t **assembly_p);

void sfd_assembly_forget(sfd_assembly_t *assembly);

/* Tells all who have come that the job does not come about, and forgets it. */
void sfd_assembly_refuse(sfd_assembly_t *assembly, sf_status_t status, const char *detail);

/* To which node the rank came, if the job may still be there; else negative. */
int32_t sfd_assembly_node_of(const sfd_assembly_t *assembly, int32_t rank);

/* Says so of all ranks of a node, or SFD_ASSEMBLY_*. */
void sfd_assembly_set_node(sfd_assembly_t *assembly, int32_t node, int32_t to);

/* Of one that was started: unless something still depends on this home. */
void sfd_assembly_forget_if_done(sfd_assembly_t *assembly);

/* Tells one node that the job runs. */
void sfd_assembly_send_start(const sfd_assembly_t *assembly, int32_t *rank_nodes, int32_t node, uint64_t incarnation);

/* Whether a JobJoin is of ranks that run: those of a node that has not been told, and has not said that they run. Then
 * it is told. */
bool sfd_assembly_start_if_runs(sfd_server_t *server, int32_t node, const Sfpeer__JobJoin *join);

#endif
