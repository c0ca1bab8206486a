/* Traffic of a graph between ranks of one node, and distribution of its edges, from their counters. */
#ifndef SFCTL_PLAN_WITHIN_H
#define SFCTL_PLAN_WITHIN_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/report/shape.h"
#include "tools/sfctl/connection.h"

/* Edges from roots of one rank to leaves of another. */
typedef struct sfctl_pair {
  int32_t node;     /* of the answer; 0 if no node was named */
  int32_t from, to; /* ranks of the job, of roots and leaves; -1: several */
  uint64_t values;  /* that a bcast carries */
  uint64_t edges;
  uint64_t messages; /* of bcasts, this way */
  const char *way;   /* by which most bytes have gone from the one to the other: "inline", "slots", "in-place" or
                        "vm-read"; NULL: none yet, or not known */
  const char
      *streams; /* where messages of operations on streams are on their way: "device", that of both ranks, "peer", that
                   of the rank that gets them, or "pinned", memory of the host; NULL: there was no such operation yet */
} sfctl_pair_t;

/* Edges of one rank, with its own. */
typedef struct sfctl_degrees {
  int32_t node; /* of the answer; 0 if no node was named */
  int64_t nroots, nleaves;
  sfreport_degrees_t edges;
} sfctl_degrees_t;

/* Start with {0}. Pairs are ordered by node, from and to; ranks by node and rank. */
typedef struct sfctl_within {
  sfctl_pair_t *pairs;
  size_t npairs, capacity;
  sfctl_degrees_t *ranks;
  size_t nranks, ranks_capacity;
} sfctl_within_t;

/* Reads the ranks' counters. Errors of sfctl_collect. */
sf_status_t sfctl_within_ask(sfctl_connection_t *connection, uint64_t graph, sfctl_within_t *within_p);
void sfctl_within_free(sfctl_within_t *within);

#endif
