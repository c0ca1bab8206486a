/* Several daemons in one process, connected by the loop fabric: for tests in which the way between nodes is slow, cut
 * to pieces, held up or broken on purpose. The process is forked from the test and stepped by its event loop. */
#ifndef SFTEST_LOOP_CLUSTER_H
#define SFTEST_LOOP_CLUSTER_H

#include "tests/system/harness.h"

#define SFTEST_LOOP_NODES 4 /* as a rule, and */
#define SFTEST_LOOP_NODES_MAX 10

/* What the test and the process of the daemons tell each other. */
typedef struct sftest_loop_orders {
  _Atomic uint32_t given; /* number of the last order */
  _Atomic uint32_t done;
  _Atomic int32_t what; /* sftest_loop_order_t */
  _Atomic int32_t a;
  _Atomic int32_t b;
  _Atomic uint64_t result;
} sftest_loop_orders_t;

typedef enum sftest_loop_order {
  SFTEST_LOOP_HOLD,     /* sends from node a to node b gather */
  SFTEST_LOOP_LET_GO,   /* and go */
  SFTEST_LOOP_FRAMES,   /* result: frames sent so far from a to b */
  SFTEST_LOOP_MESSAGES, /* result: messages in them */
  SFTEST_LOOP_QUEUED,   /* result: messages that wait to be sent from a to b */
  SFTEST_LOOP_BYTES,    /* result: bytes of their payload */
  SFTEST_LOOP_CUT,      /* the stream between a and b ends; once there is one */
  SFTEST_LOOP_CHAOS,    /* directions are held and let go at random, by seed a; b: whether, or not any more */
  SFTEST_LOOP_OPEN,     /* result: graphs and groups, but for those of all ranks, of which node a knows */
  SFTEST_LOOP_JOBS,     /* result: jobs of which node a knows */
  SFTEST_LOOP_KEPT,     /* result: bytes of messages that came to node a too early, and wait for what they are about */
  SFTEST_LOOP_PENDING,  /* result: what is between daemons, but for what is held; whatever a and b are */
  SFTEST_LOOP_WAITING,  /* result: messages that wait in the daemons, or between them, whatever a and b are */
  SFTEST_LOOP_VERSION, /* node a, which has not talked to others yet, tells them that it is an sfd of another version */
  SFTEST_LOOP_FORGE    /* and all above: node a says to b what sftest_forgery_t means that has that number above this */
} sftest_loop_order_t;

typedef struct sftest_loop_cluster {
  sftest_node_t nodes[SFTEST_LOOP_NODES_MAX]; /* for sftest_job_start_over; pid 0 */
  int32_t n;
  pid_t pid;
  sftest_loop_orders_t *orders;
} sftest_loop_cluster_t;

/* Starts n daemons. Bytes take that many steps from one to the next, and with a seed they arrive in random pieces. */
void sftest_loop_cluster_start(sftest_loop_cluster_t *cluster, int32_t n, unsigned delay, uint64_t seed);

/* Gives an order and waits until it has been carried out. */
uint64_t sftest_loop_cluster_order(sftest_loop_cluster_t *cluster, sftest_loop_order_t what, int32_t a, int32_t b);

/* Starts n daemons that talk to each other at once, runs a job of ranks on the nodes places[rank], expects success of
 * all, and ends the daemons. */
void sftest_loop_run_alone(int32_t n, const int32_t places[], int32_t size, sftest_rank_fn_t run, void *argument);

/* Jobs of random sizes and places over so many daemons, between which bytes travel in random pieces; one if a seed is
 * given. *seed_p, which ranks inherit: the job's. */
void sftest_loop_jobs(int32_t nnodes, int njobs, sftest_rank_fn_t run, uint64_t *seed_p);

/* Ends the daemons; fails the test if they do not end well. */
void sftest_loop_cluster_stop(sftest_loop_cluster_t *cluster);

#endif
