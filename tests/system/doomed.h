/* Jobs that lose a rank, or the daemon of a node, at a random moment, while all ranks do a bit of everything: groups,
 * graphs of all sizes, operations in flight on all kinds of memory. Each survivor must get an error that names who was
 * lost, and at once: its daemon has told it before it answers what it is asked next. */
#ifndef SFTEST_DOOMED_H
#define SFTEST_DOOMED_H

#include "tests/system/harness.h"

#define SFTEST_DOOMED_RANKS 7

/* Shared with the ranks. */
typedef struct sftest_doom {
  bool daemon;    /* is killed, not a rank */
  bool takes_all; /* and all others with it */
  bool early;     /* maybe before all have joined */
  int32_t victim; /* rank, or node */
  int64_t wait_ms;
  uint64_t seed;
  _Atomic int32_t njoined;
  _Atomic int32_t nsafe; /* of them, those whose daemon is not to be killed */
  _Atomic bool dead;
} sftest_doom_t;

typedef struct sftest_doomed {
  sftest_job_t job;
  sftest_doom_t *doom; /* NULL: there is no job */
} sftest_doomed_t;

/* Chooses what will happen. victim: a rank. */
sftest_doom_t *sftest_doom_make(uint64_t seed, int32_t victim, uint64_t *random);

/* Starts the job with its ranks at these places, waits for the moment, and kills. daemon: process of the victim; 0: a
 * rank is. */
void sftest_doomed_kill(sftest_doomed_t *doomed, sftest_doom_t *doom, const sftest_node_t nodes[],
                        const int32_t places[], int32_t size, pid_t daemon);

/* Waits for the survivors, who must have succeeded in failing. */
void sftest_doomed_collect(sftest_doomed_t *doomed);

/* A rank of the job is about to end, of all that have joined. Fails the test unless its node and all others fail the
 * job before they answer what that node is asked when it has ended. */
void sftest_expect_told(const sftest_node_t *node, const sftest_job_t *job, int32_t victim);

#endif
