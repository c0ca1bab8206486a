/* The two limits of the machine for what two processes exchange through memory: a cache line bounced between two cores,
 * and one copy of the data with a flag. */
#ifndef SFPERF_CONTENDERS_LIMITS_H
#define SFPERF_CONTENDERS_LIMITS_H

#include <mpi.h>
#include <stdint.h>

/* Memory shared by ranks 0 and 1 of one node, and what is to be measured on it. */
typedef struct sfperf_limits {
  MPI_Win window;
  char *segment[2]; /* of each rank, on pages that it has touched first */
  int rank;
  uint64_t sequence; /* of the last round, the same on both ranks */
  int64_t len_bytes; /* payload; set before a run */
} sfperf_limits_t;

/* Payload that fits into the cache line of its flag. */
enum { SFPERF_LINE_PAYLOAD = 48 };

/* Collective over two ranks of one node; payloads up to most_bytes. MPI frees the memory whatever happens. */
void sfperf_limits_init(sfperf_limits_t *limits, int rank, int64_t most_bytes);
void sfperf_limits_free(sfperf_limits_t *limits);

/* Where that rank's payload lies, for both. */
char *sfperf_limits_data(const sfperf_limits_t *limits, int rank);

/* The other rank continues when this one has arrived here. */
void sfperf_limits_pass(sfperf_limits_t *limits, int sender);

/* For sfperf_contender_t; state: sfperf_limits_t. An iteration is one round trip. */
double sfperf_limits_line_run(void *state, int64_t iterations); /* len_bytes <= SFPERF_LINE_PAYLOAD */
double sfperf_limits_copy_run(void *state, int64_t iterations);

#endif
