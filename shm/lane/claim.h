/* Claims: work that the owner of an operation offers to the daemon's workers, in pieces. Owner and workers take pieces
 * by atomic operations; whoever takes a piece first does it. The owner waits at most for pieces in progress.
 *
 *   owner                                             a worker of the daemon, any number of them
 *     offer      word = ticket, 0 taken, 0 finished ──▶  (gets claim and ticket through the submission ring)
 *     take       taken += 1, if some are left  ◀──────▶  take       the same, if the ticket is unchanged
 *     finish     finished += 1                 ◀──────▶  finish     the same, when the piece is done
 *     withdraw   takes all remaining pieces and counts them as finished
 *     is_done    finished == number of pieces
 *
 *              offer               take, while taken < pieces          finish of the last
 *   ┌──────┐ ───────▶ ┌─────────┐ ─────────────────────────▶ ┌───────┐ ────────────────▶ ┌──────┐
 *   │ done │          │ offered │ ◀───── (pieces left) ───── │ taken │                   │ done │
 *   └──────┘          └─────────┘                            └───────┘                   └──────┘
 *                          └──────────────────────── withdraw ──────────────────────────────▲
 *
 * All state is in one word, so each step is one atomic operation. Each offer has a new ticket; a worker with an old
 * ticket takes nothing. Both sides compute the number of pieces from the size of the work. tests/model/claim.pml is a
 * model of this.
 *
 * A client creates the region and may write anything into it at any time. A worker takes at most as many pieces as
 * exist, and accesses only memory that the daemon has checked. */
#ifndef SFSHM_LANE_CLAIM_H
#define SFSHM_LANE_CLAIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/region/region.h"

#define SFSHM_CLAIMS 256u                    /* claims of a region, which belongs to one rank */
#define SFSHM_PIECES_MAX (UINT32_C(1) << 14) /* pieces of one claim */

/* Ticket (32 bits), pieces taken (16), pieces finished (16). Written by the owner and by workers. */
typedef struct sfshm_claim {
  _Alignas(128) _Atomic uint64_t word;
} sfshm_claim_t;

typedef struct sfshm_claims {
  sfshm_region_header_t header;
  sfshm_claim_t claims[SFSHM_CLAIMS];
} sfshm_claims_t;
_Static_assert(sizeof(sfshm_claims_t) == 128 + 128 * SFSHM_CLAIMS, "layout version 1");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "words shared between processes must be lock-free");

#define SFSHM_CLAIM_TAKEN_SHIFT 16
#define SFSHM_CLAIM_TICKET_SHIFT 32
#define SFSHM_CLAIM_COUNT_MASK UINT64_C(0xffff)

static inline uint64_t sfshm_claim_word(uint32_t ticket, uint32_t taken, uint32_t finished)
{
  return (uint64_t)ticket << SFSHM_CLAIM_TICKET_SHIFT | (uint64_t)taken << SFSHM_CLAIM_TAKEN_SHIFT | finished;
}

static inline uint32_t sfshm_claim_ticket(uint64_t word)
{
  return (uint32_t)(word >> SFSHM_CLAIM_TICKET_SHIFT);
}

static inline uint32_t sfshm_claim_taken(uint64_t word)
{
  return (uint32_t)(word >> SFSHM_CLAIM_TAKEN_SHIFT & SFSHM_CLAIM_COUNT_MASK);
}

static inline uint32_t sfshm_claim_finished(uint64_t word)
{
  return (uint32_t)(word & SFSHM_CLAIM_COUNT_MASK);
}

/* Offers work on a finished claim. Returns the ticket, never 0. Called by the owner. */
static inline uint32_t sfshm_claim_offer(sfshm_claim_t *claim)
{
  uint32_t ticket = sfshm_claim_ticket(atomic_load_explicit(&claim->word, memory_order_relaxed)) + 1;
  if (ticket == 0)
    ticket = 1;
  /* Pairs with the acquire in sfshm_claim_take. */
  atomic_store_explicit(&claim->word, sfshm_claim_word(ticket, 0, 0), memory_order_release);
  return ticket;
}

/* Takes a piece of the offer. Returns false if none is left, or if the ticket has changed. */
static inline bool sfshm_claim_take(sfshm_claim_t *claim, uint32_t ticket, uint32_t npieces, uint32_t *piece_p)
{
  uint64_t word = atomic_load_explicit(&claim->word, memory_order_relaxed);
  while (sfshm_claim_ticket(word) == ticket && sfshm_claim_taken(word) < npieces) {
    /* Acquire: the offer happens before the work on it. */
    if (!atomic_compare_exchange_weak_explicit(&claim->word, &word, word + (UINT64_C(1) << SFSHM_CLAIM_TAKEN_SHIFT),
                                               memory_order_acquire, memory_order_relaxed))
      continue;
    *piece_p = sfshm_claim_taken(word);
    return true;
  }
  return false;
}

/* Counts a taken piece as finished. Returns true if it was the last one; then the work of all pieces is visible here.
 */
static inline bool sfshm_claim_finish(sfshm_claim_t *claim, uint32_t npieces)
{
  /* Each finish continues the release sequence of the previous ones: an acquire of the last one sees all work. */
  uint64_t word = atomic_fetch_add_explicit(&claim->word, 1, memory_order_acq_rel) + 1;
  return sfshm_claim_finished(word) == npieces;
}

static inline bool sfshm_claim_is_done(const sfshm_claim_t *claim, uint32_t npieces)
{
  return sfshm_claim_finished(atomic_load_explicit(&claim->word, memory_order_acquire)) == npieces;
}

/* Takes all remaining pieces. Returns true if the claim is then finished; otherwise it is finished when those who have
 * taken pieces finish them. Called by the owner. */
static inline bool sfshm_claim_withdraw(sfshm_claim_t *claim, uint32_t npieces)
{
  uint64_t word = atomic_load_explicit(&claim->word, memory_order_relaxed), next;
  do {
    uint32_t taken = sfshm_claim_taken(word);
    uint32_t left = taken < npieces ? npieces - taken : 0;
    next = sfshm_claim_word(sfshm_claim_ticket(word), taken + left, sfshm_claim_finished(word) + left);
  } while (
      !atomic_compare_exchange_weak_explicit(&claim->word, &word, next, memory_order_acq_rel, memory_order_relaxed));
  return sfshm_claim_finished(next) == npieces;
}

/* ---- What can be offered ----------------------------------------------------------------------------------------- */

/* Smaller payloads are not offered: the hand-over costs more than the copy. Both ends of a lane compare with this. */
#define SFSHM_OFFLOAD_MIN_BYTES ((size_t)128 << 10)
#define SFSHM_PIECE_BYTES ((size_t)256 << 10)

/* Division of n values into pieces of equal size; the last piece may be smaller. */
typedef struct sfshm_pieces {
  int64_t n;
  int64_t values;
  uint32_t npieces;
} sfshm_pieces_t;

static inline sfshm_pieces_t sfshm_pieces(int64_t n, size_t unit_bytes)
{
  int64_t values = unit_bytes < SFSHM_PIECE_BYTES ? (int64_t)(SFSHM_PIECE_BYTES / unit_bytes) : 1;
  if (n / values >= (int64_t)SFSHM_PIECES_MAX)
    values = n / (int64_t)SFSHM_PIECES_MAX + 1;
  return (sfshm_pieces_t){n, values, (uint32_t)((n + values - 1) / values)};
}

static inline int64_t sfshm_piece_first(const sfshm_pieces_t *pieces, uint32_t piece)
{
  return piece * pieces->values;
}

static inline int64_t sfshm_piece_count(const sfshm_pieces_t *pieces, uint32_t piece)
{
  int64_t left = pieces->n - piece * pieces->values;
  return left < pieces->values ? left : pieces->values;
}

#endif
