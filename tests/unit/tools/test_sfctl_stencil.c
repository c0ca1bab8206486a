/* sfctl plan for stencils: forecasts compared with those of the points that ranks need, one by one; placement. */
#include "tools/sfctl/plan/stencil.h"

#include "shm/base/error.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

static unsigned seed;
static uint64_t state;

static int64_t below(int64_t n)
{
  return (int64_t)sftest_random(&state) % n;
}

/* ---- Point by point ---- */

/* Along one axis: whether q is in the halo of the part with p (1), in the part itself (0), or neither (-1). A point may
 * be both in a ring. */
static int side_of(const sfc_partition_t *partition, const sfc_halo_t *halo, int axis, int64_t p, int64_t q, bool own)
{
  int64_t n = partition->points[axis];
  int32_t part = sfc_partition_part_at(partition, axis, p);
  int64_t begin = sfc_partition_begin(partition, axis, part), end = sfc_partition_begin(partition, axis, part + 1);
  if (own)
    return q >= begin && q < end ? 0 : -1;
  for (int64_t at = begin - halo->width[axis][0]; at < end + halo->width[axis][1]; at++) {
    bool outside = at < begin || at >= end;
    if (outside && (partition->periodic[axis] ? (at % n + n) % n == q : at == q))
      return 1;
  }
  return -1;
}

static int64_t owner_of(const sfc_partition_t *partition, const int64_t at[3])
{
  int32_t part[3];
  for (int axis = 0; axis < 3; axis++)
    part[axis] = sfc_partition_part_at(partition, axis, at[axis]);
  return sfc_partition_number(partition, part);
}

/* Whether the subdomain with point p needs point q. */
static bool needs(const sfctl_stencil_t *stencil, const int64_t p[3], const int64_t q[3])
{
  bool found = false;
  for (int halos = 1; halos < 8; halos++) { /* the axes along which q is taken as a halo point */
    bool there = __builtin_popcount((unsigned)halos) <= stencil->halo.reach;
    for (int axis = 0; axis < 3 && there; axis++)
      there = side_of(&stencil->partition, &stencil->halo, axis, p[axis], q[axis], (halos >> axis & 1) == 0) >= 0;
    found = found || there;
  }
  return found;
}

static void split(const sfctl_stencil_t *stencil, int64_t point, int64_t at[3])
{
  for (int axis = 0; axis < 3; axis++, point /= stencil->partition.points[axis - 1])
    at[axis] = point % stencil->partition.points[axis];
}

static int64_t count_points(const sfctl_stencil_t *stencil)
{
  return stencil->partition.points[0] * stencil->partition.points[1] * stencil->partition.points[2];
}

/* The points that a rank needs of others, by owner. */
static sf_status_t wants_of(const void *context, int32_t rank, sfctl_wants_t *wants)
{
  const sfctl_stencil_t *stencil = context;
  int64_t total = count_points(stencil), mine = 0, p[3], q[3];
  for (; mine < total; mine++) {
    split(stencil, mine, p);
    if (owner_of(&stencil->partition, p) == rank)
      break;
  }
  for (int64_t owner = 0; owner < sfc_partition_count(&stencil->partition) && mine < total; owner++)
    for (int64_t point = 0; point < total && owner != rank; point++) {
      split(stencil, point, q);
      if (owner_of(&stencil->partition, q) == owner && needs(stencil, p, q))
        ck_assert_int_eq(sfctl_wants_add(wants, (int32_t)owner, point, 1), SF_OK);
    }
  return SF_OK;
}

/* The analytic forecast, and that which merges the lists of points as daemons do. */
static void compare(const sfctl_stencil_t *stencil)
{
  const sfctl_problem_t problem = {.nranks = stencil->nnodes * stencil->per_node,
                                   .per_node = stencil->per_node,
                                   .wants = wants_of,
                                   .context = stencil};
  sfctl_forecast_t found, expected;
  ck_assert_int_eq(sfctl_stencil_forecast(stencil, &found), SF_OK);
  ck_assert_int_eq(sfctl_forecast_make(&problem, &expected), SF_OK);
  ck_assert_int_eq(found.nnodes, expected.nnodes);
  ck_assert_uint_eq(found.npairs, expected.npairs);
  size_t node_bytes = (size_t)found.nnodes * sizeof *found.nodes, pair_bytes = found.npairs * sizeof *found.pairs;
  ck_assert_msg(memcmp(found.nodes, expected.nodes, node_bytes) == 0, "nodes (SF_TEST_SEED=%u)", seed);
  ck_assert_msg(pair_bytes == 0 || memcmp(found.pairs, expected.pairs, pair_bytes) == 0, "pairs (SF_TEST_SEED=%u)",
                seed);
  sfctl_forecast_free(&found);
  sfctl_forecast_free(&expected);
}

SFTEST(stencils)
{
  seed = sftest_seed(20261104);
  state = seed;
  for (int i = 0; i < 30; i++) {
    sfctl_options_t options = {.nodes = below(4) + 1,
                               .per_node = below(3) + 1,
                               .fields = 1,
                               .unit = 8,
                               .radius = below(3) + 1,
                               .periodic = below(2) != 0,
                               .stencil = below(2) != 0 ? 7 : 27};
    sfctl_stencil_t stencil;
    char text[64];
    snprintf(text, sizeof text, "%d,%d,%d", (int)below(6) + 1, (int)below(6) + 1, (int)below(6) + 1);
    options.grid = text;
    ck_assert_int_eq(sfctl_stencil_init(&options, &stencil), SF_OK);
    compare(&stencil);
    sfctl_stencil_free(&stencil);
  }
}

/* As large as machines are: each of the ranks has 26 neighbours, and so has each of the nodes. */
SFTEST(stencils_of_many_ranks)
{
  sfctl_options_t options = {.nodes = 128,
                             .per_node = 128,
                             .fields = 8,
                             .unit = 8,
                             .radius = 3,
                             .periodic = true,
                             .stencil = 27,
                             .grid = "12288,12288,12288"};
  sfctl_stencil_t stencil;
  sfctl_forecast_t forecast;
  int64_t messages = 0;
  ck_assert_int_eq(sfctl_stencil_init(&options, &stencil), SF_OK);
  ck_assert_int_eq(sfctl_stencil_forecast(&stencil, &forecast), SF_OK);
  for (int32_t i = 0; i < forecast.nnodes; i++)
    messages += forecast.nodes[i].flat_in.messages + forecast.nodes[i].within.messages;
  ck_assert_int_eq(messages, 16384 * 26);
  ck_assert_uint_eq(forecast.npairs, 128 * 26);
  sfctl_forecast_free(&forecast);
  sfctl_stencil_free(&stencil);
}

/* The places of a node that is full of devices: those of a socket are five times nearer. */
SFTEST(stencils_are_placed)
{
  char name[] = "/tmp/sftest-distances-XXXXXX";
  sfctl_options_t options = {.nodes = 2, .per_node = 6, .fields = 1, .unit = 8, .radius = 3, .periodic = true};
  sfctl_stencil_t stencil;
  bool taken[12] = {false};
  int fd = mkstemp(name);
  FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
  ck_assert_ptr_nonnull(file);
  for (int i = 0; i < 36; i++)
    fprintf(file, "%d%c", i / 6 == i % 6 ? 0 : i / 18 == i % 6 / 3 ? 1 : 5, i % 6 == 5 ? '\n' : ',');
  fclose(file);
  options.grid = "2880x1452x700";
  options.stencil = 27;
  options.distances = name;
  ck_assert_msg(sfctl_stencil_init(&options, &stencil) == SF_OK, "%s", sfshm_error_detail());
  ck_assert(stencil.placed && stencil.best.total < 0.9 * stencil.linear.total);
  for (int i = 0; i < 12; i++) {
    ck_assert(stencil.rank_of[i] / 6 == i / 6 && !taken[stencil.rank_of[i]]);
    taken[stencil.rank_of[i]] = true;
  }
  sfctl_stencil_free(&stencil);
  options.per_node = 7;
  ck_assert_int_eq(sfctl_stencil_init(&options, &stencil), SF_ERR_ARG);
  ck_assert_msg(strstr(sfshm_error_detail(), "number 37 is none") != NULL, "%s", sfshm_error_detail());
  options.per_node = 5;
  ck_assert_int_eq(sfctl_stencil_init(&options, &stencil), SF_ERR_ARG);
  unlink(name);
  ck_assert_int_eq(sfctl_stencil_init(&options, &stencil), SF_ERR_SYS);
}

/* Halos of faces, of 512 KiB for 8 fields, and halos of edges and corners. */
SFTEST(ways_depend_on_bytes)
{
  sfctl_options_t options = {
      .nodes = 2, .per_node = 8, .fields = 8, .unit = 8, .radius = 1, .stencil = 27, .grid = "384,192,192"};
  sfctl_stencil_t stencil;
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  ck_assert_int_eq(sfctl_stencil_init(&options, &stencil), SF_OK);
  ck_assert_int_eq(sfctl_stencil_print(&stencil, true, file), SF_OK);
  fclose(file);
  ck_assert_msg(strstr(text, "9216  in-place") != NULL && strstr(text, "96  slots") != NULL &&
                    strstr(text, " 1  inline") != NULL && strstr(text, "9216  trunk") != NULL,
                "%s", text);
  free(text);
  sfctl_stencil_free(&stencil);
}
