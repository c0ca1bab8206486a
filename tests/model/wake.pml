/* Sleeping and waking: shm/region/wait.h. Two threads of one process sleep on the wake word of its inbox, each for messages of
 * a peer of its own; the two peers publish, and wake. Wakers run under total store order: what they publish lies in a
 * store buffer until some time later, or until the barrier or a read-modify-write. (Sleepers store by read-modify-write
 * only.) One peer may die with the word disarmed and nobody woken; the listener thread then says that the job has failed.
 * Without a wake-up that is needed some sleeper would sleep for ever: an invalid end state.
 *
 * run.sh: must fail with -DNO_BARRIER   the waker's look at the word may overtake its publication
 * run.sh: must fail with -DNO_COUNT     a word that is a mere flag: another sleeper may arm it again between a wake-up
 *                                       and the futex_wait that the wake-up was to prevent
 * run.sh: must fail with -DNO_SECOND_LOOK
 * run.sh: must fail with -DWAKE_ONE     all sleepers must be woken: the waker doesn't know who waits for what
 * run.sh: must fail with -DTRUST_WORD   the listener believes a word that says that nobody sleeps */

#define PAIRS 2
#define MESSAGES(pair) (2 - pair) /* one is enough to disturb the other pair */

#ifdef NO_COUNT
#define DISARMED(word) 0
#else
#define DISARMED(word) (word + 1)
#endif

byte published[PAIRS]; /* what memory says of messages published by each peer */
chan buffer[PAIRS] = [2] of {byte}; /* stores on their way to memory */
byte wake_word;        /* bit 0: armed; above it how often it was disarmed */
bool asleep[PAIRS];    /* in the kernel's queue of the word */
bool died;
bool failed; /* what the listener tells the sleepers */
byte finished;

#define stored(w) empty(buffer[w])

/* The hardware writes buffered stores to memory, in order, whenever it likes. */
proctype memory(byte w)
{
  byte value;
end:
  do
  :: atomic { buffer[w]?value -> published[w] = value }
  od
}

proctype waker(byte w)
{
  byte n, word;
  for (n : 1 .. MESSAGES(w)) {
    buffer[w]!n; /* sfshm_lane_post */
#ifndef NO_BARRIER
    stored(w); /* sfshm_publish_barrier */
#endif
    word = wake_word; /* sfshm_wake */
    do
    :: (word & 1) == 0 -> break
    :: else ->
       /* sfshm_wake_slow: compare and exchange, an operation that also empties the buffer */
       atomic {
         stored(w);
         if
         :: wake_word == word -> wake_word = DISARMED(word)
         :: else -> word = wake_word; goto lost
         fi
       }
       if
       :: w == 0 -> died = true; goto out /* killed */
       :: true
       fi;
       d_step { /* futex_wake */
#ifdef WAKE_ONE
         if
         :: asleep[0] -> asleep[0] = false
         :: else -> asleep[1] = false
         fi
#else
         asleep[0] = false;
         asleep[1] = false
#endif
       }
       break;
    lost: skip
    od
  }
out: skip
}

proctype listener()
{
  if
  :: died ->
     failed = true;
#ifdef TRUST_WORD
     if
     :: (wake_word & 1) == 0 -> goto out
     :: else
     fi;
#endif
     atomic { /* sfshm_wake_always */
       wake_word = (wake_word | 1) + 1;
       asleep[0] = false;
       asleep[1] = false
     }
  :: finished == PAIRS
  fi;
out: skip
}

proctype sleeper(byte s)
{
  byte n, word;
  for (n : 1 .. MESSAGES(s)) {
    do
    :: published[s] >= n || failed -> break
    :: else ->
       d_step { /* sfshm_wake_arm */
         wake_word = wake_word | 1;
         word = wake_word
       }
#ifndef NO_SECOND_LOOK
       if
       :: published[s] >= n || failed -> break /* the word stays armed */
       :: else
       fi;
#endif
       d_step { /* futex_wait: the kernel compares and enqueues in one step */
         if
         :: wake_word == word -> asleep[s] = true
         :: else
         fi
       }
       !asleep[s]
    od
  }
  finished++
}

init
{
  byte i;
  atomic {
    run listener();
    for (i : 0 .. PAIRS - 1) {
      run memory(i);
      run waker(i);
      run sleeper(i)
    }
  }
}

ltl every_message_is_taken { <> (finished == PAIRS) }
