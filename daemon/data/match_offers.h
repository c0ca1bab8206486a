/* Offloading: copies between the sf_alloc memory of ranks of this node are made by workers of the daemon while their
 * owners compute.
 *
 *   writer ──── SOURCE: graph, operation, where its buffer is ────▶ ┐
 *                                                                   ├─ a match: a job for the workers
 *   reader ──── TARGET: the same, and the claim on its pieces ────▶ ┘
 *
 * Both come through the ranks' submission rings, in any order. A worker takes pieces by the reader's claim
 * (shm/lane/claim.h), which the reader does, too, when it gets to it: so nobody has to wait for a match, and what is
 * never matched is done by the reader. When a worker has finished the last piece it tells the writer by the writer's
 * own claim, of one piece.
 *
 * The daemon has mapped what it writes and reads: sf_alloc memory when it was added, and the edge lists that the owners
 * of leaves give before they offer anything. All that ranks say is checked against these. Here is the daemon's thread;
 * what workers do is in copy.c. */
#ifndef SFD_DATA_MATCH_OFFERS_H
#define SFD_DATA_MATCH_OFFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/clients.h"
#include "daemon/jobs.h"
#include "shm/lane/ring.h"

struct sfd_graph;

/* ---- Ranks ---- */

/* A rank that offers work; NULL is accepted by the functions. Lives until its jobs are over. */
typedef struct sfd_offers_rank sfd_offers_rank_t;

/* ClaimsOpen: takes a rank's claims, which it may do once. */
void sfd_offers_handle_claims(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

/* Bytes that workers have put into the rank's memory. */
uint64_t sfd_offers_bytes(const sfd_offers_rank_t *offers);

/* The rank is gone. */
void sfd_offers_close(sfd_offers_rank_t *offers);

/* ---- Graphs ---- */

/* GraphEdges: a rank gives its edge list, which it may do once for each graph, before its first offer there of what
 * needs the list. */
void sfd_offers_handle_edges(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

/* What is kept for a graph; NULL is accepted. */
typedef struct sfd_offers sfd_offers_t;
void sfd_offers_free(sfd_offers_t *offers);

/* An entry of a ring that concerns this: SOURCE or TARGET. Whatever does not fit is ignored: it can only be
 * that the rank is wrong, or late, and then the owner does the work. */
void sfd_offers_submit(sfd_rank_t *rank, const sfshm_ring_entry_t *entry);

#endif
