/* Idle strategy of the daemon's loop: how long the loop looks for work before it sleeps, and on which core. The
 * daemon's thread. While more work is expected the loop does not sleep, as being woken takes longer than most work. It
 * learns from short and long sleeps how long to expect more. It yields between two looks, so that ranks on its core
 * run. A rank that computes, or polls for something else, then keeps the core for its time slice, milliseconds; a
 * sleeping thread would be scheduled as soon as it is woken. Therefore the loop sleeps at once for some time after a
 * yield has kept it from work for long. A rank that waits for the network yields, too; if it shares the loop's core,
 * both look runnable to the kernel, which leaves them there. Then the loop moves to a core from which no rank submits.
 */
#ifndef SFD_BASE_IDLE_H
#define SFD_BASE_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/node_board.h"

typedef struct sfd_idle {
  uint64_t moved_ns;          /* when data last came or went; 0: not since the loop slept */
  uint64_t look_ns;           /* how long the loop looks for more data; 0: not learnt */
  uint64_t slept_ns;          /* when the loop last went to sleep after data; 0: data has come since */
  uint64_t expected_until_ns; /* end of other expectations; 0: none */
  uint64_t yielded_ns;        /* end of the last yield */
  bool yielded_long;          /* the last yield took long */
  uint64_t crowded_for_ns;    /* duration of sleeping at once; doubles each time */
  uint64_t crowded_until_ns;  /* its end */
  uint64_t next_move_ns;      /* earliest next change of core */
} sfd_idle_t;

/* Data came from or went to another node, or a rank creates a graph over nodes, and more is likely. */
void sfd_idle_moved(sfd_idle_t *idle);

/* More work is likely within for_ns; 0: none. */
#define SFD_EXPECT_RANKS_NS 50000  /* from ranks of this node that create graphs */
#define SFD_EXPECT_NODES_NS 200000 /* from other nodes, for which ranks wait */
void sfd_idle_expect(sfd_idle_t *idle, uint64_t for_ns);

/* Whether the loop looks again instead of sleeping. */
bool sfd_idle_expects_more(const sfd_idle_t *idle);

void sfd_idle_sleep(sfd_idle_t *idle);

/* Lets other threads on the loop's core run. */
void sfd_idle_yield(sfd_idle_t *idle);

/* Whether the loop may change its core: at most once per millisecond. */
bool sfd_idle_may_move(const sfd_idle_t *idle);

/* Moves the loop to an allowed core that is not taken, if there is one. */
void sfd_idle_move(sfd_idle_t *idle, const sfd_cpus_t *taken);

#endif
