/* Refusals between daemons with different keys, lists of peers, versions or clusters. A job with ranks on both cannot
 * start, and its ranks are told so at once, instead of after their time-out. The node that can't talk to the
 * coordinator dismisses its ranks. It can't tell the coordinator, as a refused daemon has proven nothing. But its
 * greeting has a digest of the job for which it connects. If the coordinator waits for ranks of that job, it tries to
 * connect to the node itself; if that is refused as well, the job is refused. A false greeting causes an attempt to
 * connect, nothing else. */
#ifndef SFD_MEMBERSHIP_REFUSAL_H
#define SFD_MEMBERSHIP_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/membership/coordinator_internal.h"
#include "daemon/net.h"

#define SFD_CAUSES 32

/* A node that was refused, or that refuses this one. */
typedef struct sfd_refusal_claims {
  uint64_t causes[SFD_CAUSES]; /* digests of jobs for which the node was refused; 0: none */
  unsigned ncauses;            /* added so far; the latest replace the oldest */
  uint64_t told;               /* digest of the job for which this node connects now */
  uint64_t warned_ms;          /* last warning in the log; 0: never */
} sfd_refusal_claims_t;

typedef struct sfd_refusals {
  bool tells_causes;   /* the fabric sends digests */
  uint64_t claimed_ms; /* of the last refusal; 0: never */
  sfd_refusal_claims_t nodes[];
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
