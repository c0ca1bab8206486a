/* Trial of a PetscSF: see trial.h. The thread that calls PETSc. */
#include "client/adapters/petsc/trial.h"

#include <petsctime.h>

#include "client/adapters/petsc/star.h"
#include "client/graph.h"

#define WARM_UP 64 /* operations by the library before: they make the graph's cells, and later larger ones */
#define BLOCK 4    /* operations in a row by one of the two; the first one of them is not counted */
#define BLOCKS 16
#define SAMPLES (BLOCKS / 2 * (BLOCK - 1))

struct sfpetsc_trial {
  int count;           /* operations begun */
  PetscBool timed;     /* one is in flight whose time counts */
  sfpetsc_doer_t doer; /* of that one */
  sfpetsc_call_t call;
  PetscLogDouble begun_s;
  int nsamples[2];
  PetscReal samples_s[2][SAMPLES];
};

PetscErrorCode sfpetsc_trial_create(sfpetsc_trial_t **trial_p)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(trial_p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sfpetsc_trial_destroy(sfpetsc_trial_t **trial_p)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*trial_p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nanoseconds of an operation without the slowest quarter, in which something else may have had the core. */
static PetscErrorCode typical_ns(sfpetsc_trial_t *trial, sfpetsc_doer_t doer, PetscInt64 *ns_p)
{
  int kept = trial->nsamples[doer] - trial->nsamples[doer] / 4;
  PetscReal sum_s = 0;
  PetscFunctionBegin;
  PetscCall(PetscSortReal(trial->nsamples[doer], trial->samples_s[doer]));
  for (int i = 0; i < kept; i++)
    sum_s += trial->samples_s[doer][i];
  *ns_p = kept == 0 ? 0 : (PetscInt64)(1e9 * sum_s / kept);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On one node the library, unless MPI takes less by more than what such measurements are worth. Over nodes the work of
 * daemons also delays what the trial does not see, and the daemons that other PetscSFs keep awake delay MPI here: the
 * library must be faster by a tenth. In whole nanoseconds, so that all ranks get the same sum. */
static PetscErrorCode decide(PetscSF sf, sfpetsc_trial_t *trial, sfpetsc_doer_t *doer_p)
{
  enum { OVER_NODES = 2 };
  PetscInt64 ns[3] = {[OVER_NODES] = sfpetsc_star_of(sf)->graph->trunks != NULL};
  int size;
  PetscFunctionBegin;
  PetscCall(typical_ns(trial, SFPETSC_BY_MPI, &ns[SFPETSC_BY_MPI]));
  PetscCall(typical_ns(trial, SFPETSC_BY_SFD, &ns[SFPETSC_BY_SFD]));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, ns, 3, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)sf)));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)sf), &size));
  int percent = ns[OVER_NODES] > 0 ? 110 : 95;
  *doer_p = percent * ns[SFPETSC_BY_SFD] <= 100 * ns[SFPETSC_BY_MPI] ? SFPETSC_BY_SFD : SFPETSC_BY_MPI;
  PetscCall(PetscInfo(sf, "sfd: an operation takes %.1f us by sfd, %.1f us by MPI: continues by %s\n",
                      1e-3 * (double)ns[SFPETSC_BY_SFD] / size, 1e-3 * (double)ns[SFPETSC_BY_MPI] / size,
                      *doer_p == SFPETSC_BY_SFD ? "sfd" : "MPI"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks go by the Thue-Morse sequence, which no period of the program's operations and no drift favors. */
static sfpetsc_doer_t doer_of(int count)
{
  return count >= 0 && __builtin_parity((unsigned)(count / BLOCK)) != 0 ? SFPETSC_BY_MPI : SFPETSC_BY_SFD;
}

PetscErrorCode sfpetsc_trial_choose(PetscSF sf, sfpetsc_trial_t **trial_p, const sfpetsc_call_t *call,
                                    sfpetsc_doer_t *doer_p)
{
  sfpetsc_trial_t *trial = *trial_p;
  int count = trial->count++ - WARM_UP;
  PetscFunctionBegin;
  if (count == BLOCKS * BLOCK) {
    PetscCall(decide(sf, trial, doer_p));
    PetscCall(sfpetsc_trial_destroy(trial_p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *doer_p = doer_of(count);
  if (count >= 0 && count % BLOCK > 0 && !trial->timed) {
    trial->timed = PETSC_TRUE;
    trial->doer = *doer_p;
    trial->call = *call;
    PetscCall(PetscTime(&trial->begun_s));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sfpetsc_trial_end(sfpetsc_trial_t *trial, const sfpetsc_call_t *call)
{
  PetscLogDouble now_s;
  PetscFunctionBegin;
  if (trial == NULL || !trial->timed || !sfpetsc_call_same_buffers(&trial->call, call))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscTime(&now_s));
  trial->samples_s[trial->doer][trial->nsamples[trial->doer]++] = now_s - trial->begun_s;
  trial->timed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
