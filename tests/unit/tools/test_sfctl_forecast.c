/* Forecasts of grids and matrices, compared with a serial count of who needs what; and files that make no sense. */
#include "tools/sfctl/plan/forecast.h"

#include "shm/base/error.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"
#include "tools/sfctl/plan/grid.h"
#include "tools/sfctl/plan/mtx.h"

#define MAX_POINTS 400
#define MAX_RANKS 12

static unsigned seed;
static uint64_t state;

static int64_t below(int64_t n)
{
  return (int64_t)sftest_random(&state) % n;
}

static void start_random(void)
{
  seed = sftest_seed(20261102);
  state = seed;
}

/* ---- A serial count ---- */

/* Point p is rank owner[p]'s; needs[r][p]: rank r has a leaf on it. */
typedef struct truth {
  int64_t n;
  int32_t nranks, nnodes;
  bool cyclic;
  int32_t per_node;
  int32_t owner[MAX_POINTS];
  bool needs[MAX_RANKS][MAX_POINTS];
} truth_t;

static truth_t truth;

static int32_t node_of(int32_t rank)
{
  return truth.cyclic ? rank % truth.nnodes : rank / truth.per_node;
}

static sfctl_node_pair_t count_pair(int32_t from, int32_t to)
{
  sfctl_node_pair_t pair = {.from = from, .to = to};
  for (int64_t p = 0; p < truth.n; p++) {
    bool wanted = false;
    for (int32_t r = 0; r < truth.nranks && node_of(truth.owner[p]) == from; r++) {
      bool wants = node_of(r) == to && truth.needs[r][p] && truth.owner[p] != r;
      pair.flat.values += wants;
      wanted = wanted || wants;
    }
    pair.coalesced.values += wanted;
  }
  for (int32_t o = 0; o < truth.nranks; o++)
    for (int32_t r = 0; r < truth.nranks; r++) {
      bool any = false;
      for (int64_t p = 0; p < truth.n; p++)
        any = any || (truth.owner[p] == o && r != o && truth.needs[r][p]);
      pair.flat.messages += any && node_of(o) == from && node_of(r) == to;
    }
  pair.coalesced.messages = pair.flat.messages > 0;
  return pair;
}

static void expect_load(const sfctl_load_t *found, const sfctl_load_t *expected, const char *what)
{
  ck_assert_msg(found->messages == expected->messages && found->values == expected->values,
                "%s: %lld messages of %lld values, expected %lld of %lld (SF_TEST_SEED=%u)", what,
                (long long)found->messages, (long long)found->values, (long long)expected->messages,
                (long long)expected->values, seed);
}

static void compare(const sfctl_problem_t *problem)
{
  sfctl_forecast_t forecast;
  size_t next = 0;
  ck_assert_int_eq(sfctl_forecast_make(problem, &forecast), SF_OK);
  ck_assert_int_eq(forecast.nnodes, truth.nnodes);
  for (int32_t to = 0; to < truth.nnodes; to++)
    for (int32_t from = 0; from < truth.nnodes; from++) {
      sfctl_node_pair_t expected = count_pair(from, to);
      if (from == to) {
        expect_load(&forecast.nodes[to].within, &expected.flat, "within");
        continue;
      }
      if (expected.flat.messages == 0)
        continue;
      ck_assert_msg(next < forecast.npairs && forecast.pairs[next].from == from && forecast.pairs[next].to == to,
                    "pair %d -> %d is missing (SF_TEST_SEED=%u)", from, to, seed);
      expect_load(&forecast.pairs[next].flat, &expected.flat, "flat");
      expect_load(&forecast.pairs[next].coalesced, &expected.coalesced, "coalesced");
      next++;
    }
  ck_assert_uint_eq(next, forecast.npairs);
  sfctl_forecast_free(&forecast);
}

static sfctl_problem_t any_problem(void)
{
  memset(&truth, 0, sizeof truth);
  truth.nranks = (int32_t)below(MAX_RANKS) + 1;
  truth.per_node = (int32_t)below(truth.nranks) + 1;
  truth.cyclic = below(2) != 0;
  truth.nnodes = (truth.nranks + truth.per_node - 1) / truth.per_node;
  return (sfctl_problem_t){.nranks = truth.nranks, .per_node = truth.per_node, .cyclic = truth.cyclic};
}

static int32_t block_of(int64_t n, int32_t nblocks, int64_t i)
{
  int32_t block = 0;
  while (n * (block + 1) / nblocks <= i)
    block++;
  return block;
}

/* ---- Grids ---- */

static sf_status_t wants_of_grid(const void *context, int32_t rank, sfctl_wants_t *wants)
{
  return sfctl_grid_wants(context, rank, wants);
}

static void count_grid(const sfctl_grid_t *grid)
{
  const int64_t *n = grid->points;
  truth.n = n[0] * n[1] * n[2];
  for (int64_t p = 0; p < truth.n; p++)
    truth.owner[p] = block_of(truth.n, truth.nranks, p);
  for (int64_t p = 0; p < truth.n; p++)
    for (int64_t q = 0; q < truth.n; q++) {
      int64_t dx = llabs(p % n[0] - q % n[0]), dy = llabs(p / n[0] % n[1] - q / n[0] % n[1]),
              dz = llabs(p / n[0] / n[1] - q / n[0] / n[1]);
      bool near = dx <= 1 && dy <= 1 && dz <= 1 && (grid->corners || dx + dy + dz <= 1);
      if (near)
        truth.needs[truth.owner[p]][q] = true;
    }
}

SFTEST(grids)
{
  static const int64_t stencils[3][2] = {{3, 3}, {5, 9}, {7, 27}};
  start_random();
  for (int i = 0; i < 60; i++) {
    sfctl_grid_t grid;
    char text[64] = "";
    int ndims = (int)below(3) + 1;
    sfctl_problem_t problem = any_problem();
    for (int d = 0; d < ndims; d++)
      snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", d > 0 ? "x" : "", (int)below(7) + 1);
    ck_assert_int_eq(sfctl_grid_init(text, stencils[ndims - 1][below(2)], problem.nranks, &grid), SF_OK);
    count_grid(&grid);
    problem.wants = wants_of_grid;
    problem.context = &grid;
    compare(&problem);
  }
}

static void expect_bad_grid(const char *text, int64_t stencil, const char *detail)
{
  sfctl_grid_t grid;
  ck_assert_int_eq(sfctl_grid_init(text, stencil, 4, &grid), SF_ERR_ARG);
  ck_assert_msg(strstr(sfshm_error_detail(), detail) != NULL, "%s", sfshm_error_detail());
}

/* In any number of dimensions. */
SFTEST(the_stencil_reaches_across_faces)
{
  static const char *const texts[] = {"8", "8x8", "8x8x8"};
  sfctl_grid_t grid;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    ck_assert_int_eq(sfctl_grid_init(texts[i], 0, 4, &grid), SF_OK);
    ck_assert(!grid.corners);
  }
}

SFTEST(bad_grids)
{
  static const char *const bad[] = {"", "x", "8x", "x8", "8x8x8x8", "0x3", "-1", "8y8", "1048576x1048576x1048576"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    expect_bad_grid(bad[i], 7, "expected points along up to three axes");
  expect_bad_grid("8x8x8", 9, "one of 7 or 27 points");
  expect_bad_grid("8", 7, "a grid of 1 dimension can have one of 3 points");
}

/* ---- Matrices ---- */

static char path[] = "/tmp/sftest-mtx-XXXXXX";

static FILE *create(void)
{
  strcpy(path + strlen(path) - 6, "XXXXXX");
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  return fdopen(fd, "w");
}

static sf_status_t wants_of_matrix(const void *context, int32_t rank, sfctl_wants_t *wants)
{
  return sfctl_mtx_wants(context, rank, wants);
}

static void write_random(FILE *file, int64_t n)
{
  static const char *const kinds[][2] = {
      {"real", "general"}, {"pattern", "symmetric"}, {"complex", "hermitian"}, {"integer", "skew-symmetric"}};
  size_t kind = (size_t)below(4);
  int64_t nentries = below(4 * n);
  fprintf(file, "%%%%MatrixMarket matrix coordinate %s %s\n%% a comment\n\n%lld %lld %lld\n", kinds[kind][0],
          kinds[kind][1], (long long)n, (long long)n, (long long)nentries);
  truth.n = n;
  for (int64_t i = 0; i < n; i++)
    truth.owner[i] = block_of(n, truth.nranks, i);
  for (int64_t e = 0; e < nentries; e++) {
    int64_t row = below(n), column = below(n), value = kind == 1 ? 1 : below(4);
    fprintf(file, "%lld %lld", (long long)row + 1, (long long)column + 1);
    if (kind != 1)
      fprintf(file, " %lld%s", (long long)value, kind == 2 ? " 0.0" : "");
    fprintf(file, "\n");
    if (value != 0)
      truth.needs[truth.owner[row]][column] = true;
    if (value != 0 && kind != 0)
      truth.needs[truth.owner[column]][row] = true;
  }
}

SFTEST(matrices)
{
  start_random();
  for (int i = 0; i < 60; i++) {
    sfctl_mtx_t matrix;
    sfctl_problem_t problem = any_problem();
    FILE *file = create();
    write_random(file, below(100) + 1);
    fclose(file);
    sf_status_t status = sfctl_mtx_read(path, problem.nranks, &matrix);
    unlink(path);
    ck_assert_msg(status == SF_OK, "%s (SF_TEST_SEED=%u)", sfshm_error_detail(), seed);
    problem.wants = wants_of_matrix;
    problem.context = &matrix;
    compare(&problem);
    sfctl_mtx_free(&matrix);
  }
}

static void expect_bad_file(const char *text, const char *detail)
{
  sfctl_mtx_t matrix;
  FILE *file = create();
  fputs(text, file);
  fclose(file);
  sf_status_t status = sfctl_mtx_read(path, 4, &matrix);
  unlink(path);
  ck_assert_int_lt(status, SF_OK);
  ck_assert_msg(strstr(sfshm_error_detail(), detail) != NULL, "\"%s\" is not in \"%s\"", detail, sfshm_error_detail());
}

SFTEST(bad_files)
{
#define HEAD "%%MatrixMarket matrix coordinate real general\n"
  sfctl_mtx_t matrix;
  expect_bad_file("", "not a Matrix Market file");
  expect_bad_file("hello\n", ":1: not a Matrix Market file");
  expect_bad_file("%%MatrixMarket matrix array real general\n", "expected 'matrix coordinate', found 'matrix array'");
  expect_bad_file("%%MatrixMarket matrix coordinate odd general\n", "field 'odd'");
  expect_bad_file("%%MatrixMarket matrix coordinate real odd\n", "symmetry 'odd'");
  expect_bad_file(HEAD, "ends before the line 'rows columns entries'");
  expect_bad_file(HEAD "3 3\n", ":2: expected three whole numbers");
  expect_bad_file(HEAD "0 3 1\n", "can't be");
  expect_bad_file("%%MatrixMarket matrix coordinate real symmetric\n3 4 1\n", "can't be");
  expect_bad_file(HEAD "3 9223372036854775807 1\n", "too many");
  expect_bad_file(HEAD "3 3 2\n1 1 1.0\n", "ends after 1 of 2 entries");
  expect_bad_file(HEAD "3 3 1\n1 1 1.0\n2 2 1.0\n", ":4: more than the 1 entries");
  expect_bad_file(HEAD "3 3 1\n1 4 1.0\n", "entry (1, 4) lies outside");
  expect_bad_file(HEAD "3 3 1\n1 1\n", "expected 'row column' and 1 value");
  expect_bad_file(HEAD "3 3 1\n1 1 1.0 2\n", "expected 'row column' and 1 value");
  expect_bad_file(HEAD "3 3 1\n1 x 1.0\n", "expected 'row column'");
  ck_assert_int_eq(sfctl_mtx_read("/nowhere/m.mtx", 4, &matrix), SF_ERR_SYS);
}
