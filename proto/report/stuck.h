/* Stalls: operations that some rank has waited for too long, and the state of all ranks of their graphs. Pure functions
 * of RankState messages. */
#ifndef SFREPORT_STUCK_H
#define SFREPORT_STUCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"

typedef enum sfreport_part {
  SFREPORT_WAITS,     /* for the operation, or another one on the graph */
  SFREPORT_NOT_BEGUN, /* and does not wait */
  SFREPORT_BEGUN,     /* and does not wait for its end */
  SFREPORT_ENDED,     /* and does not wait */
} sfreport_part_t;

/* "waits", "not-begun", "begun", "ended" */
const char *sfreport_part_name(sfreport_part_t part);

/* One rank of a stalled graph. */
typedef struct sfreport_stalled_rank {
  const Sfproto__RankState *rank;
  const Sfproto__GraphState *graph;
  sfreport_part_t part;
  uint64_t elsewhere; /* another graph on which it waits; 0: none */
} sfreport_stalled_rank_t;

/* A graph on which a rank has waited for long. */
typedef struct sfreport_stall {
  uint64_t job_id;
  const char *job;
  uint64_t graph;
  const char *place;
  uint64_t sequence; /* the oldest operation waited for so long */
  const char *call;
  uint64_t waiting_ns; /* longest wait on the graph */
  int32_t size;        /* of the graph; states of some ranks may be missing */
  sfreport_stalled_rank_t *ranks;
  size_t nranks;
  size_t nculprits; /* the first ones: ranks for which the others wait, directly or not */
} sfreport_stall_t;

typedef struct sfreport_stalls {
  sfreport_stall_t *stalls; /* the longest first */
  size_t count;
} sfreport_stalls_t;

/* Finds stalls in RankState messages, which must outlive the result. SF_ERR_NOMEM. */
sf_status_t sfreport_stalls_find(const sfreport_list_t *states, uint64_t threshold_ns, sfreport_stalls_t *stalls_p);
void sfreport_stalls_clear(sfreport_stalls_t *stalls);

/* Whether the rank has been so long in a collective call other than an operation. */
bool sfreport_is_blocked(const Sfproto__RankState *rank, uint64_t threshold_ns);

/* The oldest requests of the rank on an array that a node has not answered for so long, or NULL. */
const Sfproto__ArrayWait *sfreport_array_wait(const Sfproto__RankState *rank, uint64_t threshold_ns);

/* One line: `graph 3, made at cg.c:120: bcast(double, replace) number 57 has kept ranks waiting for 12 s; rank 3 (pid
 * 103, stopped) has not begun it`; cut to fit. */
void sfreport_stall_describe(const sfreport_stall_t *stall, char *text, size_t text_size);

/* `rank 3 (pid 103, stopped) has not begun it` */
void sfreport_stalled_rank_describe(const sfreport_stalled_rank_t *rank, char *text, size_t text_size);

#endif
