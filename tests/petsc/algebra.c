/* Star forests made of others, and many of them. */
#include "tests/petsc/cases.h"

#include <petscsf.h>

#define VERTICES 90

/* Each root has at most one leaf: a cyclic shift of all vertices, some of them left out. */
static PetscErrorCode make_shift(PetscInt by, PetscInt without, PetscSF *sf_p)
{
  int rank = my_rank(PETSC_COMM_WORLD), size = its_size(PETSC_COMM_WORLD);
  PetscInt n = 0, *leaves;
  PetscSFNode *roots;
  PetscCall(PetscMalloc1(VERTICES, &leaves));
  PetscCall(PetscMalloc1(VERTICES, &roots));
  for (PetscInt i = 0; i < VERTICES; i++) {
    PetscInt vertex = (rank * VERTICES + i + by) % (size * VERTICES);
    if (i % without == 1)
      continue;
    leaves[n] = i;
    roots[n].rank = vertex / VERTICES;
    roots[n++].index = vertex % VERTICES;
  }
  PetscCall(PetscSFCreate(PETSC_COMM_WORLD, sf_p));
  PetscCall(PetscSFSetFromOptions(*sf_p));
  return PetscSFSetGraph(*sf_p, VERTICES, n, leaves, PETSC_OWN_POINTER, roots, PETSC_OWN_POINTER);
}

/* What a graph does tells what it is. Destroys it. */
static PetscErrorCode try(const char *name, PetscSF *sf)
{
  PetscInt nroots, last, *roots, *leaves;
  digest_t digest = {0};
  PetscCall(PetscSFSetUp(*sf));
  PetscCall(PetscSFGetGraph(*sf, &nroots, NULL, NULL, NULL));
  PetscCall(PetscSFGetLeafRange(*sf, NULL, &last));
  PetscCall(PetscMalloc2(nroots, &roots, last + 1, &leaves));
  for (PetscInt round = 0; round < ROUNDS; round++) {
    for (PetscInt i = 0; i < nroots; i++)
      roots[i] = 1000 * my_rank(PETSC_COMM_WORLD) + i + round;
    for (PetscInt i = 0; i <= last; i++)
      leaves[i] = -i;
    PetscCall(PetscSFBcastBegin(*sf, MPIU_INT, roots, leaves, MPI_SUM));
    PetscCall(PetscSFBcastEnd(*sf, MPIU_INT, roots, leaves, MPI_SUM));
    PetscCall(PetscSFReduceBegin(*sf, MPIU_INT, leaves, roots, MPI_SUM));
    PetscCall(PetscSFReduceEnd(*sf, MPIU_INT, leaves, roots, MPI_SUM));
    for (PetscInt i = 0; i <= last; i++)
      digest_int(&digest, leaves[i]);
    for (PetscInt i = 0; i < nroots; i++)
      digest_int(&digest, roots[i]);
  }
  PetscCall(digest_print(&digest, name));
  PetscCall(PetscFree2(roots, leaves));
  return PetscSFDestroy(sf);
}

static PetscErrorCode make_others(PetscSF a, PetscSF b)
{
  PetscSF other, both[2] = {a, b};
  PetscInt selected[VERTICES / 3], offsets[3] = {0, VERTICES, 2 * VERTICES};
  for (PetscInt i = 0; i < VERTICES / 3; i++)
    selected[i] = 2 * i;
  PetscCall(PetscSFCompose(a, b, &other));
  PetscCall(try("composed", &other));
  PetscCall(PetscSFComposeInverse(a, b, &other));
  PetscCall(try("composed with the inverse", &other));
  PetscCall(PetscSFCreateInverseSF(a, &other));
  PetscCall(try("inverse", &other));
  PetscCall(PetscSFDuplicate(a, PETSCSF_DUPLICATE_GRAPH, &other));
  PetscCall(try("duplicate", &other));
  PetscCall(PetscSFCreateEmbeddedRootSF(a, VERTICES / 3, selected, &other));
  PetscCall(try("some roots", &other));
  PetscCall(PetscSFCreateEmbeddedLeafSF(a, VERTICES / 3, selected, &other));
  PetscCall(try("some leaves", &other));
  PetscCall(PetscSFConcatenate(PETSC_COMM_WORLD, 2, both, PETSC_FALSE, offsets, &other));
  PetscCall(try("concatenated", &other));
  PetscCall(PetscSFConcatenate(PETSC_COMM_WORLD, 2, both, PETSC_TRUE, offsets, &other));
  return try("concatenated with shared roots", &other);
}

/* A graph changed in place, and one that forgets its type. */
static PetscErrorCode reuse(void)
{
  PetscSF sf, other;
  PetscInt nroots, nleaves;
  const PetscInt *leaves;
  const PetscSFNode *roots;
  PetscCall(make_shift(5, 4, &sf));
  for (PetscInt round = 0; round < 3; round++) {
    PetscCall(make_shift(11 + 50 * round, 3 + round, &other));
    PetscCall(PetscSFGetGraph(other, &nroots, &nleaves, &leaves, &roots));
    PetscCall(PetscSFSetGraph(sf, nroots, nleaves, (PetscInt *)(uintptr_t)leaves, PETSC_COPY_VALUES,
                              (PetscSFNode *)(uintptr_t)roots, PETSC_COPY_VALUES));
    PetscCall(try("of one type", &other));
    PetscCall(PetscObjectReference((PetscObject)sf));
    other = sf;
    PetscCall(try("set again", &other));
  }
  PetscCall(PetscSFReset(sf));
  PetscCall(PetscSFSetType(sf, PETSCSFBASIC));
  return PetscSFDestroy(&sf);
}

PetscErrorCode case_algebra(void)
{
  PetscSF a, b;
  PetscCall(make_shift(37, 5, &a));
  PetscCall(make_shift(120, 7, &b));
  PetscCall(make_others(a, b));
  PetscCall(make_others(b, a)); /* now both have been used */
  PetscCall(PetscSFDestroy(&a));
  PetscCall(PetscSFDestroy(&b));
  return reuse();
}
