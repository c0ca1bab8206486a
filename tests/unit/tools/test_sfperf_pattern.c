/* The patterns that sfperf measures: grids, matrices and formulas, checked rank by rank without MPI. */
#include "tools/sfperf/patterns/pattern.h"

#include "shm/base/error.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"
#include "tools/sfperf/patterns/grid.h"
#include "tools/sfperf/patterns/matrix.h"

enum { MAX_RANKS = 8, MAX_ROWS = 40 };

static uint64_t state;

static int random_below(int bound)
{
  return (int)(sftest_random(&state) % (unsigned)bound);
}

static void start_random(void)
{
  state = sftest_seed(20240607);
}

static void free_all(sfperf_pattern_t patterns[], int size)
{
  for (int rank = 0; rank < size; rank++)
    sfperf_pattern_free(&patterns[rank]);
}

/* Leaves are on roots of other ranks that exist, ascending by rank and root. */
static void expect_sorted(const sfperf_pattern_t patterns[], int rank)
{
  const sfperf_pattern_t *mine = &patterns[rank];
  for (int64_t i = 0; i < mine->nleaves; i++) {
    ck_assert_int_ne(mine->root_rank[i], rank);
    ck_assert_int_ge(mine->root_index[i], 0);
    ck_assert_int_lt(mine->root_index[i], patterns[mine->root_rank[i]].nroots);
    if (i > 0 && mine->root_rank[i] == mine->root_rank[i - 1])
      ck_assert_int_gt(mine->root_index[i], mine->root_index[i - 1]);
    else if (i > 0)
      ck_assert_int_gt(mine->root_rank[i], mine->root_rank[i - 1]);
  }
}

/* ---- Grids ------------------------------------------------------------------------------------------------------- */

static void make_grids(const sfperf_grid_t *grid, int size, sfperf_pattern_t patterns[])
{
  for (int rank = 0; rank < size; rank++)
    sfperf_pattern_grid(rank, size, grid, &patterns[rank]);
}

SFTEST(slabs_share_one_plane)
{
  sfperf_pattern_t patterns[2];
  for (int stencil = 7; stencil <= 27; stencil += 20) {
    make_grids(&(sfperf_grid_t){{100, 100, 100}, stencil, SFPERF_SLABS}, 2, patterns);
    for (int rank = 0; rank < 2; rank++) {
      ck_assert_int_eq(patterns[rank].nroots, 500000);
      ck_assert_int_eq(patterns[rank].nleaves, 10000);
      for (int i = 0; i < 10000; i++) {
        ck_assert_int_eq(patterns[rank].root_rank[i], 1 - rank);
        ck_assert_int_eq(patterns[rank].root_index[i], rank == 0 ? i : 490000 + i);
      }
    }
    free_all(patterns, 2);
  }
}

SFTEST(boxes_of_a_cube_have_halos)
{
  sfperf_pattern_t patterns[8];
  make_grids(&(sfperf_grid_t){{4, 4, 4}, 27, SFPERF_RCB}, 8, patterns);
  for (int rank = 0; rank < 8; rank++) {
    ck_assert_int_eq(patterns[rank].nroots, 8);
    ck_assert_int_eq(patterns[rank].nleaves, 27 - 8);
  }
  free_all(patterns, 8);
  make_grids(&(sfperf_grid_t){{4, 4, 4}, 7, SFPERF_RCB}, 8, patterns);
  for (int rank = 0; rank < 8; rank++)
    ck_assert_int_eq(patterns[rank].nleaves, 3 * 4);
  free_all(patterns, 8);
}

static int leaves_on(const sfperf_pattern_t *pattern, int rank)
{
  int count = 0;
  for (int64_t i = 0; i < pattern->nleaves; i++)
    count += pattern->root_rank[i] == rank;
  return count;
}

SFTEST(random_grids_are_consistent)
{
  start_random();
  for (int round = 0; round < 300; round++) {
    int size = 1 + random_below(MAX_RANKS);
    sfperf_grid_t grid = {
        .points = {1 + random_below(7), 1 + random_below(7), 1 + random_below(7)},
        .stencil = random_below(2) ? 7 : 27,
        .partition = random_below(2) ? SFPERF_RCB : SFPERF_SLABS,
    };
    sfperf_pattern_t patterns[MAX_RANKS];
    make_grids(&grid, size, patterns);
    int64_t points = 0;
    for (int rank = 0; rank < size; rank++) {
      points += patterns[rank].nroots;
      expect_sorted(patterns, rank);
      for (int other = 0; other < size; other++) /* stencils are symmetric */
        ck_assert_int_eq(leaves_on(&patterns[rank], other) > 0, leaves_on(&patterns[other], rank) > 0);
    }
    ck_assert_int_eq(points, grid.points[0] * grid.points[1] * grid.points[2]);
    free_all(patterns, size);
  }
}

/* ---- Formulas ---------------------------------------------------------------------------------------------------- */

SFTEST(random_pattern_repeats_and_stays_in_range)
{
  for (int rank = 0; rank < 3; rank++) {
    sfperf_pattern_t first, second;
    sfperf_pattern_random(rank, 3, 1000, &first);
    sfperf_pattern_random(rank, 3, 1000, &second);
    ck_assert_int_eq(first.nroots, 100000);
    ck_assert_mem_eq(first.root_rank, second.root_rank, 1000 * sizeof first.root_rank[0]);
    ck_assert_mem_eq(first.root_index, second.root_index, 1000 * sizeof first.root_index[0]);
    for (int i = 0; i < 1000; i++) {
      ck_assert_int_ne(first.root_rank[i], rank);
      ck_assert_int_lt(first.root_rank[i], 3);
      ck_assert_int_lt(first.root_index[i], first.nroots);
    }
    sfperf_pattern_free(&first);
    sfperf_pattern_free(&second);
  }
}

SFTEST(pair_and_contiguous_are_in_order)
{
  sfperf_pattern_t pattern;
  sfperf_pattern_pair(0, 5, &pattern);
  ck_assert(pattern.nroots == 5 && pattern.nleaves == 0);
  sfperf_pattern_free(&pattern);
  sfperf_pattern_pair(1, 5, &pattern);
  ck_assert(pattern.nroots == 0 && pattern.nleaves == 5 && pattern.root_rank[4] == 0 && pattern.root_index[4] == 4);
  sfperf_pattern_free(&pattern);
  sfperf_pattern_contiguous(2, 3, 5, &pattern);
  ck_assert(pattern.nroots == 500 && pattern.nleaves == 5 && pattern.root_rank[4] == 0 && pattern.root_index[4] == 4);
  sfperf_pattern_free(&pattern);
}

/* ---- Matrices ---------------------------------------------------------------------------------------------------- */

static sf_status_t read_text(int rank, int size, const char *text, sfperf_pattern_t *pattern_p)
{
  FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
  sf_status_t status = sfperf_pattern_matrix(rank, size, file, pattern_p);
  fclose(file);
  return status;
}

/* Writes a random matrix; entry[i][j]: row i has an entry in column j. */
static char *random_matrix(int rows, bool symmetric, bool entry[MAX_ROWS][MAX_ROWS])
{
  char *text;
  size_t len;
  FILE *file = open_memstream(&text, &len);
  int entries = random_below(3 * rows);
  fprintf(file, "%%%%MatrixMarket matrix coordinate real %s\n%% comment\n\n%d %d %d\n",
          symmetric ? "symmetric" : "general", rows, rows, entries);
  for (int k = 0; k < entries; k++) {
    int i = random_below(rows), j = symmetric ? random_below(i + 1) : random_below(rows);
    fprintf(file, "%d %d %g\n", i + 1, j + 1, 0.5 * k);
    entry[i][j] = true;
    entry[j][i] = entry[j][i] || symmetric;
  }
  fclose(file);
  return text;
}

/* Whether some row of first..last-1 has an entry in the column. */
static bool touches(bool entry[MAX_ROWS][MAX_ROWS], int first, int last, int column)
{
  for (int row = first; row < last; row++)
    if (entry[row][column])
      return true;
  return false;
}

static void expect_columns(bool entry[MAX_ROWS][MAX_ROWS], int rows, int size, int rank,
                           const sfperf_pattern_t *pattern)
{
  int first = rows * rank / size, last = rows * (rank + 1) / size;
  int64_t leaf = 0;
  ck_assert_int_eq(pattern->nroots, last - first);
  for (int owner = 0; owner < size; owner++)
    for (int column = rows * owner / size; column < rows * (owner + 1) / size; column++) {
      if (owner == rank || !touches(entry, first, last, column))
        continue;
      ck_assert_int_lt(leaf, pattern->nleaves);
      ck_assert_int_eq(pattern->root_rank[leaf], owner);
      ck_assert_int_eq(pattern->root_index[leaf], column - rows * owner / size);
      leaf++;
    }
  ck_assert_int_eq(leaf, pattern->nleaves);
}

SFTEST(matrices_give_their_off_diagonal_columns)
{
  start_random();
  for (int round = 0; round < 300; round++) {
    bool entry[MAX_ROWS][MAX_ROWS] = {0};
    int rows = 1 + random_below(MAX_ROWS), size = 1 + random_below(MAX_RANKS);
    char *text = random_matrix(rows, random_below(2), entry);
    for (int rank = 0; rank < size; rank++) {
      sfperf_pattern_t pattern;
      ck_assert_msg(read_text(rank, size, text, &pattern) == SF_OK, "%s\n%s", sfshm_error_detail(), text);
      expect_columns(entry, rows, size, rank, &pattern);
      sfperf_pattern_free(&pattern);
    }
    free(text);
  }
}

SFTEST(bad_matrices_are_refused_with_the_line)
{
#define HEADER "%%MatrixMarket matrix coordinate real general\n"
  const struct {
    const char *text;
    const char *detail;
  } bad[] = {
      {"3 3 1\n1 1 1\n", "line 1: expected %%MatrixMarket"},
      {"%%MatrixMarket matrix array real general\n3 3\n", "line 1: expected %%MatrixMarket"},
      {HEADER, "line 2: expected three numbers"},
      {HEADER "% c\n3 3\n", "line 3: expected three numbers"},
      {HEADER "3 4 1\n1 1 1\n", "line 2: expected a square"},
      {HEADER "0 0 0\n", "line 2: expected a square"},
      {HEADER "3 3 2\n1 1 1\n", "line 4: the file ends after 1 of 2"},
      {HEADER "3 3 1\n1 4 1\n", "line 3: expected a row and a column"},
      {HEADER "3 3 1\n0 1 1\n", "line 3: expected a row and a column"},
      {HEADER "3 3 1\n1 1.5 1\n", "line 3: expected a row and a column"},
      {HEADER "3 3 1\n99999999999999999999 1 1\n", "line 3: expected a row and a column"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    sfperf_pattern_t pattern;
    ck_assert_int_eq(read_text(0, 2, bad[i].text, &pattern), SF_ERR_ARG);
    ck_assert_msg(strstr(sfshm_error_detail(), bad[i].detail), "\"%s\" is not in \"%s\"", bad[i].detail,
                  sfshm_error_detail());
  }
}

SFTEST(overlapping_neighbourhoods_share_roots)
{
  enum { RANKS = 4, ROOTS = 1000 };
  sfperf_pattern_t patterns[RANKS];
  int wanted[RANKS][ROOTS] = {{0}};
  for (int rank = 0; rank < RANKS; rank++)
    sfperf_pattern_overlapping(rank, RANKS, ROOTS, &patterns[rank]);
  for (int rank = 0; rank < RANKS; rank++) {
    expect_sorted(patterns, rank);
    ck_assert_int_eq(patterns[rank].nroots, ROOTS);
    ck_assert_int_gt(patterns[rank].nleaves, 1300); /* half of 3 times 1000, by chance */
    ck_assert_int_lt(patterns[rank].nleaves, 1700);
    for (int64_t i = 0; i < patterns[rank].nleaves; i++)
      wanted[patterns[rank].root_rank[i]][patterns[rank].root_index[i]]++;
  }
  int shared = 0;
  for (int i = 0; i < ROOTS; i++)
    shared += wanted[0][i] > 1;
  ck_assert_int_gt(shared, ROOTS / 3); /* half of them, by chance */
  free_all(patterns, RANKS);
}

SFTEST(incast_leads_to_the_first_node)
{
  enum { RANKS = 5, ROOTS = 3 };
  const int node_of_rank[RANKS] = {0, 1, 0, 2, 1};
  sfperf_pattern_t patterns[RANKS];
  for (int rank = 0; rank < RANKS; rank++)
    sfperf_pattern_incast(rank, RANKS, node_of_rank, ROOTS, &patterns[rank]);
  for (int rank = 0; rank < RANKS; rank++) {
    bool receives = node_of_rank[rank] == 0;
    expect_sorted(patterns, rank);
    ck_assert_int_eq(patterns[rank].nroots, receives ? 0 : ROOTS);
    ck_assert_int_eq(patterns[rank].nleaves, receives ? 3 * ROOTS : 0); /* from ranks 1, 3 and 4 */
  }
  free_all(patterns, RANKS);
}
