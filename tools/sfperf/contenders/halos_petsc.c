/* Exchanges of halos by PETSc's DMDA, whose fields are interleaved. Runs in each rank's only thread, all ranks in
 * step. */
#include "tools/sfperf/contenders/halos.h"

#ifdef SFPERF_WITH_PETSC

#include <petscdmda.h>
#include <stdlib.h>

#include "tools/sfperf/fail.h"

typedef struct state {
  DM dm;
  Vec local;
} state_t;

static void check(PetscErrorCode code, const char *what)
{
  if (code)
    sfperf_fail("%s: PETSc error %d", what, (int)code);
}

static void *create(const sfperf_halos_t *halos)
{
  state_t *state = sfperf_malloc(sizeof *state);
  const int64_t *n = halos->points;
  check(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC,
                     DMDA_STENCIL_BOX, (PetscInt)n[0], (PetscInt)n[1], (PetscInt)n[2], PETSC_DECIDE, PETSC_DECIDE,
                     PETSC_DECIDE, halos->nfields, halos->radius, NULL, NULL, NULL, &state->dm),
        "DMDACreate3d");
  check(DMSetUp(state->dm), "DMSetUp");
  check(DMCreateLocalVector(state->dm, &state->local), "DMCreateLocalVector");
  check(VecSet(state->local, 1), "VecSet");
  return state;
}

static void exchange(void *opaque)
{
  const state_t *state = opaque;
  check(DMLocalToLocalBegin(state->dm, state->local, INSERT_VALUES, state->local), "DMLocalToLocalBegin");
  check(DMLocalToLocalEnd(state->dm, state->local, INSERT_VALUES, state->local), "DMLocalToLocalEnd");
}

static void destroy(void *opaque)
{
  state_t *state = opaque;
  check(VecDestroy(&state->local), "VecDestroy");
  check(DMDestroy(&state->dm), "DMDestroy");
  free(state);
}

static const sfperf_halo_method_t dmda = {
    .name = "petsc_dmda", .create = create, .exchange = exchange, .destroy = destroy, .own_fields = 1};
const sfperf_halo_method_t *const sfperf_halo_petsc[] = {&dmda, NULL};

#else

const sfperf_halo_method_t *const sfperf_halo_petsc[] = {NULL};

#endif
