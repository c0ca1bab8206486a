/* Refusals between daemons with different keys, lists of peers, versions or clusters. A job with ranks on both cannot
 * start, and its ranks are told so at once, instead of after their time-out. The node that can't talk to the
 * coordinator dismisses its ranks. It can't tell the coordinator, as a refused daemon has proven nothing. But its
 * greeting has a digest of the job for which it connects. If the coordinator waits for ranks of that job, it tries to
 * connect to the node itself; if that is refused as well, the job is refused. If the lists of peers differ, the number
 * of the refused node means nothing: the coordinator tries to connect to all others, at most a few dozen. A daemon that
 * has dismissed its ranks, and is asked about the job by a greeting that it refuses, answers by such a greeting of its
 * own. A false greeting causes attempts to connect, nothing else. */
#ifndef SFD_MEMBERSHIP_REFUSAL_H
#define SFD_MEMBERSHIP_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/membership/coordinator_internal.h"
#include "daemon/net.h"

#define SFD_CAUSES 32

/* Digests of jobs; 0: none. */
typedef struct sfd_causes {
  uint64_t latest[SFD_CAUSES];
  unsigned n; /* added so far; the latest replace the oldest */
} sfd_causes_t;

/* A node that was refused, or that refuses this one. At the number of this node: those whose numbers mean nothing. */
typedef struct sfd_refused_node {
  sfd_causes_t claims; /* jobs for which the node was refused */
  uint64_t told;       /* digest of the job for which this node connects now */
  uint32_t unanswered; /* places of answers that the node has yet to hear */
  uint64_t warned_ms;  /* last warning in the log; 0: never */
} sfd_refused_node_t;

typedef struct sfd_refusals {
  bool tells_causes;      /* the fabric sends digests */
  uint64_t claimed_ms;    /* of the last refusal; 0: never */
  sfd_causes_t dismissed; /* jobs whose ranks here were dismissed; each is answered once */
  sfd_causes_t answers;   /* jobs to name to nodes that have asked: see unanswered */
  sfd_refused_node_t nodes[];
} sfd_refusals_t;

/* NULL without memory. Free with free(). */
sfd_refusals_t *sfd_refusals_create(int32_t nnodes);

/* The channel to a node ended, or could not be opened, because the daemons disagree. Returns whether a job needed it.
 * */
bool sfd_refusal_handle(sfd_server_t *server, int32_t node, sf_status_t status, const char *detail);

/* See sfd_network_ops_t. */
void sfd_refusal_heard(sfd_server_t *server, int32_t node, uint64_t cause, const char *detail);
uint64_t sfd_refusal_cause(sfd_server_t *server, int32_t node);

/* A job gets a coordinator: tries to connect to nodes that were refused for the job. */
void sfd_refusal_begin(sfd_coordinator_t *coordinator);

/* A rank has come to this node: the same. */
void sfd_refusal_rank_came(const sfd_job_t *job);

/* Ranks have been missing for a while. Their nodes may have another list of peers, and wait for them at another
 * coordinator: connects to other nodes, at most a few dozen, to see whether they agree. */
void sfd_refusal_ask(sfd_coordinator_t *coordinator);

#endif
