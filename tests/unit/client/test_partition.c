/* Partition of grids and placement of subdomains, compared with counts point by point and with exhaustive search. */
#include "client/partition.h"

#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#define MAX_POINTS 2000
#define MAX_PLACES 24

static const int32_t axes[3] = {0, 1, 2};
static unsigned seed;
static uint64_t state;

static int64_t below(int64_t n)
{
  return (int64_t)(sftest_random64(&state) % (uint64_t)n);
}

static void start_random(void)
{
  seed = sftest_seed(20261106);
  state = seed;
}

static void expect_parts(const int32_t found[3], int32_t x, int32_t y, int32_t z)
{
  ck_assert_msg(found[0] == x && found[1] == y && found[2] == z, "%d x %d x %d", found[0], found[1], found[2]);
}

/* Figure 4 of the paper: 4 x 24 x 2 points over 12 nodes of 4 subdomains. */
SFTEST(partition_of_the_paper)
{
  const int64_t points[3] = {4, 24, 2};
  const bool periodic[3] = {true, true, true};
  sfc_partition_t partition = sfc_partition_make(points, periodic, axes, 12, 4);
  expect_parts(partition.outer, 2, 6, 1);
  expect_parts(partition.inner, 2, 2, 1);
  for (int64_t number = 0; number < sfc_partition_count(&partition); number++) {
    int32_t part[3];
    sfc_partition_parts_of(&partition, number, part);
    ck_assert_int_eq(sfc_partition_number(&partition, part), number);
    for (int axis = 0; axis < 3; axis++)
      ck_assert_int_eq(sfc_partition_begin(&partition, axis, part[axis] + 1) -
                           sfc_partition_begin(&partition, axis, part[axis]),
                       axis == 0 ? 1 : 2);
  }
  /* The node that the figure marks, at [1, 2, 0], has number 1 + 2 * 2; its subdomain [1, 0, 0] is the second one. */
  const int32_t marked[3] = {1 * 2 + 1, 2 * 2, 0};
  ck_assert_int_eq(sfc_partition_number(&partition, marked), 5 * 4 + 1);
}

static sfc_partition_t any_partition(int64_t side)
{
  int64_t points[3];
  bool periodic[3];
  for (int axis = 0; axis < 3; axis++) {
    points[axis] = below(3) == 0 ? 1 : below(side) + 1;
    periodic[axis] = below(2) != 0;
  }
  return sfc_partition_make(points, periodic, axes, (int32_t)below(12) + 1, (int32_t)below(12) + 1);
}

static sfc_halo_t any_halo(const sfc_partition_t *partition)
{
  sfc_halo_t halo = {.reach = (int32_t)below(3) + 1};
  for (int axis = 0; axis < 3; axis++)
    for (int side = 0; side < 2; side++)
      halo.width[axis][side] = below(4) == 0 ? below(2 * partition->points[axis] + 3) : below(3);
  return halo;
}

SFTEST(every_point_has_one_owner)
{
  start_random();
  for (int round = 0; round < 300; round++) {
    sfc_partition_t partition = any_partition(60);
    int64_t count = 1;
    for (int axis = 0; axis < 3; axis++) {
      int32_t parts = sfc_partition_parts(&partition, axis);
      int64_t least = INT64_MAX, most = 0, n = partition.points[axis];
      count *= parts;
      for (int32_t part = 0; part < parts; part++) {
        int64_t begin = sfc_partition_begin(&partition, axis, part),
                end = sfc_partition_begin(&partition, axis, part + 1);
        least = end - begin < least ? end - begin : least;
        most = end - begin > most ? end - begin : most;
        for (int64_t point = begin; point < end; point++)
          ck_assert_int_eq(sfc_partition_part_at(&partition, axis, point), part);
      }
      ck_assert_int_eq(sfc_partition_begin(&partition, axis, 0), 0);
      ck_assert_int_eq(sfc_partition_begin(&partition, axis, parts), n);
      ck_assert_msg(most - least <= 1, "%lld to %lld points (SF_TEST_SEED=%u)", (long long)least, (long long)most,
                    seed);
    }
    ck_assert_int_eq(count, sfc_partition_count(&partition));
  }
}

/* ---- Halos, point by point --------------------------------------------------------------------------------------- */

/* Marks the points of the grid in the halo of a subdomain. */
static void mark_halo(const sfc_partition_t *partition, const sfc_halo_t *halo, const int32_t part[3], bool marks[])
{
  int64_t begin[3], end[3], at[3];
  const int64_t *n = partition->points;
  memset(marks, 0, MAX_POINTS * sizeof *marks);
  for (int axis = 0; axis < 3; axis++) {
    begin[axis] = sfc_partition_begin(partition, axis, part[axis]);
    end[axis] = sfc_partition_begin(partition, axis, part[axis] + 1);
    if (begin[axis] == end[axis])
      return;
  }
  for (at[2] = begin[2] - halo->width[2][0]; at[2] < end[2] + halo->width[2][1]; at[2]++)
    for (at[1] = begin[1] - halo->width[1][0]; at[1] < end[1] + halo->width[1][1]; at[1]++)
      for (at[0] = begin[0] - halo->width[0][0]; at[0] < end[0] + halo->width[0][1]; at[0]++) {
        int away = 0;
        bool there = true;
        int64_t point[3];
        for (int axis = 0; axis < 3; axis++) {
          away += at[axis] < begin[axis] || at[axis] >= end[axis];
          there = there && (partition->periodic[axis] || (at[axis] >= 0 && at[axis] < n[axis]));
          point[axis] = ((at[axis] % n[axis]) + n[axis]) % n[axis];
        }
        if (there && away > 0 && away <= halo->reach)
          marks[point[0] + n[0] * (point[1] + n[1] * point[2])] = true;
      }
}

static int64_t count_marked(const sfc_partition_t *partition, const int32_t part[3], const bool marks[])
{
  int64_t count = 0;
  const int64_t *n = partition->points;
  for (int64_t p = 0; p < n[0] * n[1] * n[2]; p++)
    count += marks[p] && sfc_partition_part_at(partition, 0, p % n[0]) == part[0] &&
             sfc_partition_part_at(partition, 1, p / n[0] % n[1]) == part[1] &&
             sfc_partition_part_at(partition, 2, p / n[0] / n[1]) == part[2];
  return count;
}

SFTEST(halos_are_counted)
{
  static bool marks[MAX_POINTS];
  start_random();
  for (int round = 0; round < 60; round++) {
    sfc_partition_t partition = any_partition(12);
    sfc_halo_t halo = any_halo(&partition);
    int64_t count = sfc_partition_count(&partition), to = below(count), found = 0, expected = 0, from, values;
    int32_t part[3], other[3];
    sfc_neighbors_t neighbors;
    sfc_partition_parts_of(&partition, to, part);
    mark_halo(&partition, &halo, part, marks);
    for (int64_t number = 0; number < count; number++) {
      sfc_partition_parts_of(&partition, number, other);
      expected += number != to && count_marked(&partition, other, marks) > 0;
    }
    ck_assert(sfc_neighbors_begin(&neighbors, &partition, &halo, to));
    for (; sfc_neighbors_next(&neighbors, &from, &values); found++) {
      sfc_partition_parts_of(&partition, from, other);
      ck_assert_msg(values == count_marked(&partition, other, marks), "%lld values, %lld expected (SF_TEST_SEED=%u)",
                    (long long)values, (long long)count_marked(&partition, other, marks), seed);
    }
    sfc_neighbors_end(&neighbors);
    ck_assert_msg(found == expected, "%lld neighbours, %lld expected (SF_TEST_SEED=%u)", (long long)found,
                  (long long)expected, seed);
  }
}

/* ---- Placement --------------------------------------------------------------------------------------------------- */

static double least_of_all(int32_t n, const double flow[], const double distance[], int32_t place[], int32_t i)
{
  double least = 1e300;
  if (i == n)
    return sfc_placement_cost(n, flow, distance, place).total;
  for (int32_t k = i; k < n; k++) {
    int32_t old = place[i];
    place[i] = place[k];
    place[k] = old;
    double cost = least_of_all(n, flow, distance, place, i + 1);
    least = cost < least ? cost : least;
    place[k] = place[i];
    place[i] = old;
  }
  return least;
}

/* Figure 11 of the paper: 1440 x 1452 x 700 points over the six devices of a Summit node. Devices of a socket are
 * joined by links of 50 GB/s, those of different sockets share a bus of 64 GB/s (figure 10): each of their nine pairs
 * gets a ninth of it. */
SFTEST(placement_of_the_paper)
{
  const int64_t points[3] = {1440, 1452, 700};
  const bool periodic[3] = {true, true, true};
  const sfc_halo_t halo = {.width = {{3, 3}, {3, 3}, {3, 3}}, .reach = 3};
  double flow[36], distance[36];
  int32_t place[6], scratch[6], linear[6];
  sfc_partition_t partition = sfc_partition_make(points, periodic, axes, 1, 6);
  expect_parts(partition.inner, 2, 3, 1);
  for (int32_t i = 0; i < 36; i++)
    distance[i] = i / 6 == i % 6 ? 0 : i / 18 == i % 6 / 3 ? 1 / 50.0 : 9 / 64.0;
  sfc_placement_flow(&partition, &halo, 0, 6, flow);
  sfc_placement_find(6, flow, distance, place, scratch);
  for (int32_t i = 0; i < 6; i++)
    linear[i] = i;
  sfc_placement_cost_t before = sfc_placement_cost(6, flow, distance, linear),
                       after = sfc_placement_cost(6, flow, distance, place);
  ck_assert_double_eq_tol(after.total, least_of_all(6, flow, distance, linear, 0), 1e-9 * after.total);
  ck_assert_msg(after.busiest <= 0.8 * before.busiest, "%g of %g", after.busiest, before.busiest);
  /* Subdomains with the same index along x share a socket: the large faces between them stay there. */
  for (int32_t i = 2; i < 6; i++)
    ck_assert_int_eq(place[i] / 3, place[i % 2] / 3);
}

SFTEST(small_problems_are_solved_exactly)
{
  double flow[49], distance[49];
  int32_t place[7], scratch[7], order[7];
  start_random();
  for (int round = 0; round < 40; round++) {
    int32_t n = (int32_t)below(7) + 1;
    for (int32_t i = 0; i < n * n; i++) {
      flow[i] = (double)below(20);
      distance[i] = (double)below(9);
      order[i % n] = i % n;
    }
    sfc_placement_find(n, flow, distance, place, scratch);
    double cost = sfc_placement_cost(n, flow, distance, place).total, least = least_of_all(n, flow, distance, order, 0);
    ck_assert_msg(cost <= least + 1e-6 * least, "%g, %g is possible (SF_TEST_SEED=%u)", cost, least, seed);
  }
}

/* A node of 24 places in sockets of 4, with a grid whose linear order crosses sockets. */
SFTEST(large_problems_get_better)
{
  static double flow[MAX_PLACES * MAX_PLACES], distance[MAX_PLACES * MAX_PLACES];
  const int64_t points[3] = {400, 600, 100};
  const bool periodic[3] = {false, false, false};
  const sfc_halo_t halo = {.width = {{1, 1}, {1, 1}, {1, 1}}, .reach = 1};
  int32_t place[MAX_PLACES], scratch[MAX_PLACES], linear[MAX_PLACES], n = MAX_PLACES;
  bool taken[MAX_PLACES] = {false};
  sfc_partition_t partition = sfc_partition_make(points, periodic, axes, 1, n);
  for (int32_t i = 0; i < n * n; i++) {
    distance[i] = i / n == i % n ? 0 : i / n / 4 == i % n / 4 ? 1 : 5;
    linear[i % n] = i % n;
  }
  sfc_placement_flow(&partition, &halo, 0, n, flow);
  sfc_placement_find(n, flow, distance, place, scratch);
  for (int32_t i = 0; i < n; i++) {
    ck_assert(place[i] >= 0 && place[i] < n && !taken[place[i]]);
    taken[place[i]] = true;
  }
  ck_assert(sfc_placement_cost(n, flow, distance, place).total <
            0.9 * sfc_placement_cost(n, flow, distance, linear).total);
}
