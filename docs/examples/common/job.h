/* What every parallel example needs around its own work: joining the job, ending it on errors, printing once, checks,
 * and numbers agreed by all ranks. MPI adds up and synchronises; nothing here is on the way of an exchange. */
#ifndef EXAMPLES_JOB_H
#define EXAMPLES_JOB_H

#include <sf/sf.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct job {
  sf_context_t *context;
  int rank, size;
  int nfailed; /* checks that failed; rank 0 counts */
} job_t;

/* Ends MPI and the program, which has not joined the job, with a text that rank 0 prints: a success if it
 * asked for help. After MPI_Init. */
_Noreturn void end_with_usage(bool help, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Joins the job that sfrun describes in the environment. After MPI_Init. */
job_t job_join(void);

/* Says how the checks went, leaves the job and ends MPI. Returns the exit status, the same on all ranks. */
int job_end(job_t *job);

/* The only argument of an example, a number from least to most; without it the number is otherwise. Anything else ends
 * the program with a text on how to call it. Between MPI_Init and job_join: --help needs no sfd. */
int32_t number_argument(int argc, char *argv[], const char *what, int32_t least, int32_t most, int32_t otherwise);

/* Ends the job if a call failed. MPI_Abort, because other ranks may be waiting for this one in MPI. */
void must(sf_status_t status, const char *what);

/* Prints on rank 0. */
void say(const job_t *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the outcome of a check on rank 0, whose ok counts. */
void check(job_t *job, bool ok, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Collective: the sum or the largest of all ranks' values, or whether it is true on all. */
double sum_over_ranks(double value);
double max_over_ranks(double value);
bool true_on_all_ranks(bool value);

/* A barrier in which ranks sleep: the cores belong to rank 0 while it works alone. */
void wait_for_rank_0(void);

/* Memory for n doubles that takes part in exchanges. Any memory would do; what sf_alloc gives can be read by the other
 * ranks of the node in place, which saves a copy. Zeroed. */
double *vector_new(const job_t *job, int32_t n);
void vector_free(const job_t *job, double *vector);

#endif
