/* What the cases share, and main: see cases.h. */
#include "tests/petsc/cases.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t mix(uint64_t x)
{
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

PetscInt pick(uint64_t key, PetscInt below)
{
  return (PetscInt)(mix(key) % (uint64_t)below);
}

int my_rank(MPI_Comm comm)
{
  int rank;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int its_size(MPI_Comm comm)
{
  int size;
  MPI_Comm_size(comm, &size);
  return size;
}

void digest_int(digest_t *digest, PetscInt value)
{
  digest->value = mix(digest->value ^ (uint64_t)value);
}

void digest_real(digest_t *digest, double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  digest->value = mix(digest->value ^ bits);
}

PetscErrorCode digest_vec(digest_t *digest, Vec vec)
{
  const PetscScalar *values;
  PetscInt n;
  PetscCall(VecGetLocalSize(vec, &n));
  PetscCall(VecGetArrayRead(vec, &values));
  for (PetscInt i = 0; i < n; i++)
    digest_real(digest, PetscRealPart(values[i]));
  return VecRestoreArrayRead(vec, &values);
}

PetscErrorCode digest_mat(digest_t *digest, Mat mat)
{
  PetscInt first, last, ncols;
  const PetscInt *cols;
  const PetscScalar *values;
  PetscCall(MatGetOwnershipRange(mat, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    PetscCall(MatGetRow(mat, row, &ncols, &cols, &values));
    for (PetscInt k = 0; k < ncols; k++) {
      digest_int(digest, cols[k]);
      digest_real(digest, PetscRealPart(values[k]));
    }
    PetscCall(MatRestoreRow(mat, row, &ncols, &cols, &values));
  }
  return 0;
}

PetscErrorCode digest_print(const digest_t *digest, const char *name)
{
  uint64_t mine = mix(digest->value + (uint64_t)my_rank(PETSC_COMM_WORLD)), all;
  PetscCallMPI(MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, PETSC_COMM_WORLD));
  return PetscPrintf(PETSC_COMM_WORLD, "%s: %016llx\n", name, (unsigned long long)all);
}

PetscErrorCode fill_vec(Vec vec, uint64_t key)
{
  PetscScalar *values;
  PetscInt first, last;
  PetscCall(VecGetOwnershipRange(vec, &first, &last));
  PetscCall(VecGetArray(vec, &values));
  for (PetscInt i = first; i < last; i++)
    values[i - first] = (PetscScalar)pick(key * 1000003 + (uint64_t)i, 97);
  return VecRestoreArray(vec, &values);
}

/* -ask_each COMMAND is done after each case, by one process, with the case's name behind it. */
static PetscErrorCode ask(const char *name)
{
  char command[PETSC_MAX_PATH_LEN], text[PETSC_MAX_PATH_LEN + 32];
  PetscBool wanted;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-ask_each", command, sizeof command, &wanted));
  if (wanted && my_rank(PETSC_COMM_WORLD) == 0) {
    snprintf(text, sizeof text, "%s %s", command, name);
    PetscCheck(system(text) == 0, PETSC_COMM_SELF, PETSC_ERR_SYS, "%s", text);
  }
  if (wanted)
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  return 0;
}

/* -only NAME: that case alone. */
static PetscErrorCode main_cases(void)
{
  static const struct {
    const char *name;
    PetscErrorCode (*run)(void);
  } cases[] = {{"scatter", case_scatter}, {"routines", case_routines}, {"matrix", case_matrix},
               {"grid", case_grid},       {"mesh", case_mesh},         {"forest", case_forest},
               {"algebra", case_algebra}, {"comms", case_comms},       {"types", case_types}};
  char only[32];
  PetscBool alone;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof only, &alone));
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (alone && strcmp(only, cases[i].name) != 0)
      continue;
    PetscCall(cases[i].run());
    PetscCall(ask(cases[i].name));
  }
  return 0;
}

/* PETSc on the first half of the processes, before it is used on all. */
static PetscErrorCode use_half(int *argc, char ***argv)
{
  int rank = my_rank(MPI_COMM_WORLD), size = its_size(MPI_COMM_WORLD);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, rank, &half);
  if (rank < size / 2) {
    PETSC_COMM_WORLD = half;
    PetscCall(PetscInitialize(argc, argv, NULL, NULL));
    PetscCall(case_comms());
    PetscCall(PetscFinalize());
  }
  MPI_Comm_free(&half);
  PETSC_COMM_WORLD = MPI_COMM_WORLD;
  return 0;
}

static bool has_option(int argc, char **argv, const char *option)
{
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], option) == 0)
      return true;
  return false;
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  bool half_first = has_option(argc, argv, "-half_first");
  if (half_first)
    PetscCall(use_half(&argc, &argv));
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(half_first ? case_comms() : main_cases());
  PetscCall(PetscFinalize());
  MPI_Finalize();
  return 0;
}
