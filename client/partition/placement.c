/* Quadratic assignment: see placement.h. */
#include "client/partition/placement.h"

#include <string.h>

#define STARTS 8       /* starts of the local search: in order, greedy, random */
#define STARTS_LARGE 2 /* starts for more places than LARGE */
#define LARGE 128
#define SWEEPS_MAX 50   /* sweeps over all pairs, for one start */
#define LEAST_GAIN 1e-9 /* relative gain; smaller gains are rounding errors */

void sfc_placement_flow(const sfc_partition_t *partition, const sfc_halo_t *halo, int64_t first, int32_t n,
                        double flow[])
{
  for (int32_t i = 0; i < n; i++)
    for (int32_t j = 0; j < n; j++) {
      int32_t to[SFC_AXES], from[SFC_AXES];
      sfc_partition_parts_of(partition, first + i, to);
      sfc_partition_parts_of(partition, first + j, from);
      flow[(int64_t)i * n + j] = (double)sfc_partition_values(partition, halo, to, from);
    }
}

sfc_placement_cost_t sfc_placement_cost(int32_t n, const double flow[], const double distance[], const int32_t place[])
{
  sfc_placement_cost_t cost = {0, 0};
  for (int32_t i = 0; i < n; i++) {
    double sum = 0;
    for (int32_t j = 0; j < n; j++)
      sum += flow[(int64_t)i * n + j] * distance[(int64_t)place[i] * n + place[j]];
    cost.total += sum;
    cost.busiest = sum > cost.busiest ? sum : cost.busiest;
  }
  return cost;
}

/* A problem, and the best placement so far. */
typedef struct search {
  int32_t n;
  const double *flow, *distance;
  double least;
  int32_t *best;
} search_t;

/* Cost of the exchanges of subdomain i with subdomains 0 .. i, both ways. */
static double cost_with_earlier(const search_t *search, const int32_t place[], int32_t i)
{
  int32_t n = search->n;
  double cost = search->flow[i * n + i] * search->distance[place[i] * n + place[i]];
  for (int32_t j = 0; j < i; j++)
    cost += search->flow[i * n + j] * search->distance[place[i] * n + place[j]] +
            search->flow[j * n + i] * search->distance[place[j] * n + place[i]];
  return cost;
}

static bool is_less(double cost, double than)
{
  return cost < than - LEAST_GAIN * than;
}

/* Branch and bound: subdomain i at each free place in turn. Depth is at most SFC_PLACEMENT_EXACT. */
static void search_exact(search_t *search, int32_t place[], int32_t i, uint32_t taken, double cost)
{
  if (!is_less(cost, search->least))
    return;
  if (i == search->n) {
    search->least = cost;
    memcpy(search->best, place, (size_t)i * sizeof *place);
    return;
  }
  for (int32_t k = 0; k < search->n; k++) {
    if ((taken >> k & 1) != 0)
      continue;
    place[i] = k;
    search_exact(search, place, i + 1, taken | UINT32_C(1) << k, cost + cost_with_earlier(search, place, i));
  }
}

/* ---- Local search ------------------------------------------------------------------------------------------------ */

/* Change of the cost if subdomains r and s exchange their places. */
static double change_of(const search_t *search, const int32_t place[], int32_t r, int32_t s)
{
  const double *f = search->flow, *d = search->distance;
  int64_t n = search->n, a = place[r], b = place[s];
  double change = (f[r * n + r] - f[s * n + s]) * (d[b * n + b] - d[a * n + a]) +
                  (f[r * n + s] - f[s * n + r]) * (d[b * n + a] - d[a * n + b]);
  for (int64_t k = 0; k < n; k++) {
    int64_t c = place[k];
    if (k != r && k != s)
      change += (f[r * n + k] - f[s * n + k]) * (d[b * n + c] - d[a * n + c]) +
                (f[k * n + r] - f[k * n + s]) * (d[c * n + b] - d[c * n + a]);
  }
  return change;
}

static void swap(int32_t place[], int32_t r, int32_t s)
{
  int32_t old = place[r];
  place[r] = place[s];
  place[s] = old;
}

static void exchange_pairs(search_t *search, int32_t place[])
{
  double cost = sfc_placement_cost(search->n, search->flow, search->distance, place).total;
  bool changed = true;
  for (int sweep = 0; sweep < SWEEPS_MAX && changed; sweep++) {
    changed = false;
    for (int32_t r = 0; r < search->n; r++)
      for (int32_t s = r + 1; s < search->n; s++) {
        double change = change_of(search, place, r, s);
        if (!is_less(cost + change, cost))
          continue;
        cost += change;
        swap(place, r, s);
        changed = true;
      }
  }
  if (is_less(cost, search->least)) {
    search->least = cost;
    memcpy(search->best, place, (size_t)search->n * sizeof *place);
  }
}

/* Fills place after place with the subdomain that gains most there, by its flow to subdomains with near places:
 * clusters of near places get compact blocks. */
static void place_greedily(const search_t *search, int32_t place[])
{
  const double *f = search->flow, *d = search->distance;
  int64_t n = search->n;
  double farthest = 0;
  for (int64_t i = 0; i < n * n; i++)
    farthest = d[i] > farthest ? d[i] : farthest;
  for (int64_t i = 0; i < n; i++)
    place[i] = -1;
  for (int64_t k = 0; k < n; k++) {
    double most = -1;
    int64_t chosen = 0;
    for (int64_t i = 0; i < n; i++) {
      double gain = 0;
      for (int64_t j = 0; j < n && place[i] < 0; j++)
        if (place[j] >= 0)
          gain += (f[i * n + j] + f[j * n + i]) * (farthest - d[k * n + place[j]]);
      if (place[i] < 0 && gain > most) {
        most = gain;
        chosen = i;
      }
    }
    place[chosen] = (int32_t)k;
  }
}

static void search_from_starts(search_t *search, int32_t place[])
{
  uint64_t state = 1;
  for (int start = 0; start < (search->n > LARGE ? STARTS_LARGE : STARTS); start++) {
    for (int32_t i = 0; i < search->n; i++)
      place[i] = i;
    if (start == 1)
      place_greedily(search, place);
    for (int32_t i = search->n - 1; i > 0 && start > 1; i--) {
      state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* D. Knuth's MMIX */
      swap(place, i, (int32_t)((state >> 33) % ((uint64_t)i + 1)));
    }
    exchange_pairs(search, place);
  }
}

void sfc_placement_find(int32_t n, const double flow[], const double distance[], int32_t place[], int32_t scratch[])
{
  for (int32_t i = 0; i < n; i++)
    place[i] = i;
  search_t search = {n, flow, distance, sfc_placement_cost(n, flow, distance, place).total, place};
  if (n <= SFC_PLACEMENT_EXACT)
    search_exact(&search, scratch, 0, 0, 0);
  else
    search_from_starts(&search, scratch);
}
