/* The job of the processes of MPI_COMM_WORLD: joining at MPI_Init, leaving at MPI_Finalize, errors as codes of MPI. */
#ifndef SFC_ADAPTERS_PMPI_JOB_H
#define SFC_ADAPTERS_PMPI_JOB_H

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>

#include <sf/sf.h>

typedef struct sfpmpi_job {
  sf_context_t *context; /* NULL: not joined; MPI carries everything */
  bool required;         /* SF_MPI_NEIGHBORS=require */
  bool shared;           /* several threads may call MPI at the same time */
  bool turns;            /* several threads use operations: see threads.h */
  bool devices;          /* the program used a driver of devices when it last created a communicator */
  MPI_Group group;       /* the processes in the job's order */
  MPI_Comm self;         /* this process alone, for this library; errors are returned */
  MPI_Request pending;   /* completes when the process leaves; looking at it lets MPI make progress */
  MPI_Status empty;      /* of requests without contents */
  pthread_mutex_t lock;  /* of tables and lists; see sfpmpi_lock */
} sfpmpi_job_t;

extern sfpmpi_job_t sfpmpi_job;

/* Joins, after MPI's initialisation. Collective over MPI_COMM_WORLD; either all processes join, or none. The
 * environment variable SF_MPI_NEIGHBORS says whether: "off", "on" (if there is a daemon), "require" (ends the program
 * if a process can't). Ends a program of another MPI than this library's. */
void sfpmpi_job_join(void);

/* Leaves, before MPI_Finalize. */
void sfpmpi_job_leave(void);

/* Ends the program if the job is required: prints what MPI would have to carry, and why. The reason may be NULL: the
 * detail of the last error of sfd. */
void sfpmpi_job_fall_back(const char *what, const char *reason);

/* Protects tables and lists from other threads, if there may be some. MPI is not called meanwhile. */
static inline void sfpmpi_lock(void)
{
  if (sfpmpi_job.shared)
    pthread_mutex_lock(&sfpmpi_job.lock);
}

static inline void sfpmpi_unlock(void)
{
  if (sfpmpi_job.shared)
    pthread_mutex_unlock(&sfpmpi_job.lock);
}

/* The error code for a failed call of sfd, with its detail as text: MPI_ERR_TRUNCATE for blocks larger than their room,
 * else a code of a class of its own. */
int sfpmpi_error_code_of(sf_status_t status);

static inline int sfpmpi_error_code(sf_status_t status)
{
  return __builtin_expect(status == SF_OK, true) ? MPI_SUCCESS : sfpmpi_error_code_of(status);
}

/* Calls the communicator's error handler; returns the code. MPI_SUCCESS: calls nothing. */
int sfpmpi_raise(MPI_Comm comm, int code);

#endif
