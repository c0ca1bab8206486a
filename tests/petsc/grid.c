/* Ghost points of structured grids. */
#include "tests/petsc/cases.h"

#include <petscdmda.h>

/* DMLocalToGlobal wants several processes in each direction, which a prime number of them can't be dealt out to. */
static PetscBool both_ways(int size)
{
  return (PetscBool)(size >= 4 && size % 2 == 0);
}

static PetscErrorCode update_ghosts(const char *name, DM da)
{
  Vec global, local, other;
  digest_t digest = {0};
  PetscCall(DMCreateGlobalVector(da, &global));
  PetscCall(DMCreateLocalVector(da, &local));
  PetscCall(VecDuplicate(local, &other));
  for (uint64_t round = 0; round < ROUNDS; round++) {
    PetscCall(fill_vec(global, round));
    PetscCall(VecSet(local, -1));
    PetscCall(DMGlobalToLocal(da, global, INSERT_VALUES, local));
    PetscCall(digest_vec(&digest, local));
    PetscCall(VecScale(local, 2));
    PetscCall(VecSet(other, -1));
    PetscCall(DMLocalToLocalBegin(da, local, INSERT_VALUES, other));
    PetscCall(DMLocalToLocalEnd(da, local, INSERT_VALUES, other));
    PetscCall(digest_vec(&digest, other));
    PetscCall(VecShift(other, 3));
    PetscCall(DMLocalToLocalBegin(da, other, INSERT_VALUES, other));
    PetscCall(DMLocalToLocalEnd(da, other, INSERT_VALUES, other));
    PetscCall(digest_vec(&digest, other));
    if (both_ways(its_size(PETSC_COMM_WORLD))) {
      PetscCall(DMLocalToGlobal(da, other, ADD_VALUES, global));
      PetscCall(digest_vec(&digest, global));
      PetscCall(DMLocalToGlobal(da, local, INSERT_VALUES, global));
      PetscCall(digest_vec(&digest, global));
    }
  }
  PetscCall(digest_print(&digest, name));
  PetscCall(VecDestroy(&global));
  PetscCall(VecDestroy(&local));
  return VecDestroy(&other);
}

/* To the order of the grid and back. */
static PetscErrorCode reorder(DM da)
{
  Vec global, natural;
  digest_t digest = {0};
  PetscCall(DMCreateGlobalVector(da, &global));
  PetscCall(DMDACreateNaturalVector(da, &natural));
  for (uint64_t round = 0; round < ROUNDS; round++) {
    PetscCall(fill_vec(global, round));
    PetscCall(DMDAGlobalToNaturalBegin(da, global, INSERT_VALUES, natural));
    PetscCall(DMDAGlobalToNaturalEnd(da, global, INSERT_VALUES, natural));
    PetscCall(digest_vec(&digest, natural));
    PetscCall(VecShift(natural, 1));
    PetscCall(DMDANaturalToGlobalBegin(da, natural, INSERT_VALUES, global));
    PetscCall(DMDANaturalToGlobalEnd(da, natural, INSERT_VALUES, global));
    PetscCall(digest_vec(&digest, global));
  }
  PetscCall(digest_print(&digest, "natural order"));
  PetscCall(VecDestroy(&global));
  return VecDestroy(&natural);
}

static PetscErrorCode start(DM da)
{
  PetscCall(DMSetFromOptions(da));
  return DMSetUp(da);
}

PetscErrorCode case_grid(void)
{
  DM da;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_GHOSTED, DMDA_STENCIL_BOX, 17, 13,
                         PETSC_DECIDE, PETSC_DECIDE, 3, 2, NULL, NULL, &da));
  PetscCall(start(da));
  PetscCall(update_ghosts("periodic grid of 3 values a point", da));
  PetscCall(reorder(da));
  PetscCall(DMDestroy(&da));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_GHOSTED, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR,
                         9, 8, 7, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(start(da));
  PetscCall(update_ghosts("grid in three dimensions", da));
  return DMDestroy(&da);
}
