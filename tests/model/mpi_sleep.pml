/* Sleeping on the mpi fabric: daemon/net/fabric/mpi/internal.h. One direction of a pair: the sender's messages come by MPI,
 * some time after they were posted, and only an awake receiver sees them; SLEEP and WAKE go by TCP, in order, and reach
 * a sleeper too. Other peers may wake the receiver without the sender knowing it. A wake-up that is lost leaves the
 * receiver asleep for ever before it has seen all: an invalid end state.
 *
 * run.sh: must fail with -DNO_COUNT     the sender does not compare SLEEP's count with what it has posted
 * run.sh: must fail with -DWAKE_LATE    the sender takes the receiver to be awake until the next send finds SLEEP */

#define MESSAGES 4
#define OTHERS 2 /* wake-ups by other peers */

chan mpi = [MESSAGES] of {byte};
chan to_receiver = [2] of {byte}; /* WAKE(posted): they take turns, so one place is enough; see the assertions */
chan to_sender = [2] of {byte};   /* SLEEP(matched) */
byte matched;

active proctype sender()
{
  byte posted = 0, count;
  bool sleeps = false;
end:
  do
  :: posted < MESSAGES ->
     if
     :: sleeps -> /* sfd_mpi_post: the WAKE goes first */
        sleeps = false;
        assert(len(to_receiver) == 0);
        to_receiver!(posted + 1)
     :: else
     fi;
     posted++;
     mpi!posted
  :: to_sender?count -> /* hear_sleep */
     assert(!sleeps);
     sleeps = true;
#ifndef NO_COUNT
     if
#ifdef WAKE_LATE
     :: count < posted && posted < MESSAGES ->
#else
     :: count < posted ->
#endif
        sleeps = false;
        assert(len(to_receiver) == 0);
        to_receiver!posted
     :: else
     fi
#endif
  od
}

active proctype receiver()
{
  byte told = 0, message, others = 0;
  bool told_sleep = false;
awake:
  do
  :: matched == MESSAGES -> goto finished
  :: mpi?message ->
     matched++;
     assert(message == matched)
  :: to_receiver?told -> told_sleep = false
  :: matched >= told && matched < MESSAGES -> break /* nothing was there for a while */
  od;
  if
  :: !told_sleep -> /* tell_peers */
     told_sleep = true;
     assert(len(to_sender) == 0);
     to_sender!matched
  :: else
  fi;
  if
  :: to_receiver?told ->
     assert(told_sleep);
     told_sleep = false
  :: others < OTHERS -> others++
  fi;
  goto awake;
finished:
  skip
}

ltl all { <> (matched == MESSAGES) }
