/* Solves A x = b by conjugate gradients on the ranks of a job: a program to learn libsfclient from.
 *
 *   sfrun -n 4 -- cg [--grid NX,NY,NZ | --matrix FILE.mtx] [--max-iterations N]
 *
 * Each rank owns a block of consecutive rows of A, and the same part of every vector. To multiply it needs x also at
 * columns that others own: its *ghosts*. That pattern is a star forest: entries of x are the roots, ghosts the leaves.
 * A product broadcasts from the roots to the leaves, a product with the transpose sums leaves up in their roots. It is
 * the method of section 4.1 of J. Zhang et al., "The PetscSF Scalable Communication Layer" (IEEE TPDS 2022).
 *
 *     rows of rank 1:   . . b b | a a a a | b . . b      a  diagonal block A: my rows, my columns
 *                       b . . . | a a a a | . . b .      b  off-diagonal block B: my rows, columns of other ranks
 *                                                           (columns without any b are no ghosts)
 *
 * What to read first: matrix_new, matrix_multiply, matrix_multiply_transpose. The rest is the solver, and checks.
 *
 * MPI starts the ranks and adds up dot products; ghosts travel through sf alone (but for a comparison at the end).
 * One thread per rank. */
#include <math.h>
#include <mpi.h>
#include <sf/sf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cg_options.h"
#include "common/csr.h"
#include "common/job.h"
#include "common/nodes.h"
#include "common/problem.h"
#include "common/race.h"
#include "common/serial_cg.h"
#include "common/sfctl.h"

#define TOLERANCE 1e-8 /* relative residual at which the solve ends */
#define ROUNDING 1e-12 /* what two ways to add up the same numbers may differ by, relative to their size */

enum { EXIT_CHECK_FAILED = 1, EXIT_NOT_CONVERGED = 2 };

typedef struct matrix {
  int32_t n;            /* rows of the whole matrix */
  int32_t first, nrows; /* my rows are first .. first + nrows - 1 */
  csr_t diagonal;       /* A: columns are positions in my part of x */
  csr_t off_diagonal;   /* B: columns are positions in ghosts */
  int32_t nghosts;
  int32_t *ghost_column; /* which entry of the whole x ghost k is, */
  int32_t *ghost_rank;   /* the rank that owns it, */
  int32_t *ghost_index;  /* and its position in that rank's part */
  double *ghosts;        /* their values */
  sf_graph_t *graph;     /* roots: my part of x; leaves: my ghosts */
} matrix_t;

/* ---- The distributed matrix -------------------------------------------------------------------------------------- */

/* Makes the matrix from this rank's rows, whose columns count over the whole matrix. Rows are dealt out evenly in
 * blocks (block_first): each rank can tell who owns a column. All ranks call it. */
static matrix_t matrix_new(const job_t *job, int32_t n, const csr_t *rows)
{
  matrix_t m = {.n = n, .first = block_first(n, job->size, job->rank), .nrows = rows->nrows};
  m.nghosts = csr_split(rows, m.first, m.first + m.nrows, &m.diagonal, &m.off_diagonal, &m.ghost_column);
  m.ghost_rank = array_new(m.nghosts, sizeof *m.ghost_rank);
  m.ghost_index = array_new(m.nghosts, sizeof *m.ghost_index);
  for (int32_t k = 0, owner = 0; k < m.nghosts; k++) {
    while (m.ghost_column[k] >= block_first(n, job->size, owner + 1))
      owner++; /* ghost columns ascend, so owners do */
    m.ghost_rank[k] = owner;
    m.ghost_index[k] = m.ghost_column[k] - block_first(n, job->size, owner);
  }
  m.ghosts = vector_new(job, m.nghosts);

  /* Leaf k is ghosts[k] (NULL: leaves are numbered in order), a copy of entry ghost_index[k] on rank ghost_rank[k]. */
  must(sf_graph_create_i32(sf_group_world(job->context), m.nrows, m.nghosts, NULL, m.ghost_rank, m.ghost_index,
                           SF_GRAPH_DEFAULT, &m.graph),
       "sf_graph_create_i32");
  return m;
}

static void matrix_free(const job_t *job, matrix_t *m)
{
  must(sf_graph_destroy(m->graph), "sf_graph_destroy");
  vector_free(job, m->ghosts);
  free(m->ghost_column);
  free(m->ghost_rank);
  free(m->ghost_index);
  csr_free(&m->diagonal);
  csr_free(&m->off_diagonal);
}

/* y = M x = A x + B ghosts. The ghosts are on their way while A x is computed: between begin and end x may be read,
 * but not written, and the ghosts not even read. */
static void matrix_multiply(matrix_t *m, const double *x, double *y)
{
  sf_request_t *request;
  must(sf_bcast_begin(m->graph, SF_DOUBLE, x, m->ghosts, SF_REPLACE, &request), "sf_bcast_begin");
  csr_multiply(&m->diagonal, x, y);
  must(sf_wait(&request), "sf_wait");
  csr_multiply_add(&m->off_diagonal, m->ghosts, y);
}

/* y = M^T x. My rows of B contribute B^T x to entries of y that others own: the same graph, the other way. Several
 * ranks may contribute to one entry; sf_reduce adds them up in the same order every time. */
static void matrix_multiply_transpose(matrix_t *m, const double *x, double *y)
{
  memset(y, 0, sizeof(double) * (size_t)m->nrows);
  memset(m->ghosts, 0, sizeof(double) * (size_t)m->nghosts);
  csr_multiply_transpose_add(&m->diagonal, x, y);
  csr_multiply_transpose_add(&m->off_diagonal, x, m->ghosts);
  must(sf_reduce(m->graph, SF_DOUBLE, m->ghosts, y, SF_SUM), "sf_reduce");
}

/* ---- The solver -------------------------------------------------------------------------------------------------- */

static double dot(int32_t n, const double *x, const double *y)
{
  return sum_over_ranks(local_dot(n, x, y));
}

/* The residual may well grow for a while: what each iteration makes smaller is the error, in the norm of the matrix. */
static void say_progress(const job_t *job, const cg_result_t *result)
{
  int32_t step = result->iterations <= 500 ? 50 : 500;
  if (result->iterations % step == 0)
    say(job, "  iteration %5d   relative residual %.2e\n", result->iterations, result->residual);
}

/* Solves M x = b from x = 0: serial_cg with matrix_multiply and dot in place of the serial ones. */
static cg_result_t solve(const job_t *job, matrix_t *m, const double *b, double *x, cg_limits_t limits, bool progress)
{
  double begin = MPI_Wtime();
  int32_t n = m->nrows;
  double *r = array_new(n, sizeof *r), *q = array_new(n, sizeof *q);
  double *p = vector_new(job, n); /* the one that is multiplied, so the one whose ghosts travel */
  memset(x, 0, sizeof *x * (size_t)n);
  memcpy(r, b, sizeof *r * (size_t)n);
  memcpy(p, b, sizeof *p * (size_t)n);
  double rr = dot(n, r, r), bb = rr;
  cg_result_t result = {.end = CG_TOO_MANY_ITERATIONS, .residual = 1};
  while (result.iterations < limits.max_iterations) {
    matrix_multiply(m, p, q);
    double pq = dot(n, p, q);
    if (!(pq > 0) || !isfinite(pq)) {
      result.end = CG_NOT_POSITIVE_DEFINITE;
      break;
    }
    double alpha = rr / pq, rr_before = rr;
    for (int32_t i = 0; i < n; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    rr = dot(n, r, r);
    result.iterations++;
    result.residual = sqrt(rr / bb);
    if (progress)
      say_progress(job, &result);
    if (result.residual <= limits.tolerance) {
      result.end = CG_CONVERGED;
      break;
    }
    for (int32_t i = 0; i < n; i++)
      p[i] = r[i] + rr / rr_before * p[i];
  }
  vector_free(job, p);
  free(r);
  free(q);
  result.seconds = MPI_Wtime() - begin;
  return result;
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

/* A number in [-1, 1) that depends on i and seed alone: the same vector for any number of ranks. */
static double scattered(uint64_t i, uint64_t seed)
{
  uint64_t z = (i + seed * 0x100000001ULL) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return (double)(int64_t)(z ^ (z >> 31)) * 0x1p-63;
}

static void fill_scattered(const matrix_t *m, double *x, uint64_t seed)
{
  for (int32_t i = 0; i < m->nrows; i++)
    x[i] = scattered((uint64_t)(m->first + i), seed);
}

/* The largest |x[i] - y[i]|, over all ranks; with y NULL the largest |x[i]|. */
static double largest_difference(int32_t n, const double *x, const double *y)
{
  double largest = 0;
  for (int32_t i = 0; i < n; i++)
    largest = fmax(largest, fabs(y ? x[i] - y[i] : x[i]));
  return max_over_ranks(largest);
}

/* Each root carries its number in the whole x, so each ghost must end up with the number of its column. */
static void check_ghosts(job_t *job, matrix_t *m)
{
  double *x = vector_new(job, m->nrows);
  for (int32_t i = 0; i < m->nrows; i++)
    x[i] = m->first + i;
  must(sf_bcast(m->graph, SF_DOUBLE, x, m->ghosts, SF_REPLACE), "sf_bcast");
  int32_t nwrong = 0;
  for (int32_t k = 0; k < m->nghosts; k++)
    nwrong += m->ghosts[k] != m->ghost_column[k];
  double wrong = sum_over_ranks(nwrong), ghosts = sum_over_ranks(m->nghosts);
  check(job, wrong == 0, "broadcast: %.0f of %.0f ghosts got the value of the entry that they copy", ghosts - wrong,
        ghosts);
  vector_free(job, x);
}

/* M^T x travels the other way through the graph than M x. As M is symmetric they must agree; and for any matrix
 * (Mx) . y = x . (M^T y). */
static void check_transpose(job_t *job, matrix_t *m)
{
  double *x = vector_new(job, m->nrows), *y = vector_new(job, m->nrows);
  double *mx = vector_new(job, m->nrows), *mtx = vector_new(job, m->nrows), *mty = vector_new(job, m->nrows);
  fill_scattered(m, x, 1);
  fill_scattered(m, y, 2);
  matrix_multiply(m, x, mx);
  matrix_multiply_transpose(m, x, mtx);
  matrix_multiply_transpose(m, y, mty);
  double worst = largest_difference(m->nrows, mx, mtx) / largest_difference(m->nrows, mx, NULL);
  check(job, worst <= ROUNDING, "reduce: M'x agrees with Mx, as it must for a symmetric M (largest difference %.1e)",
        worst);
  double scale = sqrt(dot(m->nrows, mx, mx) * dot(m->nrows, y, y));
  double adjoint = fabs(dot(m->nrows, mx, y) - dot(m->nrows, x, mty)) / scale;
  check(job, adjoint <= ROUNDING, "reduce is the adjoint of broadcast: (Mx).y and x.(M'y) differ by %.1e of |Mx||y|",
        adjoint);
  vector_free(job, x);
  vector_free(job, y);
  vector_free(job, mx);
  vector_free(job, mtx);
  vector_free(job, mty);
}

static void check_repeatable(job_t *job, matrix_t *m, const double *b, const double *x, cg_limits_t limits,
                             cg_result_t before)
{
  double *again = array_new(m->nrows, sizeof *again);
  cg_result_t now = solve(job, m, b, again, limits, false);
  bool same = now.iterations == before.iterations && memcmp(again, x, sizeof *x * (size_t)m->nrows) == 0;
  same = true_on_all_ranks(same);
  check(job, same, "solved again in %.2f s: %d iterations, solution %s", now.seconds, now.iterations,
        same ? "bit for bit the same" : "NOT bit for bit the same");
  free(again);
}

/* All of x on rank 0, NULL on others. */
static double *gather_vector(const job_t *job, const matrix_t *m, const double *x)
{
  int *count = array_new(job->size, sizeof *count), *first = array_new(job->size, sizeof *first);
  for (int rank = 0; rank < job->size; rank++) {
    first[rank] = block_first(m->n, job->size, rank);
    count[rank] = block_first(m->n, job->size, rank + 1) - first[rank];
  }
  double *all = job->rank == 0 ? array_new(m->n, sizeof *all) : NULL;
  MPI_Gatherv(x, m->nrows, MPI_DOUBLE, all, count, first, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  free(count);
  free(first);
  return all;
}

static const char *end_text(const cg_result_t *result)
{
  static const char *const text[] = {
      [CG_CONVERGED] = "converged",
      [CG_TOO_MANY_ITERATIONS] = "did NOT converge",
      [CG_NOT_POSITIVE_DEFINITE] = "broke off, the matrix is NOT positive definite",
  };
  return text[result->end];
}

/* Two solves that stop at the same residual need not have the same error: a badly conditioned matrix turns a small
 * residual into a large error. So what is checked is the residual; and for the grid, whose solution is dominated by its
 * smoothest part, the solution as well. */
static void compare_on_rank_0(job_t *job, problem_t *problem, const double *x, cg_limits_t limits,
                              const cg_result_t *parallel)
{
  const csr_t *whole = problem_whole(problem);
  double *b = array_new(problem->n, sizeof *b), *serial_x = array_new(problem->n, sizeof *serial_x);
  for (int32_t i = 0; i < problem->n; i++)
    b[i] = 1;
  cg_result_t serial = serial_cg(whole, b, serial_x, limits);
  say(job, "  serial: %s, %d iterations in %.2f s; parallel: %d iterations in %.2f s\n", end_text(&serial),
      serial.iterations, serial.seconds, parallel->iterations, parallel->seconds);
  double difference = 0, largest = 0;
  for (int32_t i = 0; i < problem->n; i++) {
    difference = fmax(difference, fabs(x[i] - serial_x[i]));
    largest = fmax(largest, fabs(serial_x[i]));
  }
  difference /= largest;
  double residual = serial_residual(whole, b, x), serial_own = serial_residual(whole, b, serial_x);
  bool converged = parallel->end == CG_CONVERGED && serial.end == CG_CONVERGED;
  if (converged)
    check(job, residual <= 10 * fmax(TOLERANCE, serial_own),
          "the parallel solution put into the serial matrix leaves a residual of %.2e (the serial one %.2e)", residual,
          serial_own);
  if (converged && !problem->options->matrix)
    check(job, difference <= 1e-6, "the two solutions differ by %.1e of the largest value", difference);
  else
    say(job, "  note    the two solutions differ by %.1e of the largest value: not a check, as %s\n", difference,
        converged ? "A may magnify residuals" : "not both are solutions");
  free(b);
  free(serial_x);
}

static void compare_with_serial(job_t *job, problem_t *problem, const matrix_t *m, const double *x, cg_limits_t limits,
                                const cg_result_t *parallel)
{
  double *whole_x = gather_vector(job, m, x);
  if (job->rank == 0)
    compare_on_rank_0(job, problem, whole_x, limits, parallel);
  wait_for_rank_0();
  free(whole_x);
}

/* ---- The whole show ---------------------------------------------------------------------------------------------- */

/* What rank 0's daemon knows. On rank 0, while all ranks are still there. */
static void show_daemon_view(job_t *job, const nodes_t *nodes)
{
  static const char *const views[] = {"graphs", "ranks", "peers"};
  for (int i = 0; i < (nodes->count > 1 ? 3 : 2); i++) {
    say(job, "\n  $ sfctl %s\n", views[i]);
    sfctl_outcome_t outcome = sfctl_show(views[i]);
    if (outcome == SFCTL_NOT_FOUND) {
      say(job, "  skipped: no sfctl in $SFCTL, in the folder above this program's, or in PATH\n");
      return;
    }
    if (outcome == SFCTL_FAILED)
      check(job, false, "sfctl %s ended with an error", views[i]);
  }
}

static void describe(const job_t *job, const problem_t *problem, const matrix_t *m)
{
  const cg_options_t *options = problem->options;
  if (options->matrix)
    say(job, "A is %s, scaled by rows and columns to a diagonal of ones: %d unknowns; b is 1 everywhere.\n",
        options->matrix, m->n);
  else
    say(job,
        "A is the 7-point matrix on %d x %d x %d points: %d unknowns; b is 1 everywhere. The solution is the\n"
        "temperature in a box that is heated evenly and kept cold at its walls.\n",
        options->grid[0], options->grid[1], options->grid[2], m->n);
  double entries = sum_over_ranks((double)(csr_nentries(&m->diagonal) + csr_nentries(&m->off_diagonal)));
  double outside = sum_over_ranks((double)csr_nentries(&m->off_diagonal)), ghosts = sum_over_ranks(m->nghosts);
  double most = max_over_ranks(m->nghosts);
  say(job,
      "%d rank(s), about %d rows each. %.0f of the %.0f entries of A are in columns of other ranks: for these,\n"
      "%.0f values travel in each product, at most %.0f to one rank.\n",
      job->size, m->n / job->size, outside, entries, ghosts, most);
}

static bool solve_and_check(job_t *job, problem_t *problem, matrix_t *m)
{
  cg_limits_t limits = {.tolerance = TOLERANCE, .max_iterations = problem->options->max_iterations};
  double *b = array_new(m->nrows, sizeof *b), *x = array_new(m->nrows, sizeof *x);
  for (int32_t i = 0; i < m->nrows; i++)
    b[i] = 1;
  say(job, "\n2. Solve A x = b to a relative residual of %.0e, ghosts travelling while each rank computes\n",
      TOLERANCE);
  cg_result_t result = solve(job, m, b, x, limits, true);
  say(job, "  %s after %d iterations, relative residual %.2e, %.2f s\n", end_text(&result), result.iterations,
      result.residual, result.seconds);
  say(job, "\n3. The same again: nothing may depend on who came first\n");
  check_repeatable(job, m, b, x, limits, result);
  say(job, "\n4. The same in one process, on rank 0 (the other ranks sleep)\n");
  compare_with_serial(job, problem, m, x, limits, &result);
  free(b);
  free(x);
  return result.end == CG_CONVERGED;
}

static void race_exchanges(job_t *job, const nodes_t *nodes, matrix_t *m)
{
  race_t race = {m->graph, m->nrows, m->nghosts, m->ghost_rank, m->ghost_index, m->ghosts};
  race_run(job, &race);
  if (nodes->count < 2)
    return;
  if (nodes->one_host)
    say(job, "  The nodes are daemons on one host: MPI uses its memory, sf the network.\n");
  say(job, "\n   What one ghost exchange sends between the %d nodes\n", nodes->count);
  nodes_show_exchange(job, nodes, &race);
}

/* Returns the exit status, on rank 0. */
static int run(job_t *job, const nodes_t *nodes, problem_t *problem)
{
  csr_t rows = problem_rows(problem);
  matrix_t m = matrix_new(job, problem->n, &rows);
  csr_free(&rows);
  describe(job, problem, &m);
  if (nodes->count > 1)
    say(job, "The ranks are on %d nodes.\n", nodes->count);
  say(job, "\n1. Do values arrive where they belong?\n");
  check_ghosts(job, &m);
  check_transpose(job, &m);
  bool converged = solve_and_check(job, problem, &m);
  say(job, "\n5. One ghost exchange, beside the same in plain MPI (time of the slowest rank)\n");
  if (sum_over_ranks(m.nghosts) > 0)
    race_exchanges(job, nodes, &m);
  else
    say(job, "  skipped: nothing travels\n");
  say(job, "\n6. What sfd saw\n");
  if (job->rank == 0)
    show_daemon_view(job, nodes);
  wait_for_rank_0();
  matrix_free(job, &m);
  if (job->nfailed > 0)
    say(job, "\n%d check(s) FAILED: see above.\n", job->nfailed);
  else
    say(job, "\nAll checks passed%s.\n", converged ? "" : ", but the iteration did NOT converge");
  return job->nfailed > 0 ? EXIT_CHECK_FAILED : converged ? EXIT_SUCCESS : EXIT_NOT_CONVERGED;
}

int main(int argc, char *argv[])
{
  MPI_Init(&argc, &argv);
  cg_options_t options;
  char message[256];
  if (!cg_options_parse(argc, argv, &options, message, sizeof message))
    end_with_usage(false, "cg: %s\n%s", message, cg_usage);
  if (options.help)
    end_with_usage(true, "%s", cg_usage);
  job_t job = job_join();
  int status = EXIT_CHECK_FAILED;
  problem_t problem;
  if (problem_load(&options, &problem)) {
    nodes_t nodes = nodes_find(&job);
    status = run(&job, &nodes, &problem);
    nodes_free(&nodes);
    problem_free(&problem);
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  must(sf_finalize(job.context), "sf_finalize");
  MPI_Finalize();
  return status;
}
