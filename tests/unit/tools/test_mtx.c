/* The examples' Matrix Market reader: what it accepts, and what it refuses with which line number. */
#include <limits.h>

#include "docs/examples/common/mtx.h"
#include "tests/unit/runner.h"

#define REAL "%%MatrixMarket matrix coordinate real symmetric\n"
#define GENERAL "%%MatrixMarket matrix coordinate real general\n"
#define INTEGER "%%MatrixMarket matrix coordinate integer symmetric\n"

static char message[512];

/* Reads length bytes as a file. What a refusal says, without the path before the colon, is in message. */
static bool read_bytes(const char *bytes, size_t length, csr_t *matrix_p)
{
  char path[] = "/tmp/test_mtx.XXXXXX";
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
  close(fd);
  message[0] = '\0';
  bool ok = mtx_read(path, matrix_p, message, sizeof message);
  unlink(path);
  if (!ok) {
    ck_assert_msg(strncmp(message, path, strlen(path)) == 0, "'%s' does not begin with the path", message);
    memmove(message, message + strlen(path) + 1, strlen(message) - strlen(path));
  }
  return ok;
}

static csr_t read_good(const char *text)
{
  csr_t matrix;
  ck_assert_msg(read_bytes(text, strlen(text), &matrix), "refused: %s", message);
  return matrix;
}

/* Compares with rows of the full matrix, 0 where there is no entry. */
static void expect_matrix(csr_t matrix, int32_t n, const double *full)
{
  ck_assert_int_eq(matrix.nrows, n);
  for (int32_t row = 0; row < n; row++) {
    double found[8] = {0};
    for (int64_t k = matrix.row_start[row]; k < matrix.row_start[row + 1]; k++) {
      ck_assert(k == matrix.row_start[row] || matrix.column[k] > matrix.column[k - 1]);
      found[matrix.column[k]] = matrix.value[k];
    }
    for (int32_t column = 0; column < n; column++)
      ck_assert_double_eq(found[column], full[row * n + column]);
  }
  csr_free(&matrix);
}

static const double full[] = {4, -1, 0, -1, 5, 2.5, 0, 2.5, 6};

SFTEST(reads_symmetric)
{
  csr_t matrix = read_good(REAL "% a comment\n\n3 3 5\n1 1 4\n2 1 -1\n3 2 2.5\n\n% and one here\n2 2 5.0e0\n3 3 6\n");
  ck_assert_int_eq(csr_nentries(&matrix), 7);
  expect_matrix(matrix, 3, full);
}

SFTEST(reads_general)
{
  expect_matrix(read_good(GENERAL "3 3 7\n3 3 6\n3 2 2.5\n2 3 2.5\n1 1 4\n1 2 -1\n2 2 5\n2 1 -1\n"), 3, full);
}

SFTEST(reads_integer)
{
  static const double integers[] = {2, -1, -1, 2};
  expect_matrix(read_good(INTEGER "2 2 3\n1 1 2\n2 1 -1\n2 2 2\n"), 2, integers);
}

/* Words in any case, carriage returns, tabs, no newline at the end. */
SFTEST(reads_loose_layout)
{
  static const double one[] = {7};
  expect_matrix(read_good("%%matrixmarket MATRIX Coordinate REAL General\r\n%\r\n 1\t1 1 \r\n\t1  1\t7 "), 1, one);
}

SFTEST(leaves_out_zeros_off_the_diagonal)
{
  static const double diagonal[] = {1, 0, 0, 2};
  csr_t matrix = read_good(GENERAL "2 2 3\n1 1 1\n1 2 0\n2 2 2\n");
  ck_assert_int_eq(csr_nentries(&matrix), 2);
  expect_matrix(matrix, 2, diagonal);
}

/* Products of these are no doubles. */
SFTEST(reads_large_and_small)
{
  static const double large[] = {1e200, 9e199, 9e199, 1e200}, small[] = {1e-200, 9e-201, 9e-201, 1e-200};
  expect_matrix(read_good(REAL "2 2 3\n1 1 1e200\n2 1 9e199\n2 2 1e200\n"), 2, large);
  expect_matrix(read_good(REAL "2 2 3\n1 1 1e-200\n2 1 9e-201\n2 2 1e-200\n"), 2, small);
}

static const struct {
  const char *text;
  const char *refusal;
} refused[] = {
    {"", "1: the file is empty"},
    {"1 1 1\n1 1 1\n", "1: not a Matrix Market file"},
    {"%%MatrixMarket matrix coordinate real\n", "1: not a Matrix Market file"},
    {"%%MatrixMarket vector coordinate real general\n", "1: holds a 'vector'"},
    {"%%MatrixMarket matrix array real general\n1 1\n1\n", "1: format 'array'"},
    {"%%MatrixMarket matrix coordinate pattern symmetric\n1 1 1\n1 1\n", "1: field 'pattern'"},
    {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "1: field 'complex'"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n", "1: symmetry 'skew-symmetric'"},
    {"%%MatrixMarket matrix coordinate real hermitian\n", "1: symmetry 'hermitian'"},
    {REAL, "1: the file ends before the line"},
    {REAL "%\n%\n", "3: the file ends before the line"},
    {REAL "2 2\n", "2: expected three whole numbers"},
    {REAL "2 2 2 2\n", "2: expected three whole numbers"},
    {REAL "2 x 2\n", "2: expected three whole numbers"},
    {REAL "99999999999999999999 1 1\n", "2: expected three whole numbers"},
    {REAL "2 3 6\n", "2: 2 rows but 3 columns"},
    {REAL "0 0 0\n", "2: 0 rows"},
    {REAL "-1 -1 0\n", "2: -1 rows"},
    {REAL "2147483647 2147483647 2147483647\n", "2: 2147483647 rows"},
    {REAL "2 2 1\n1 1 1\n", "2: 1 entries for 2 rows"},
    {REAL "2 2 -1\n", "2: -1 entries for 2 rows"},
    {REAL "2 2 3\n1 1 1\n2 2 1\n", "4: the file ends after 2 of 3 entries"},
    {REAL "2000000000 2000000000 9000000000000000000\n1 1 1\n", "3: the file ends after 1 of"},
    {REAL "2 2 2\n1 1 1\n2 2 1\n\n2 1 1\n", "6: more than the promised 2 entries"},
    {REAL "2 2 2\n1 1 1\n3 2 1\n", "4: entry (3, 2) is outside the matrix of 2 rows"},
    {REAL "2 2 2\n1 1 1\n2 0 1\n", "4: entry (2, 0) is outside"},
    {REAL "2 2 2\n1 1 1\n-2 1 1\n", "4: entry (-2, 1) is outside"},
    {REAL "1 1 1\n1\n", "3: expected 'row column value'"},
    {REAL "1 1 1\n1.0 1 1\n", "3: expected 'row column value'"},
    {REAL "1 1 1\n1 1\n", "3: expected one finite real value"},
    {REAL "1 1 1\n1 1 x\n", "3: expected one finite real value"},
    {REAL "1 1 1\n1 1 nan\n", "3: expected one finite real value"},
    {REAL "1 1 1\n1 1 1e999\n", "3: expected one finite real value"},
    {REAL "1 1 1\n1 1 1 1\n", "3: expected one finite real value"},
    {INTEGER "1 1 1\n1 1 1.5\n", "3: expected one integer value"},
    {REAL "1 1 1\n1 1 0\n", "3: diagonal entry 1 is 0"},
    {REAL "2 2 2\n1 1 1\n2 2 -3\n", "4: diagonal entry 2 is -3"},
    {REAL "2 2 2\n1 1 1\n2 1 1\n", "4: the file ends without a diagonal entry in row 2"},
    {REAL "3 3 3\n3 3 1\n1 1 1\n2 1 1\n", "5: the file ends without a diagonal entry in row 2"},
    {REAL "2 2 3\n1 1 1\n1 2 1\n2 2 1\n", "4: entry (1, 2) lies above the diagonal"},
    {REAL "2 2 4\n1 1 1\n2 2 1\n2 1 1\n2 1 1\n", "6: entry (2, 1) was given before, in line 5"},
    {REAL "1 1 2\n1 1 1\n1 1 2\n", "4: entry (1, 1) was given before, in line 3"},
    {GENERAL "2 2 3\n1 1 1\n2 2 1\n1 2 1\n", "5: entry (1, 2) but none at (2, 1)"},
    {GENERAL "2 2 3\n2 1 1\n1 1 1\n2 2 1\n", "3: entry (2, 1) but none at (1, 2)"},
    {GENERAL "3 3 5\n1 1 1\n2 2 1\n3 3 1\n1 3 1\n2 1 1\n", "7: entry (2, 1) but none at (1, 2)"},
    {GENERAL "2 2 4\n1 1 1\n1 2 2\n2 1 3\n2 2 1\n", "5: entries (1, 2) and (2, 1), lines 4 and 5, differ: 2 and 3"},
    {REAL "2 2 3\n1 1 1\n2 1 5\n2 2 1\n", "4: entry (2, 1) is 5, with 1 and 1 on the diagonal"},
    {REAL "3 3 5\n1 1 4\n2 2 1\n3 3 9\n2 1 1.5\n3 2 -3\n", "7: entry (3, 2) is -3, with 9 and 1 on the diagonal"},
    {GENERAL "2 2 4\n1 1 1\n1 2 5\n2 1 5\n2 2 1\n", "5: entry (2, 1) is 5"},
    {INTEGER "2 2 3\n1 1 4\n2 2 1\n2 1 2\n", "5: entry (2, 1) is 2, with 1 and 4 on the diagonal"},
    {REAL "2 2 3\n1 1 1e200\n2 1 1e200\n2 2 1e200\n", "4: entry (2, 1) is 1e+200"},
};

SFTEST_FOR(refuses, (int)(sizeof refused / sizeof refused[0]))
{
  csr_t matrix;
  const char *text = refused[_i].text, *expected = refused[_i].refusal;
  ck_assert_msg(!read_bytes(text, strlen(text), &matrix), "accepted, expected '%s':\n%s", expected, text);
  ck_assert_msg(strncmp(message, expected, strlen(expected)) == 0, "said '%s', expected '%s'", message, expected);
}

SFTEST(refuses_what_cannot_be_read)
{
  csr_t matrix;
  ck_assert(!mtx_read("/nonexistent/a.mtx", &matrix, message, sizeof message));
  ck_assert_str_eq(message, "/nonexistent/a.mtx: No such file or directory");
  ck_assert(!mtx_read("/", &matrix, message, sizeof message));
  ck_assert_str_eq(message, "/:1: Is a directory");
}

/* Every file that begins like a good one and ends early is refused. */
SFTEST(refuses_truncated)
{
  const char *text = GENERAL "2 2 4\n1 1 5\n1 2 2\n2 1 2\n2 2 7\n";
  size_t whole = strlen(text) - strlen("7\n") + 1;
  csr_t matrix;
  for (size_t length = 0; length < whole; length++)
    ck_assert_msg(!read_bytes(text, length, &matrix), "accepted the first %zu bytes", length);
  ck_assert(read_bytes(text, whole, &matrix));
  csr_free(&matrix);
}
