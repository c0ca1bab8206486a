/* A job that runs until the test ends it, while sfctl is asked what is slow. */
#ifndef SFTEST_SLOW_JOB_H
#define SFTEST_SLOW_JOB_H

#include "tests/system/cluster.h"

#define SFTEST_SLOW_RANKS 8
#define SFTEST_CULPRIT 5

typedef struct sftest_slow {
  _Atomic int32_t rounds[SFTEST_SLOW_RANKS];
  _Atomic bool over, hold; /* hold: the culprit, outside of calls */
  _Atomic int held;
  _Atomic int pause_ms; /* that the culprit takes in each round of the ring */
} sftest_slow_t;

extern sftest_cluster_t sftest_slow_cluster;
extern sftest_job_t sftest_slow_job;
extern sftest_slow_t *sftest_slow;

/* Until the test says so, and then so long that no rank is left alone: rank 0 decides before the bcast that tells. */
bool sftest_slow_goes_on(sftest_rank_t *self, sf_graph_t *star);

sf_graph_t *sftest_slow_star(sftest_rank_t *self, sf_context_t *context);

/* A ring in which each rank waits for the one before it. */
extern const sftest_rank_fn_t sftest_slow_follow;

void sftest_slow_start_over(int32_t nnodes, sftest_rank_fn_t run);

void sftest_slow_start(sftest_rank_fn_t run);

void sftest_slow_await_rounds(int32_t n);

void sftest_slow_end(void);

void sftest_slow_ask(const char *const words[]);

/* Of the JSON of top. */
double sftest_slow_share_of(const char *fragment, const char *name);

#endif
