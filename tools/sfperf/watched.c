/* watched: what sfctl top costs the job that it shows. The same operations, in short turns of one job: with sfctl top
 * refreshing every 0.1 s, with it stopped, and stopped once more, which shows how much two equal times differ. Runs in
 * both ranks' only threads. */
#include "tools/sfperf/job.h"

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

#include "tools/sfperf/daemon.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/library.h"
#include "tools/sfperf/method.h"
#include "tools/sfperf/report.h"

enum { WAYS = 2, CONTENDERS = 3 };

typedef struct side {
  const sfperf_method_t *method;
  void *state;
  pid_t top; /* to be run meanwhile, by rank 0; 0: nothing is */
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

static double run(void *opaque, int64_t iterations)
{
  const side_t *side = opaque;
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
  return seconds;
}

static void measure_size(const sfperf_job_t *job, sfperf_report_t *report, pid_t top, int64_t len_bytes)
{
  static const char *const names[CONTENDERS] = {"alone", "watched", "alone_again"};
  sfperf_pattern_t pattern;
  sfperf_edges_t edges;
  sfperf_vectors_t vectors;
  char name[32];
  sfperf_pattern_pair(job->rank, len_bytes / (int64_t)sizeof(double), &pattern);
  sfperf_edges_init(&edges, &pattern);
  sfperf_vectors_init(&vectors, job->context, false, pattern.nroots, pattern.nleaves);
  sfperf_task_t task = {.context = job->context, .pattern = &pattern, .edges = &edges, .vectors = vectors};
  side_t alone = {.method = &sfperf_sf_plain, .state = sfperf_sf_plain.create(&task)}, watched = alone;
  sfperf_method_verify(alone.method, alone.state, &task);
  watched.top = top;
  sfperf_contender_t contenders[CONTENDERS];
  for (int c = 0; c < CONTENDERS; c++)
    contenders[c] =
        (sfperf_contender_t){.name = names[c], .run = run, .state = c == 1 ? &watched : &alone, .operations = WAYS};
  sfperf_measure(&job->options->measure, contenders, CONTENDERS);
  snprintf(name, sizeof name, "%lld", (long long)len_bytes);
  sfperf_report_result(report, &(sfperf_result_t){
                                   .case_name = name,
                                   .op = "oneway",
                                   .bytes = len_bytes,
                                   .contenders = contenders,
                                   .columns = CONTENDERS,
                                   .measured = CONTENDERS,
                               });
  alone.method->destroy(alone.state);
  sfperf_vectors_free(&vectors, job->context, false);
  sfperf_edges_free(&edges);
  sfperf_pattern_free(&pattern);
}

void sfperf_watched(const sfperf_job_t *job)
{
  sfperf_report_t report = sfperf_report_of(job, "watched");
  sfperf_report_start(&report, "bcast to rank 1 and reduce back, one way, by bytes, beside sfctl top --delay 0.1",
                      job->machine);
  pid_t top = job->rank == 0 ? start_top() : 0;
  for (int i = 0; i < job->options->nsizes; i++)
    measure_size(job, &report, top, job->options->sizes[i]);
  if (job->rank == 0)
    stop_top(top);
}
