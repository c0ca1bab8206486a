/* bandwidth: a window of messages in flight between two ranks, one way and both ways at once, as OSU's osu_bw, osu_bibw
 * and osu_mbw_mr do for MPI. Every message of a window has a buffer of its own, as operations in flight need. Runs in
 * both ranks' only threads. */
#include "tools/sfperf/benchmarks/job.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/measure.h"
#include "tools/sfperf/results/report.h"

enum { WINDOW = 64 };

/* Of all buffers of a window: larger messages have shorter windows, but at least MIN_WINDOW. */
#define WINDOW_BYTES (INT64_C(64) << 20)
#define MIN_WINDOW 4

/* One contender: sends and receives a window, or does only the one or the other. */
typedef struct side {
  int rank;
  bool both_ways; /* else rank 0 sends */
  int64_t count;  /* doubles in a message */
  int window;     /* messages */
  double *sent;   /* window x count */
  double *received;
  sf_graph_t *graph; /* NULL: MPI */
} side_t;

static bool sends(const side_t *side)
{
  return side->rank == 0 || side->both_ways;
}

static bool receives(const side_t *side)
{
  return side->rank == 1 || side->both_ways;
}

static void run_window_sf(const side_t *side)
{
  sf_request_t *requests[WINDOW];
  for (int i = 0; i < side->window; i++)
    sfperf_call(sf_bcast_begin, side->graph, SF_DOUBLE, side->sent + i * side->count, side->received + i * side->count,
                SF_REPLACE, &requests[i]);
  sfperf_call(sf_wait_all, side->window, requests);
}

static void run_window_mpi(const side_t *side)
{
  MPI_Request requests[2 * WINDOW];
  int n = 0;
  if (receives(side))
    for (int i = 0; i < side->window; i++)
      MPI_Irecv(side->received + i * side->count, (int)side->count, MPI_DOUBLE, 1 - side->rank, 1, MPI_COMM_WORLD,
                &requests[n++]);
  if (sends(side))
    for (int i = 0; i < side->window; i++)
      MPI_Isend(side->sent + i * side->count, (int)side->count, MPI_DOUBLE, 1 - side->rank, 1, MPI_COMM_WORLD,
                &requests[n++]);
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

static double run(void *opaque, int64_t iterations)
{
  const side_t *side = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++)
    if (side->graph != NULL)
      run_window_sf(side);
    else
      run_window_mpi(side);
  return sfperf_now() - start;
}

/* ---- Buffers and graphs ------------------------------------------------------------------------------------------ */

static void buffer_free(const sfperf_job_t *job, bool by_sf_alloc, double *buffer)
{
  if (by_sf_alloc)
    sfperf_call(sf_free, job->context, buffer);
  else
    free(buffer);
}

static double *buffer_new(const sfperf_job_t *job, bool by_sf_alloc, int64_t len_bytes)
{
  void *buffer;
  if (by_sf_alloc)
    sfperf_call(sf_alloc, job->context, (size_t)len_bytes, &buffer);
  else
    buffer = sfperf_malloc((size_t)len_bytes);
  return buffer;
}

/* Every double of a message is its number and the message's, from each sender its own: a wrong order would show. */
static double value_of(int sender, int message, int64_t i)
{
  return sender + 2.0 * (double)message + 1e3 * (double)i;
}

/* Root i of each rank that sends is connected to leaf i of the other rank. */
static sf_graph_t *graph_new(const sfperf_job_t *job, const side_t *side)
{
  int64_t nroots = sends(side) ? side->count : 0, nleaves = receives(side) ? side->count : 0;
  int32_t *root_rank = sfperf_malloc((size_t)(nleaves + 1) * sizeof *root_rank);
  int32_t *root_index = sfperf_malloc((size_t)(nleaves + 1) * sizeof *root_index);
  for (int64_t i = 0; i < nleaves; i++) {
    root_rank[i] = 1 - job->rank;
    root_index[i] = (int32_t)i;
  }
  sf_graph_t *graph;
  sfperf_call(sf_graph_create_i32, sf_group_world(job->context), nroots, nleaves, NULL, root_rank, root_index,
              SF_GRAPH_DEFAULT, &graph);
  free(root_rank);
  free(root_index);
  return graph;
}

/* One window with known values. */
static void check_window(const sfperf_job_t *job, side_t *side, const char *name)
{
  for (int m = 0; m < side->window; m++)
    for (int64_t i = 0; i < side->count; i++) {
      side->sent[m * side->count + i] = value_of(job->rank, m, i);
      side->received[m * side->count + i] = -1;
    }
  (void)run(side, 1);
  for (int m = 0; receives(side) && m < side->window; m++)
    for (int64_t i = 0; i < side->count; i++)
      if (side->received[m * side->count + i] != value_of(1 - job->rank, m, i))
        sfperf_fail("%s: message %d of a window arrived with %g in place of %g at %lld", name, m,
                    side->received[m * side->count + i], value_of(1 - job->rank, m, i), (long long)i);
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

enum { SF_ALLOC, SF_PLAIN, MPI, NSIDES };

static const char *const names[NSIDES] = {"sf_alloc", "sf_plain", "mpi"};

static void measure_size(const sfperf_job_t *job, sfperf_report_t *report, int64_t len_bytes, bool both_ways)
{
  int64_t fitting = WINDOW_BYTES / len_bytes;
  int window = (int)(fitting < MIN_WINDOW ? MIN_WINDOW : fitting > WINDOW ? WINDOW : fitting);
  side_t sides[NSIDES];
  sfperf_contender_t contenders[NSIDES];
  char name[32];
  for (int s = 0; s < NSIDES; s++) {
    sides[s] = (side_t){.rank = job->rank, .both_ways = both_ways, .count = len_bytes / 8, .window = window};
    sides[s].sent = buffer_new(job, s == SF_ALLOC, window * len_bytes);
    sides[s].received = buffer_new(job, s == SF_ALLOC, window * len_bytes);
    sides[s].graph = s == MPI ? NULL : graph_new(job, &sides[s]);
    contenders[s] = (sfperf_contender_t){
        .name = names[s], .run = run, .state = &sides[s], .operations = both_ways ? 2 * window : window};
    check_window(job, &sides[s], names[s]);
  }
  sfperf_measure(&job->options->measure, contenders, NSIDES);
  snprintf(name, sizeof name, "%lld", (long long)len_bytes);
  sfperf_report_result(report, &(sfperf_result_t){
                                   .case_name = name,
                                   .op = both_ways ? "bothways" : "oneway",
                                   .bytes = len_bytes,
                                   .rates = true,
                                   .contenders = contenders,
                                   .columns = NSIDES,
                                   .measured = NSIDES,
                               });
  for (int s = 0; s < NSIDES; s++) {
    sfperf_call(sf_graph_destroy, sides[s].graph);
    buffer_free(job, s == SF_ALLOC, sides[s].sent);
    buffer_free(job, s == SF_ALLOC, sides[s].received);
  }
}

void sfperf_bandwidth(const sfperf_job_t *job)
{
  sfperf_report_t report = sfperf_report_of(job, "bandwidth");
  sfperf_report_start(&report, "windows of up to 64 messages in flight; time of one message, by bytes", job->machine);
  for (int i = 0; i < job->options->sizes.n; i++)
    for (int both_ways = 0; both_ways < 2; both_ways++)
      measure_size(job, &report, job->options->sizes.at[i], both_ways);
}
