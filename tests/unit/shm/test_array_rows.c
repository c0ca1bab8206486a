/* Copies of rows of any length and position, and quotients by inverses. */
#include "shm/array/distribution.h"
#include "shm/array/transfer.h"

#include "tests/unit/runner.h"

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

#define ROWS 3
#define ROOM 4300 /* of a row */

static char from[ROWS * ROOM + 64], to[ROWS * ROOM + 64], expected[sizeof to];

static void try_rows(size_t bytes, size_t position, int64_t nrows)
{
  int64_t from_step = (int64_t)bytes + 3, to_step = (int64_t)bytes + 13;
  memset(to, -1, sizeof to);
  memset(expected, -1, sizeof expected);
  for (int64_t row = 0; row < nrows; row++)
    for (size_t i = 0; i < bytes; i++)
      expected[position + (size_t)(row * to_step) + i] = from[2 * position + (size_t)(row * from_step) + i];
  sfshm_array_copy_rows(to + position, to_step, from + 2 * position, from_step, nrows, bytes);
  ck_assert_msg(memcmp(to, expected, sizeof to) == 0, "%d rows of %zu bytes from byte %zu on", (int)nrows, bytes,
                position);
}

SFTEST(rows)
{
  for (size_t i = 0; i < sizeof from; i++)
    from[i] = (char)(i * 37 % 113);
  for (size_t bytes = 0; bytes <= 300; bytes++)
    for (size_t position = 0; position < 3; position++)
      for (int64_t nrows = 0; nrows <= ROWS; nrows++)
        try_rows(bytes, position, nrows);
  for (size_t bytes = 4094; bytes < 4100; bytes++)
    try_rows(bytes, 1, ROWS);
}

/* ---- Quotients --------------------------------------------------------------------------------------------------- */

static void try_quotient(int64_t a, int64_t b)
{
  ck_assert_int_eq(sfshm_array_quotient(a, b, sfshm_array_inverse(b)), a / b);
}

/* Multiples of each divisor and their neighbours, up to numbers of more than 32 bits. */
SFTEST(quotients)
{
  const int64_t limit = INT64_C(1) << 33;
  for (int64_t b = 1; b < limit; b = b + b / 3 + 1)
    for (int64_t k = 0; k <= limit / b; k = k + k / 2 + 1)
      for (int64_t a = k * b; a < k * b + 2; a++) {
        try_quotient(a, b);
        try_quotient(a == 0 ? 0 : a - 1, b);
      }
  for (int64_t b = 1; b < 100; b++)
    for (int64_t a = UINT32_MAX - 200; a <= (int64_t)UINT32_MAX + 1; a++)
      try_quotient(a, b);
  try_quotient(INT64_MAX, 1);
  try_quotient(INT64_MAX, INT64_MAX);
}
