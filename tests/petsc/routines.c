/* The three VecScatters of K. Shafie Khorassani et al., "Designing and Optimizing GPU-aware Nonblocking MPI
 * Neighborhood Collective Communication for PETSc": from a parallel vector to a parallel one, along a ring; from
 * sequential vectors to a parallel one, where later processes send to few; from a parallel vector to sequential ones,
 * where almost all send to all. They have blocks of -routine_block values; with blocks of one value they send what
 * PETSc's own ex22, ex14 and ex11 of its vector tests send, which the paper runs. -routine_repeats N: measures N
 * repetitions of each. */
#include "tests/petsc/cases.h"

typedef struct routine {
  const char *name;
  Vec from;
  Vec to;
  VecScatter scatter;
  InsertMode mode;
} routine_t;

static PetscErrorCode make_parallel(PetscInt n, Vec *vec_p)
{
  return VecCreateMPI(PETSC_COMM_WORLD, n, PETSC_DETERMINE, vec_p);
}

/* count elements from first on go to count elements from target on. */
static PetscErrorCode connect(routine_t *routine, PetscInt count, PetscInt first, PetscInt target)
{
  IS from, to;
  PetscCall(ISCreateStride(PETSC_COMM_SELF, count, first, 1, &from));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, count, target, 1, &to));
  PetscCall(VecScatterCreate(routine->from, from, routine->to, to, &routine->scatter));
  PetscCall(ISDestroy(&from));
  return ISDestroy(&to);
}

#define BLOCKS 5 /* of a process, but in the last routine */

static PetscErrorCode make_ring(PetscInt block, routine_t *routine)
{
  PetscInt rank = my_rank(PETSC_COMM_WORLD), size = its_size(PETSC_COMM_WORLD), n = BLOCKS * block;
  *routine = (routine_t){.name = "parallel to parallel", .mode = ADD_VALUES};
  PetscCall(make_parallel(n, &routine->from));
  PetscCall(make_parallel(n, &routine->to));
  return connect(routine, n, n * rank, n * (rank + 1) % (n * size));
}

static PetscErrorCode make_to_parallel(PetscInt block, routine_t *routine)
{
  PetscInt rank = my_rank(PETSC_COMM_WORLD), size = its_size(PETSC_COMM_WORLD), n = BLOCKS * block;
  *routine = (routine_t){.name = "sequential to parallel", .mode = ADD_VALUES};
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, n * size, &routine->from));
  PetscCall(make_parallel(n, &routine->to));
  return connect(routine, n, 0, rank * block);
}

static PetscErrorCode make_to_sequential(PetscInt block, routine_t *routine)
{
  PetscInt rank = my_rank(PETSC_COMM_WORLD), size = its_size(PETSC_COMM_WORLD), all = size * (size + 1) / 2 * block;
  *routine = (routine_t){.name = "parallel to sequential", .mode = INSERT_VALUES};
  PetscCall(make_parallel((rank + 1) * block, &routine->from));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, all - rank * block, &routine->to));
  return connect(routine, all - rank * block, rank * block, 0);
}

static PetscErrorCode run(const routine_t *routine)
{
  PetscCall(VecScatterBegin(routine->scatter, routine->from, routine->to, routine->mode, SCATTER_FORWARD));
  return VecScatterEnd(routine->scatter, routine->from, routine->to, routine->mode, SCATTER_FORWARD);
}

static PetscErrorCode measure(const routine_t *routine, PetscInt repeats)
{
  double mine, longest;
  for (PetscInt i = -repeats / 10; i < repeats; i++) {
    if (i == 0) {
      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
      mine = MPI_Wtime();
    }
    PetscCall(run(routine));
  }
  mine = MPI_Wtime() - mine;
  PetscCallMPI(MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, PETSC_COMM_WORLD));
  return PetscPrintf(PETSC_COMM_WORLD, "%s: %.2f us an iteration\n", routine->name, 1e6 * longest / repeats);
}

PetscErrorCode case_routines(void)
{
  PetscErrorCode (*const make[])(PetscInt, routine_t *) = {make_ring, make_to_parallel, make_to_sequential};
  PetscInt block = 100, repeats = 0;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-routine_block", &block, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-routine_repeats", &repeats, NULL));
  for (size_t k = 0; k < sizeof make / sizeof make[0]; k++) {
    routine_t routine;
    digest_t digest = {0};
    PetscCall(make[k](block, &routine));
    PetscCall(VecSet(routine.to, 3));
    for (uint64_t round = 0; round < ROUNDS; round++) {
      PetscCall(fill_vec(routine.from, round));
      PetscCall(run(&routine));
      PetscCall(digest_vec(&digest, routine.to));
    }
    PetscCall(digest_print(&digest, routine.name));
    if (repeats > 0)
      PetscCall(measure(&routine, repeats));
    PetscCall(VecScatterDestroy(&routine.scatter));
    PetscCall(VecDestroy(&routine.from));
    PetscCall(VecDestroy(&routine.to));
  }
  return 0;
}
