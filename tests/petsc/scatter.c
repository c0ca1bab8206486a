/* VecScatters of all kinds. */
#include "tests/petsc/cases.h"

#define LENGTH 700 /* of the parallel vector */

static const InsertMode modes[] = {INSERT_VALUES, ADD_VALUES, MAX_VALUES, MIN_VALUES};

/* There and back, in all modes, with values that change. */
static PetscErrorCode scatter_all(const char *name, VecScatter scatter, Vec global, Vec local, PetscBool insert_back)
{
  digest_t digest = {0};
  for (uint64_t round = 0; round < ROUNDS; round++) {
    for (size_t m = 0; m < 4; m++) {
      PetscCall(fill_vec(global, round * 8 + m));
      PetscCall(VecSet(local, 5));
      PetscCall(VecScatterBegin(scatter, global, local, modes[m], SCATTER_FORWARD));
      PetscCall(VecScatterEnd(scatter, global, local, modes[m], SCATTER_FORWARD));
      PetscCall(digest_vec(&digest, local));
      if (modes[m] == INSERT_VALUES && !insert_back)
        continue; /* who wins is left open */
      PetscCall(VecScatterBegin(scatter, local, global, modes[m], SCATTER_REVERSE));
      PetscCall(VecScatterEnd(scatter, local, global, modes[m], SCATTER_REVERSE));
      PetscCall(digest_vec(&digest, global));
    }
  }
  return digest_print(&digest, name);
}

static PetscErrorCode make_global(PetscInt length, PetscInt bs, Vec *vec_p)
{
  int rank = my_rank(PETSC_COMM_WORLD), size = its_size(PETSC_COMM_WORLD);
  /* Of different lengths; the second process has none. */
  PetscInt share = size < 3 ? length / size : rank == 1 ? 0 : length / (size - 1);
  PetscCall(VecCreate(PETSC_COMM_WORLD, vec_p));
  PetscCall(VecSetSizes(*vec_p, share / bs * bs, PETSC_DETERMINE));
  PetscCall(VecSetBlockSize(*vec_p, bs));
  return VecSetType(*vec_p, VECSTANDARD);
}

/* Random elements, some of them wanted several times; targets distinct, or occurring twice. */
static PetscErrorCode scatter_random(const char *name, PetscInt nwanted, PetscBool twice)
{
  uint64_t rank = (uint64_t)my_rank(PETSC_COMM_WORLD);
  Vec global, local;
  IS from, to;
  VecScatter scatter;
  PetscInt length, *wanted, *places;
  PetscCall(make_global(LENGTH, 1, &global));
  PetscCall(VecGetSize(global, &length));
  PetscCall(PetscMalloc2(nwanted, &wanted, nwanted, &places));
  for (PetscInt i = 0; i < nwanted; i++) {
    wanted[i] = pick(rank << 32 | (uint64_t)i, length);
    places[i] = twice && i % 5 == 0 ? 3 : 2 * (nwanted - i) + 1;
  }
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, 2 * nwanted + 2, &local));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, nwanted, wanted, PETSC_COPY_VALUES, &from));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, nwanted, places, PETSC_COPY_VALUES, &to));
  PetscCall(VecScatterCreate(global, from, local, to, &scatter));
  PetscCall(scatter_all(name, scatter, global, local, PETSC_FALSE));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(ISDestroy(&from));
  PetscCall(ISDestroy(&to));
  PetscCall(VecDestroy(&local));
  PetscCall(VecDestroy(&global));
  return PetscFree2(wanted, places);
}

/* Blocks of 4, and every third element: from one parallel vector to another one. */
static PetscErrorCode scatter_regular(const char *name, PetscBool blocks)
{
  PetscInt bs = blocks ? 4 : 1, length, first, last;
  Vec global, target;
  IS from, to;
  VecScatter scatter;
  PetscCall(make_global(LENGTH, bs, &global));
  PetscCall(VecGetSize(global, &length));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, blocks ? length : length / 3, &target));
  PetscCall(VecGetOwnershipRange(target, &first, &last));
  if (blocks) {
    PetscInt n = (last - first) / bs, *index;
    PetscCall(VecDestroy(&target));
    PetscCall(VecDuplicate(global, &target));
    PetscCall(VecGetOwnershipRange(target, &first, &last));
    n = (last - first) / bs;
    PetscCall(PetscMalloc1(n, &index));
    for (PetscInt i = 0; i < n; i++)
      index[i] = length / bs - 1 - (first / bs + i);
    PetscCall(ISCreateBlock(PETSC_COMM_WORLD, bs, n, index, PETSC_COPY_VALUES, &from));
    for (PetscInt i = 0; i < n; i++)
      index[i] = first / bs + i;
    PetscCall(ISCreateBlock(PETSC_COMM_WORLD, bs, n, index, PETSC_COPY_VALUES, &to));
    PetscCall(PetscFree(index));
  } else {
    PetscCall(ISCreateStride(PETSC_COMM_WORLD, last - first, 3 * first, 3, &from));
    PetscCall(ISCreateStride(PETSC_COMM_WORLD, last - first, first, 1, &to));
  }
  PetscCall(VecScatterCreate(global, from, target, to, &scatter));
  PetscCall(scatter_all(name, scatter, global, target, PETSC_TRUE));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(ISDestroy(&from));
  PetscCall(ISDestroy(&to));
  PetscCall(VecDestroy(&target));
  return VecDestroy(&global);
}

/* What PETSc does by collectives, and the local part of a scatter. */
static PetscErrorCode scatter_collective(void)
{
  Vec global, all;
  VecScatter scatter;
  PetscCall(make_global(LENGTH, 1, &global));
  PetscCall(VecScatterCreateToAll(global, &scatter, &all));
  PetscCall(scatter_all("to all", scatter, global, all, PETSC_FALSE));
  PetscCall(VecDestroy(&all));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecScatterCreateToZero(global, &scatter, &all));
  PetscCall(scatter_all("to zero", scatter, global, all, PETSC_FALSE));
  PetscCall(VecDestroy(&all));
  PetscCall(VecScatterDestroy(&scatter));
  return VecDestroy(&global);
}

/* A cyclic shift, its copy, and its part within the process. */
static PetscErrorCode scatter_local(void)
{
  Vec x, y;
  IS from, to;
  VecScatter scatter, copy;
  PetscInt first, last, length = LENGTH;
  digest_t digest = {0};
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, length, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscInt shared = PetscMin(last, length - 10) - first;
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, shared, first + 10, 1, &from));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, shared, first, 1, &to));
  PetscCall(VecScatterCreate(x, from, y, to, &scatter));
  PetscCall(VecScatterCopy(scatter, &copy));
  for (uint64_t round = 0; round < ROUNDS; round++) {
    PetscCall(fill_vec(x, round));
    PetscCall(VecSet(y, 1));
    PetscCall(VecScatterBegin(copy, x, y, ADD_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(copy, x, y, ADD_VALUES, SCATTER_FORWARD));
    PetscCall(digest_vec(&digest, y));
    PetscCall(VecScatterBegin(scatter, x, y, INSERT_VALUES, SCATTER_FORWARD_LOCAL));
    PetscCall(VecScatterEnd(scatter, x, y, INSERT_VALUES, SCATTER_FORWARD_LOCAL));
    PetscCall(digest_vec(&digest, y));
  }
  PetscCall(digest_print(&digest, "shift"));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecScatterDestroy(&copy));
  PetscCall(ISDestroy(&from));
  PetscCall(ISDestroy(&to));
  PetscCall(VecDestroy(&x));
  return VecDestroy(&y);
}

PetscErrorCode case_scatter(void)
{
  PetscCall(scatter_random("random scatter", 150, PETSC_FALSE));
  PetscCall(scatter_random("large scatter", 30000, PETSC_FALSE));
  PetscCall(scatter_random("targets twice", 90, PETSC_TRUE));
  PetscCall(scatter_regular("stride", PETSC_FALSE));
  PetscCall(scatter_regular("blocks", PETSC_TRUE));
  PetscCall(scatter_collective());
  return scatter_local();
}
