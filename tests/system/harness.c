/* Jobs for system tests: see harness.h. The first half runs in the process of the test, the second in ranks. */
#include "tests/system/harness.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define RANK_FAILED 99 /* exit status of a rank that sftest_require ended */

void *sftest_shared(size_t bytes)
{
  void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(shared, MAP_FAILED);
  return shared;
}

void sftest_await(const _Atomic int *word, int value)
{
  SFTEST_SLEEP_WHILE(atomic_load(word) < value);
}

/* ---- Seeds ------------------------------------------------------------------------------------------------------- */

static uint64_t seed_in_use;
static bool has_seed;

void sftest_use_seed(uint64_t seed)
{
  seed_in_use = seed;
  has_seed = true;
}

static void show_seed(void)
{
  if (has_seed)
    fprintf(stderr, "SF_TEST_SEED=%llu repeats this\n", (unsigned long long)seed_in_use);
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

/* The child. It ends together with the test, whatever ends that. */
static void be_rank(const sftest_job_t *job, const sftest_node_t *node, int32_t rank, sftest_rank_fn_t run,
                    void *argument)
{
  sftest_rank_t self = {.rank = rank,
                        .size = job->size,
                        .places = job->places,
                        .options = {.socket_path = node->socket,
                                    .job = job->name,
                                    .key = "sesame",
                                    .rank = rank,
                                    .size = job->size,
                                    .timeout_ms = SFTEST_HANG_MS},
                        .argument = argument,
                        .note = job->notes[rank]};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGTERM, SIG_DFL); /* Check's */
  signal(SIGINT, SIG_DFL);
  run(&self);
  fflush(NULL);
  exit(0);
}

void sftest_job_start(sftest_job_t *job, const sftest_node_t *node, int32_t size, sftest_rank_fn_t run, void *argument)
{
  static const int32_t places[SFTEST_RANKS_MAX];
  sftest_job_start_over(job, node, places, size, run, argument);
}

void sftest_job_start_over(sftest_job_t *job, const sftest_node_t nodes[], const int32_t places[], int32_t size,
                           sftest_rank_fn_t run, void *argument)
{
  static int number;
  *job = (sftest_job_t){.size = size};
  ck_assert_int_le(size, SFTEST_RANKS_MAX);
  memcpy(job->places, places, (size_t)size * sizeof places[0]);
  snprintf(job->name, sizeof job->name, "test-%d-%d", (int)getpid(), ++number);
  job->notes = sftest_shared(sizeof *job->notes * SFTEST_RANKS_MAX);
  fflush(NULL);
  for (int32_t rank = 0; rank < size; rank++) {
    job->pids[rank] = fork();
    ck_assert_int_ge(job->pids[rank], 0);
    if (job->pids[rank] == 0)
      be_rank(job, &nodes[places[rank]], rank, run, argument);
  }
}

static void free_notes(sftest_job_t *job)
{
  munmap(job->notes, sizeof *job->notes * SFTEST_RANKS_MAX);
  job->notes = NULL;
}

static bool collect(sftest_job_t *job)
{
  bool all = true;
  for (int32_t rank = 0; rank < job->size; rank++) {
    if (job->pids[rank] != 0 && waitpid(job->pids[rank], &job->status[rank], WNOHANG) == job->pids[rank])
      job->pids[rank] = 0;
    all &= job->pids[rank] == 0;
  }
  return all;
}

bool sftest_job_poll(sftest_job_t *job)
{
  if (!collect(job))
    return false;
  if (job->notes != NULL)
    free_notes(job);
  return true;
}

/* Names the ranks that have not ended, and kills them. */
static void end_hanging(sftest_job_t *job)
{
  show_seed();
  const char *pause_s = getenv("SF_TEST_PAUSE"); /* seconds to look at them with a debugger */
  for (int32_t rank = 0; rank < job->size; rank++) {
    if (job->pids[rank] != 0)
      fprintf(stderr, "rank %d (pid %d) of %d hangs at: %s\n", rank, (int)job->pids[rank], job->size, job->notes[rank]);
    else
      fprintf(stderr, "rank %d of %d has ended with status 0x%x at: %s\n", rank, job->size, (unsigned)job->status[rank],
              job->notes[rank]);
  }
  if (pause_s != NULL)
    sftest_sleep_ms(1000 * atoll(pause_s));
  for (int32_t rank = 0; rank < job->size; rank++) {
    if (job->pids[rank] == 0)
      continue;
    kill(job->pids[rank], SIGKILL);
    waitpid(job->pids[rank], &job->status[rank], 0);
    job->pids[rank] = 0;
  }
}

void sftest_job_wait(sftest_job_t *job)
{
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  SFTEST_SLEEP_WHILE(!collect(job) && sftest_now_ms() < until);
  if (collect(job)) {
    free_notes(job);
    return;
  }
  end_hanging(job);
  ck_abort_msg("job %s hangs", job->name);
}

void sftest_job_signal(const sftest_job_t *job, int32_t rank, int signal)
{
  if (job->pids[rank] != 0)
    kill(job->pids[rank], signal);
}

void sftest_job_expect_success(const sftest_job_t *job, int32_t rank)
{
  int status = job->status[rank];
  bool ok = job->pids[rank] == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!ok)
    show_seed();
  ck_assert_msg(ok, "rank %d of %d: %s %d", rank, job->size, WIFSIGNALED(status) ? "signal" : "exit status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

void sftest_job_expect_all(const sftest_job_t *job)
{
  for (int32_t rank = 0; rank < job->size; rank++)
    sftest_job_expect_success(job, rank);
}

void sftest_job_end_well(sftest_job_t *job)
{
  sftest_job_wait(job);
  sftest_job_expect_all(job);
}

void sftest_job_await(sftest_job_t *job, const _Atomic int *word, int value)
{
  bool over = false;
  while (atomic_load(word) < value && !over) {
    over = sftest_job_poll(job);
    sftest_sleep_ms(1);
  }
  if (atomic_load(word) >= value)
    return;
  sftest_job_expect_all(job);
  ck_abort_msg("the ranks have ended before what is waited for came to %d: it is %d", value, atomic_load(word));
}

void sftest_job_expect_signal(const sftest_job_t *job, int32_t rank, int signal)
{
  int status = job->status[rank];
  bool ok = job->pids[rank] == 0 && WIFSIGNALED(status) && WTERMSIG(status) == signal;
  if (!ok)
    show_seed();
  ck_assert_msg(ok, "rank %d of %d ended with status 0x%x, not by signal %d", rank, job->size, (unsigned)status,
                signal);
}

void sftest_job_expect_all_but(const sftest_job_t *job, int32_t victim)
{
  for (int32_t rank = 0; rank < job->size; rank++)
    if (rank != victim)
      sftest_job_expect_success(job, rank);
  sftest_job_expect_signal(job, victim, SIGKILL);
}

void sftest_run_over(const sftest_node_t nodes[], const int32_t places[], int32_t size, sftest_rank_fn_t run,
                     void *argument)
{
  sftest_job_t job;
  sftest_job_start_over(&job, nodes, places, size, run, argument);
  sftest_job_end_well(&job);
}

void sftest_run_job(const sftest_node_t *node, int32_t size, sftest_rank_fn_t run, void *argument)
{
  sftest_job_t job;
  int fds = sftest_node_rest(node, 0);
  sftest_job_start(&job, node, size, run, argument);
  sftest_job_end_well(&job);
  sftest_node_settle(node, fds);
}

void sftest_run_alone(int32_t size, sftest_rank_fn_t run, void *argument)
{
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  sftest_run_job(&node, size, run, argument);
  sftest_node_stop(&node);
}

/* ---- In ranks ---------------------------------------------------------------------------------------------------- */

void sftest_at(sftest_rank_t *self, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(self->note, SFTEST_NOTE_BYTES, format, arguments);
  va_end(arguments);
}

/* Prints in one write, as other ranks may print too, and ends the process without leak checks and handlers. */
static void report_failure(const sftest_rank_t *self, const char *file, int line, const char *text)
{
  char whole[2048];
  int n = snprintf(whole, sizeof whole, "%s:%d: rank %d of %d (pid %d), at: %s: %s\n", file, line, self->rank,
                   self->size, (int)getpid(), self->note, text);
  if (write(STDERR_FILENO, whole, n < (int)sizeof whole ? (size_t)n : sizeof whole - 1) < 0)
    _exit(RANK_FAILED - 1);
  _exit(RANK_FAILED);
}

void sftest_require(sftest_rank_t *self, bool ok, const char *file, int line, const char *format, ...)
{
  char text[1024];
  va_list arguments;
  if (ok)
    return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  report_failure(self, file, line, text);
}

void sftest_expect(sftest_rank_t *self, sf_status_t found, sf_status_t expected, const char *file, int line,
                   const char *call)
{
  if (found == expected)
    return;
  char detail[512];
  snprintf(detail, sizeof detail, "%s", sf_error_detail());
  sftest_require(self, false, file, line, "%s: %d (%s; %s), expected %d (%s)", call, (int)found, sf_strerror(found),
                 found == SF_OK ? "" : detail, (int)expected, sf_strerror(expected));
}

void sftest_expect_detail(sftest_rank_t *self, const char *text, const char *file, int line)
{
  sftest_require(self, strstr(sf_error_detail(), text) != NULL, file, line, "detail \"%s\", expected \"%s\" in it",
                 sf_error_detail(), text);
}

sf_context_t *sftest_join(sftest_rank_t *self)
{
  sf_context_t *context = NULL;
  sftest_at(self, "sf_init");
  SFTEST_OK(self, sf_init(&self->options, &context));
  return context;
}

void sftest_leave(sftest_rank_t *self, sf_context_t *context)
{
  sftest_at(self, "sf_finalize");
  SFTEST_OK(self, sf_finalize(context));
  sftest_at(self, "the end");
}
