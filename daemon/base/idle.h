/* The idle strategy of the daemon's loop: for how long the loop looks for more work before it sleeps, and on which
 * core. The daemon's thread.
 *
 * The loop looks for work while more is expected, because being woken takes longer than most work does. It yields
 * between two looks: ranks on the same core go first. A rank that computes, or polls for something else, keeps the core
 * for the rest of its time slice, which is milliseconds. A sleeping thread is scheduled before such a rank as soon as
 * it is woken. The loop therefore sleeps at once, for some time, after a yield has kept it from work for long.
 *
 * A rank that waits for the network yields, too. If it shares a core with the loop, the two pass the core to and fro,
 * and the kernel leaves them there: both look runnable. The loop then moves to a core from which no rank submits. */
#ifndef SFD_BASE_IDLE_H
#define SFD_BASE_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/node_board.h"

typedef struct sfd_idle {
  uint64_t moved_ns;          /* when data last went to or came from another node; 0: not since the loop slept */
  uint64_t expected_until_ns; /* until when more is expected for another reason; 0: it is not */
  uint64_t yielded_ns;        /* when the last yield returned */
  bool yielded_long;          /* the last yield took long */
  uint64_t crowded_for_ns;    /* how long the loop sleeps at once; doubles from one time to the next */
  uint64_t crowded_until_ns;  /* until when it does */
  uint64_t next_move_ns;      /* when the loop may change its core again */
} sfd_idle_t;

/* Data went to or came from another node: more will follow soon. */
void sfd_idle_moved(sfd_idle_t *idle);

/* More will come within for_ns. 0: nothing will. */
#define SFD_EXPECT_RANKS_NS 50000  /* from ranks of this node, which are making a graph or have just done so */
#define SFD_EXPECT_NODES_NS 200000 /* from other nodes, for which ranks of this node wait */
void sfd_idle_expect(sfd_idle_t *idle, uint64_t for_ns);

/* Whether the loop is to look once more instead of sleeping. */
bool sfd_idle_expects_more(const sfd_idle_t *idle);

/* The loop goes to sleep. */
void sfd_idle_sleep(sfd_idle_t *idle);

/* Lets others on the loop's core run. */
void sfd_idle_yield(sfd_idle_t *idle);

/* Whether the loop may change its core: it does so at most once in a millisecond. */
bool sfd_idle_may_move(const sfd_idle_t *idle);

/* Moves the loop to a core that it may use and that is not among the taken ones, if there is one. */
void sfd_idle_move(sfd_idle_t *idle, const sfd_cpus_t *taken);

#endif
