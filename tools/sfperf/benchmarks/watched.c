/* watched: what sfctl top costs the job that it shows. The same operations, in many short turns of one job: with sfctl
 * top refreshing every 0.1 s, with it stopped, and stopped once more, which shows how much two equal times differ; then
 * the processor time that top and the daemon take. Runs in both ranks' only threads. */
#include "tools/sfperf/benchmarks/job.h"

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/sfperf/contenders/ground.h"
#include "tools/sfperf/contenders/library.h"
#include "tools/sfperf/daemon.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/costs.h"
#include "tools/sfperf/results/record.h"
#include "tools/sfperf/results/report.h"
#include "tools/sfperf/results/stats.h"

enum { WAYS = 2, CONTENDERS = 3, TURNS = 5 };

#define COST_S 0.5 /* five refreshes */

typedef struct side {
  const sfperf_method_t *method;
  void *state;
  pid_t top; /* run during the operations, by rank 0; 0: none */
} side_t;

/* ---- sfctl top --------------------------------------------------------------------------------------------------- */

/* On any core, as a user starts it; it ends with this rank. */
static void become_top(const char *path)
{
  cpu_set_t all;
  memset(&all, 0xff, sizeof all); /* those that there are */
  (void)sched_setaffinity(0, sizeof all, &all);
  int null = open("/dev/null", O_RDWR);
  (void)dup2(null, STDIN_FILENO);
  (void)dup2(null, STDOUT_FILENO);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  execlp(path, "sfctl", "top", "--batch", "--delay", "0.1", "ranks", (char *)NULL);
  _exit(127);
}

/* Started, and stopped when it has had the time to show the job once. */
static pid_t start_top(void)
{
  char path[PATH_MAX];
  sfperf_daemon_find_sfctl(path);
  pid_t pid = fork();
  if (pid < 0)
    sfperf_fail("cannot start %s", path);
  if (pid == 0)
    become_top(path);
  usleep(300000);
  (void)kill(pid, SIGSTOP);
  return pid;
}

static void stop_top(pid_t pid)
{
  int status;
  if (waitpid(pid, &status, WNOHANG) != 0)
    sfperf_fail("sfctl top ended by itself: nothing was watched");
  (void)kill(pid, SIGKILL);
  (void)waitpid(pid, &status, 0);
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

static double run(const side_t *side, int64_t iterations)
{
  MPI_Barrier(MPI_COMM_WORLD);
  if (side->top != 0)
    (void)kill(side->top, SIGCONT);
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    side->method->bcast(side->state);
    side->method->reduce(side->state);
  }
  double seconds = sfperf_now() - start;
  if (side->top != 0)
    (void)kill(side->top, SIGSTOP);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/* How many take so long. The same on every rank. */
static int64_t calibrate(const side_t *side, double sample_s)
{
  int64_t iterations = 1;
  double seconds = run(side, iterations);
  for (; seconds < sample_s / 2; iterations *= 2)
    seconds = run(side, iterations * 2);
  return (int64_t)((double)iterations * sample_s / seconds) + 1;
}

/* A sample is the median of several turns, as those of a machine with guests differ by much; contenders take turns, so
 * that all see the same of that. */
static void measure(const sfperf_measure_t *how, sfperf_contender_t contenders[CONTENDERS])
{
  int64_t iterations = calibrate(contenders[0].state, how->sample_s);
  for (int rep = 0; rep < how->reps; rep++) {
    double turns[CONTENDERS][TURNS];
    for (int turn = 0; turn < TURNS; turn++)
      for (int i = 0; i < CONTENDERS; i++) {
        int c = (rep + turn) % 2 == 0 ? i : CONTENDERS - 1 - i;
        turns[c][turn] = run(contenders[c].state, iterations) * 1e6 / (double)iterations / WAYS;
      }
    for (int c = 0; c < CONTENDERS; c++)
      contenders[c].samples_us[rep] = sfperf_stats(turns[c], TURNS).median;
  }
}

/* Percent of a core that top and the daemon take while the ranks exchange data, as rank 0 sees it. */
static void measure_cost(const sfperf_job_t *job, const side_t *side)
{
  sfperf_record_t record = {.bench = "watched",
                            .case_name = "top",
                            .op = "cpu",
                            .contender = "top+sfd",
                            .unit = "percent",
                            .bytes = -1,
                            .ranks = job->size,
                            .nodes = job->nodes->count,
                            .reps = job->options->measure.reps < 9 ? job->options->measure.reps : 9};
  int daemon = job->rank == 0 ? sfperf_daemon_pid() : 0;
  int64_t iterations = calibrate(side, COST_S);
  for (int rep = 0; rep < record.reps; rep++) {
    double before_us = sfperf_process_cpu_us(side->top) + sfperf_process_cpu_us(daemon);
    double seconds = run(side, iterations);
    double used_us = sfperf_process_cpu_us(side->top) + sfperf_process_cpu_us(daemon) - before_us;
    record.samples[rep] = used_us / seconds * 1e-4;
  }
  if (job->rank != 0)
    return;
  if (job->options->json)
    sfperf_record_write(&record, stdout);
  else
    printf("sfctl top and sfd take %.2f %% of a core\n", sfperf_stats(record.samples, record.reps).median);
}

static void measure_size(const sfperf_job_t *job, sfperf_report_t *report, pid_t top, int64_t len_bytes, bool last)
{
  static const char *const names[CONTENDERS] = {"alone", "watched", "alone_again"};
  sfperf_pattern_t pattern;
  sfperf_ground_t ground;
  char name[32];
  sfperf_pattern_pair(job->rank, len_bytes / (int64_t)sizeof(double), &pattern);
  sfperf_ground_init(&ground, job->context, &pattern, SFPERF_PLAIN);
  sfperf_task_t task = sfperf_ground_task(&ground, &sfperf_sf_plain);
  side_t alone = {.method = &sfperf_sf_plain, .state = sfperf_method_start(&sfperf_sf_plain, &task)}, watched = alone;
  watched.top = top;
  sfperf_contender_t contenders[CONTENDERS];
  for (int c = 0; c < CONTENDERS; c++)
    contenders[c] = (sfperf_contender_t){.name = names[c], .state = c == 1 ? &watched : &alone, .operations = WAYS};
  measure(&job->options->measure, contenders);
  snprintf(name, sizeof name, "%lld", (long long)len_bytes);
  sfperf_report_measured(report, name, "oneway", len_bytes, contenders, CONTENDERS);
  if (last)
    measure_cost(job, &watched);
  alone.method->destroy(alone.state);
  sfperf_ground_free(&ground);
}

void sfperf_watched(const sfperf_job_t *job)
{
  sfperf_report_t report = sfperf_report_of(job, "watched");
  sfperf_report_start(&report, "bcast to rank 1 and reduce back, one way, by bytes, beside sfctl top --delay 0.1",
                      job->machine);
  pid_t top = job->rank == 0 ? start_top() : 0;
  for (int i = 0; i < job->options->sizes.n; i++)
    measure_size(job, &report, top, job->options->sizes.at[i], i == job->options->sizes.n - 1);
  if (job->rank == 0)
    stop_top(top);
}
