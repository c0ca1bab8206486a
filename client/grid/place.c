/* Placement of subdomains on the ranks and devices of a node. The lowest rank of each node, its leader, computes the
 * placement and sends it to all ranks. Collective. */
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

/* Identity of a device for other processes; all words 0: host memory. */
enum { WORD_ON_DEVICE, WORD_ID, WORDS = WORD_ID + 2 };

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

static void identify(sfc_derive_t *derive, int32_t device, int64_t words[WORDS])
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
  words[WORD_ON_DEVICE] = 1;
  memcpy(&words[WORD_ID], &identity, sizeof identity);
}

/* This process's number of the device; -1: the device is not visible to this process. */
static int32_t find_device(const int64_t words[WORDS])
{
  const sfshm_device_ops_t *ops = sfshm_device_loaded();
  sfshm_device_identity_t identity;
  for (int32_t device = 0; ops != NULL && device < ops->count(); device++)
    if (ops->identify(device, &identity) == SF_OK && memcmp(&identity, &words[WORD_ID], sizeof identity) == 0)
      return device;
  return -1;
}

static double distance_of_devices(const int64_t to[WORDS], const int64_t from[WORDS])
{
  sfshm_device_link_t link;
  int32_t mine = find_device(to), other = find_device(from);
  if (memcmp(to, from, WORDS * sizeof *to) == 0)
    return SAME_DEVICE;
  if (mine < 0 || other < 0 || sfshm_device_loaded()->link(mine, other, &link) != SF_OK || !link.access)
    return STAGED;
  return link.atomics ? NVLINK * (1 + link.rank) : PCI;
}

/* ---- The leader -------------------------------------------------------------------------------------------------- */

/* Data of a node's places at its leader. */
typedef struct node {
  const sf_grid_t *grid;
  const sfc_grid_node_t *self;
  int64_t words_each, times_each; /* words and times of each rank; 0: not known */
  const int64_t *words, *times;   /* device identities and measured times, of all ranks of the node */
  const int32_t *rank_index;      /* for each place, number of its rank in the node */
} node_t;

static const int64_t host[WORDS];

static const int64_t *words_of(const node_t *node, int32_t place)
{
  if (node->words_each == 0)
    return host;
  return node->words + node->rank_index[place] * node->words_each +
         (int64_t)node->grid->places[node->self->first + place].own * WORDS;
}

static double distance(const node_t *node, int32_t to, int32_t from)
{
  const int64_t *mine = words_of(node, to), *other = words_of(node, from);
  bool same_rank = node->rank_index[to] == node->rank_index[from];
  double time = 1;
  if (mine[WORD_ON_DEVICE] && other[WORD_ON_DEVICE])
    return distance_of_devices(mine, other);
  if (mine[WORD_ON_DEVICE] || other[WORD_ON_DEVICE])
    return same_rank ? NVLINK + SAME_RANK : STAGED;
  if (same_rank)
    return SAME_RANK;
  if (node->times_each > 0)
    memcpy(&time, &node->times[node->rank_index[to] * node->times_each + node->rank_index[from]], sizeof time);
  return time > 0 ? time : 1;
}

/* Converts measured times to multiples of the shortest, rounded to powers of 1.5 so that noise makes no difference. */
static void round_times(double times[], int32_t n)
{
  double least = INFINITY;
  for (int32_t i = 0; i < n; i++)
    if (times[i] > 0 && times[i] < least)
      least = times[i];
  for (int32_t i = 0; i < n; i++)
    if (times[i] > 0)
      times[i] = pow(1.5, round(log(times[i] / least) / log(1.5)));
}

/* Computes a node's placement: numbers[place] is the number of the subdomain there within the node. The four words of
 * two costs follow. */
static void decide(sfc_derive_t *derive, const node_t *node, int64_t numbers[])
{
  int32_t n = node->self->n;
  double *flow = sfc_derive_array(derive, (int64_t)n * n, sizeof *flow);
  double *distances = sfc_derive_array(derive, (int64_t)n * n, sizeof *distances);
  int32_t *place = sfc_derive_array(derive, n, sizeof *place), *other = sfc_derive_array(derive, n, sizeof *other);
  if (derive->status != SF_OK)
    return;
  for (int32_t k = 0; k < n; k++)
    for (int32_t l = 0; l < n; l++)
      distances[(int64_t)k * n + l] = k == l ? 0 : distance(node, k, l);
  sfc_placement_flow(&node->grid->partition, &node->grid->halo, node->self->first, n, flow);
  for (int32_t i = 0; i < n; i++)
    other[i] = i;
  sfc_placement_cost_t costs[2] = {sfc_placement_cost(n, flow, distances, other)};
  sfc_placement_find(n, flow, distances, place, other);
  costs[1] = sfc_placement_cost(n, flow, distances, place);
  for (int32_t i = 0; i < n; i++)
    numbers[place[i]] = i;
  memcpy(numbers + n, costs, sizeof costs);
}

/* ---- Exchanges --------------------------------------------------------------------------------------------------- */

#define COSTS (2 * 2) /* words of two costs */
_Static_assert(sizeof(sfc_placement_cost_t) == 2 * sizeof(int64_t), "a cost is sent as two words");

/* Gathers words of each rank of a node at its leader. */
static const int64_t *tell_leader(sfc_derive_t *derive, const sf_grid_t *grid, int64_t words, const int64_t mine[])
{
  const sfc_grid_node_t *node = &grid->nodes[grid->here];
  int64_t n = node->leader == grid->group->rank ? words * node->n : 0, next = 0;
  int64_t *all = sfc_derive_array(derive, n, sizeof *all);
  sfc_derive_edges_t edges = sfc_derive_new_edges(derive, n, false);
  for (int64_t i = node->first; n > 0 && !derive->starved && i < node->first + node->n; i++)
    for (int64_t k = 0; grid->places[i].own == 0 && k < words; k++, next++) {
      edges.root_rank[next] = grid->places[i].rank;
      edges.root[next] = k;
    }
  edges.n = next;
  sfc_derive_bcast_along(derive, words, &edges, SF_INT64, mine, all);
  return all;
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

static int32_t index_ranks(const sf_grid_t *grid, const sfc_grid_node_t *node, int32_t index[])
{
  int32_t nranks = 0;
  for (int32_t i = 0; i < node->n; i++) {
    nranks += grid->places[node->first + i].own == 0;
    index[i] = nranks - 1;
  }
  return nranks;
}

static int64_t most_own(const sf_grid_t *grid, const sfc_grid_node_t *node)
{
  int64_t most = 0;
  for (int32_t i = 0; i < node->n; i++)
    most = grid->places[node->first + i].own >= most ? grid->places[node->first + i].own + 1 : most;
  return most;
}

static void know_devices(sfc_derive_t *derive, const sf_grid_t *grid, const int32_t devices[], node_t *node)
{
  node->words_each = WORDS * most_own(grid, node->self);
  int64_t *mine = sfc_derive_array(derive, node->words_each, sizeof *mine);
  for (int32_t i = 0; mine != NULL && devices != NULL && i < grid->nown; i++)
    identify(derive, devices[i], mine + (int64_t)i * WORDS);
  node->words = tell_leader(derive, grid, node->words_each, mine);
}

static void know_times(sfc_derive_t *derive, const sf_grid_t *grid, int32_t nranks, node_t *node)
{
  double *times = sfc_derive_array(derive, nranks, sizeof *times);
  sfc_grid_measure(derive, grid, nranks, times);
  node->times_each = nranks;
  double *all = (double *)(uintptr_t)tell_leader(derive, grid, nranks, (const int64_t *)times);
  if (node->self->leader == grid->group->rank && all != NULL && derive->status == SF_OK)
    round_times(all, nranks * nranks);
  node->times = (const int64_t *)all;
}

void sfc_grid_place(sfc_derive_t *derive, sf_grid_t *grid, const int32_t devices[], bool on_devices)
{
  bool measure = (grid->options.flags & SF_GRID_MEASURE) != 0;
  static const sfc_grid_node_t none;
  node_t node = {.grid = grid, .self = grid->nnodes > 0 ? &grid->nodes[grid->here] : &none};
  if ((grid->options.flags & SF_GRID_LINEAR) != 0 || (!on_devices && !measure))
    return;
  int32_t *index = sfc_derive_array(derive, node.self->n, sizeof *index);
  int32_t nranks = index != NULL ? index_ranks(grid, node.self, index) : 0;
  node.rank_index = index;
  if (on_devices)
    know_devices(derive, grid, devices, &node);
  if (measure)
    know_times(derive, grid, nranks, &node);
  int64_t *decided = sfc_derive_array(derive, node.self->n + COSTS, sizeof *decided);
  if (derive->status == SF_OK && node.self->leader == grid->group->rank)
    decide(derive, &node, decided);
  tell_all(derive, grid, decided);
}
