/* PETSc's own operations with its star forests and with those of sfd, in one program: VecScatters of ghost values, and
 * products with matrices. Prints records as sfperf --json does. tests/bench/run starts it:
 *     sfrun -n 2 petsc -dll_append libsfclient_petsc.so [-bench_reps N] [-bench_sample_ms N] [-bench_case NAME,...]
 * A case is random-N, contiguous-N or overlapping-N (VecScatters of N ghost values a rank), or matrix-N (products with
 * a matrix of 27 points on a grid of N x N x N). Sources are rewritten before every operation, as programs do. Or it is
 * METHOD-N: solves of the Poisson equation, see solves.h. */
#include <petscdmda.h>
#include <petscmat.h>
#include <petscsf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/solves.h"
#include "tools/sfperf/machine.h"
#include "tools/sfperf/patterns/edges.h"
#include "tools/sfperf/patterns/pattern.h"
#include "tools/sfperf/results/costs.h"
#include "tools/sfperf/results/measure.h"
#include "tools/sfperf/results/record.h"
#include "tools/sfperf/results/stats.h"

/* Operations before a measurement: sfd makes its graphs, and finds out whether it or MPI is faster. */
#define WARM_UP 150

#define NTYPES 3
static const char *const types[NTYPES] = {PETSCSFBASIC, PETSCSFNEIGHBOR, "sfd"};
static const char *const names[NTYPES] = {"petsc_basic", "petsc_neighbor", "petsc_sfd"};

typedef struct bench {
  sfperf_measure_t measure;
  sfperf_nodes_t nodes;
  int rank;
  int size;
} bench_t;

static void check(PetscErrorCode code)
{
  if (code != 0)
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

static sfperf_record_t make_record(const bench_t *bench, const char *name, const char *op, const char *contender,
                                   const char *unit)
{
  sfperf_record_t record = {.bench = "petsc", .bytes = -1, .ranks = bench->size, .nodes = bench->nodes.count};
  snprintf(record.case_name, sizeof record.case_name, "%s", name);
  snprintf(record.op, sizeof record.op, "%s", op);
  snprintf(record.contender, sizeof record.contender, "%s", contender);
  snprintf(record.unit, sizeof record.unit, "%s", unit);
  return record;
}

static void print_samples(const bench_t *bench, const char *name, const char *op, const sfperf_contender_t *contender,
                          double rewrite_us)
{
  sfperf_record_t record = make_record(bench, name, op, contender->name, "us");
  record.rewrite = rewrite_us;
  record.reps = bench->measure.reps;
  memcpy(record.samples, contender->samples_us, (size_t)record.reps * sizeof record.samples[0]);
  if (bench->rank == 0)
    sfperf_record_write(&record, stdout);
}

static void print_value(const bench_t *bench, const char *name, const char *op, const char *what, const char *contender,
                        const char *unit, double value)
{
  char both[SFPERF_NAME_LEN];
  snprintf(both, sizeof both, "%s-%s", op, what);
  sfperf_record_t record = make_record(bench, name, both, contender, unit);
  record.reps = 1;
  record.samples[0] = value;
  if (bench->rank == 0)
    sfperf_record_write(&record, stdout);
}

/* ---- VecScatters of ghost values --------------------------------------------------------------------------------- */

typedef struct scatter {
  VecScatter scatter;
  Vec global;
  Vec ghosts;
  const sfperf_edges_t *edges;
} scatter_t;

static __attribute__((noinline)) void rewrite_roots(const scatter_t *scatter, int64_t iteration)
{
  double *values;
  check(VecGetArray(scatter->global, &values));
  for (int64_t k = 0; k < scatter->edges->nroot_leaves; k++)
    values[scatter->edges->root_index[k]] = (double)(iteration + k);
  check(VecRestoreArray(scatter->global, &values));
}

static __attribute__((noinline)) void rewrite_ghosts(const scatter_t *scatter, int64_t iteration)
{
  double *values;
  PetscInt count;
  check(VecGetLocalSize(scatter->ghosts, &count));
  check(VecGetArray(scatter->ghosts, &values));
  for (PetscInt k = 0; k < count; k++)
    values[k] = (double)(iteration + k);
  check(VecRestoreArray(scatter->ghosts, &values));
}

static double run_forward(void *opaque, int64_t iterations)
{
  scatter_t *s = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    rewrite_roots(s, i);
    check(VecScatterBegin(s->scatter, s->global, s->ghosts, INSERT_VALUES, SCATTER_FORWARD));
    check(VecScatterEnd(s->scatter, s->global, s->ghosts, INSERT_VALUES, SCATTER_FORWARD));
  }
  return sfperf_now() - start;
}

static double run_reverse(void *opaque, int64_t iterations)
{
  scatter_t *s = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    rewrite_ghosts(s, i);
    check(VecScatterBegin(s->scatter, s->ghosts, s->global, ADD_VALUES, SCATTER_REVERSE));
    check(VecScatterEnd(s->scatter, s->ghosts, s->global, ADD_VALUES, SCATTER_REVERSE));
  }
  return sfperf_now() - start;
}

static double run_rewrite_roots(void *opaque, int64_t iterations)
{
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++)
    rewrite_roots(opaque, i);
  return sfperf_now() - start;
}

static double run_rewrite_ghosts(void *opaque, int64_t iterations)
{
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++)
    rewrite_ghosts(opaque, i);
  return sfperf_now() - start;
}

/* One with vectors of its own. */
static void make_scatter(const bench_t *bench, const sfperf_pattern_t *pattern, const char *type, scatter_t *s)
{
  IS from, to;
  PetscInt first, *wanted, *firsts = malloc((size_t)bench->size * sizeof *firsts);
  check(VecCreateMPI(PETSC_COMM_WORLD, (PetscInt)pattern->nroots, PETSC_DETERMINE, &s->global));
  check(VecCreateSeq(PETSC_COMM_SELF, (PetscInt)pattern->nleaves, &s->ghosts));
  check(VecGetOwnershipRange(s->global, &first, NULL));
  MPI_Allgather(&first, 1, MPIU_INT, firsts, 1, MPIU_INT, MPI_COMM_WORLD);
  check(PetscMalloc1(pattern->nleaves, &wanted));
  for (int64_t i = 0; i < pattern->nleaves; i++)
    wanted[i] = firsts[pattern->root_rank[i]] + pattern->root_index[i];
  check(ISCreateGeneral(PETSC_COMM_SELF, (PetscInt)pattern->nleaves, wanted, PETSC_OWN_POINTER, &from));
  check(ISCreateStride(PETSC_COMM_SELF, (PetscInt)pattern->nleaves, 0, 1, &to));
  check(PetscOptionsSetValue(NULL, "-sf_type", type));
  check(VecScatterCreate(s->global, from, s->ghosts, to, &s->scatter));
  check(VecSet(s->global, 0));
  check(VecSet(s->ghosts, 0));
  check(ISDestroy(&from));
  check(ISDestroy(&to));
  free(firsts);
}

static void destroy_scatter(scatter_t *s)
{
  check(VecScatterDestroy(&s->scatter));
  check(VecDestroy(&s->global));
  check(VecDestroy(&s->ghosts));
}

typedef double run_t(void *state, int64_t iterations);

/* Between nodes, beside what a message for each pair of ranks and a value for each leaf make. */
static void print_costs(const bench_t *bench, const char *name, const char *op, const sfperf_contender_t *sfd,
                        const sfperf_edges_t *edges)
{
  double pair_messages, pair_payload;
  sfperf_costs_of_pairs(bench->rank, edges, &bench->nodes, &pair_messages, &pair_payload);
  sfperf_costs_t costs = sfperf_costs_of(sfd, 200, &bench->nodes);
  if (!costs.told)
    return;
  print_value(bench, name, op, "messages", sfd->name, "messages", costs.messages);
  print_value(bench, name, op, "messages", "rank_pairs", "messages", pair_messages);
  print_value(bench, name, op, "payload", sfd->name, "bytes", costs.payload);
  print_value(bench, name, op, "payload", "rank_pairs", "bytes", pair_payload);
}

static void measure_direction(const bench_t *bench, const char *name, const char *op, scatter_t scatters[NTYPES],
                              run_t *run, run_t *rewrite)
{
  sfperf_contender_t contenders[NTYPES + 1];
  for (int t = 0; t < NTYPES; t++)
    contenders[t] = (sfperf_contender_t){.name = names[t], .run = run, .state = &scatters[t], .operations = 1};
  contenders[NTYPES] =
      (sfperf_contender_t){.name = "rewrite", .run = rewrite, .state = &scatters[NTYPES], .operations = 1};
  for (int t = 0; t < NTYPES; t++)
    run(&scatters[t], WARM_UP);
  sfperf_measure(&bench->measure, contenders, NTYPES + 1);
  double rewrite_us = sfperf_stats(contenders[NTYPES].samples_us, bench->measure.reps).median;
  for (int t = 0; t < NTYPES; t++)
    print_samples(bench, name, op, &contenders[t], rewrite_us);
  if (bench->nodes.count > 1)
    print_costs(bench, name, op, &contenders[NTYPES - 1], scatters[0].edges);
}

static void measure_scatters(const bench_t *bench, const char *name, const sfperf_pattern_t *pattern)
{
  scatter_t scatters[NTYPES + 1]; /* the last one is only rewritten */
  sfperf_edges_t edges;
  sfperf_edges_init(&edges, pattern);
  for (int t = 0; t <= NTYPES; t++) {
    make_scatter(bench, pattern, types[t % NTYPES], &scatters[t]);
    scatters[t].edges = &edges;
  }
  measure_direction(bench, name, "forward", scatters, run_forward, run_rewrite_roots);
  measure_direction(bench, name, "reverse", scatters, run_reverse, run_rewrite_ghosts);
  for (int t = 0; t <= NTYPES; t++)
    destroy_scatter(&scatters[t]);
  sfperf_edges_free(&edges);
}

/* ---- Products with a matrix -------------------------------------------------------------------------------------- */

typedef struct product {
  Mat matrix;
  Vec x;
  Vec y;
} product_t;

static double run_mult(void *opaque, int64_t iterations)
{
  product_t *p = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    check(MatMult(p->matrix, p->x, p->y));
    check(VecShift(p->x, 1));
  }
  return sfperf_now() - start;
}

static double run_mult_transpose(void *opaque, int64_t iterations)
{
  product_t *p = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    check(MatMultTranspose(p->matrix, p->y, p->x));
    check(VecShift(p->y, 1));
  }
  return sfperf_now() - start;
}

static void make_product(PetscInt points, const char *type, product_t *p)
{
  DM grid;
  PetscRandom random;
  check(PetscOptionsSetValue(NULL, "-sf_type", type));
  check(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, points,
                     points, points, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &grid));
  check(DMSetUp(grid));
  check(DMSetMatType(grid, MATAIJ));
  check(DMCreateMatrix(grid, &p->matrix));
  check(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  check(MatSetRandom(p->matrix, random));
  check(MatCreateVecs(p->matrix, &p->x, &p->y));
  check(VecSet(p->x, 1));
  check(VecSet(p->y, 1));
  check(PetscRandomDestroy(&random));
  check(DMDestroy(&grid));
}

/* states: an array of NTYPES whose elements have that many bytes. */
static void measure_types(const bench_t *bench, const char *name, const char *op, void *states, size_t state_bytes,
                          run_t *run, int64_t warmup)
{
  sfperf_contender_t contenders[NTYPES];
  for (size_t t = 0; t < NTYPES; t++) {
    contenders[t] =
        (sfperf_contender_t){.name = names[t], .run = run, .state = (char *)states + t * state_bytes, .operations = 1};
    run(contenders[t].state, warmup);
  }
  sfperf_measure(&bench->measure, contenders, NTYPES);
  for (int t = 0; t < NTYPES; t++)
    print_samples(bench, name, op, &contenders[t], 0);
}

static void measure_matrix(const bench_t *bench, const char *name, PetscInt points)
{
  product_t products[NTYPES];
  for (int t = 0; t < NTYPES; t++)
    make_product(points, types[t], &products[t]);
  measure_types(bench, name, "mult", products, sizeof products[0], run_mult, WARM_UP);
  measure_types(bench, name, "mult-transpose", products, sizeof products[0], run_mult_transpose, WARM_UP);
  for (int t = 0; t < NTYPES; t++) {
    check(MatDestroy(&products[t].matrix));
    check(VecDestroy(&products[t].x));
    check(VecDestroy(&products[t].y));
  }
}

/* ---- Solves ------------------------------------------------------------------------------------------------------ */

static double run_solve(void *opaque, int64_t iterations)
{
  sfbench_solve_t *s = opaque;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++)
    check(KSPSolve(s->ksp, s->b, s->x));
  return sfperf_now() - start;
}

static void measure_solves(const bench_t *bench, const char *name, const sfbench_method_t *method, PetscInt n)
{
  sfbench_solve_t solves[NTYPES];
  for (int t = 0; t < NTYPES; t++)
    check(sfbench_solve_create(method, n, types[t], &solves[t]));
  measure_types(bench, name, "solve", solves, sizeof solves[0], run_solve, WARM_UP / SFBENCH_STEPS);
  for (int t = 0; t < NTYPES; t++)
    check(sfbench_solve_destroy(&solves[t]));
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

static void run_case(const bench_t *bench, const char *name)
{
  sfperf_pattern_t pattern;
  const char *dash = strrchr(name, '-');
  long n = dash == NULL ? 0 : strtol(dash + 1, NULL, 10);
  if (n <= 0) {
    fprintf(stderr, "petsc: case '%s' is not understood\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const sfbench_method_t *method = sfbench_method_find(name);
  if (method != NULL) {
    measure_solves(bench, name, method, (PetscInt)n);
    return;
  }
  if (strncmp(name, "matrix-", 7) == 0) {
    measure_matrix(bench, name, (PetscInt)n);
    return;
  }
  if (strncmp(name, "contiguous-", 11) == 0)
    sfperf_pattern_contiguous(bench->rank, bench->size, n, &pattern);
  else if (strncmp(name, "overlapping-", 12) == 0)
    sfperf_pattern_overlapping(bench->rank, bench->size, n, &pattern);
  else
    sfperf_pattern_random(bench->rank, bench->size, n, &pattern);
  measure_scatters(bench, name, &pattern);
  sfperf_pattern_free(&pattern);
}

/* Ranks of one host with one socket are on one node. */
static void find_nodes(bench_t *bench)
{
  char host[128] = "", mine[256] = "", *all = malloc((size_t)bench->size * sizeof mine);
  const char *socket = getenv("SF_SOCKET");
  gethostname(host, sizeof host - 1);
  snprintf(mine, sizeof mine, "%s:%s", host, socket == NULL ? "" : socket);
  MPI_Allgather(mine, sizeof mine, MPI_CHAR, all, sizeof mine, MPI_CHAR, MPI_COMM_WORLD);
  sfperf_nodes_t *nodes = &bench->nodes;
  nodes->of_rank = malloc((size_t)bench->size * sizeof *nodes->of_rank);
  for (int r = 0; r < bench->size; r++) {
    int same = 0;
    while (strcmp(all + (size_t)same * sizeof mine, all + (size_t)r * sizeof mine) != 0)
      same++;
    nodes->of_rank[r] = same < r ? nodes->of_rank[same] : nodes->count++;
    nodes->is_first |= r == bench->rank && same == r;
  }
  free(all);
}

int main(int argc, char *argv[])
{
  bench_t bench = {.measure = {.reps = 45, .sample_s = 0.003}};
  sfperf_machine_t machine;
  char *cases[32];
  PetscInt ncases = 32, reps = bench.measure.reps, sample_ms = 3;
  MPI_Init(&argc, &argv);
  sfperf_machine_init(&machine, true); /* first: the library counts the cores that it may use */
  check(PetscInitialize(&argc, &argv, NULL, NULL));
  MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &bench.size);
  find_nodes(&bench);
  check(PetscOptionsGetInt(NULL, NULL, "-bench_reps", &reps, NULL));
  check(PetscOptionsGetInt(NULL, NULL, "-bench_sample_ms", &sample_ms, NULL));
  bench.measure = (sfperf_measure_t){reps < SFPERF_MAX_REPS ? (int)reps : SFPERF_MAX_REPS, 1e-3 * (double)sample_ms};
  check(PetscOptionsGetStringArray(NULL, NULL, "-bench_case", cases, &ncases, NULL));
  for (PetscInt c = 0; c < ncases && ncases <= 32; c++) {
    run_case(&bench, cases[c]);
    check(PetscFree(cases[c]));
  }
  free(bench.nodes.of_rank);
  check(PetscFinalize());
  MPI_Finalize();
  return 0;
}
