/* Claims: work that the owner of an operation offers to the daemon's workers, in pieces, and of which each piece is
 * done by whoever is the first to take it. The owner never waits for more than the pieces that others are in the middle
 * of.
 *
 *   owner                                             a worker of the daemon, any number of them
 *     offer      word = ticket, 0 taken, 0 finished ──▶  (hears of claim and ticket through the submission ring)
 *     take       taken += 1, if some are left  ◀──────▶  take       the same, if the ticket is still this one
 *     finish     finished += 1                 ◀──────▶  finish     the same, when the piece is done
 *     withdraw   takes all that are left, and counts them as finished
 *     is_done    finished == number of pieces
 *
 *              offer               take, while taken < pieces          finish of the last
 *   ┌──────┐ ───────▶ ┌─────────┐ ─────────────────────────▶ ┌───────┐ ────────────────▶ ┌──────┐
 *   │ done │          │ offered │ ◀───── (pieces left) ───── │ taken │                   │ done │
 *   └──────┘          └─────────┘                            └───────┘                   └──────┘
 *                          └──────────────────────── withdraw ──────────────────────────────▲
 *
 * One word holds it all, so each of these is one atomic operation. The ticket is new with each offer: who still has an
 * old one takes nothing. Both sides compute the number of pieces from what they know of the work, so it is not told.
 * tests/model/claim.pml is the model of this.
 *
 * A client makes the region and may write anything into it at any time; a worker takes no more pieces than there are,
 * and does each where and how the daemon has found to be allowed. */
#ifndef SFSHM_CLAIM_H
#define SFSHM_CLAIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/region/region.h"

#define SFSHM_CLAIMS 256u                    /* in a region: of one rank */
#define SFSHM_PIECES_MAX (UINT32_C(1) << 14) /* of one claim */

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

/* Offers work on a claim that is done; returns the ticket, never 0. The owner. */
static inline uint32_t sfshm_claim_offer(sfshm_claim_t *claim)
{
  uint32_t ticket = sfshm_claim_ticket(atomic_load_explicit(&claim->word, memory_order_relaxed)) + 1;
  if (ticket == 0)
    ticket = 1;
  /* Pairs with the acquire in sfshm_claim_take. */
  atomic_store_explicit(&claim->word, sfshm_claim_word(ticket, 0, 0), memory_order_release);
  return ticket;
}

/* Takes a piece of the offer; false if none is left, or the offer is not that one any more. */
static inline bool sfshm_claim_take(sfshm_claim_t *claim, uint32_t ticket, uint32_t npieces, uint32_t *piece_p)
{
  uint64_t word = atomic_load_explicit(&claim->word, memory_order_relaxed);
  while (sfshm_claim_ticket(word) == ticket && sfshm_claim_taken(word) < npieces) {
    /* Acquire: what was offered comes before what is done with it. */
    if (!atomic_compare_exchange_weak_explicit(&claim->word, &word, word + (UINT64_C(1) << SFSHM_CLAIM_TAKEN_SHIFT),
                                               memory_order_acquire, memory_order_relaxed))
      continue;
    *piece_p = sfshm_claim_taken(word);
    return true;
  }
  return false;
}

/* A piece that was taken is done. Whether it was the last one of the offer: then the others' pieces are visible here.
 */
static inline bool sfshm_claim_finish(sfshm_claim_t *claim, uint32_t npieces)
{
  /* Each finish continues the release sequence of those before it: who acquires the last one sees the work of all. */
  uint64_t word = atomic_fetch_add_explicit(&claim->word, 1, memory_order_acq_rel) + 1;
  return sfshm_claim_finished(word) == npieces;
}

static inline bool sfshm_claim_is_done(const sfshm_claim_t *claim, uint32_t npieces)
{
  return sfshm_claim_finished(atomic_load_explicit(&claim->word, memory_order_acquire)) == npieces;
}

/* Takes back what nobody has taken. Whether that was all that was left to do; if not, it is done when those who have
 * taken pieces have finished them. The owner. */
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

/* Below this a hand-over costs more than the copy. Both ends of a lane compare with it what a message carries. */
#define SFSHM_OFFLOAD_MIN_BYTES ((size_t)64 << 10)
#define SFSHM_PIECE_BYTES ((size_t)256 << 10)

/* How n values are divided: each piece has that many, the last one perhaps fewer. */
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
