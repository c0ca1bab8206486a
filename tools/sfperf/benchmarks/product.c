/* product: C = C + op(A) op(B) for square matrices of which each rank has a block, op being the matrix or its
 * transpose. All ranks draw tiles of C from a shared counter, get the tiles of A and B that each needs, multiply them,
 * and add the sum to C. Runs in each rank's only thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sfperf/benchmarks/job.h"
#include "tools/sfperf/contenders/ga.h"
#include "tools/sfperf/contenders/tiles.h"
#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/record.h"
#include "tools/sfperf/results/report.h"

enum { METHODS = 3, A = 0, B, C, MATRICES, WIDTH = 4, STRIP = 2 * WIDTH, EXIT_USAGE = 2 };

typedef double numbers_t __attribute__((vector_size(WIDTH * sizeof(double)), aligned(8)));

typedef struct side {
  const sfperf_tiles_method_t *method;
  const sfperf_tiles_t *tiles; /* of the three matrices, with a buffer for each */
  void *state[MATRICES];
  bool transposed[MATRICES]; /* of A and B */
  double *turned;            /* buffer for a transposed tile */
  int64_t ndrawn;            /* numbers that all ranks have drawn in earlier products */
  int64_t nproducts;         /* that C has */
} side_t;

/* ---- One product ------------------------------------------------------------------------------------------------- */

/* c += a b, for tiles of edge x edge elements. Four rows and a strip of columns at a time stay in registers. */
static __attribute__((target_clones("avx2", "default"))) void multiply(int64_t edge, const double *a, const double *b,
                                                                       double *c)
{
  for (int64_t j = 0; j < edge; j += STRIP)
    for (int64_t i = 0; i < edge; i += 4) {
      numbers_t sum[4][2] = {{{0}}};
      for (int64_t l = 0; l < edge; l++) {
        const numbers_t *row = (const void *)(b + l * edge + j);
        for (int k = 0; k < 4; k++) {
          double factor = a[(i + k) * edge + l];
          sum[k][0] += factor * row[0];
          sum[k][1] += factor * row[1];
        }
      }
      for (int k = 0; k < 4; k++) {
        numbers_t *row = (void *)(c + (i + k) * edge + j);
        row[0] += sum[k][0];
        row[1] += sum[k][1];
      }
    }
}

/* Gets tile (i, j) of op(matrix), and transposes it if necessary. */
static const double *get_tile(side_t *side, int matrix, int64_t i, int64_t j)
{
  const sfperf_tiles_t *tiles = &side->tiles[matrix];
  const int64_t edge = tiles->edge, across = tiles->extent / edge;
  if (!side->transposed[matrix]) {
    side->method->get(side->state[matrix], i * across + j);
    return tiles->result;
  }
  double *turned = side->turned + matrix * edge * edge;
  side->method->get(side->state[matrix], j * across + i);
  for (int64_t row = 0; row < edge; row++)
    for (int64_t column = 0; column < edge; column++)
      turned[column * edge + row] = tiles->result[row * edge + column];
  return turned;
}

static void do_task(side_t *side, int64_t task)
{
  const sfperf_tiles_t *tiles = &side->tiles[C];
  const int64_t edge = tiles->edge, across = tiles->extent / edge;
  memset(tiles->values, 0, (size_t)(edge * edge) * sizeof(double));
  for (int64_t l = 0; l < across; l++) {
    const double *a = get_tile(side, A, task / across, l);
    multiply(edge, a, get_tile(side, B, l, task % across), tiles->values);
  }
  side->method->acc(side->state[C], task);
}

static double run(void *opaque, int64_t iterations)
{
  side_t *side = opaque;
  const sfperf_tiles_t *tiles = &side->tiles[C];
  const int64_t across = tiles->extent / tiles->edge, ntasks = across * across;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    for (;;) {
      int64_t task = side->method->draw(side->state[C]) - side->ndrawn;
      if (task >= ntasks)
        break;
      do_task(side, task);
    }
    side->ndrawn += ntasks + tiles->size; /* each rank draws one number that is no task */
    side->method->sync(side->state[C]);
  }
  side->nproducts += iterations;
  return sfperf_now() - start;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* Small integers, whose sums are exact. */
static double value_of(int matrix, int64_t i, int64_t j)
{
  return (double)((matrix + 3 * i + 5 * j) % 7 - 3);
}

static void fill(const side_t *side, int matrix)
{
  const sfperf_tiles_t *tiles = &side->tiles[matrix];
  const int64_t edge = tiles->edge, across = tiles->extent / edge;
  for (int64_t number = tiles->rank; number < across * across; number += tiles->size) {
    for (int64_t i = 0; i < edge * edge; i++)
      tiles->values[i] = value_of(matrix, number / across * edge + i / edge, number % across * edge + i % edge);
    side->method->acc(side->state[matrix], number);
  }
  side->method->sync(side->state[matrix]);
}

/* Compares the diagonal of one tile of each rank with a serial product. */
static void check(const side_t *side)
{
  const sfperf_tiles_t *tiles = &side->tiles[C];
  const int64_t edge = tiles->edge, across = tiles->extent / edge, number = tiles->rank % (across * across);
  side->method->get(side->state[C], number);
  for (int64_t k = 0; k < edge; k++) {
    int64_t i = number / across * edge + k, j = number % across * edge + k;
    double sum = 0;
    for (int64_t l = 0; l < tiles->extent; l++)
      sum += (side->transposed[A] ? value_of(A, l, i) : value_of(A, i, l)) *
             (side->transposed[B] ? value_of(B, j, l) : value_of(B, l, j));
    if (tiles->result[k * edge + k] != (double)side->nproducts * sum)
      sfperf_fail("%s: element (%lld, %lld) of %lld products is %g, expected %g each", side->method->name, (long long)i,
                  (long long)j, (long long)side->nproducts, tiles->result[k * edge + k], sum);
  }
  side->method->sync(side->state[C]);
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

static void measure_case(const sfperf_job_t *job, sfperf_report_t *report, const sfperf_tiles_t tiles[MATRICES],
                         int form)
{
  const sfperf_tiles_method_t *const methods[METHODS] = {&sfperf_tiles_array, &sfperf_tiles_mpi, sfperf_tiles_ga};
  const int count = sfperf_tiles_ga != NULL ? METHODS : METHODS - 1;
  char name[SFPERF_NAME_LEN];
  sfperf_contender_t contenders[METHODS];
  side_t sides[METHODS];
  snprintf(name, sizeof name, "%lld-%c%c", (long long)tiles->extent, form & 2 ? 'T' : 'N', form & 1 ? 'T' : 'N');
  double *turned = sfperf_malloc((size_t)(2 * tiles->edge * tiles->edge) * sizeof *turned);
  for (int c = 0; c < count; c++) {
    sides[c] =
        (side_t){.method = methods[c], .tiles = tiles, .turned = turned, .transposed = {(form & 2) != 0, form & 1}};
    for (int matrix = A; matrix < MATRICES; matrix++)
      sides[c].state[matrix] = methods[c]->create(&tiles[matrix]);
    fill(&sides[c], A);
    fill(&sides[c], B);
    contenders[c] = (sfperf_contender_t){.name = methods[c]->name, .run = run, .state = &sides[c], .operations = 1};
  }
  sfperf_measure(&job->options->measure, contenders, count);
  for (int c = 0; c < count; c++) {
    check(&sides[c]);
    for (int matrix = A; matrix < MATRICES; matrix++)
      methods[c]->destroy(sides[c].state[matrix]);
  }
  free(turned);
  sfperf_report_measured(report, name, "product", 3 * tiles->extent * tiles->extent * 8, contenders, count);
}

static void measure_forms(const sfperf_job_t *job, sfperf_report_t *report, int64_t ntasks)
{
  sfperf_tiles_t tiles[MATRICES];
  for (int matrix = A; matrix < MATRICES; matrix++)
    sfperf_tiles_init(&tiles[matrix], job->context, job->options->extent, ntasks, true);
  if (tiles->edge % STRIP != 0)
    sfperf_fail_all(EXIT_USAGE, "tiles of %lld rows: a multiple of %d expected", (long long)tiles->edge, STRIP);
  for (int form = 0; form < 4; form++)
    measure_case(job, report, tiles, form);
  for (int matrix = A; matrix < MATRICES; matrix++)
    sfperf_tiles_free(&tiles[matrix]);
}

void sfperf_product(const sfperf_job_t *job)
{
  const sfperf_list_t *tasks = &job->options->tasks;
  sfperf_report_t report = sfperf_report_of(job, "product");
  sfperf_report_start(
      &report, "products of distributed matrices by tiles from a shared counter, by transposed operands", job->machine);
  if (sfperf_ga_note != NULL)
    sfperf_report_note(&report, sfperf_ga_note);
  sfperf_ga_start();
  for (int i = 0; i < tasks->n; i++)
    measure_forms(job, &report, tasks->at[i]);
  sfperf_ga_stop();
}
