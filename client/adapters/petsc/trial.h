/* Trial of a PetscSF: which of library and MPI takes less time for its operations.
 *
 * That depends on what no rank knows beforehand: how many processes share a core with the daemon, how the program
 * overlaps, the network, and what MPI does with it. So after the graph has been made each of them does some operations
 * in turns, each rank takes the time from begin to end, and the faster one on the sum of all ranks does the others.
 * Only operations whose result is the same with both take part. */
#ifndef SFC_ADAPTERS_PETSC_TRIAL_H
#define SFC_ADAPTERS_PETSC_TRIAL_H

#include "client/adapters/petsc/link.h"

/* Who does an operation; indices of arrays. */
typedef enum sfpetsc_doer { SFPETSC_BY_MPI, SFPETSC_BY_SFD } sfpetsc_doer_t;

typedef struct sfpetsc_trial sfpetsc_trial_t;

/* Starts a trial. Local. */
PetscErrorCode sfpetsc_trial_create(sfpetsc_trial_t **trial_p);
PetscErrorCode sfpetsc_trial_destroy(sfpetsc_trial_t **trial_p);

/* Who does the call, which begins now; equal on all ranks. The trial's last call ends it: that is collective on the
 * communicator and waits for all ranks, sets *trial_p to NULL, and reports the result as PETSc's information on sf. */
PetscErrorCode sfpetsc_trial_choose(PetscSF sf, sfpetsc_trial_t **trial_p, const sfpetsc_call_t *call,
                                    sfpetsc_doer_t *doer_p);

/* The call has ended. */
PetscErrorCode sfpetsc_trial_end(sfpetsc_trial_t *trial, const sfpetsc_call_t *call);

#endif
