/* Kills ranks and daemons of jobs over several nodes at random moments, on all fabrics: every survivor on every node
 * gets an error that names who was lost, and at once; over tcp other jobs go on, nothing is left, and a daemon that
 * comes back is one of the cluster again. SFTEST_ROUNDS says how many, if not as many as below. */
#include "tests/system/cluster.h"
#include "tests/system/doomed.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/mpi_cluster.h"
#include "tests/system/work.h"

#define ROUNDS 30
#define ROUNDS_LOOP 10
#define ROUNDS_MPI 6         /* of ranks */
#define ROUNDS_MPI_DAEMONS 2 /* each with daemons of its own */

/* ---- Rounds ------------------------------------------------------------------------------------------------------ */

/* Nodes 0 and 1 live on: there is a job that notices nothing. */
static sftest_cluster_t cluster;

static sftest_loop_cluster_t loop;
static sftest_mpi_cluster_t mpi;

static int32_t choose_size(uint64_t *random)
{
  return 2 + (int32_t)sftest_below(random, SFTEST_DOOMED_RANKS - 1);
}

/* daemon: process of the victim, which is then a node; 0: a rank of the job. */
static void kill_on(const sftest_node_t nodes[], uint64_t seed, int32_t node, pid_t daemon, bool takes_all)
{
  sftest_doomed_t doomed;
  uint64_t random = seed;
  int32_t places[SFTEST_DOOMED_RANKS], size = choose_size(&random);
  sftest_places_random(places, size, SFTEST_NODES_MAX, &random);
  sftest_doom_t *doom = sftest_doom_make(seed, daemon != 0 ? node : (int32_t)sftest_below(&random, size), &random);
  doom->daemon = daemon != 0;
  doom->takes_all = takes_all;
  if (daemon != 0) { /* it has to matter, and somebody has to survive it */
    places[0] = node;
    places[1] = (node + 1) % SFTEST_NODES_MAX;
  }
  sftest_doomed_kill(&doomed, doom, nodes, places, size, daemon);
  sftest_doomed_collect(&doomed);
}

static void kill_over_tcp(uint64_t seed)
{
  uint64_t random = sftest_hash(seed);
  bool daemon = sftest_below(&random, 3) == 0;
  int32_t victim = 2 + (int32_t)sftest_below(&random, 2);
  kill_on(cluster.nodes, seed, victim, daemon ? cluster.nodes[victim].pid : 0, false);
  if (daemon) {
    sftest_cluster_kill(&cluster, victim); /* reaps it */
    sftest_cluster_restart(&cluster, victim);
    sftest_cluster_warm(&cluster); /* it serves with all others */
  }
}

/* MPI ends all daemons, a second later; jobs that run are told at once. Who still waits for a job to begin hears of it
 * when the channel has ended, or the own daemon, and both may have to wait for MPI. */
static void kill_mpi_daemon(uint64_t seed)
{
  uint64_t random = sftest_hash(seed);
  int32_t victim = (int32_t)sftest_below(&random, SFTEST_MPI_NODES);
  sftest_mpi_cluster_start(&mpi, SFTEST_MPI_NODES);
  kill_on(mpi.nodes, seed, victim, mpi.daemons[victim], true);
  sftest_mpi_cluster_stop(&mpi, true);
}

SFTEST(kills)
{
  sftest_bystander_t bystander;
  int rounds = sftest_rounds(ROUNDS);
  sftest_cluster_start_warm(&cluster, SFTEST_NODES_MAX);
  int fds[2] = {cluster.fds[0], cluster.fds[1]};
  sftest_bystander_start_over(&bystander, cluster.nodes);
  for (int n = 0; n < rounds; n++)
    kill_over_tcp(sftest_seed());
  sftest_bystander_stop(&bystander);
  sftest_cluster_warm(&cluster);
  for (int i = 0; i < 2; i++)
    sftest_node_settle(&cluster.nodes[i], fds[i]);
  sftest_cluster_stop(&cluster);
}

SFTEST(kills_over_loop)
{
  int rounds = sftest_rounds(ROUNDS_LOOP);
  sftest_loop_cluster_start(&loop, SFTEST_LOOP_NODES, 1, sftest_seed() | 1);
  for (int n = 0; n < rounds; n++)
    kill_on(loop.nodes, sftest_seed(), 0, 0, false);
  sftest_loop_cluster_stop(&loop);
}

SFTEST(kills_over_mpi)
{
  int rounds = sftest_rounds(ROUNDS_MPI), daemons = sftest_rounds(ROUNDS_MPI_DAEMONS);
  if (sftest_mpi_cluster_lacks() != NULL) {
    printf("part skipped: %s\n", sftest_mpi_cluster_lacks());
    return;
  }
  sftest_mpi_cluster_start(&mpi, SFTEST_MPI_NODES);
  for (int n = 0; n < rounds; n++)
    kill_on(mpi.nodes, sftest_seed(), 0, 0, false);
  sftest_mpi_cluster_stop(&mpi, false);
  for (int n = 0; n < daemons; n++)
    kill_mpi_daemon(sftest_seed());
}
