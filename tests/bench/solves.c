/* Solves of the Poisson equation: see solves.h. */
#include "tests/bench/solves.h"

#include <string.h>

struct sfbench_method {
  const char *name;
  const char *ksp;
  const char *pc;
  int dimensions;
};

static const sfbench_method_t methods[] = {{"cg", KSPCG, PCBJACOBI, 2},
                                           {"gmres", KSPGMRES, PCBJACOBI, 2},
                                           {"pipecg", KSPPIPECG, PCBJACOBI, 2},
                                           {"gamg", KSPCG, PCGAMG, 3}};

const sfbench_method_t *sfbench_method_find(const char *case_name)
{
  for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
    size_t length = strlen(methods[i].name);
    if (strncmp(case_name, methods[i].name, length) == 0 && case_name[length] == '-')
      return &methods[i];
  }
  return NULL;
}

static PetscErrorCode fill_row(Mat matrix, PetscInt row, PetscInt n, int dimensions)
{
  PetscInt stride = 1;
  PetscFunctionBegin;
  PetscCall(MatSetValue(matrix, row, row, 2.0 * dimensions, INSERT_VALUES));
  for (int d = 0; d < dimensions; d++, stride *= n) {
    PetscInt at = row / stride % n;
    if (at > 0)
      PetscCall(MatSetValue(matrix, row, row - stride, -1, INSERT_VALUES));
    if (at < n - 1)
      PetscCall(MatSetValue(matrix, row, row + stride, -1, INSERT_VALUES));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode create_matrix(PetscInt n, int dimensions, Mat *matrix_p)
{
  PetscInt first, end, rows = dimensions == 2 ? n * n : n * n * n, points = 2 * dimensions + 1;
  PetscFunctionBegin;
  PetscCall(
      MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, rows, rows, points, NULL, points, NULL, matrix_p));
  PetscCall(MatGetOwnershipRange(*matrix_p, &first, &end));
  for (PetscInt row = first; row < end; row++)
    PetscCall(fill_row(*matrix_p, row, n, dimensions));
  PetscCall(MatAssemblyBegin(*matrix_p, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*matrix_p, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

PetscErrorCode sfbench_solve_create(const sfbench_method_t *method, PetscInt n, const char *type,
                                    sfbench_solve_t *solve_p)
{
  Mat matrix;
  PC pc;
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-sf_type", type));
  PetscCall(create_matrix(n, method->dimensions, &matrix));
  PetscCall(MatCreateVecs(matrix, &solve_p->x, &solve_p->b));
  PetscCall(VecSet(solve_p->b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &solve_p->ksp));
  PetscCall(KSPSetOperators(solve_p->ksp, matrix, matrix));
  PetscCall(KSPSetType(solve_p->ksp, method->ksp));
  PetscCall(KSPGetPC(solve_p->ksp, &pc));
  PetscCall(PCSetType(pc, method->pc));
  /* All steps are made, whatever is left of the residual. */
  PetscCall(KSPSetTolerances(solve_p->ksp, 1e-300, 1e-300, PETSC_DEFAULT, SFBENCH_STEPS));
  PetscCall(KSPSetUp(solve_p->ksp));
  PetscCall(MatDestroy(&matrix));
  PetscFunctionReturn(0);
}

PetscErrorCode sfbench_solve_destroy(sfbench_solve_t *solve)
{
  PetscFunctionBegin;
  PetscCall(KSPDestroy(&solve->ksp));
  PetscCall(VecDestroy(&solve->b));
  PetscCall(VecDestroy(&solve->x));
  PetscFunctionReturn(0);
}
