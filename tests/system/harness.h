/* Real daemons and real jobs for system tests. The process of the test starts an sfd with a socket of its own and forks
 * the ranks of jobs, which run a C function and join by explicit options; it never uses the library itself. Ranks that
 * do not end in time are named and killed, and afterwards nothing may be left: see sftest_node_stop. */
#ifndef SFTEST_HARNESS_H
#define SFTEST_HARNESS_H

#include <limits.h>

#include <sf/sf.h>

#include "tests/system/clock.h"
#include "tests/unit/runner.h"

/* ---- A node: one sfd --------------------------------------------------------------------------------------------- */

typedef struct sftest_node {
  char directory[64];
  char socket[96];
  char log[96];  /* file for what sfd prints, made if it is not "" */
  int fabric_fd; /* what sfd inherits for its option --fabric-fd, besides options; 0: nothing */
  pid_t pid;     /* 0: not running */
  int fds;       /* open descriptors when it had just started */
} sftest_node_t;

/* Path of sfd: in BUILD, else where this program's build directory is. */
void sftest_find_sfd(char path[PATH_MAX]);

/* Makes the directory and starts sfd, with options ("--name=value", NULL at the end; options may be NULL) besides those
 * for the socket. Waits until it serves. */
void sftest_node_start(sftest_node_t *node, const char *const options[]);

/* The two halves of it. */
void sftest_node_prepare(sftest_node_t *node);
void sftest_node_launch(sftest_node_t *node, const char *const options[]);

/* Kills the daemon with SIGKILL and starts another one on the same socket. */
void sftest_node_kill(sftest_node_t *node);
void sftest_node_restart(sftest_node_t *node, const char *const options[]);

/* Ends the daemon with SIGTERM. Fails the test if it does not end well. */
void sftest_node_end(sftest_node_t *node);

/* The same unless it has ended already, then removes the directory. Fails the test if files or child processes are
 * left. */
void sftest_node_stop(sftest_node_t *node);

/* The same where the test goes on with other processes. */
void sftest_node_remove(sftest_node_t *node);

/* What the daemon holds: open descriptors, once it has let go of those of earlier jobs, and KiB of resident memory. It
 * has if these are as many as when it started and one for each daemon that it has met since; else (jobs go on, other
 * fabrics) if nothing changes for a while. */
int sftest_node_rest(const sftest_node_t *node, int32_t npeers);
long sftest_node_resident_kib(const sftest_node_t *node);

/* Waits until the daemon has at most that many descriptors; fails the test if it does not come to that. */
void sftest_node_settle(const sftest_node_t *node, int fds);

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

#define SFTEST_RANKS_MAX 300
#define SFTEST_NOTE_BYTES 120

/* A rank, in its own process. */
typedef struct sftest_rank {
  int32_t rank;
  int32_t size;
  const int32_t *places;     /* number of the node of each rank; all 0 on one node */
  sf_init_options_t options; /* for sf_init */
  void *argument;            /* the job's */
  char *note;                /* shared with the test: see sftest_at */
} sftest_rank_t;

/* The process succeeds if it returns. */
typedef void (*sftest_rank_fn_t)(sftest_rank_t *self);

typedef struct sftest_job {
  char name[48];
  int32_t size;
  int32_t places[SFTEST_RANKS_MAX];
  pid_t pids[SFTEST_RANKS_MAX]; /* 0: ended */
  int status[SFTEST_RANKS_MAX]; /* as of waitpid */
  char (*notes)[SFTEST_NOTE_BYTES];
} sftest_job_t;

/* Forks the ranks. argument is what they find in self->argument. */
void sftest_job_start(sftest_job_t *job, const sftest_node_t *node, int32_t size, sftest_rank_fn_t run, void *argument);

/* The same over several nodes: rank r is on nodes[places[r]]. */
void sftest_job_start_over(sftest_job_t *job, const sftest_node_t nodes[], const int32_t places[], int32_t size,
                           sftest_rank_fn_t run, void *argument);

/* Waits until all ranks have ended. If they have not after that time, kills them and fails the test, naming those that
 * hung and what they did. */
void sftest_job_wait(sftest_job_t *job);

/* Collects what has ended so far; whether all have. */
bool sftest_job_poll(sftest_job_t *job);

/* Waits until the ranks have brought the word to the value; fails the test if they end before. */
void sftest_job_await(sftest_job_t *job, const _Atomic int *word, int value);

/* The signal to one rank that has not ended. */
void sftest_job_signal(const sftest_job_t *job, int32_t rank, int signal);

/* Fails the test unless the rank (all ranks) ended with exit status 0. */
void sftest_job_expect_success(const sftest_job_t *job, int32_t rank);
void sftest_job_expect_all(const sftest_job_t *job);

/* Both: waits, and expects all ranks to end well. */
void sftest_job_end_well(sftest_job_t *job);

/* All of it: starts the job over the nodes, and has it end well. */
void sftest_run_over(const sftest_node_t nodes[], const int32_t places[], int32_t size, sftest_rank_fn_t run,
                     void *argument);

/* Fails the test unless the signal ended the rank: one that was to die must not have failed before it came to that. */
void sftest_job_expect_signal(const sftest_job_t *job, int32_t rank, int signal);

/* The victim was killed by SIGKILL, all others ended with exit status 0. */
void sftest_job_expect_all_but(const sftest_job_t *job, int32_t victim);

/* The seed that the ranks work with, printed if one of them fails. */
void sftest_use_seed(uint64_t seed);

/* All in one: runs a job, expects success of all ranks, and waits until the daemon has let go of it. */
void sftest_run_job(const sftest_node_t *node, int32_t size, sftest_rank_fn_t run, void *argument);

/* The same on a node of its own, which has no options. */
void sftest_run_alone(int32_t size, sftest_rank_fn_t run, void *argument);

/* Memory that the test shares with all ranks forked after this; zeroed. It goes with the process. */
void *sftest_shared(size_t bytes);

/* Waits until the word there has reached the value. */
void sftest_await(const _Atomic int *word, int value);

/* ---- In ranks ---------------------------------------------------------------------------------------------------- */

/* Notes what the rank is about to do, for reports of hangs and failures. */
void sftest_at(sftest_rank_t *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* sf_init with the rank's options; ends the process on failure. */
sf_context_t *sftest_join(sftest_rank_t *self);

/* sf_finalize, which must succeed. */
void sftest_leave(sftest_rank_t *self, sf_context_t *context);

/* What a rank does between the two, in its context and the world of that: SFTEST_JOINED(name) { ... } */
#define SFTEST_JOINED(name)                                                                                            \
  static void name##_joined(sftest_rank_t *self, sf_context_t *context, sf_group_t *world);                            \
  static void name(sftest_rank_t *self)                                                                                \
  {                                                                                                                    \
    sf_context_t *context = sftest_join(self);                                                                         \
    name##_joined(self, context, sf_group_world(context));                                                             \
    sftest_leave(self, context);                                                                                       \
  }                                                                                                                    \
  static void name##_joined(sftest_rank_t *self, sf_context_t *context __attribute__((unused)),                        \
                            sf_group_t *world __attribute__((unused)))

/* A test that runs a job, n times: the statement says how, and the body is what each of its "ranks" does, or, in the
 * second form, what it does between sftest_join and sftest_leave. */
#define SFTEST_JOB(name, n, statement)                                                                                 \
  SFTEST_JOB_TEST(name, n, statement)                                                                                  \
  static void name##_ranks(sftest_rank_t *self)
#define SFTEST_JOINED_JOB(name, n, statement)                                                                          \
  SFTEST_JOB_TEST(name, n, statement)                                                                                  \
  SFTEST_JOINED(name##_ranks)
#define SFTEST_JOB_TEST(name, n, statement)                                                                            \
  static void name##_ranks(sftest_rank_t *self);                                                                       \
  SFTEST_FOR(name, n)                                                                                                  \
  {                                                                                                                    \
    const sftest_rank_fn_t ranks = name##_ranks;                                                                       \
    statement;                                                                                                         \
  }

/* Unless ok, prints place, rank and text, and ends the process. */
void sftest_require(sftest_rank_t *self, bool ok, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#define SFTEST_REQUIRE(self, condition) sftest_require(self, condition, __FILE__, __LINE__, "%s", #condition)

/* The status must be the one expected. */
#define SFTEST_EXPECT(self, call, expected) sftest_expect(self, call, expected, __FILE__, __LINE__, #call)
#define SFTEST_OK(self, call) SFTEST_EXPECT(self, call, SF_OK)
void sftest_expect(sftest_rank_t *self, sf_status_t found, sf_status_t expected, const char *file, int line,
                   const char *call);

/* The detail of the last error must contain the text. */
#define SFTEST_DETAIL(self, text) sftest_expect_detail(self, text, __FILE__, __LINE__)
void sftest_expect_detail(sftest_rank_t *self, const char *text, const char *file, int line);

#endif
