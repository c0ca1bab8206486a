/* Solves of the Poisson equation by PETSc's Krylov methods, for measuring: METHOD-N, see sfbench_method_find. The main
 * thread of each rank; all functions but sfbench_method_find are collective. */
#ifndef TESTS_BENCH_SOLVES_H
#define TESTS_BENCH_SOLVES_H

#include <petscksp.h>

/* Few enough that every case is measured in less than a second. */
#define SFBENCH_STEPS 15

typedef struct sfbench_method sfbench_method_t;

typedef struct sfbench_solve {
  KSP ksp; /* KSPSolve makes SFBENCH_STEPS steps */
  Vec b;
  Vec x;
} sfbench_solve_t;

/* cg-N, gmres-N, pipecg-N: five points on a grid of N x N, rows dealt to ranks in blocks as PETSc's ex2 deals them,
 * with PETSc's default preconditioner, ILU of each rank's block. gamg-N: CG with multigrid, seven points on N x N x N
 * as in ex45. NULL: the case is none of these. */
const sfbench_method_t *sfbench_method_find(const char *case_name);

/* type: of the star forests of the matrix and of the preconditioner. */
PetscErrorCode sfbench_solve_create(const sfbench_method_t *method, PetscInt n, const char *type,
                                    sfbench_solve_t *solve_p);
PetscErrorCode sfbench_solve_destroy(sfbench_solve_t *solve);

#endif
