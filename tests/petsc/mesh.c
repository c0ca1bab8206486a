/* Unstructured meshes: distribution, overlap, and values at their points. */
#include "tests/petsc/cases.h"

#include <petscdmplex.h>
#include <petscsf.h>

static PetscErrorCode digest_sf(digest_t *digest, PetscSF sf)
{
  PetscInt nroots, nleaves;
  const PetscInt *leaves;
  const PetscSFNode *roots;
  PetscCall(PetscSFGetGraph(sf, &nroots, &nleaves, &leaves, &roots));
  digest_int(digest, nroots);
  for (PetscInt i = 0; i < nleaves; i++) {
    digest_int(digest, leaves == NULL ? i : leaves[i]);
    digest_int(digest, roots[i].rank);
    digest_int(digest, roots[i].index);
  }
  return 0;
}

/* Every point with what it is made of, the coordinates, and who shares which points. */
static PetscErrorCode print_mesh(const char *name, DM mesh)
{
  PetscInt first, last, size;
  const PetscInt *cone;
  PetscSF sf;
  Vec coordinates;
  digest_t digest = {0};
  PetscCall(DMPlexGetChart(mesh, &first, &last));
  for (PetscInt point = first; point < last; point++) {
    PetscCall(DMPlexGetConeSize(mesh, point, &size));
    PetscCall(DMPlexGetCone(mesh, point, &cone));
    for (PetscInt k = 0; k < size; k++)
      digest_int(&digest, cone[k]);
  }
  PetscCall(DMGetCoordinatesLocal(mesh, &coordinates));
  PetscCall(digest_vec(&digest, coordinates));
  PetscCall(DMGetPointSF(mesh, &sf));
  PetscCall(digest_sf(&digest, sf));
  return digest_print(&digest, name);
}

/* Values at vertices and cells. */
static PetscErrorCode update_ghosts(const char *name, DM mesh)
{
  PetscSection section;
  PetscInt first, last, begin, end;
  Vec global, local;
  digest_t digest = {0};
  PetscCall(DMPlexGetChart(mesh, &first, &last));
  PetscCall(PetscSectionCreate(PETSC_COMM_WORLD, &section));
  PetscCall(PetscSectionSetChart(section, first, last));
  PetscCall(DMPlexGetDepthStratum(mesh, 0, &begin, &end));
  for (PetscInt point = begin; point < end; point++)
    PetscCall(PetscSectionSetDof(section, point, 2));
  PetscCall(DMPlexGetHeightStratum(mesh, 0, &begin, &end));
  for (PetscInt point = begin; point < end; point++)
    PetscCall(PetscSectionSetDof(section, point, 1));
  PetscCall(PetscSectionSetUp(section));
  PetscCall(DMSetLocalSection(mesh, section));
  PetscCall(PetscSectionDestroy(&section));
  PetscCall(DMCreateGlobalVector(mesh, &global));
  PetscCall(DMCreateLocalVector(mesh, &local));
  for (uint64_t round = 0; round < ROUNDS; round++) {
    PetscCall(fill_vec(global, round));
    PetscCall(VecSet(local, -1));
    PetscCall(DMGlobalToLocal(mesh, global, INSERT_VALUES, local));
    PetscCall(digest_vec(&digest, local));
    PetscCall(DMLocalToGlobal(mesh, local, ADD_VALUES, global));
    PetscCall(digest_vec(&digest, global));
  }
  PetscCall(digest_print(&digest, name));
  PetscCall(VecDestroy(&global));
  return VecDestroy(&local);
}

static PetscErrorCode distribute(DM *mesh, PetscInt overlap)
{
  DM parallel;
  PetscPartitioner partitioner;
  if (overlap == 0) {
    PetscCall(DMPlexGetPartitioner(*mesh, &partitioner));
    PetscCall(PetscPartitionerSetType(partitioner, PETSCPARTITIONERSIMPLE));
    PetscCall(DMPlexDistribute(*mesh, 0, NULL, &parallel));
  } else {
    PetscCall(DMPlexDistributeOverlap(*mesh, overlap, NULL, &parallel));
  }
  if (parallel != NULL) {
    PetscCall(DMDestroy(mesh));
    *mesh = parallel;
  }
  return 0;
}

static PetscErrorCode run_mesh(PetscBool simplex)
{
  const PetscInt faces[3] = {4, 3, 3};
  DM mesh;
  DMLabel label;
  PetscInt size;
  PetscCall(DMPlexCreateBoxMesh(PETSC_COMM_WORLD, 3, simplex, faces, NULL, NULL, NULL, PETSC_TRUE, &mesh));
  PetscCall(DMPlexDistributeSetDefault(mesh, PETSC_FALSE));
  PetscCall(distribute(&mesh, 0));
  PetscCall(print_mesh("distributed mesh", mesh));
  PetscCall(update_ghosts("its values", mesh));
  PetscCall(distribute(&mesh, 1));
  PetscCall(print_mesh("mesh with overlap", mesh));
  PetscCall(update_ghosts("its values", mesh));
  PetscCall(DMGetLabel(mesh, "Face Sets", &label));
  PetscCall(DMGetLabelSize(mesh, "Face Sets", &size));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "labels on the first process: %" PetscInt_FMT "\n", label ? size : -1));
  return DMDestroy(&mesh);
}

PetscErrorCode case_mesh(void)
{
  PetscCall(PetscOptionsSetValue(NULL, "-dm_distribute", "0"));
  PetscCall(run_mesh(PETSC_FALSE));
  return PetscOptionsClearValue(NULL, "-dm_distribute");
}
