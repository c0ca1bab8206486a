/* Placement of subdomains on the ranks and devices of a node. Each rank finds the distances from its places; the lowest
 * rank of each node, its leader, gathers them, computes the placement and sends it to all ranks. Collective. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/grid/grid.h"
#include "shm/base/error.h"
#include "shm/device/device_load.h"

/* Distances: relative times of a value; a copy between two ranks through shared memory is 1. */
#define SAME_DEVICE 0.1
#define SAME_RANK 0.5 /* host memory of one rank; host and device: NVLINK + SAME_RANK */
#define NVLINK 0.5    /* times 1 + the driver's performance rank of the link */
#define PCI 2.0       /* one device reads the memory of another */
#define STAGED 4.0    /* through pinned memory of the host */

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

void sfc_grid_identify(sfc_derive_t *derive, int32_t device, sfc_grid_device_t *identity_p)
{
  const sfshm_device_ops_t *ops;
  sfshm_device_identity_t identity;
  if (device < 0)
    return;
  sf_status_t status = sfshm_device_load(&ops);
  if (status == SF_OK && device >= ops->count())
    status = sfshm_error(SF_ERR_ARG, "options: no device %d; this process has %d", device, ops->count());
  else if (status == SF_OK && (status = ops->identify(device, &identity)) != SF_OK)
    status = sfshm_error(status, "%s", ops->detail());
  sfc_derive_note(derive, status, -1);
  if (status != SF_OK)
    return;
  identity_p->is_device = 1;
  memcpy(identity_p->id, &identity, sizeof identity);
}

/* This process's number of the device; -1: the device is not visible to this process. */
static int32_t find_device(const sfc_grid_device_t *sought)
{
  const sfshm_device_ops_t *ops = sfshm_device_loaded();
  sfshm_device_identity_t identity;
  for (int32_t device = 0; ops != NULL && device < ops->count(); device++)
    if (ops->identify(device, &identity) == SF_OK && memcmp(&identity, sought->id, sizeof identity) == 0)
      return device;
  return -1;
}

static double distance_of_devices(const sfc_grid_device_t *to, const sfc_grid_device_t *from)
{
  sfshm_device_link_t link;
  int32_t mine = find_device(to), other = find_device(from);
  if (memcmp(to, from, sizeof *to) == 0)
    return SAME_DEVICE;
  if (mine < 0 || other < 0 || sfshm_device_loaded()->link(mine, other, &link) != SF_OK || !link.access)
    return STAGED;
  return link.atomics ? NVLINK * (1 + link.rank) : PCI;
}

/* ---- Distances --------------------------------------------------------------------------------------------------- */

/* time: measured between the two ranks, 0 if it is not. Measured times are negative: the leader compares them. */
static double distance(const sfc_grid_place_t *to, const sfc_grid_place_t *from, double time)
{
  if (to->device.is_device && from->device.is_device)
    return distance_of_devices(&to->device, &from->device);
  if (to->device.is_device || from->device.is_device)
    return to->rank == from->rank ? NVLINK + SAME_RANK : STAGED;
  if (to->rank == from->rank)
    return SAME_RANK;
  return time > 0 ? -time : 1;
}

/* The distances between the own places and all places of the node: a row for each own place. */
static double *find_rows(sfc_derive_t *derive, const sf_grid_t *grid, const sfc_grid_node_t *node)
{
  double *rows = sfc_derive_array(derive, (int64_t)grid->nown * node->n, sizeof *rows);
  double *times = NULL;
  if ((grid->options.flags & SF_GRID_MEASURE) != 0) {
    times = sfc_derive_array(derive, node->nranks, sizeof *times);
    sfc_grid_measure(derive, grid, times);
  }
  for (int32_t own = 0; own < grid->nown && derive->status == SF_OK; own++) {
    const sfc_grid_place_t *from, *to = &grid->places[grid->first_place[grid->group->rank] + own];
    int32_t rank = -1; /* of the node */
    for (int32_t i = 0; i < node->n; i++) {
      from = &grid->places[node->first + i];
      rank += from->own == 0;
      rows[(int64_t)own * node->n + i] = from == to ? 0 : distance(to, from, times != NULL ? times[rank] : 0);
    }
  }
  return rows;
}

/* Gathers the rows of all ranks of a node at its leader: distances[k * n + l] from place l to place k. */
static double *gather_rows(sfc_derive_t *derive, const sf_grid_t *grid, const sfc_grid_node_t *node,
                           const double rows[])
{
  int64_t n = node->leader == grid->group->rank ? node->n : 0, next = 0;
  double *distances = sfc_derive_array(derive, n * n, sizeof *distances);
  sfc_derive_edges_t edges = sfc_derive_new_edges(derive, n * n, false);
  for (int64_t i = 0; i < n && !derive->starved; i++)
    for (int64_t k = 0; k < n; k++, next++) {
      edges.root_rank[next] = grid->places[node->first + i].rank;
      edges.root[next] = grid->places[node->first + i].own * n + k;
    }
  edges.n = next;
  sfc_derive_bcast_along(derive, (int64_t)grid->nown * node->n, &edges, SF_DOUBLE, rows, distances);
  return distances;
}

/* Converts measured times to multiples of the shortest, rounded to powers of 1.5 so that noise makes no difference. */
static void round_times(double distances[], int64_t n)
{
  double least = INFINITY;
  for (int64_t i = 0; i < n; i++)
    if (distances[i] < 0)
      least = fmin(least, -distances[i]);
  for (int64_t i = 0; i < n; i++)
    if (distances[i] < 0)
      distances[i] = pow(1.5, round(log(-distances[i] / least) / log(1.5)));
}

/* ---- Placements -------------------------------------------------------------------------------------------------- */

#define COSTS (2 * 2) /* words of two costs */
_Static_assert(sizeof(sfc_placement_cost_t) == 2 * sizeof(int64_t), "a cost is sent as two words");

/* Computes a node's placement: numbers[place] is the number of the subdomain there within the node. The four words of
 * two costs follow. */
static void decide(sfc_derive_t *derive, const sf_grid_t *grid, double distances[], int64_t numbers[])
{
  const sfc_grid_node_t *node = &grid->nodes[grid->here];
  int32_t n = node->n;
  double *flow = sfc_derive_array(derive, (int64_t)n * n, sizeof *flow);
  int32_t *place = sfc_derive_array(derive, n, sizeof *place), *other = sfc_derive_array(derive, n, sizeof *other);
  if (derive->status != SF_OK)
    return;
  round_times(distances, (int64_t)n * n);
  sfc_placement_flow(&grid->partition, &grid->halo, node->first, n, flow);
  for (int32_t i = 0; i < n; i++)
    other[i] = i;
  sfc_placement_cost_t costs[2] = {sfc_placement_cost(n, flow, distances, other)};
  sfc_placement_find(n, flow, distances, place, other);
  costs[1] = sfc_placement_cost(n, flow, distances, place);
  for (int32_t i = 0; i < n; i++)
    numbers[place[i]] = i;
  memcpy(numbers + n, costs, sizeof costs);
}

/* Sends the leaders' placements to all ranks: the numbers at the places, and the costs, node by node. */
static void tell_all(sfc_derive_t *derive, sf_grid_t *grid, const int64_t decided[])
{
  const sfc_grid_node_t *here = &grid->nodes[grid->here];
  int64_t n = grid->count + (int64_t)grid->nnodes * COSTS, at = 0;
  int64_t *all = sfc_derive_array(derive, n, sizeof *all);
  sfc_derive_edges_t edges = sfc_derive_new_edges(derive, n, false);
  for (int32_t node = 0; !derive->starved && node < grid->nnodes; node++)
    for (int64_t k = 0; k < grid->nodes[node].n + COSTS; k++, at++) {
      edges.root_rank[at] = grid->nodes[node].leader;
      edges.root[at] = k;
    }
  edges.n = at;
  sfc_derive_bcast_along(derive, here->leader == grid->group->rank ? here->n + COSTS : 0, &edges, SF_INT64, decided,
                         all);
  at = 0;
  for (int32_t node = 0; derive->status == SF_OK && node < grid->nnodes; node++) {
    sfc_placement_cost_t costs[2];
    for (int32_t k = 0; k < grid->nodes[node].n; k++)
      grid->places[grid->nodes[node].first + k].number = grid->nodes[node].first + all[at++];
    memcpy(costs, &all[at], sizeof costs);
    at += COSTS;
    grid->linear.total += costs[0].total;
    grid->placed.total += costs[1].total;
    grid->linear.busiest = fmax(grid->linear.busiest, costs[0].busiest);
    grid->placed.busiest = fmax(grid->placed.busiest, costs[1].busiest);
  }
}

void sfc_grid_place(sfc_derive_t *derive, sf_grid_t *grid, bool on_devices)
{
  static const sfc_grid_node_t none;
  const sfc_grid_node_t *node = grid->nnodes > 0 ? &grid->nodes[grid->here] : &none; /* none: another rank fails */
  uint32_t flags = grid->options.flags;
  if ((flags & SF_GRID_LINEAR) != 0 || (!on_devices && (flags & SF_GRID_MEASURE) == 0))
    return;
  double *distances = gather_rows(derive, grid, node, find_rows(derive, grid, node));
  int64_t *decided = sfc_derive_array(derive, node->n + COSTS, sizeof *decided);
  if (derive->status == SF_OK && node->leader == grid->group->rank)
    decide(derive, grid, distances, decided);
  tell_all(derive, grid, decided);
}
