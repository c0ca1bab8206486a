/* An ordinary PETSc program: -div grad u = f on the unit cube by finite differences, solved with conjugate gradients.
 * Nothing in it knows of sfd; options decide who moves its ghost values:
 *     sfrun -n 4 -- petsc_cg -sf_type basic
 *     sfrun -n 4 -- petsc_cg -dll_append /usr/local/lib/libsfclient_petsc.so -sf_type sfd
 * Further options of its own: -points N (of the grid in each direction), -repeat N (solves). */
#include <math.h>
#include <petscdmda.h>
#include <petscksp.h>

typedef struct problem {
  DM grid;
  Mat matrix;
  Vec exact;
  Vec right;
  Vec solution;
} problem_t;

/* Row of a point: itself and its six neighbours, without those outside, where u is 0. */
static PetscErrorCode set_row(Mat matrix, const DMDALocalInfo *info, PetscInt i, PetscInt j, PetscInt k)
{
  static const int steps[6][3] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};
  MatStencil row = {.i = i, .j = j, .k = k}, columns[7] = {row};
  PetscScalar values[7] = {6};
  PetscInt n = 1;
  PetscFunctionBegin;
  for (int s = 0; s < 6; s++) {
    MatStencil to = {.i = i + steps[s][0], .j = j + steps[s][1], .k = k + steps[s][2]};
    if (to.i < 0 || to.j < 0 || to.k < 0 || to.i >= info->mx || to.j >= info->my || to.k >= info->mz)
      continue;
    columns[n] = to;
    values[n++] = -1;
  }
  PetscCall(MatSetValuesStencil(matrix, 1, &row, n, columns, values, INSERT_VALUES));
  PetscFunctionReturn(0);
}

static PetscErrorCode fill_matrix(problem_t *problem)
{
  DMDALocalInfo info;
  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(problem->grid, &info));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++)
        PetscCall(set_row(problem->matrix, &info, i, j, k));
  PetscCall(MatAssemblyBegin(problem->matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(problem->matrix, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode make_problem(PetscInt points, problem_t *problem)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR,
                         points, points, points, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL,
                         &problem->grid));
  PetscCall(DMSetFromOptions(problem->grid));
  PetscCall(DMSetUp(problem->grid));
  PetscCall(DMSetMatType(problem->grid, MATAIJ));
  PetscCall(DMCreateMatrix(problem->grid, &problem->matrix));
  PetscCall(fill_matrix(problem));
  PetscCall(DMCreateGlobalVector(problem->grid, &problem->exact));
  PetscCall(VecDuplicate(problem->exact, &problem->right));
  PetscCall(VecDuplicate(problem->exact, &problem->solution));
  PetscCall(VecSetRandom(problem->exact, NULL));
  PetscCall(MatMult(problem->matrix, problem->exact, problem->right));
  PetscFunctionReturn(0);
}

static PetscErrorCode free_problem(problem_t *problem)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&problem->exact));
  PetscCall(VecDestroy(&problem->right));
  PetscCall(VecDestroy(&problem->solution));
  PetscCall(MatDestroy(&problem->matrix));
  PetscCall(DMDestroy(&problem->grid));
  PetscFunctionReturn(0);
}

/* Solves, and says how often it had to exchange ghost values and how long that took altogether. *failed_p: whether the
 * solution is wrong. */
static PetscErrorCode solve(problem_t *problem, PetscInt repeat, PetscBool *failed_p)
{
  KSP ksp;
  PC pc;
  PetscInt iterations;
  PetscReal error;
  double seconds = INFINITY;
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, problem->matrix, problem->matrix));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(ksp));
  for (PetscInt i = 0; i < repeat; i++) {
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    double start = MPI_Wtime();
    PetscCall(KSPSolve(ksp, problem->right, problem->solution));
    seconds = PetscMin(seconds, MPI_Wtime() - start);
  }
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(VecAXPY(problem->solution, -1, problem->exact));
  PetscCall(VecNorm(problem->solution, NORM_INFINITY, &error));
  *failed_p = (PetscBool) !(error < 1e-6);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s %" PetscInt_FMT " iterations, error below 1e-6\n",
                        *failed_p ? "FAILED" : "ok", iterations));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %.1f us an iteration, in the fastest of %" PetscInt_FMT " solves\n",
                        1e6 * seconds / (double)PetscMax(iterations, 1), repeat));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  problem_t problem;
  PetscInt points = 32, repeat = 5;
  PetscBool failed;
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, "-div grad u = f by conjugate gradients\n"));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-points", &points, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(make_problem(points, &problem));
  PetscCall(solve(&problem, repeat, &failed));
  PetscCall(free_problem(&problem));
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
