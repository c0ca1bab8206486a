/* Contenders that exchange ghost values along a star forest: the library in several ways, and its peers. All are used
 * through one table of functions, so that every side is called, timed and checked alike. */
#ifndef SFPERF_CONTENDERS_METHOD_H
#define SFPERF_CONTENDERS_METHOD_H

#include <stdbool.h>

#include <sf/sf.h>

#include "tools/sfperf/patterns/edges.h"
#include "tools/sfperf/patterns/pattern.h"

/* The root and leaf vectors that operations work on, and where the host sees their values: on a device these are
 * copies. */
typedef struct sfperf_vectors {
  double *roots;
  double *leaves;
  double *roots_seen;
  double *leaves_seen;
} sfperf_vectors_t;

typedef enum sfperf_memory { SFPERF_PLAIN, SFPERF_SF_ALLOC, SFPERF_DEVICE } sfperf_memory_t;

/* What a contender is given; what it points to is valid as long as the contender's state. */
typedef struct sfperf_task {
  sf_context_t *context;
  const sfperf_pattern_t *pattern;
  const sfperf_edges_t *edges;
  sfperf_vectors_t vectors;
  bool sum; /* reduce adds leaves to their roots; otherwise it replaces roots by leaves */
} sfperf_task_t;

/* All functions are collective and fail by ending the program. */
typedef struct sfperf_method {
  const char *name;                           /* stable: appears in tables and JSON */
  sfperf_memory_t memory;                     /* of its vectors */
  void *(*create)(const sfperf_task_t *task); /* returns the state */
  void (*bcast)(void *state);                 /* roots replace leaves */
  void (*reduce)(void *state);
  void (*destroy)(void *state);

  /* The same in two parts, between which other work may be done; NULL where a method has no such parts. */
  void (*bcast_begin)(void *state);
  void (*bcast_end)(void *state);
  void (*reduce_begin)(void *state);
  void (*reduce_end)(void *state);
} sfperf_method_t;

/* Graph creation alone: makes the pattern known once, returns the seconds that took, destroys what was made. */
typedef struct sfperf_creator {
  const char *name;
  double (*create)(const sfperf_task_t *task);
} sfperf_creator_t;

/* Memory for both vectors, written once so that no page faults are left. */
void sfperf_vectors_init(sfperf_vectors_t *vectors, sf_context_t *context, sfperf_memory_t memory, int64_t nroots,
                         int64_t nleaves);

void sfperf_vectors_free(sfperf_vectors_t *vectors, sf_context_t *context, sfperf_memory_t memory);

/* Creates the state, does one bcast and one reduce with known values, and fails if any result differs from an
 * independent calculation. Where a method has parts, the same again with these. Collective. */
void *sfperf_method_start(const sfperf_method_t *method, const sfperf_task_t *task);

#endif
