/* Offloading: workers of the daemon copy between the sf_alloc memory of ranks of this node while these compute.
 *
 *   writer ──── SOURCE: graph, operation, its buffer ────────────▶ ┐
 *                                                                  ├─ match: a job for the workers
 *   reader ──── TARGET: the same, and a claim on its pieces ─────▶ ┘
 *
 * Both offers come through submission rings, in any order. Workers claim pieces (shm/lane/claim.h), as the reader does
 * when it gets to the operation: no rank waits for a match, and the reader does what is left. After the last piece a
 * worker tells the writer by the writer's own claim, of one piece.
 *
 * The daemon has mapped the memory: sf_alloc memory when it was added, and edge lists that the owners of leaves send
 * before their first offer. All that ranks say is checked against these. The daemon's thread; workers are in copy.c. */
#ifndef SFD_DATA_MATCH_OFFERS_H
#define SFD_DATA_MATCH_OFFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/clients.h"
#include "daemon/jobs.h"
#include "shm/lane/ring.h"

struct sfd_graph;

/* ---- Ranks ---- */

/* A rank that offers work; freed after its jobs. All functions accept NULL. */
typedef struct sfd_offers_rank sfd_offers_rank_t;

/* ClaimsOpen: takes a rank's claims, once per rank. */
void sfd_offers_handle_claims(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

/* Bytes that workers have copied into the rank's memory. */
uint64_t sfd_offers_bytes(const sfd_offers_rank_t *offers);

/* The rank is gone. */
void sfd_offers_close(sfd_offers_rank_t *offers);

/* ---- Graphs ---- */

/* GraphEdges: takes a rank's edge list, once per graph, before its first offer that needs the list. */
void sfd_offers_handle_edges(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

/* Offers on a graph; NULL is accepted. */
typedef struct sfd_offers sfd_offers_t;
void sfd_offers_free(sfd_offers_t *offers);

/* Takes a SOURCE or TARGET entry of a ring. Entries that are wrong or late are ignored: then the reader copies. */
void sfd_offers_submit(sfd_rank_t *rank, const sfshm_ring_entry_t *entry);

#endif
