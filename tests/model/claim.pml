/* Offers and claims: shm/lane/claim.h. An owner offers two operations, one after the other, on the same claim. Each is of
 * some pieces; it does itself what nobody has taken, or takes the offer back at some moment, and returns when all is
 * done. Two workers have each heard of one of the offers, and may be as late as they like. Every piece of an operation
 * that was not taken back is done once, and nobody touches its buffers when the owner has returned.
 *
 * Each step on the word is one atomic operation of the code; a compare-exchange that fails loads the word again. Copying
 * is two steps, so that others come between. Order of memory is not modelled: all passes through the one word.
 *
 * run.sh: must fail with -DNO_TICKET   who is late takes pieces of an offer that it does not know
 * run.sh: must fail with -DNO_WAIT     the owner returns while a worker is in the middle of a piece
 * run.sh: must fail with -DNO_COMPARE  a piece is taken by a load and a store
 * run.sh: must fail with -DFORGET_LEFT withdrawing does not count as finished what nobody will do */

#define PIECES 2
#define OFFERS 2
#define WORKERS 2

byte ticket, taken, finished; /* the word */
bool open;                    /* the owner is between begin and end */
byte begun;                   /* the offer that it is at */
byte at_work;                 /* workers in the middle of a piece */
byte done[PIECES];            /* how often each was copied */
byte ended;

/* The body of sfshm_claim_take for who believes in offer mine, then the copy, then sfshm_claim_finish. */
inline take_and_do(mine)
{
  do
  :: d_step { t = ticket; k = taken; f = finished }
#ifdef NO_TICKET
     if
     :: k >= PIECES || t == 0 -> break
     :: else
     fi;
#else
     if
     :: t != mine || k >= PIECES -> break
     :: else
     fi;
#endif
#ifdef NO_COMPARE
     taken = k + 1;
#else
     atomic { /* compare and exchange */
       if
       :: ticket == t && taken == k && finished == f -> taken++
       :: else -> goto again
       fi
     }
#endif
     atomic {
       assert(open && begun == mine);
       at_work++
     }
     done[k]++;
     atomic {
       assert(open && begun == mine); /* or it writes into a buffer that is the application's again */
       at_work--;
       finished++
     }
   again:
     skip
  od
}

proctype worker()
{
  byte mine, t, k, f;
  select (mine : 1 .. OFFERS);
  begun >= mine; /* it hears of the offer some time after it was made */
  take_and_do(mine)
}

proctype owner()
{
  byte mine, t, k, f, left;
  bool back;
  for (mine : 1 .. OFFERS) {
    d_step {
      done[0] = 0;
      done[1] = 0;
      open = true;
      begun = mine;
      ticket = mine; /* sfshm_claim_offer */
      taken = 0;
      finished = 0
    }
    back = false;
    if
    :: take_and_do(mine)
    :: back = true;
       d_step { /* sfshm_claim_withdraw: compare and exchange until it succeeds */
         left = (taken < PIECES -> PIECES - taken : 0);
         taken = taken + left;
#ifndef FORGET_LEFT
         finished = finished + left
#endif
       }
    fi;
#ifndef NO_WAIT
    finished == PIECES; /* sfshm_claim_is_done */
#endif
    atomic {
      assert(at_work == 0);
      assert(back || (done[0] == 1 && done[1] == 1));
      assert(done[0] <= 1 && done[1] <= 1);
      open = false
    }
  }
  ended = 1
}

init
{
  byte i;
  atomic {
    run owner();
    for (i : 1 .. WORKERS) {
      run worker()
    }
  }
}

ltl the_owner_ends { <> (ended == 1) }
