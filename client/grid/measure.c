/* Measured distances between the ranks of a node: all pairs exchange blocks in rounds of a round-robin tournament (the
 * circle method), in which each rank has one partner. All ranks measure at once, so links are loaded as by an
 * exchange. */
#include <math.h>
#include <time.h>

#include "client/grid/grid.h"

#define BLOCK_DOUBLES 4096 /* 32 KiB: buffered, as halos are */
#define EXCHANGES 6        /* the first ones warm up */
#define WARM 2

static double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Partner of rank i of n in a round, 0 <= round < n - 1 for even n, < n for odd n. Returns i if it has no partner. */
static int32_t partner_of(int32_t i, int32_t n, int32_t round)
{
  int32_t seats = n + n % 2, ring = seats - 1;
  if (i == ring)
    return round;
  int32_t other = ((2 * round - i) % ring + ring) % ring;
  if (other == i)
    other = ring;
  return other < n ? other : i;
}

/* Group rank of rank number i of the node. */
static int32_t rank_at(const sf_grid_t *grid, int32_t i)
{
  const sfc_grid_node_t *node = &grid->nodes[grid->here];
  for (int64_t place = node->first; place < node->first + node->n; place++)
    if (grid->places[place].own == 0 && i-- == 0)
      return grid->places[place].rank;
  return -1;
}

/* One round: returns the shortest time of an exchange with the partner; 0 if partner is -1. */
static double measure_pair(sfc_derive_t *derive, const sf_grid_t *grid, int32_t partner, double blocks[])
{
  int32_t rank = partner >= 0 ? rank_at(grid, partner) : 0;
  int64_t zero = 0;
  double least = INFINITY;
  sfc_derive_edges_t edges = {partner >= 0, &zero, &rank, &zero};
  sf_graph_t *graph = sfc_derive_helper(derive, partner >= 0, &edges);
  for (int i = 0; i < EXCHANGES; i++) {
    double start = now();
    sfc_derive_bcast(derive, graph, SF_DOUBLE, BLOCK_DOUBLES, blocks, blocks + BLOCK_DOUBLES);
    double time = now() - start;
    least = i >= WARM && time < least ? time : least;
  }
  (void)sf_graph_destroy(graph);
  return partner >= 0 ? least : 0;
}

void sfc_grid_measure(sfc_derive_t *derive, const sf_grid_t *grid, double times[])
{
  int32_t most = 0, self = 0, nranks = grid->nnodes > 0 ? grid->nodes[grid->here].nranks : 0;
  double *blocks = sfc_derive_array(derive, 2 * BLOCK_DOUBLES, sizeof *blocks);
  for (int32_t i = 0; i < grid->nnodes; i++)
    most = grid->nodes[i].nranks > most ? grid->nodes[i].nranks : most;
  while (self < nranks && rank_at(grid, self) != grid->group->rank)
    self++;
  for (int32_t round = 0; round < most + most % 2 - 1; round++) { /* as many as the node with most ranks needs */
    int32_t partner = round < nranks + nranks % 2 - 1 ? partner_of(self, nranks, round) : self;
    double time = measure_pair(derive, grid, partner != self ? partner : -1, blocks);
    if (partner != self && times != NULL)
      times[partner] = time;
  }
}
