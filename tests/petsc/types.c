/* What PETSc's own types of star forest take: a type that changes, leaves on roots that the forest does not count,
 * ranks without any vertices, and processes that wait for each other between begin and end. */
#include "tests/petsc/cases.h"

#include <petscsf.h>

#define N 40
#define MANY 100000

/* Leaves on the roots of the next process, in reverse; the others' forests are empty if they take no part. */
static PetscErrorCode make_ring(PetscInt n, PetscInt nroots, int size, PetscSF *sf_p)
{
  PetscSFNode *roots;
  int rank = my_rank(PETSC_COMM_WORLD);
  PetscInt nleaves = rank < size ? n : 0;
  PetscCall(PetscMalloc1(nleaves, &roots));
  for (PetscInt i = 0; i < nleaves; i++) {
    roots[i].rank = (rank + 1) % size;
    roots[i].index = n - 1 - i;
  }
  PetscCall(PetscSFCreate(PETSC_COMM_WORLD, sf_p));
  return PetscSFSetGraph(*sf_p, rank < size ? nroots : 0, nleaves, NULL, PETSC_OWN_POINTER, roots, PETSC_OWN_POINTER);
}

typedef struct values {
  PetscInt roots[N];
  PetscInt leaves[N];
  PetscInt updates[N];
} values_t;

static void fill(values_t *values, int key)
{
  for (int i = 0; i < N; i++) {
    values->roots[i] = 1000 * key + 100 * my_rank(PETSC_COMM_WORLD) + i;
    values->leaves[i] = 7 * key + my_rank(PETSC_COMM_WORLD) + i;
    values->updates[i] = -1;
  }
}

/* All operations, often enough for a graph to be made, or once. */
static PetscErrorCode use(PetscSF sf, int times, digest_t *digest)
{
  static values_t v;
  PetscInt gathered[N]; /* as many leaves as roots */
  for (int round = 0; round < times; round++) {
    fill(&v, round);
    PetscCall(PetscSFBcastBegin(sf, MPIU_INT, v.roots, v.updates, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(sf, MPIU_INT, v.roots, v.updates, MPI_REPLACE));
    PetscCall(PetscSFReduceBegin(sf, MPIU_INT, v.leaves, v.roots, MPI_SUM));
    PetscCall(PetscSFReduceEnd(sf, MPIU_INT, v.leaves, v.roots, MPI_SUM));
    PetscCall(PetscSFGatherBegin(sf, MPIU_INT, v.leaves, gathered));
    PetscCall(PetscSFGatherEnd(sf, MPIU_INT, v.leaves, gathered));
    PetscCall(PetscSFFetchAndOpBegin(sf, MPIU_INT, v.roots, v.leaves, v.updates, MPI_SUM));
    PetscCall(PetscSFFetchAndOpEnd(sf, MPIU_INT, v.roots, v.leaves, v.updates, MPI_SUM));
    for (int i = 0; i < N; i++) {
      digest_int(digest, v.roots[i]);
      digest_int(digest, v.updates[i]);
      digest_int(digest, gathered[i]);
    }
  }
  return 0;
}

/* A program makes it without asking the options, uses it, and then asks them, or goes back. */
static PetscErrorCode change_types(void)
{
  digest_t digest = {0};
  PetscSF sf;
  for (int times = 1; times <= ROUNDS; times += ROUNDS - 1) {
    PetscCall(make_ring(N, N, its_size(PETSC_COMM_WORLD), &sf));
    for (int round = 0; round < 2; round++) {
      PetscCall(PetscSFSetType(sf, PETSCSFBASIC));
      PetscCall(use(sf, times, &digest));
      PetscCall(PetscSFSetFromOptions(sf));
      PetscCall(use(sf, times, &digest));
    }
    PetscCall(PetscSFDestroy(&sf));
  }
  return digest_print(&digest, "types that change");
}

static PetscErrorCode use_more_roots(void)
{
  digest_t digest = {0};
  PetscSF sf;
  values_t v;
  PetscCall(make_ring(N, N / 2, its_size(PETSC_COMM_WORLD), &sf));
  PetscCall(PetscSFSetFromOptions(sf));
  for (int round = 0; round < 2 * ROUNDS; round++) {
    fill(&v, round);
    PetscCall(PetscSFReduceBegin(sf, MPIU_INT, v.leaves, v.roots, MPI_SUM));
    PetscCall(PetscSFReduceEnd(sf, MPIU_INT, v.leaves, v.roots, MPI_SUM));
    for (int i = 0; i < N; i++)
      digest_int(&digest, v.roots[i]);
  }
  PetscCall(PetscSFDestroy(&sf));
  return digest_print(&digest, "roots beyond their number");
}

/* More operations than the adapter takes to find out whether sfd or MPI is faster, two in flight together at times. */
static PetscErrorCode use_often(void)
{
  digest_t digest = {0};
  PetscSF sf;
  values_t v, w;
  PetscCall(make_ring(N, N, its_size(PETSC_COMM_WORLD), &sf));
  PetscCall(PetscSFSetFromOptions(sf));
  for (int round = 0; round < 15 * ROUNDS; round++) {
    MPI_Op op = round % 2 == 0 ? MPI_MAX : MPI_REPLACE;
    fill(&v, round);
    fill(&w, round + 1);
    PetscCall(PetscSFBcastBegin(sf, MPIU_INT, v.roots, v.leaves, MPI_SUM));
    if (round % 5 == 0)
      PetscCall(PetscSFReduceBegin(sf, MPIU_INT, w.leaves, w.roots, op));
    PetscCall(PetscSFBcastEnd(sf, MPIU_INT, v.roots, v.leaves, MPI_SUM));
    if (round % 5 == 0)
      PetscCall(PetscSFReduceEnd(sf, MPIU_INT, w.leaves, w.roots, op));
    for (int i = 0; i < N; i++) {
      digest_int(&digest, v.leaves[i]);
      digest_int(&digest, w.roots[i]);
    }
  }
  PetscCall(PetscSFDestroy(&sf));
  return digest_print(&digest, "used often");
}

/* Two datatypes in flight together: on ranks without vertices the buffers do not tell them apart. One may be MPI's and
 * the other one the library's. */
static PetscErrorCode use_on_few(void)
{
  digest_t digest = {0};
  PetscSF sf;
  int size = its_size(PETSC_COMM_WORLD) > 2 ? 2 : 1, rank = my_rank(PETSC_COMM_WORLD);
  int ints[N] = {0}, ints_there[N] = {0};
  double reals[N] = {0}, reals_there[N] = {0};
  PetscBool there = (PetscBool)(rank < size);
  PetscCall(make_ring(N, N, size, &sf));
  PetscCall(PetscSFSetFromOptions(sf));
  for (int round = 0; round < 2 * ROUNDS; round++) {
    for (int i = 0; i < N; i++) {
      ints[i] = rank + i + round;
      reals[i] = rank - i + round;
    }
    PetscCall(PetscSFBcastBegin(sf, MPI_INT, there ? ints : NULL, there ? ints_there : NULL, MPI_REPLACE));
    PetscCall(PetscSFBcastBegin(sf, MPI_DOUBLE, there ? reals : NULL, there ? reals_there : NULL, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(sf, MPI_INT, there ? ints : NULL, there ? ints_there : NULL, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(sf, MPI_DOUBLE, there ? reals : NULL, there ? reals_there : NULL, MPI_REPLACE));
    if (round == 0) { /* one more, so that pairs begin at even and at odd numbers */
      PetscCall(PetscSFBcastBegin(sf, MPI_INT, there ? ints : NULL, there ? ints_there : NULL, MPI_REPLACE));
      PetscCall(PetscSFBcastEnd(sf, MPI_INT, there ? ints : NULL, there ? ints_there : NULL, MPI_REPLACE));
    }
    for (int i = 0; i < N; i++) {
      digest_int(&digest, ints_there[i]);
      digest_real(&digest, reals_there[i]);
    }
  }
  PetscCall(PetscSFDestroy(&sf));
  return digest_print(&digest, "ranks without vertices");
}

/* Process 0 waits, between begin and end, for a message that process 1 sends after its own end. Not in PETSc's memory:
 * with -sfd_malloc other ranks may read large values there in place, and an end waits for them. */
static PetscErrorCode cross(PetscInt n)
{
  digest_t digest = {0};
  PetscSF sf;
  double *roots, *leaves;
  int rank = my_rank(PETSC_COMM_WORLD), size = its_size(PETSC_COMM_WORLD);
  PetscCall(make_ring(n, n, size, &sf));
  PetscCall(PetscSFSetFromOptions(sf));
  roots = calloc((size_t)n, sizeof *roots);
  leaves = calloc((size_t)n, sizeof *leaves);
  PetscCheck(roots != NULL && leaves != NULL, PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory");
  for (int round = 0; round < 2 * ROUNDS; round++) {
    for (PetscInt i = 0; i < n; i++)
      roots[i] = (double)(rank + round + i % 1000);
    PetscCall(PetscSFBcastBegin(sf, MPI_DOUBLE, roots, leaves, MPI_REPLACE));
    if (rank == 0 && size > 1)
      PetscCallMPI(MPI_Recv(NULL, 0, MPI_CHAR, 1, 8, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
    PetscCall(PetscSFBcastEnd(sf, MPI_DOUBLE, roots, leaves, MPI_REPLACE));
    if (rank == 1)
      PetscCallMPI(MPI_Send(NULL, 0, MPI_CHAR, 0, 8, PETSC_COMM_WORLD));
    for (PetscInt i = 0; i < n; i += 97)
      digest_real(&digest, leaves[i]);
  }
  free(roots);
  free(leaves);
  PetscCall(PetscSFDestroy(&sf));
  return digest_print(&digest, "messages between begin and end");
}

PetscErrorCode case_types(void)
{
  PetscCall(change_types());
  PetscCall(use_more_roots());
  PetscCall(use_often());
  PetscCall(use_on_few());
  PetscCall(cross(N));
  return cross(MANY);
}
