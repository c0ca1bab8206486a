/* A PETSc program that does everything PETSc's users do with star forests and prints what came out, to be compared
 * between types of PetscSF. All values are small integers, so that sums are exact in any order. */
#ifndef SFTEST_PETSC_CASES_H
#define SFTEST_PETSC_CASES_H

#include <petscksp.h>

#include <stdint.h>

/* More than -sfd_setup_after has by default: what comes later goes another way. */
#define ROUNDS 8

PetscErrorCode case_scatter(void);
PetscErrorCode case_routines(void);
PetscErrorCode case_matrix(void);
PetscErrorCode case_grid(void);
PetscErrorCode case_mesh(void);
PetscErrorCode case_forest(void);
PetscErrorCode case_algebra(void);
PetscErrorCode case_comms(void);
PetscErrorCode case_types(void);

/* Random numbers that depend on their arguments only: splitmix64 (Steele, Lea and Flood 2014). */
uint64_t mix(uint64_t x);
PetscInt pick(uint64_t key, PetscInt below); /* 0..below-1 */

int my_rank(MPI_Comm comm);
int its_size(MPI_Comm comm);

/* Adds numbers to what the case prints in the end: every bit and the order on each rank count. */
typedef struct digest {
  uint64_t value;
} digest_t;
void digest_int(digest_t *digest, PetscInt value);
void digest_real(digest_t *digest, double value);
PetscErrorCode digest_vec(digest_t *digest, Vec vec);
PetscErrorCode digest_mat(digest_t *digest, Mat mat);

/* Prints name and digest of all ranks together, from the first one of PETSC_COMM_WORLD. Collective. */
PetscErrorCode digest_print(const digest_t *digest, const char *name);

/* Values 0..96 that depend on the global index and the key. */
PetscErrorCode fill_vec(Vec vec, uint64_t key);

#endif
