/* Daemons that refuse each other: their keys, lists of peers, versions or clusters differ. A job with ranks on both
 * never comes about, and its ranks are told so at once instead of at the end of their time-out.
 *
 * The node that can't talk to the home of a job dismisses its ranks. The home can't be told by it, as whoever is
 * refused has proven nothing. But a daemon says in its greeting what it needs the other one for, by a digest of the
 * job; so the home, if it waits for ranks of that job, tries by itself to connect to the node. If that is refused as
 * well, the job is refused. Somebody who lies can make the home try, nothing else. */
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
  uint64_t causes[SFD_CAUSES]; /* of who said to be the node and was refused; 0: none */
  unsigned ncauses;            /* so far; the latest replace the oldest */
  uint64_t told;               /* what the present attempt to connect is for */
  uint64_t warned_ms;          /* when the log told of somebody who said so; 0: never */
} sfd_refusal_claims_t;

typedef struct sfd_refusals {
  bool tells_causes;   /* the fabric tells other nodes what it connects for */
  uint64_t claimed_ms; /* when somebody was last refused; 0: never */
  sfd_refusal_claims_t nodes[];
} sfd_refusals_t;

/* For so many nodes; NULL without memory. To be freed by free(). */
sfd_refusals_t *sfd_refusals_create(int32_t nnodes);

/* The channel to a node ended, or could not be opened, because the daemons do not agree. Whether a job needed it. */
bool sfd_refusal_handle(sfd_server_t *server, int32_t node, sf_status_t status, const char *detail);

/* See sfd_network_ops_t. */
void sfd_refusal_heard(sfd_server_t *server, int32_t node, uint64_t cause, const char *detail);
uint64_t sfd_refusal_cause(sfd_server_t *server, int32_t node);

/* A job begins to be assembled: nodes that were refused before, and needed this one for it, are tried. */
void sfd_refusal_begin(sfd_coordinator_t *coordinator);

/* A rank of a job has come to this node, likewise. */
void sfd_refusal_rank_came(const sfd_job_t *job);

/* Ranks of a job have been missing for a while. Their nodes may count other nodes than this one, and so wait for them
 * at another home: connects to others, a few dozen at most, to see whether they agree. */
void sfd_refusal_ask(sfd_coordinator_t *coordinator);

#endif
