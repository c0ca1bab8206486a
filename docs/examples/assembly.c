/* Residual of a finite-element problem, assembled by reduce from a partition of the cells [SF 3].
 *
 *   sfrun -n 4 -- assembly [CELLS_PER_SIDE]
 *
 * The unit square is cut into squares, and these into two triangles each; -div grad u = 1, with linear elements. Cells
 * are dealt out without overlap, and so are vertices, independently: a rank computes with all vertices of its cells,
 * its local ones, many of which belong to others. Local vertices are the leaves, owned ones the roots of one graph:
 *
 *   u at the local vertices     bcast    from the owners
 *   residual at the owned ones  reduce   of what each rank's cells contribute
 */
#include <math.h>
#include <mpi.h>
#include <sf/sf.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/csr.h"
#include "common/job.h"
#include "common/scattered.h"

#define ROUNDING 1e-12

typedef struct mesh {
  int32_t side;        /* squares on one side */
  int32_t ncells;      /* mine */
  int32_t (*cell)[3];  /* their vertices, as local ones */
  int32_t nlocal;      /* vertices of my cells */
  int64_t *number;     /* of each in the whole mesh, ascending */
  int32_t first, nown; /* the vertices that I own */
  sf_graph_t *graph;   /* roots: owned vertices; leaves: local ones */
} mesh_t;

static int32_t nvertices(int32_t side)
{
  return (side + 1) * (side + 1);
}

/* The vertices of cell c of the whole mesh. Cells are numbered along the rows of squares. */
static void find_vertices(int32_t side, int32_t c, int64_t vertex[3])
{
  int64_t square = c / 2, x = square % side, y = square / side, corner = x + y * (side + 1);
  vertex[0] = c % 2 == 0 ? corner : corner + side + 2;
  vertex[1] = c % 2 == 0 ? corner + 1 : corner + side + 1;
  vertex[2] = c % 2 == 0 ? corner + side + 1 : corner + 1;
}

/* What a cell adds to the residual at its vertices: stiffness times u, minus the load. All cells have right angles at
 * vertex 0 and the same size. */
static void compute_cell(int32_t side, const double u[3], double residual[3])
{
  double load = 1.0 / (6.0 * side * side);
  residual[0] = u[0] - 0.5 * u[1] - 0.5 * u[2] - load;
  residual[1] = 0.5 * (u[1] - u[0]) - load;
  residual[2] = 0.5 * (u[2] - u[0]) - load;
}

static int compare_numbers(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Numbers my cells' vertices, and renames them in the cells. */
static void number_locally(mesh_t *mesh, int32_t first_cell)
{
  int64_t(*vertex)[3] = array_new(mesh->ncells, sizeof *vertex);
  mesh->number = array_new(3 * (int64_t)mesh->ncells, sizeof *mesh->number);
  for (int32_t c = 0; c < mesh->ncells; c++)
    find_vertices(mesh->side, first_cell + c, vertex[c]);
  memcpy(mesh->number, vertex, sizeof *vertex * (size_t)mesh->ncells);
  qsort(mesh->number, 3 * (size_t)mesh->ncells, sizeof *mesh->number, compare_numbers);
  for (int32_t i = 0; i < 3 * mesh->ncells; i++)
    if (mesh->nlocal == 0 || mesh->number[i] != mesh->number[mesh->nlocal - 1])
      mesh->number[mesh->nlocal++] = mesh->number[i];
  for (int32_t c = 0; c < mesh->ncells; c++)
    for (int k = 0; k < 3; k++) {
      const int64_t *found = bsearch(&vertex[c][k], mesh->number, (size_t)mesh->nlocal, sizeof *found, compare_numbers);
      mesh->cell[c][k] = (int32_t)(found - mesh->number);
    }
  free(vertex);
}

static mesh_t mesh_new(const job_t *job, int32_t side)
{
  mesh_t mesh = {.side = side, .first = block_first(nvertices(side), job->size, job->rank)};
  int32_t first_cell = block_first(2 * side * side, job->size, job->rank);
  mesh.ncells = block_first(2 * side * side, job->size, job->rank + 1) - first_cell;
  mesh.nown = block_first(nvertices(side), job->size, job->rank + 1) - mesh.first;
  mesh.cell = array_new(mesh.ncells, sizeof *mesh.cell);
  number_locally(&mesh, first_cell);
  /* Leaf i is local vertex i; its root is the owner's vertex with that number. */
  must(sf_graph_create_global(sf_group_world(job->context), mesh.nown, mesh.nlocal, NULL, mesh.number, SF_GRAPH_DEFAULT,
                              &mesh.graph),
       "sf_graph_create_global");
  return mesh;
}

static void mesh_free(mesh_t *mesh)
{
  must(sf_graph_destroy(mesh->graph), "sf_graph_destroy");
  free(mesh->cell);
  free(mesh->number);
}

/* residual = K u - f at the owned vertices; u is given there, too. */
static void assemble(const job_t *job, mesh_t *mesh, const double *u, double *residual)
{
  double *local_u = vector_new(job, mesh->nlocal), *local = vector_new(job, mesh->nlocal);
  must(sf_bcast(mesh->graph, SF_DOUBLE, u, local_u, SF_REPLACE), "sf_bcast");
  for (int32_t c = 0; c < mesh->ncells; c++) {
    const int32_t *v = mesh->cell[c];
    const double at[3] = {local_u[v[0]], local_u[v[1]], local_u[v[2]]};
    double added[3];
    compute_cell(mesh->side, at, added);
    for (int k = 0; k < 3; k++)
      local[v[k]] += added[k];
  }
  memset(residual, 0, sizeof *residual * (size_t)mesh->nown);
  must(sf_reduce(mesh->graph, SF_DOUBLE, local, residual, SF_SUM), "sf_reduce");
  vector_free(job, local_u);
  vector_free(job, local);
}

/* The same for the whole mesh in one process. */
static double *assemble_serially(int32_t side)
{
  double *residual = array_new(nvertices(side), sizeof *residual);
  memset(residual, 0, sizeof *residual * (size_t)nvertices(side));
  for (int32_t c = 0; c < 2 * side * side; c++) {
    int64_t v[3];
    double u[3], added[3];
    find_vertices(side, c, v);
    for (int k = 0; k < 3; k++)
      u[k] = scattered((uint64_t)v[k], 3);
    compute_cell(side, u, added);
    for (int k = 0; k < 3; k++)
      residual[v[k]] += added[k];
  }
  return residual;
}

static void compare(job_t *job, mesh_t *mesh)
{
  double *u = vector_new(job, mesh->nown), *residual = vector_new(job, mesh->nown),
         *again = vector_new(job, mesh->nown);
  double *serial = assemble_serially(mesh->side), worst = 0, total = 0;
  for (int32_t i = 0; i < mesh->nown; i++)
    u[i] = scattered((uint64_t)(mesh->first + i), 3);
  assemble(job, mesh, u, residual);
  assemble(job, mesh, u, again);
  for (int32_t i = 0; i < mesh->nown; i++) {
    worst = fmax(worst, fabs(residual[i] - serial[mesh->first + i]));
    total += residual[i];
  }
  worst = max_over_ranks(worst);
  total = sum_over_ranks(total);
  bool same = true_on_all_ranks(memcmp(residual, again, sizeof *again * (size_t)mesh->nown) == 0);
  check(job, worst <= ROUNDING, "the residual is the serial one: largest difference %.1e", worst);
  check(job, same, "assembled again it is bit for bit the same");
  check(job, fabs(total + 1) <= ROUNDING * mesh->side,
        "the residuals add up to minus the whole load, which is 1: %.15f", total);
  free(serial);
  vector_free(job, u);
  vector_free(job, residual);
  vector_free(job, again);
}

int main(int argc, char *argv[])
{
  MPI_Init(&argc, &argv);
  int32_t side = number_argument(argc, argv, "CELLS_PER_SIDE", 1, 10000, 200);
  job_t job = job_join();
  mesh_t mesh = mesh_new(&job, side);
  double shared = sum_over_ranks(mesh.nlocal) - nvertices(side);
  say(&job, "%d triangles and %d vertices on %d rank(s); %.0f vertices are on more than one, counted once for each.\n",
      2 * side * side, nvertices(side), job.size, shared);
  compare(&job, &mesh);
  mesh_free(&mesh);
  return job_end(&job);
}
