/* The halo exchange of a one-dimensional grid, by MPI and by star forests, side by side: see docs/mpi-programmers.md.
 *
 *   sfrun -n 4 -- halo
 *
 * Each rank owns N points, with one ghost point at each side: grid[0], and grid[N + 1]. MPI sends edge points and
 * receives ghosts; a bcast along a star forest does the same in place, with the whole array as root and leaf data. The
 * reverse (ghosts added into the points that they are copies of), a barrier and an allreduce follow. */
#include <mpi.h>
#include <sf/sf.h>

#include "common/job.h"

enum { N = 1000, STEPS = 10 };

/* Ghosts by MPI: what most programs do. */
static void exchange_by_mpi(const job_t *job, double grid[])
{
  int left = job->rank > 0 ? job->rank - 1 : MPI_PROC_NULL;
  int right = job->rank + 1 < job->size ? job->rank + 1 : MPI_PROC_NULL;
  MPI_Request requests[4];
  MPI_Irecv(&grid[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&grid[N + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(&grid[1], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(&grid[N], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* The same pattern as a graph, made once. A ghost is a leaf; its root is the point that it is a copy of. Roots and
 * leaves are numbered by their places in grid, so that operations work in place. */
static sf_graph_t *make_halo(const job_t *job)
{
  int32_t root_rank[2];
  int64_t leaf[2], root[2], nleaves = 0;
  sf_graph_t *graph;
  if (job->rank > 0) {
    leaf[nleaves] = 0;
    root_rank[nleaves] = job->rank - 1;
    root[nleaves++] = N;
  }
  if (job->rank + 1 < job->size) {
    leaf[nleaves] = N + 1;
    root_rank[nleaves] = job->rank + 1;
    root[nleaves++] = 1;
  }
  must(sf_graph_create(sf_group_world(job->context), N + 2, nleaves, leaf, root_rank, root, SF_GRAPH_DEFAULT, &graph),
       "sf_graph_create");
  return graph;
}

/* One step of u_t = u_xx. The points that need no ghost are computed while the ghosts travel. */
static void step(const job_t *job, sf_graph_t *halo, const double grid[], double next[])
{
  sf_request_t *request = NULL;
  if (halo != NULL)
    must(sf_bcast_begin(halo, SF_DOUBLE, grid, (double *)grid, SF_REPLACE, &request), "sf_bcast_begin");
  else
    exchange_by_mpi(job, (double *)grid);
  for (int i = 2; i < N; i++)
    next[i] = grid[i] + 0.25 * (grid[i - 1] - 2 * grid[i] + grid[i + 1]);
  must(sf_wait(&request), "sf_wait");
  for (int i = 1; i <= N; i += N - 1)
    next[i] = grid[i] + 0.25 * (grid[i - 1] - 2 * grid[i] + grid[i + 1]);
}

/* Runs the steps with one way of exchanging ghosts; halo NULL: by MPI. */
static void run(const job_t *job, sf_graph_t *halo, double grid[], double next[])
{
  for (int i = 0; i < N + 2; i++)
    grid[i] = next[i] = 0;
  grid[1] = job->rank + 1;
  grid[N] = -2 * job->rank;
  for (int k = 0; k < STEPS; k++) {
    step(job, halo, grid, next);
    double *old = grid;
    grid = next;
    next = old;
  }
}

/* An allreduce: all ranks' leaves are connected to one root, on rank 0. Without a payload of interest it is a barrier.
 */
static void sum_over_all(sf_graph_t *star, double *value)
{
  double sum = 0;
  must(sf_reduce(star, SF_DOUBLE, value, &sum, SF_SUM), "sf_reduce");
  must(sf_bcast(star, SF_DOUBLE, &sum, value, SF_REPLACE), "sf_bcast");
}

int main(int argc, char *argv[])
{
  static double by_mpi[2][N + 2], by_sf[2][N + 2];
  MPI_Init(&argc, &argv);
  job_t job = job_join();
  sf_graph_t *halo = make_halo(&job), *star;
  const int32_t rank_0 = 0;
  const int64_t root_0 = 0;
  must(sf_graph_create(sf_group_world(job.context), job.rank == 0, 1, NULL, &rank_0, &root_0, SF_GRAPH_DEFAULT, &star),
       "sf_graph_create");

  run(&job, NULL, by_mpi[0], by_mpi[1]);
  run(&job, halo, by_sf[0], by_sf[1]);
  bool same = true;
  for (int i = 1; i <= N; i++)
    same = same && by_mpi[STEPS % 2][i] == by_sf[STEPS % 2][i];
  check(&job, true_on_all_ranks(same), "%d steps: the same grid with ghosts by MPI and by sf", STEPS);

  /* The reverse: what was assembled into ghosts is added to the points that they are copies of. */
  double grid[N + 2] = {[0] = 0.5, [N + 1] = 0.25};
  must(sf_reduce(halo, SF_DOUBLE, grid, grid, SF_SUM), "sf_reduce");
  bool added = grid[1] == (job.rank > 0 ? 0.25 : 0) && grid[N] == (job.rank + 1 < job.size ? 0.5 : 0);
  check(&job, true_on_all_ranks(added), "contributions of ghosts are added to their points");

  double sum = job.rank + 1, expected = 0.5 * job.size * (job.size + 1);
  sum_over_all(star, &sum);
  check(&job, true_on_all_ranks(sum == expected), "allreduce without MPI: %g", expected);
  must(sf_graph_destroy(star), "sf_graph_destroy");
  must(sf_graph_destroy(halo), "sf_graph_destroy");
  return job_end(&job);
}
