/* A submission ring: shm/lane/ring.h, with 2 slots, and two threads that publish 3 and 2 entries, one or two at a time,
 * lazily or not, but for their last ones. Checked: every entry is taken once, whole, and in the order of claims; no
 * slot is written before it has been taken; of those that find the word armed one undertakes to signal; nobody waits
 * for ever, for room or asleep.
 *
 * Producers and consumer run under total store order: what they write lies in a store buffer until some time later, or
 * until a barrier or a read-modify-write. Counts don't wrap round here.
 *
 * run.sh: must fail with -DNO_BARRIER     a producer's look at the armed word may overtake what it publishes
 * run.sh: must fail with -DNO_LAST_LOOK   the consumer sleeps as soon as it has armed the word
 * run.sh: must fail with -DPLAIN_ARM      the consumer's last look may overtake its store to the armed word
 * run.sh: must fail with -DPLAIN_DISARM   a load and a store instead of an exchange: two producers wake
 * run.sh: must fail with -DPLAIN_CLAIM    a load and a store instead of a compare-exchange: a slot claimed twice
 * run.sh: must fail with -DEARLY_STAMP    the stamp is stored before the rest of the entry
 * run.sh: must fail with -DEARLY_HEAD     the slot is given back before it has been read
 * run.sh: must fail with -DSILENT_SLEEP   the consumer sleeps without having told all that it has taken
 * run.sh: must fail with -DSILENT_FULL    who finds no room wakes nobody, though all may have been published lazily */

#define SLOTS 2
#define BATCH 2 /* taken before the consumer tells, unless it sleeps */
#define PRODUCERS 2
#define ENTRIES(w) (3 - w) /* at most two at a time */
#define TOTAL 5
#define VALUE(w, n) (w * 10 + n)

mtype = {ENTRY, HEAD, ARMED, PAYLOAD, STAMP};
#define CONSUMER PRODUCERS
chan buffer[PRODUCERS + 1] = [2] of {mtype, byte, byte, byte}; /* stores on their way: what, slot, number, value */
#define stored(w) empty(buffer[w])

byte stamp[SLOTS];
byte payload[SLOTS];
byte tail;
byte head;
bit armed;
bool doorbell; /* the eventfd */
bool owed;     /* the word was armed, and no producer has undertaken to signal for that */
byte position; /* of the consumer */

/* The hardware writes buffered stores to memory, in order, whenever it likes. */
proctype memory(byte w)
{
  mtype what;
  byte slot, number, value;
end:
  do
  :: atomic {
       buffer[w]?what, slot, number, value ->
       if
       :: what == ENTRY -> payload[slot] = value; stamp[slot] = number
       :: what == PAYLOAD -> payload[slot] = value
       :: what == STAMP -> stamp[slot] = number
       :: what == HEAD -> head = value
       :: what == ARMED -> armed = value
       fi;
       slot = 0;
       number = 0;
       value = 0
     }
  od
}

#ifdef NO_BARRIER
#define barrier true
#else
#define barrier stored(w)
#endif

/* sfshm_ring_needs_wake, and the signal. */
inline wake()
{
  if
  :: barrier && !armed
  :: barrier && armed ->
#ifdef PLAIN_DISARM
     d_step { assert(owed); owed = false; armed = 0 }
     doorbell = true
#else
     if /* exchange, an operation that also empties the buffer */
     :: d_step { stored(w) && armed -> assert(owed); owed = false; armed = 0 }
        doorbell = true
     :: stored(w) && !armed
     fi
#endif
  fi
}

/* sfshm_ring_publish. Payload and stamp reach memory in this order; as one here, since the payload isn't looked at
 * before the stamp is there, and the slot has to be free before the first of them leaves. */
inline publish(at, n)
{
  atomic {
    assert((at) < position + SLOTS);
#ifdef EARLY_STAMP
    buffer[w]!STAMP, (at) % SLOTS, (at) + 1, 0
#else
    buffer[w]!ENTRY, (at) % SLOTS, (at) + 1, VALUE(w, n)
#endif
  }
#ifdef EARLY_STAMP
  buffer[w]!PAYLOAD, (at) % SLOTS, 0, VALUE(w, n)
#endif
}

proctype producer(byte w)
{
  byte n, size, seen_head, seen_tail;
  do
  :: n == ENTRIES(w) -> break
  :: n < ENTRIES(w) ->
     atomic {
       if
       :: size = 1
       :: n + 2 <= ENTRIES(w) -> size = 2
       fi;
again: /* sfshm_ring_claim */
       seen_head = head
     }
     atomic {
       seen_tail = tail;
       if
       :: seen_tail - seen_head <= SLOTS - size -> goto room
       :: else
       fi
     }
#ifndef SILENT_FULL
     wake();
#endif
     atomic { head != seen_head || tail != seen_tail -> goto again } /* looks again and again, without sleeping */
room:
#ifdef PLAIN_CLAIM
     tail = seen_tail + size;
#else
     atomic {
       stored(w);
       if
       :: tail == seen_tail -> tail = seen_tail + size
       :: else -> goto again
       fi;
       seen_head = 0
     }
#endif
     if
     :: size == 1 -> publish(seen_tail, n + 1)
     :: size == 2 -> publish(seen_tail, n + 1); publish(seen_tail + 1, n + 2)
     :: size == 2 -> publish(seen_tail + 1, n + 2); publish(seen_tail, n + 1) /* in any order */
     fi;
     d_step {
       n = n + size;
       size = 0;
       seen_tail = 0
     }
     if
     :: n < ENTRIES(w) /* lazily */
     :: wake()
     fi
  od
}

/* sfshm_ring_tell: a plain store. */
inline tell()
{
  if
  :: told != position -> atomic { buffer[CONSUMER]!HEAD, 0, 0, position; told = position }
  :: else
  fi
}

#define is_empty (stamp[position % SLOTS] != position + 1)

active proctype consumer()
{
  byte told, value, from;
  byte last[PRODUCERS];
  do
  :: position == TOTAL -> break
  :: position < TOTAL && !is_empty -> /* sfshm_ring_take */
#ifdef EARLY_HEAD
     atomic { buffer[CONSUMER]!HEAD, 0, 0, position + 1; told = position + 1 }
#endif
     d_step {
       value = payload[position % SLOTS];
       from = value / 10;
       last[from]++;
       assert(value == VALUE(from, last[from]));
       from = 0;
       value = 0;
       position++
     }
     if
     :: position - told >= BATCH -> tell()
     :: else
     fi
  :: position < TOTAL && is_empty -> /* sfshm_ring_arm */
#ifndef SILENT_SLEEP
     tell();
#endif
#ifdef PLAIN_ARM
     atomic { buffer[CONSUMER]!ARMED, 0, 0, 1; owed = true }
#else
     d_step { stored(CONSUMER) -> armed = 1; owed = true }
#endif
     if
#ifndef NO_LAST_LOOK
     :: !is_empty
     :: is_empty ->
#else
     :: true ->
#endif
        doorbell -> doorbell = false /* the kernel keeps the signal until it is read */
     fi;
     buffer[CONSUMER]!ARMED, 0, 0, 0 /* sfshm_ring_disarm */
  od
}

init
{
  byte i;
  atomic {
    for (i : 0 .. PRODUCERS) {
      run memory(i)
    }
    for (i : 0 .. PRODUCERS - 1) {
      run producer(i)
    }
  }
}

ltl every_entry_is_taken { <> (position == TOTAL) }
