/* A pair of lanes between two ranks: shm/lane/lane.h, with 3 slots instead of 8. Rank 0 may put off all reading until
 * it has posted everything, as a rank does whose operations wait for a third rank; rank 1 reads what comes. Both post
 * whenever they like, and rank 0 may ask for new cells as it goes. Checked: every message is read whole and in order,
 * no slot or cell is written before it has been consumed, or after it was given back; nobody waits for ever.
 *
 * With EAGER the lanes have no cells, and the lane to rank 0 has 4 eager slots instead of 32: rank 1 may post any
 * message to them, and uses one again if rank 0 puts off reading. Rank 0 has none, as for messages that eager slots do
 * not take, and depends on all that rank 1 tells.
 *
 * Lanes pass messages by release and acquire, which total store order makes plain stores and loads in order: memory is
 * modelled as sequentially consistent. Counts don't wrap round here.
 *
 * run.sh: also with -DEAGER
 * run.sh: must fail with -DCONTROL_ONLY  a writer without free slots that looks at the control line only
 * run.sh: must fail with -DHEAD_ONLY     ... and at the stamp of the message to be read next
 * run.sh: must fail with -DRARE_ACKS     telling the writer only after as many messages as there are slots
 * run.sh: must fail with -DEARLY_ACK     telling the writer before the message has been read
 * run.sh: must fail with -DEARLY_STAMP   the stamp is stored before the payload
 * run.sh: must fail with -DEARLY_GRANT   the grant is counted before it says which cells
 * run.sh: must fail with -DEAGER_TELLS   a message in an eager slot counts as one that tells the writer
 * run.sh: must fail with -DEAGER_HIDES   a writer without free slots that looks at messages before an eager one only
 * run.sh: must fail with -DEAGER_ALWAYS  eager slots are used without regard to what has been consumed
 * run.sh: must fail with -DEARLY_EAGER   the stamp of an eager slot is stored before the payload */

#if defined(EAGER_TELLS) || defined(EAGER_HIDES) || defined(EAGER_ALWAYS) || defined(EARLY_EAGER)
#define EAGER
#endif

#define SLOTS 3
#ifdef RARE_ACKS
#define ACK_INTERVAL (SLOTS + 1)
#else
#define ACK_INTERVAL (SLOTS - 1)
#endif
#ifdef EAGER
#define EAGER_SLOTS 4
#define MESSAGES(r) (4 + r * reuses)
#define GRANTS 0
#define GENERATIONS 1
#else
#define MESSAGES(r) 4
#define GRANTS (1 - me) /* that a rank may ask for, besides the cells that it begins with */
#define GENERATIONS 2
#endif

typedef slot_t {
  byte number; /* of the stamp */
  byte told;   /* of the stamp: consumed on the other lane */
  byte payload;
  bool grow; /* the message asks for cells */
};
#ifdef EAGER
typedef eager_slot_t {
  byte number;
  byte payload;
};
#endif
typedef cells_t {
  byte cell[SLOTS];
  bool free;
};
/* All that is shared of the lane to rank r. */
typedef lane_t {
  slot_t slot[SLOTS];
  byte consumed; /* control line */
#ifdef EAGER
  eager_slot_t eager[EAGER_SLOTS]; /* in the writer's memory */
#endif
  byte grants;
  byte granted; /* which cells */
  cells_t cells[GENERATIONS];
};
lane_t lane[2];

/* What a rank knows. */
typedef rank_t {
  byte posted;
  byte consumed;
  byte grants;
  byte tx_cells;
  byte received;
  byte told;
  byte rx_cells;
};
rank_t rank[2];
#ifdef EAGER
bit reuses; /* rank 1 posts one message more than there are eager slots */
#endif

#define other (1 - me)
#define outgoing lane[other]
#define incoming lane[me]
#define self rank[me]

#define is_full (self.posted - self.consumed >= SLOTS)
#define arrived(n) (incoming.slot[(n - 1) % SLOTS].number == n)
#define head (self.received + 1)
#define posting outgoing.slot[self.posted % SLOTS]
#define reading incoming.slot[self.received % SLOTS]
#ifdef EAGER
#define posting_eagerly outgoing.eager[self.posted % EAGER_SLOTS]
#define reading_eagerly incoming.eager[self.received % EAGER_SLOTS]
#ifdef EAGER_ALWAYS
#define may_post_eagerly (me == 1)
#else
#define may_post_eagerly (me == 1 && self.posted - self.consumed < EAGER_SLOTS)
#endif
#endif

/* What the stamp of message n says, if it has arrived and is news. */
#define has_news(n) (arrived(n) && incoming.slot[(n - 1) % SLOTS].told > self.consumed)
#define told_by(n) incoming.slot[(n - 1) % SLOTS].told
#ifdef EAGER_HIDES
#define is_seen(n) (arrived(head) && (n < head + 2 || arrived(head + 1)))
#else
#define is_seen(n) true
#endif

/* Looks at whatever may say that slots are free. Everything only grows: several looks are as good as one. */
inline refresh()
{
  d_step {
    if
    :: outgoing.consumed > self.consumed -> self.consumed = outgoing.consumed
    :: else
    fi;
#ifndef CONTROL_ONLY
    if
    :: has_news(head) -> self.consumed = told_by(head)
    :: else
    fi;
#ifndef HEAD_ONLY
    if
    :: has_news(head + 1) && is_seen(head + 1) -> self.consumed = told_by(head + 1)
    :: else
    fi;
    if
    :: has_news(head + 2) && is_seen(head + 2) -> self.consumed = told_by(head + 2)
    :: else
    fi
#endif
#endif
  }
}

#ifdef CONTROL_ONLY
#define can_refresh (outgoing.consumed > self.consumed)
#else
#ifdef HEAD_ONLY
#define can_refresh (outgoing.consumed > self.consumed || has_news(head))
#else
#define can_refresh                                                                                                \
  (outgoing.consumed > self.consumed || has_news(head) || (has_news(head + 1) && is_seen(head + 1)) ||             \
   (has_news(head + 2) && is_seen(head + 2)))
#endif
#endif

/* sfshm_lane_post. Each store is a step of its own. */
inline post(asks)
{
#ifdef EARLY_STAMP
  posting.number = self.posted + 1;
#endif
  d_step {
    posting.grow = asks;
    posting.payload = self.posted + 1
  }
#ifndef EAGER
  if
  :: !asks ->
     atomic {
       assert(!outgoing.cells[self.tx_cells].free);
       outgoing.cells[self.tx_cells].cell[self.posted % SLOTS] = self.posted + 1
     }
  :: else
  fi;
#endif
  d_step { /* one store */
    self.told = self.received;
    posting.number = self.posted + 1;
    posting.told = self.told;
    self.posted++
  }
}

#ifdef EAGER
/* sfshm_lane_post_eager. */
inline post_eagerly()
{
#ifdef EARLY_EAGER
  posting_eagerly.number = self.posted + 1;
#endif
  posting_eagerly.payload = self.posted + 1;
  d_step {
#ifdef EAGER_TELLS
    self.told = self.received;
#endif
    posting_eagerly.number = self.posted + 1;
    self.posted++
  }
}
#endif

/* sfshm_lane_grant: the cells used until now are free for other uses then. */
inline grant()
{
  atomic {
    incoming.cells[self.rx_cells].free = true;
    self.rx_cells++
  }
#ifdef EARLY_GRANT
  incoming.grants++;
  incoming.granted = self.rx_cells
#else
  incoming.granted = self.rx_cells;
  incoming.grants++
#endif
}

/* sfshm_lane_consume. */
inline consume(now)
{
  d_step {
    self.received++;
    if
    :: now || self.received - self.told >= ACK_INTERVAL ->
       self.told = self.received;
       incoming.consumed = self.told
    :: else
    fi
  }
}

/* sfshm_lane_peek, and reading. */
inline read()
{
  if
  :: has_news(head) -> d_step { self.consumed = told_by(head) }
  :: else
  fi;
#ifdef EARLY_ACK
  incoming.consumed = head;
#endif
  assert(reading.payload == head);
#ifdef EAGER
  consume(false)
#else
  if
  :: reading.grow ->
     grant();
     consume(true)
  :: else ->
     assert(incoming.cells[self.rx_cells].cell[self.received % SLOTS] == head);
     consume(false)
  fi
#endif
}

#ifdef EAGER
/* sfshm_lane_peek_eager, and reading. */
inline read_eagerly()
{
  assert(reading_eagerly.payload == head);
  consume(false)
}
#endif

/* The last messages are ones with payload, so that the last grant is used. */
proctype run_rank(bit me; bool defers)
{
  bool asked;
  byte asks;
  do
  :: self.posted == MESSAGES(me) && self.received == MESSAGES(other) -> break
  :: arrived(head) && (!defers || self.posted == MESSAGES(me)) -> read()
#ifdef EAGER
  :: !arrived(head) && reading_eagerly.number == head && (!defers || self.posted == MESSAGES(me)) -> read_eagerly()
  :: self.posted < MESSAGES(me) && may_post_eagerly -> post_eagerly()
#endif
  :: self.posted < MESSAGES(me) && is_full && can_refresh -> refresh()
  :: self.posted < MESSAGES(me) && !is_full && !asked -> post(false)
  :: self.posted < MESSAGES(me) - 1 && !is_full && !asked && asks < GRANTS ->
     asks++;
     asked = true;
     post(true)
  :: asked && outgoing.grants != self.grants ->
     self.tx_cells = outgoing.granted;
     self.grants++;
     asked = false
  od
}

init
{
  atomic {
    run run_rank(1, false);
    if
    :: run run_rank(0, true);
#ifdef EAGER
       reuses = 1
#endif
    :: run run_rank(0, false)
    fi
  }
}
