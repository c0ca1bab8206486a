/* Many at a time over several nodes: operations in flight on many graphs, jobs at once, and ranks that join in any
 * order. */
#include "tests/system/cluster.h"
#include "tests/system/model/graph.h"
#include "tests/system/work.h"

SFTEST_FIXTURE(sftest_four_nodes, sftest_stop_nodes);

/* ---- Many in flight ---------------------------------------------------------------------------------------------- */

#define GRAPHS 6
#define IN_FLIGHT 12 /* on each */
#define RING 50      /* values */
#define STARTS 4

typedef struct flight {
  sf_graph_t *graphs[GRAPHS];
  sf_group_t *groups[GRAPHS]; /* NULL: the rank is not in it */
  double roots[GRAPHS][IN_FLIGHT][RING];
  double leaves[GRAPHS][IN_FLIGHT][RING];
  sf_request_t *requests[GRAPHS * IN_FLIGHT];
  int32_t nrequests;
} flight_t;

static double flight_value(int32_t rank, int graph, int operation, int start, int i)
{
  return rank + 10.0 * graph + 100.0 * operation + 10000.0 * start + 1e6 * i;
}

/* Graphs on the world and on sub-groups that are on some of the nodes. */
static void make_flight(sftest_rank_t *self, sf_context_t *context, flight_t *flight)
{
  for (int32_t g = 0; g < GRAPHS; g++) {
    int32_t ranks[SFTEST_RANKS_MAX], n = 0;
    bool member = false;
    for (int32_t rank = 0; rank < self->size; rank++)
      if (g % 3 == 0 || (g % 3 == 1 && self->places[rank] != 1) || (g % 3 == 2 && rank % 2 == 0)) {
        ranks[n++] = rank;
        member |= rank == self->rank;
      }
    sftest_at(self, "creation of graph %d", g);
    if (member && g % 3 != 0)
      SFTEST_OK(self, sf_group_create(context, n, ranks, g, &flight->groups[g]));
    else if (member)
      flight->groups[g] = sf_group_world(context);
    if (member)
      SFTEST_OK(self, sftest_ring_create(flight->groups[g], RING, 0, &flight->graphs[g]));
  }
}

/* Operation k + 1 of a graph is a reduce of the same data the other way. */
static void init_requests(sftest_rank_t *self, flight_t *flight)
{
  for (int k = 0; k < IN_FLIGHT; k++)
    for (int g = 0; g < GRAPHS; g++) {
      sf_request_t **request = &flight->requests[flight->nrequests];
      if (flight->graphs[g] == NULL)
        continue;
      if (k % 2 == 0)
        SFTEST_OK(self, sf_bcast_init(flight->graphs[g], SF_DOUBLE, flight->roots[g][k], flight->leaves[g][k],
                                      SF_REPLACE, request));
      else
        SFTEST_OK(self, sf_reduce_init(flight->graphs[g], SF_DOUBLE, flight->leaves[g][k], flight->roots[g][k], SF_SUM,
                                       request));
      flight->nrequests++;
    }
}

static void fill_flight(flight_t *flight, int32_t start)
{
  for (int g = 0; g < GRAPHS; g++)
    for (int k = 0; k < IN_FLIGHT && flight->graphs[g] != NULL; k++)
      for (int i = 0; i < RING; i++) {
        double value = flight_value(sf_group_rank(flight->groups[g]), g, k, start, i);
        flight->roots[g][k][i] = k % 2 == 0 ? value : 1;
        flight->leaves[g][k][i] = k % 2 == 0 ? 0 : value;
      }
}

static void check_flight(sftest_rank_t *self, const flight_t *flight, int start)
{
  for (int g = 0; g < GRAPHS; g++)
    for (int k = 0; k < IN_FLIGHT && flight->graphs[g] != NULL; k++) {
      int32_t size = sf_group_size(flight->groups[g]), rank = sf_group_rank(flight->groups[g]);
      int32_t from = k % 2 == 0 ? (rank + 1) % size : (rank + size - 1) % size;
      for (int i = 0; i < RING; i++) {
        double expected = flight_value(from, g, k, start, i);
        SFTEST_REQUIRE(self, k % 2 == 0 ? flight->leaves[g][k][i] == expected : flight->roots[g][k][i] == 1 + expected);
      }
    }
}

static void fly(sftest_rank_t *self)
{
  sf_context_t *context = sftest_join(self);
  flight_t *flight = calloc(1, sizeof *flight);
  make_flight(self, context, flight);
  init_requests(self, flight);
  for (int start = 0; start < STARTS; start++) {
    fill_flight(flight, start);
    sftest_at(self, "start %d of %d requests", start, flight->nrequests);
    SFTEST_OK(self, sf_start_all(flight->nrequests, flight->requests));
    sftest_at(self, "end %d of %d requests", start, flight->nrequests);
    SFTEST_OK(self, sf_wait_all(flight->nrequests, flight->requests));
    check_flight(self, flight, start);
  }
  for (int g = 0; g < GRAPHS; g++) {
    SFTEST_OK(self, sf_graph_destroy(flight->graphs[g]));
    if (flight->groups[g] != NULL && g % 3 != 0)
      SFTEST_OK(self, sf_group_destroy(flight->groups[g]));
  }
  sftest_leave(self, context);
  free(flight);
}

SFTEST(many_in_flight)
{
  int32_t places[8];
  uint64_t random = sftest_seed();
  sftest_use_seed(random);
  sftest_places_cyclic(places, 8, 3);
  sftest_cluster_run(&sftest_case_cluster, places, 8, fly, NULL);
  sftest_places_block(places, 8, 4);
  sftest_cluster_run(&sftest_case_cluster, places, 8, fly, NULL);
  sftest_places_random(places, 8, 4, &random);
  sftest_cluster_run(&sftest_case_cluster, places, 8, fly, NULL);
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

#define JOBS 4

SFTEST(jobs_at_once)
{
  sftest_job_t jobs[JOBS];
  int32_t places[5];
  uint64_t random = sftest_seed();
  sftest_use_seed(random);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < JOBS; i++) {
      sftest_places_random(places, 5, SFTEST_NODES_MAX, &random);
      sftest_job_start_over(&jobs[i], sftest_case_cluster.nodes, places, 5, fly, NULL);
    }
    for (int i = 0; i < JOBS; i++) {
      sftest_job_end_well(&jobs[i]);
    }
    sftest_cluster_settle(&sftest_case_cluster);
  }
}

/* Ranks come one after the other, in an order that the seed says, with seconds between first and last. */
static void come_late(sftest_rank_t *self)
{
  const uint64_t *seed = self->argument;
  sftest_at(self, "not yet sf_init");
  sftest_sleep_ms((int64_t)(sftest_hash2(*seed, (uint64_t)self->rank) % 2000));
  fly(self);
}

SFTEST(any_order)
{
  uint64_t seed = sftest_seed();
  const int32_t places[] = {3, 0, 1, 0, 3, 3};
  sftest_use_seed(seed);
  sftest_cluster_run(&sftest_case_cluster, places, 6, come_late, &seed);
}
