/* Products with random matrices, which need ghost values, and those of matrices, which need rows. */
#include "tests/petsc/cases.h"

#define ROWS 240

/* About `width` entries in each row, at random places, and a diagonal. */
static PetscErrorCode make_matrix(MatType type, PetscInt bs, PetscInt columns, PetscInt width, uint64_t key, Mat *mat_p)
{
  PetscInt first, last;
  PetscCall(MatCreate(PETSC_COMM_WORLD, mat_p));
  PetscCall(MatSetSizes(*mat_p, PETSC_DECIDE, PETSC_DECIDE, ROWS, columns));
  PetscCall(MatSetType(*mat_p, type));
  PetscCall(MatSetBlockSize(*mat_p, bs));
  PetscCall(MatSetUp(*mat_p));
  PetscCall(MatSetOption(*mat_p, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscBool symmetric;
  PetscCall(PetscObjectTypeCompare((PetscObject)*mat_p, MATMPISBAIJ, &symmetric));
  if (symmetric)
    PetscCall(MatSetOption(*mat_p, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  PetscCall(MatGetOwnershipRange(*mat_p, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    if (row < columns)
      PetscCall(MatSetValue(*mat_p, row, row, 50, INSERT_VALUES));
    for (PetscInt k = 0; k < width; k++) {
      uint64_t place = key << 40 | (uint64_t)row << 8 | (uint64_t)k;
      PetscInt column = pick(place, columns);
      if (column != row)
        PetscCall(MatSetValue(*mat_p, row, column, (PetscScalar)(1 + pick(place ^ 77, 5)), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*mat_p, MAT_FINAL_ASSEMBLY));
  return MatAssemblyEnd(*mat_p, MAT_FINAL_ASSEMBLY);
}

static PetscErrorCode multiply(const char *name, Mat mat)
{
  digest_t digest = {0};
  Vec x, y, z;
  PetscCall(MatCreateVecs(mat, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  for (uint64_t round = 0; round < ROUNDS; round++) {
    PetscCall(fill_vec(x, round));
    PetscCall(MatMult(mat, x, y));
    PetscCall(digest_vec(&digest, y));
    PetscCall(MatMultAdd(mat, x, y, z));
    PetscCall(digest_vec(&digest, z));
    PetscCall(fill_vec(y, round + 100));
    PetscCall(MatMultTranspose(mat, y, x));
    PetscCall(digest_vec(&digest, x));
    PetscCall(MatMultTransposeAdd(mat, y, x, x));
    PetscCall(digest_vec(&digest, x));
  }
  PetscCall(digest_print(&digest, name));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  return VecDestroy(&z);
}

static PetscErrorCode multiply_types(void)
{
  static const struct {
    const char *name;
    MatType type;
    PetscInt bs;
  } types[] = {{"aij", MATMPIAIJ, 1}, {"baij", MATMPIBAIJ, 3}, {"sbaij", MATMPISBAIJ, 1}};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    Mat mat, copy;
    PetscCall(make_matrix(types[i].type, types[i].bs, ROWS, 9, i, &mat));
    PetscCall(multiply(types[i].name, mat));
    PetscCall(MatDuplicate(mat, MAT_COPY_VALUES, &copy));
    PetscCall(MatScale(copy, 2));
    PetscCall(multiply("its copy", copy));
    PetscCall(MatDestroy(&copy));
    PetscCall(MatDestroy(&mat));
  }
  return 0;
}

static PetscErrorCode print_product(const char *name, Mat *product)
{
  digest_t digest = {0};
  PetscCall(digest_mat(&digest, *product));
  PetscCall(digest_print(&digest, name));
  return MatDestroy(product);
}

static PetscErrorCode multiply_matrices(void)
{
  Mat a, b, c, product;
  PetscCall(make_matrix(MATMPIAIJ, 1, ROWS, 6, 11, &a));
  PetscCall(make_matrix(MATMPIAIJ, 1, ROWS / 2, 3, 12, &b));
  PetscCall(make_matrix(MATMPIAIJ, 1, ROWS, 2, 13, &c));
  PetscCall(MatMatMult(a, b, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &product));
  PetscCall(MatScale(a, 3));
  PetscCall(MatMatMult(a, b, MAT_REUSE_MATRIX, PETSC_DEFAULT, &product));
  PetscCall(print_product("A B", &product));
  PetscCall(MatMatMatMult(c, a, b, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &product));
  PetscCall(print_product("C A B", &product));
  PetscCall(MatTransposeMatMult(a, b, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &product));
  PetscCall(print_product("A' B", &product));
  PetscCall(MatPtAP(a, b, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &product));
  PetscCall(MatPtAP(a, b, MAT_REUSE_MATRIX, PETSC_DEFAULT, &product));
  PetscCall(print_product("B' A B", &product));
  PetscCall(MatTranspose(a, MAT_INITIAL_MATRIX, &product));
  PetscCall(print_product("A'", &product));
  PetscCall(MatDestroy(&a));
  PetscCall(MatDestroy(&b));
  return MatDestroy(&c);
}

/* A part of the rows and columns, and parts for each process. */
static PetscErrorCode extract(void)
{
  Mat a, part, *own;
  IS rows;
  PetscInt first, last;
  digest_t digest = {0};
  PetscCall(make_matrix(MATMPIAIJ, 1, ROWS, 8, 21, &a));
  PetscCall(MatGetOwnershipRange(a, &first, &last));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, (last - first) / 2, first, 2, &rows));
  PetscCall(MatCreateSubMatrix(a, rows, rows, MAT_INITIAL_MATRIX, &part));
  PetscCall(multiply("submatrix", part));
  PetscCall(MatDestroy(&part));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, 40, 3 + 5 * my_rank(PETSC_COMM_WORLD), 1, &rows));
  PetscCall(MatIncreaseOverlap(a, 1, &rows, 1));
  PetscCall(ISSort(rows)); /* else the order is that of arrival */
  PetscCall(MatCreateSubMatrices(a, 1, &rows, &rows, MAT_INITIAL_MATRIX, &own));
  PetscCall(digest_mat(&digest, own[0]));
  PetscCall(digest_print(&digest, "with overlap"));
  PetscCall(MatDestroySubMatrices(1, &own));
  PetscCall(ISDestroy(&rows));
  return MatDestroy(&a);
}

/* As many iterations, and the same solution up to what is told. */
static PetscErrorCode solve(const char *name, KSPType type, PCType preconditioner)
{
  Mat a;
  Vec x, b;
  KSP ksp;
  PC pc;
  PetscInt iterations;
  PetscReal norm;
  PetscCall(make_matrix(MATMPIAIJ, 1, ROWS, 4, 31, &a));
  PetscCall(MatCreateVecs(a, &x, &b));
  PetscCall(fill_vec(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, a, a));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, preconditioner));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " iterations, |x| = %.8g\n", name, iterations, norm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  return MatDestroy(&a);
}

PetscErrorCode case_matrix(void)
{
  PetscCall(multiply_types());
  PetscCall(multiply_matrices());
  PetscCall(extract());
  PetscCall(solve("gmres, jacobi", KSPGMRES, PCJACOBI));
  PetscCall(solve("bicg, none", KSPBICG, PCNONE));
  return solve("gmres, asm", KSPGMRES, PCASM);
}
