/* Identity of this process: daemon, job, rank and size, from sf_init's options and the environment. */
#ifndef SFC_CORE_IDENTITY_H
#define SFC_CORE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf.h>

#define SFC_JOB_BYTES 256 /* longest job identity, with its terminating zero */

/* socket_path and key point into the options or the environment: valid until either changes. */
typedef struct sfc_identity {
  const char *socket_path; /* NULL: the default of sfproto_connect */
  const char *key;         /* never NULL, may be empty */
  char job[SFC_JOB_BYTES]; /* never empty */
  int32_t rank;            /* 0..size-1 */
  int32_t size;            /* >= 1 */
  int64_t timeout_ms;      /* -1: the daemon's */
  bool sends_by_number;    /* SF_SEND_ORDER=number: to other nodes by their numbers, instead of the nearest first */
} sfc_identity_t;

/* Fills *identity_p. options may be NULL. What the options leave open comes from the environment; an empty variable
 * counts as unset.
 *
 * Rank and size always come from one place, the first of
 *   1. the options
 *   2. SF_RANK and SF_SIZE
 *   3. Open MPI: OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE       job: PMIX_NAMESPACE, OMPI_MCA_ess_base_jobid
 *   4. MPICH's Hydra, and others with PMI: PMI_RANK, PMI_SIZE     job: PMI_JOBID (Hydra sets none)
 *   5. PMIx by Slurm's srun: PMIX_RANK, with Slurm's size         job: PMIX_NAMESPACE
 *   6. Slurm's srun: SLURM_PROCID, SLURM_STEP_NUM_TASKS or        job: SLURM_JOB_ID.SLURM_STEP_ID
 *      SLURM_NTASKS, in a step only: batch scripts and shells of an allocation are no ranks
 * The job is that of the options, else SF_JOB, else that of the launcher that gave rank and size (of the first that
 * gives one, if they were given by 1 or 2), with a prefix that keeps the launchers apart.
 *
 * SF_ERR_ARG, with a text that names the variable and its value, or says what to set: something is missing, is no
 * number, out of range, given by halves, or Open MPI and PMI disagree. SF_ERR_UNSUPPORTED: the process was started by
 * MPI_Comm_spawn and the options don't say everything: the environment is then partly its parent's. That is seen by
 * OMPI_PARENT_PORT, PMI_SPAWNED, or by an SF_JOB that was made from another PMIX_NAMESPACE than the process's. */
SF_CHECK_RESULT sf_status_t sfc_identity_resolve(const sf_init_options_t *options, sfc_identity_t *identity_p);

/* Under another MPI's mpirun, or none, MPI_COMM_WORLD is one process, whatever its launcher says. SF_ERR_ARG if
 * world_size is 1 and the first of SF_SIZE, OMPI_COMM_WORLD_SIZE and PMI_SIZE that is set is larger. The text begins
 * with caller. */
SF_CHECK_RESULT sf_status_t sfc_identity_check_world(const char *caller, int world_size);

#endif
