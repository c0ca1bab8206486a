/* Communicators of all sizes, at the same time, and short-lived star forests on them. */
#include "tests/petsc/cases.h"

#include <petscsf.h>
#include <sys/mman.h>

#define MANY 60

static PetscErrorCode make_ring(MPI_Comm comm, PetscInt n, PetscSF *sf_p)
{
  PetscSFNode *roots;
  PetscCall(PetscMalloc1(n, &roots));
  for (PetscInt i = 0; i < n; i++) {
    roots[i].rank = (my_rank(comm) + 1) % its_size(comm);
    roots[i].index = n - 1 - i;
  }
  PetscCall(PetscSFCreate(comm, sf_p));
  PetscCall(PetscSFSetFromOptions(*sf_p));
  return PetscSFSetGraph(*sf_p, n, n, NULL, PETSC_OWN_POINTER, roots, PETSC_OWN_POINTER);
}

typedef struct values {
  double roots[32];
  double leaves[32];
} values_t;

/* Rings on all communicators at once. */
static PetscErrorCode run_rings(const MPI_Comm comms[], int count, digest_t *digest)
{
  PetscSF rings[8];
  values_t values[8];
  for (int c = 0; c < count; c++)
    PetscCall(make_ring(comms[c], 8 + 3 * c, &rings[c]));
  for (int round = 0; round < ROUNDS; round++) {
    for (int c = 0; c < count; c++) {
      for (int i = 0; i < 32; i++)
        values[c].roots[i] = 100 * my_rank(PETSC_COMM_WORLD) + 10 * c + i + round;
      PetscCall(PetscSFBcastBegin(rings[c], MPI_DOUBLE, values[c].roots, values[c].leaves, MPI_REPLACE));
    }
    for (int c = count - 1; c >= 0; c--) {
      PetscCall(PetscSFBcastEnd(rings[c], MPI_DOUBLE, values[c].roots, values[c].leaves, MPI_REPLACE));
      for (int i = 0; i < 8 + 3 * c; i++)
        digest_real(digest, values[c].leaves[i]);
    }
  }
  for (int c = 0; c < count; c++)
    PetscCall(PetscSFDestroy(&rings[c]));
  return 0;
}

static PetscErrorCode run_short(MPI_Comm comm, int operations, digest_t *digest)
{
  for (int k = 0; k < MANY; k++) {
    PetscSF ring;
    values_t values;
    PetscCall(make_ring(comm, 1 + k % 30, &ring));
    for (int i = 0; i < 32; i++)
      values.roots[i] = my_rank(PETSC_COMM_WORLD) + i + k;
    for (int round = 0; round < operations; round++) {
      PetscCall(PetscSFBcastBegin(ring, MPI_DOUBLE, values.roots, values.leaves, MPI_REPLACE));
      PetscCall(PetscSFBcastEnd(ring, MPI_DOUBLE, values.roots, values.leaves, MPI_REPLACE));
      digest_real(digest, values.leaves[0]);
    }
    PetscCall(PetscSFDestroy(&ring));
  }
  return 0;
}

/* One process behind by a message that needs its sender, which waits in the same operation, to get out. */
static PetscErrorCode wait_meanwhile(digest_t *digest)
{
  static char message[1 << 22];
  int rank = my_rank(PETSC_COMM_WORLD), size = its_size(PETSC_COMM_WORLD);
  PetscSF ring;
  values_t values = {{0}, {0}};
  MPI_Request request = MPI_REQUEST_NULL;
  PetscCall(make_ring(PETSC_COMM_WORLD, 8, &ring));
  for (int round = 0; round < ROUNDS; round++) {
    values.roots[0] = rank + round;
    if (rank == 0 && size > 1) /* whose leaves are on the roots of process 1 */
      PetscCallMPI(MPI_Isend(message, (int)sizeof message, MPI_CHAR, 1, 7, PETSC_COMM_WORLD, &request));
    if (rank == 1)
      PetscCallMPI(MPI_Recv(message, (int)sizeof message, MPI_CHAR, 0, 7, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
    PetscCall(PetscSFBcastBegin(ring, MPI_DOUBLE, values.roots, values.leaves, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(ring, MPI_DOUBLE, values.roots, values.leaves, MPI_REPLACE));
    PetscCallMPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    digest_real(digest, values.leaves[7]);
  }
  return PetscSFDestroy(&ring);
}

/* Leaves as far apart as numbers go, and a star forest that has no graph. */
static PetscErrorCode run_extremes(digest_t *digest)
{
  const PetscInt last = 2147483647;
  const size_t bytes = (size_t)last + 1;
  PetscInt mine[] = {0, 7, last};
  PetscSFNode roots[3];
  char values[3],
      *leaves = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  PetscSF far, none;
  PetscCheck(leaves != MAP_FAILED, PETSC_COMM_SELF, PETSC_ERR_MEM, "no address space");
  for (int i = 0; i < 3; i++)
    roots[i] = (PetscSFNode){.rank = (my_rank(PETSC_COMM_WORLD) + 1) % its_size(PETSC_COMM_WORLD), .index = 2 - i};
  PetscCall(PetscSFCreate(PETSC_COMM_WORLD, &far));
  PetscCall(PetscSFSetFromOptions(far));
  PetscCall(PetscSFSetGraph(far, 3, 3, mine, PETSC_COPY_VALUES, roots, PETSC_COPY_VALUES));
  PetscCall(PetscSFCreate(PETSC_COMM_WORLD, &none));
  PetscCall(PetscSFSetFromOptions(none));
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < 3; i++)
      values[i] = (char)(10 * my_rank(PETSC_COMM_WORLD) + i + round);
    PetscCall(PetscSFBcastBegin(far, MPI_CHAR, values, leaves, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(far, MPI_CHAR, values, leaves, MPI_REPLACE));
    PetscCall(PetscSFBcastBegin(none, MPI_CHAR, values, leaves, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(none, MPI_CHAR, values, leaves, MPI_REPLACE));
    for (int i = 0; i < 3; i++)
      digest_int(digest, leaves[mine[i]]);
  }
  munmap(leaves, bytes);
  PetscCall(PetscSFDestroy(&none));
  return PetscSFDestroy(&far);
}

PetscErrorCode case_comms(void)
{
  int rank = my_rank(PETSC_COMM_WORLD);
  MPI_Comm half, turned, copy;
  digest_t digest = {0};
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank % 2, rank, &half));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, 0, -rank, &turned));
  PetscCallMPI(MPI_Comm_dup(half, &copy));
  const MPI_Comm comms[] = {PETSC_COMM_WORLD, half, turned, copy, PETSC_COMM_SELF};
  PetscCall(run_rings(comms, 5, &digest));
  PetscCall(run_rings(comms, 5, &digest));
  PetscCall(digest_print(&digest, "five communicators"));
  PetscCallMPI(MPI_Comm_free(&copy));
  PetscCall(run_short(PETSC_COMM_SELF, 3, &digest));
  PetscCall(run_short(half, 2, &digest));
  PetscCall(run_short(PETSC_COMM_WORLD, 7, &digest));
  PetscCall(digest_print(&digest, "many"));
  PetscCallMPI(MPI_Comm_free(&half));
  PetscCallMPI(MPI_Comm_free(&turned));
  PetscCall(wait_meanwhile(&digest));
  PetscCall(digest_print(&digest, "with messages under way"));
  PetscCall(run_extremes(&digest));
  return digest_print(&digest, "extremes");
}
