/* Who this process is: daemon, job, rank and size, from sf_init's options and the environment. */
#ifndef SFC_ENVIRONMENT_H
#define SFC_ENVIRONMENT_H

#include <stdint.h>

#include <sf/sf.h>

#define SFC_JOB_BYTES 256 /* longest job identity, with its terminating zero */

/* socket_path and key point into the options or the environment: valid until either changes. */
typedef struct sfc_identity {
  const char *socket_path; /* NULL: neither options nor SF_SOCKET; sfproto_connect then tries the usual places */
  const char *key;         /* never NULL, may be empty */
  char job[SFC_JOB_BYTES]; /* never empty */
  int32_t rank;            /* 0..size-1 */
  int32_t size;            /* >= 1 */
  int64_t timeout_ms;      /* -1: the daemon's */
} sfc_identity_t;

/* Fills *identity_p. options may be NULL. What the options leave open comes from the environment; an empty variable
 * counts as unset.
 *
 * Rank and size always come from one place, the first of: the options; SF_RANK and SF_SIZE; what Open MPI sets; what
 * MPICH's Hydra (and other launchers with PMI) sets. The job is that of the options, else SF_JOB, else what the
 * launcher that gave rank and size sets (any launcher, if they were given explicitly).
 *
 * SF_ERR_ARG, with a text that names the variable and its value, or says what to set: something is missing, is no
 * number, out of range, given by halves, or two launchers disagree. SF_ERR_UNSUPPORTED: the process was started by
 * MPI_Comm_spawn and the options don't say everything: the environment is then partly its parent's. */
SF_CHECK_RESULT sf_status_t sfc_environment_resolve(const sf_init_options_t *options, sfc_identity_t *identity_p);

#endif
