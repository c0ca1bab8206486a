/* Formation of the Fock matrix in a Hartree-Fock program, with made-up integrals: the pattern of communication that
 * figure 7 of S. Ghosh et al., "One-Sided Interface for Matrix Operations using MPI-3 RMA" (ICPP 2016) measures.
 *
 *   sfrun -n 4 -- fock [SIZE]
 *
 * The elements of the density matrix D and of the Fock matrix F are dealt out one by one. Both are symmetric, so a task
 * is a tile on or above the diagonal. Ranks draw tasks from a shared counter, get the tile of D, multiply it by
 * integrals, and add the products to F, on both sides of the diagonal. The work of a task is not known beforehand: a
 * rank with long tasks draws fewer. Each rank gets the tile of its next task while it computes. Values are integers,
 * whose sums are exact. */
#include <mpi.h>
#include <sf/sf.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/job.h"
#include "common/scattered.h"

enum { TILE = 32, PASSES = 3 };

typedef struct fock {
  int64_t size;
  int64_t ntiles; /* along each dimension */
  sf_array_t *D, *F, *counter;
} fock_t;

/* One task: its tile of D, which arrives while another one is computed. */
typedef struct task {
  int64_t lo[2];
  int64_t extent[2];
  double tile[TILE * TILE];
  sf_request_t *request;
} task_t;

static double density(int64_t i, int64_t j)
{
  return (double)(scattered_bits((uint64_t)(i < j ? i * 100003 + j : j * 100003 + i), 1) % 9) - 4;
}

/* The sum of the integrals of a pair: some pairs need many, most need few. */
static double integral(int64_t i, int64_t j)
{
  uint64_t bits = scattered_bits((uint64_t)(i + j), 2), terms = bits % 16 == 0 ? 40 : 2;
  double sum = 0;
  for (uint64_t k = 0; k < terms; k++)
    sum += (double)(scattered_bits((uint64_t)(i * j) + k, bits) % 5) - 2;
  return sum;
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

/* Sets the tile of a task: tiles above the diagonal, row by row. */
static void find_tile(const fock_t *fock, int64_t number, task_t *task)
{
  int64_t row = 0;
  for (; number >= fock->ntiles - row; row++)
    number -= fock->ntiles - row;
  task->lo[0] = row * TILE;
  task->lo[1] = (row + number) * TILE;
  for (int d = 0; d < 2; d++)
    task->extent[d] = fock->size - task->lo[d] < TILE ? fock->size - task->lo[d] : TILE;
}

/* Draws a task and begins to get its tile; false: none is left. */
static bool draw(const fock_t *fock, int64_t pass, task_t *task)
{
  int64_t number;
  must(sf_array_read_inc(fock->counter, &pass, 1, &number), "sf_array_read_inc");
  if (number >= fock->ntiles * (fock->ntiles + 1) / 2)
    return false;
  find_tile(fock, number, task);
  must(sf_array_get_begin(fock->D, task->lo, task->extent, task->tile, NULL, &task->request), "sf_array_get_begin");
  return true;
}

/* Multiplies the tile by the integrals, and adds the products to F. */
static void compute(const fock_t *fock, task_t *task)
{
  static double product[TILE * TILE], transposed[TILE * TILE];
  const int64_t rows = task->extent[0], columns = task->extent[1];
  const int64_t mirrored_lo[] = {task->lo[1], task->lo[0]}, mirrored_extent[] = {columns, rows};
  must(sf_wait(&task->request), "sf_wait");
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      product[i * columns + j] = task->tile[i * columns + j] * integral(task->lo[0] + i, task->lo[1] + j);
      transposed[j * rows + i] = product[i * columns + j];
    }
  must(sf_array_acc(fock->F, task->lo, task->extent, product, NULL, NULL), "sf_array_acc");
  if (task->lo[0] != task->lo[1])
    must(sf_array_acc(fock->F, mirrored_lo, mirrored_extent, transposed, NULL, NULL), "sf_array_acc");
}

/* Adds the products of all tiles to F. Returns the number of this rank's tasks. Collective. */
static int64_t form(const fock_t *fock, int64_t pass)
{
  static task_t tasks[2];
  int64_t ndone = 0;
  for (bool is_left = draw(fock, pass, &tasks[0]); is_left; ndone++) {
    is_left = draw(fock, pass, &tasks[(ndone + 1) % 2]);
    compute(fock, &tasks[ndone % 2]);
  }
  must(sf_array_sync(fock->F), "sf_array_sync");
  return ndone;
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

static fock_t fock_new(const job_t *job, int64_t size)
{
  fock_t fock = {.size = size, .ntiles = (size + TILE - 1) / TILE};
  const int64_t extent[] = {size, size}, passes = PASSES;
  const sf_array_distribution_t elements = {.block = {1, 1}};
  sf_group_t *world = sf_group_world(job->context);
  sf_array_part_t part;
  void *data;
  must(sf_array_create(world, SF_DOUBLE, 2, extent, &elements, &fock.D), "sf_array_create");
  must(sf_array_create(world, SF_DOUBLE, 2, extent, &elements, &fock.F), "sf_array_create");
  must(sf_array_create(world, SF_INT64, 1, &passes, NULL, &fock.counter), "sf_array_create");
  must(sf_array_local(fock.D, &part, &data), "sf_array_local");
  for (int64_t i = 0; i < part.extent[0]; i++)
    for (int64_t j = 0; j < part.extent[1]; j++)
      ((double *)data)[i * part.extent[1] + j] =
          density(part.first[0] + i * part.stride[0], part.first[1] + j * part.stride[1]);
  must(sf_array_sync(fock.D), "sf_array_sync");
  return fock;
}

/* Compares rows of F with those computed in series, each row by some rank. */
static bool compare(const job_t *job, const fock_t *fock, int64_t passes)
{
  bool same = true;
  double *row = array_new(fock->size, sizeof *row);
  for (int64_t i = job->rank; i < fock->size; i += job->size) {
    const int64_t lo[] = {i, 0}, extent[] = {1, fock->size};
    must(sf_array_get(fock->F, lo, extent, row, NULL), "sf_array_get");
    for (int64_t j = 0; j < fock->size; j++)
      same = same && row[j] == (double)passes * density(i, j) * integral(i, j);
  }
  free(row);
  return same;
}

int main(int argc, char *argv[])
{
  MPI_Init(&argc, &argv);
  int64_t size = number_argument(argc, argv, "SIZE", 1, 16384, 500);
  job_t job = job_join();
  fock_t fock = fock_new(&job, size);
  for (int64_t pass = 0; pass < PASSES; pass++) {
    double start = MPI_Wtime();
    double mine = (double)form(&fock, pass), ntasks = (double)(fock.ntiles * (fock.ntiles + 1) / 2);
    double seconds = max_over_ranks(MPI_Wtime() - start);
    check(&job, sum_over_ranks(mine) == ntasks, "pass %d: %g tasks, each drawn once, %g to %g by one rank: %g ms",
          (int)pass, ntasks, -max_over_ranks(-mine), max_over_ranks(mine), 1e3 * seconds);
  }
  check(&job, true_on_all_ranks(compare(&job, &fock, PASSES)), "the matrix is the serial sum");
  must(sf_array_destroy(fock.D), "sf_array_destroy");
  must(sf_array_destroy(fock.F), "sf_array_destroy");
  must(sf_array_destroy(fock.counter), "sf_array_destroy");
  return job_end(&job);
}
