/* Simple work for ranks of system tests: graphs in the form of a ring, and a job that does operations until it is told
 * to stop, to see whether it is disturbed by what happens elsewhere. */
#ifndef SFTEST_WORK_H
#define SFTEST_WORK_H

#include "tests/system/harness.h"

/* A graph with n roots and n leaves on each rank: leaf i on root i of the next rank of the group. */
sf_status_t sftest_ring_create(sf_group_t *group, int64_t n, uint32_t flags, sf_graph_t **graph_p);

/* One bcast of doubles on it, compared. Fails the rank if it does not succeed. */
void sftest_ring_expect_working(sftest_rank_t *self, sf_group_t *group, sf_graph_t *graph, int64_t n);

/* A job of two ranks that works in the background. */
typedef struct sftest_bystander {
  sftest_job_t job;
  struct sftest_bystander_shared {
    _Atomic bool stop;
    _Atomic int rounds;
  } * shared;
} sftest_bystander_t;

void sftest_bystander_start(sftest_bystander_t *bystander, const sftest_node_t *node);

/* The same on two nodes. */
void sftest_bystander_start_over(sftest_bystander_t *bystander, const sftest_node_t nodes[2]);

/* Ends it. Fails the test unless it has gone on working without an error. */
void sftest_bystander_stop(sftest_bystander_t *bystander);

/* A job to be looked at: each rank has leaves on as many roots of the next rank, has ended so many bcasts of doubles,
 * and waits. */
#define SFTEST_SHOW_UNITS 100
#define SFTEST_SHOW_BCASTS 5

typedef struct sftest_show {
  sftest_job_t job;
  struct sftest_show_shared {
    _Atomic int32_t nready;
    _Atomic bool over;
  } * shared;
} sftest_show_t;

/* Returns when all of it has been done. */
void sftest_show_start(sftest_show_t *show, const sftest_node_t nodes[], const int32_t places[], int32_t size);
void sftest_show_end(sftest_show_t *show);

/* A job that joins, makes a graph, and exchanges data: whether the daemon still serves. */
void sftest_expect_serving(const sftest_node_t *node);

#endif
