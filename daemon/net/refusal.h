/* Daemons that refuse each other: their keys, lists of peers, versions or clusters differ. A job with ranks on both
 * never comes about, and its ranks are told so at once instead of at the end of their time-out.
 *
 * The node that can't talk to the home of a job dismisses its ranks. The home can't be told by it, as whoever is
 * refused has proven nothing. But a daemon says in its greeting what it needs the other one for, by a digest of the
 * job; so the home, if it waits for ranks of that job, tries by itself to connect to the node. If that is refused as
 * well, the job is refused. Somebody who lies can make the home try, nothing else. */
#ifndef SFD_REFUSAL_H
#define SFD_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/membership/coordinator_internal.h"
#include "daemon/net/network.h"

/* Whether a channel ended, or could not be opened, because the daemons do not agree; else a node is lost. */
bool sfd_refusal_is(sf_status_t status);

/* Such an end of the channel to a node. Whether a job needed it. */
bool sfd_refusal_handle(sfd_network_t *network, int32_t node, sf_status_t status, const char *detail);

/* Handlers of the channels, see channel.h; owner is the network. */
void sfd_refusal_heard(void *owner, int32_t node, uint64_t cause, const char *detail);
uint64_t sfd_refusal_cause(void *owner, int32_t node);

/* A job begins to be assembled: nodes that were refused before, and needed this one for it, are tried. */
void sfd_refusal_begin(sfd_assembly_t *assembly);

/* A rank of a job has come to this node, likewise. */
void sfd_refusal_rank_came(const sfd_job_t *job);

/* Ranks of a job have been missing for a while. Their nodes may count other nodes than this one, and so wait for them
 * at another home: connects to others, a few dozen at most, to see whether they agree. */
void sfd_refusal_ask(sfd_assembly_t *assembly);

#endif
