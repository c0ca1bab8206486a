/* Two processes exchange memory as directly as they can. Runs in each rank's only thread, both ranks in step. */
#include "tools/sfperf/contenders/limits.h"

#include <stdatomic.h>
#include <string.h>

#include "shm/region/wait.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/measure.h"

/* A flag with payload beside it; lines are 128 bytes apart since processors fetch them in pairs. */
typedef struct line {
  _Alignas(128) _Atomic uint64_t sequence; /* written by the segment's rank, awaited by the other */
  double payload[SFPERF_LINE_PAYLOAD / sizeof(double)];
} line_t;
_Static_assert(sizeof(line_t) == 128, "one line and its neighbour");

enum { LINES = 8, DATA_OFFSET = 4096 };

typedef struct segment {
  line_t lines[LINES];
  line_t flag;
} segment_t;
_Static_assert(sizeof(segment_t) <= DATA_OFFSET, "data on pages of their own");

void sfperf_limits_init(sfperf_limits_t *limits, int rank, int64_t most_bytes)
{
  const MPI_Aint page = DATA_OFFSET;
  MPI_Aint len = DATA_OFFSET + (most_bytes + page - 1) / page * page;
  *limits = (sfperf_limits_t){.rank = rank};
  char *mine;
  MPI_Win_allocate_shared(len + page, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &limits->window);
  uint64_t skipped[2] = {0}; /* by each rank, to begin on a page: MPI aligns to less */
  skipped[rank] = -(uintptr_t)mine % (uint64_t)page;
  MPI_Allreduce(MPI_IN_PLACE, skipped, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  memset(mine + skipped[rank], 0, (size_t)len);
  for (int i = 0; i < 2; i++) {
    MPI_Aint found;
    int unit;
    char *start;
    MPI_Win_shared_query(limits->window, i, &found, &unit, &start);
    limits->segment[i] = start + skipped[i];
    if ((uintptr_t)limits->segment[i] % _Alignof(line_t) != 0)
      sfperf_fail("memory shared by MPI is aligned differently in both ranks");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void sfperf_limits_free(sfperf_limits_t *limits)
{
  MPI_Win_free(&limits->window);
}

static void raise_flag(line_t *line, uint64_t sequence)
{
  atomic_store_explicit(&line->sequence, sequence, memory_order_release); /* pairs with await_flag */
}

static void await_flag(const line_t *line, uint64_t sequence)
{
  while (atomic_load_explicit(&line->sequence, memory_order_acquire) != sequence) /* pairs with raise_flag */
    sfshm_cpu_relax();
}

/* Copies a few doubles without calling anything. */
static inline void copy_small(double *restrict to, const double *restrict from, int64_t count)
{
  for (int64_t i = 0; i < count; i++)
    to[i] = from[i];
}

static void send_line(line_t *line, const double payload[], int64_t count, uint64_t sequence)
{
  copy_small(line->payload, payload, count);
  raise_flag(line, sequence);
}

static void receive_line(const line_t *line, double payload[], int64_t count, uint64_t sequence)
{
  await_flag(line, sequence);
  copy_small(payload, line->payload, count);
}

double sfperf_limits_line_run(void *state, int64_t iterations)
{
  sfperf_limits_t *limits = state;
  line_t *mine = ((segment_t *)limits->segment[limits->rank])->lines;
  const line_t *theirs = ((segment_t *)limits->segment[1 - limits->rank])->lines;
  double payload[SFPERF_LINE_PAYLOAD / sizeof(double)] = {0};
  int64_t count = limits->len_bytes / (int64_t)sizeof(double);
  uint64_t sequence = limits->sequence;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    sequence++;
    if (limits->rank == 0)
      send_line(&mine[sequence % LINES], payload, count, sequence);
    receive_line(&theirs[sequence % LINES], payload, count, sequence);
    if (limits->rank == 1)
      send_line(&mine[sequence % LINES], payload, count, sequence);
  }
  limits->sequence = sequence;
  return sfperf_now() - start;
}

char *sfperf_limits_data(const sfperf_limits_t *limits, int rank)
{
  return limits->segment[rank] + DATA_OFFSET;
}

void sfperf_limits_pass(sfperf_limits_t *limits, int sender)
{
  line_t *flag = &((segment_t *)limits->segment[sender])->flag;
  limits->sequence++;
  if (limits->rank == sender)
    raise_flag(flag, limits->sequence);
  else
    await_flag(flag, limits->sequence);
}

double sfperf_limits_copy_run(void *state, int64_t iterations)
{
  sfperf_limits_t *limits = state;
  segment_t *mine = (segment_t *)limits->segment[limits->rank];
  const segment_t *theirs = (segment_t *)limits->segment[1 - limits->rank];
  char *data = (char *)mine + DATA_OFFSET;
  const char *source = (const char *)theirs + DATA_OFFSET;
  size_t len = (size_t)limits->len_bytes;
  uint64_t sequence = limits->sequence;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    sequence++;
    if (limits->rank == 0)
      raise_flag(&mine->flag, sequence);
    await_flag(&theirs->flag, sequence);
    memcpy(data, source, len);
    if (limits->rank == 1)
      raise_flag(&mine->flag, sequence);
  }
  limits->sequence = sequence;
  return sfperf_now() - start;
}
