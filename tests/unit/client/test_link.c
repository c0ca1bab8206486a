/* Links against edges taken one by one: unpacking in pieces of any size, in parts of units, and straight from buffer to
 * buffer must leave the same bytes, also where a root has many leaves and the order of combining shows. */
#include "client/plan/link.h"

#include "client/plan/edge_list.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#define MAX_EDGES 120
#define MAX_VERTEX 400
#define MAX_UNIT 96
#define BUFFER_BYTES (MAX_VERTEX * MAX_UNIT)
#define ROUNDS 3000

SFTEST_SEED(20240905);

/* Random edges between two ranks, as the application gave them and as a link. */
typedef struct edges {
  int64_t n;
  int64_t leaf[MAX_EDGES];
  int64_t root[MAX_EDGES];
  int32_t root_rank[MAX_EDGES];
  sfc_edge_list_t list;
  sfc_link_t link;
} edges_t;

static edges_t edges;
static uint64_t random_state;

static int64_t below(int64_t bound)
{
  return sftest_random(&random_state) % (uint32_t)bound;
}

/* Leaves are distinct: 3 to an edge, of which one is taken, in order or not. */
static void choose_edges(void)
{
  int64_t bounds[] = {1, 10, 60, MAX_VERTEX}, bound = bounds[below(4)], line = below(4), step = 1 + below(3);
  edges.n = 1 + below(MAX_EDGES);
  for (int64_t i = 0; i < edges.n; i++) {
    edges.leaf[i] = line == 1 ? i + 5 : 3 * i + below(3);
    edges.root[i] = line >= 2 ? below(bound) : i * step;
    edges.root_rank[i] = 0;
  }
  for (int64_t i = edges.n - 1; i > 0 && line == 3; i--) {
    int64_t other = below(i + 1), leaf = edges.leaf[i];
    edges.leaf[i] = edges.leaf[other];
    edges.leaf[other] = leaf;
  }
}

static void make_link(void)
{
  int64_t bad_leaf;
  choose_edges();
  sfc_edge_input_t input = {.nroots = MAX_VERTEX,
                            .nleaves = edges.n,
                            .leaf_index = edges.leaf,
                            .root_rank = edges.root_rank,
                            .root_index = edges.root,
                            .wide = true};
  ck_assert_int_eq(sfc_edge_list_make(&input, 0, 1, &edges.list, &bad_leaf), SF_OK);
  sfc_link_init(&edges.link, &edges.list.parts[0].edges, malloc(1));
}

static void destroy_link(void)
{
  sfc_link_destroy(&edges.link);
  sfc_edge_list_destroy(&edges.list);
}

/* ---- Units, ops and data ---- */

static const sfshm_unit_t units[] = {
    {SFSHM_BASE_DOUBLE, 1},  {SFSHM_BASE_DOUBLE, 3}, {SFSHM_BASE_INT32, 1},         {SFSHM_BASE_UINT8, 5},
    {SFSHM_BASE_OPAQUE, 7},  {SFSHM_BASE_FLOAT, 1},  {SFSHM_BASE_FLOAT_COMPLEX, 2}, {SFSHM_BASE_DOUBLE_COMPLEX, 6},
    {SFSHM_BASE_OPAQUE, 64}, {SFSHM_BASE_INT64, 12},
};

static sfc_combine_t combine_of(sfshm_unit_t unit, sfshm_op_t op)
{
  return (sfc_combine_t){unit, sfshm_unit_size(unit), sfshm_kernels_find(unit, op)};
}

static sfshm_op_t choose_op(sfshm_base_t base)
{
  sfshm_op_t op;
  do
    op = (sfshm_op_t)below(SFSHM_OP_COUNT);
  while (!sfshm_op_applies(op, base));
  return op;
}

/* Numbers of very different size, so that the order of sums shows. */
static void fill(uint8_t *bytes, sfshm_base_t base)
{
  for (size_t i = 0; i < BUFFER_BYTES; i++)
    bytes[i] = (uint8_t)sftest_random(&random_state);
  if (base == SFSHM_BASE_DOUBLE || base == SFSHM_BASE_DOUBLE_COMPLEX)
    for (size_t i = 0; i < BUFFER_BYTES / 8; i++)
      ((double *)(void *)bytes)[i] = (double)(below(1 << 20) - (1 << 19)) * (below(2) != 0 ? 1e-9 : 1e3);
  if (base == SFSHM_BASE_FLOAT || base == SFSHM_BASE_FLOAT_COMPLEX)
    for (size_t i = 0; i < BUFFER_BYTES / 4; i++)
      ((float *)(void *)bytes)[i] = (float)(below(1 << 20) - (1 << 19)) * (below(2) != 0 ? 1e-5f : 10.0f);
}

/* One operation on the link: source and target before it, and the target that it must leave. */
typedef struct operation {
  sfshm_operation_t kind;
  sfshm_op_t op;
  sfc_combine_t combine;
  _Alignas(64) uint8_t source[BUFFER_BYTES];
  _Alignas(64) uint8_t target[BUFFER_BYTES];
  _Alignas(64) uint8_t expected[BUFFER_BYTES];
} operation_t;

static operation_t operation;

static int64_t source_of(int64_t edge)
{
  return operation.kind == SFSHM_BCAST ? edges.root[edge] : edges.leaf[edge];
}

static int64_t target_of(int64_t edge)
{
  return operation.kind == SFSHM_BCAST ? edges.leaf[edge] : edges.root[edge];
}

static int compare_leaves(const void *a, const void *b)
{
  int64_t x = edges.leaf[*(const int64_t *)a], y = edges.leaf[*(const int64_t *)b];
  return (x > y) - (x < y);
}

/* Edge by edge, by ascending leaf. */
static void apply_one_by_one(void)
{
  const sfshm_pattern_t one = sfshm_pattern_contiguous(0, 1);
  const sfc_combine_t *combine = &operation.combine;
  int64_t order[MAX_EDGES];
  for (int64_t i = 0; i < edges.n; i++)
    order[i] = i;
  qsort(order, (size_t)edges.n, sizeof *order, compare_leaves);
  for (int64_t i = 0; i < edges.n; i++)
    combine->kernels->unpack(combine->unit, &one, 0, 1,
                             operation.source + (size_t)source_of(order[i]) * combine->unit_bytes,
                             operation.expected + (size_t)target_of(order[i]) * combine->unit_bytes);
}

static void start_operation(int round)
{
  sfshm_unit_t unit = units[(size_t)round % (sizeof units / sizeof units[0])];
  operation.kind = below(2) == 0 ? SFSHM_BCAST : SFSHM_REDUCE;
  operation.op = choose_op(unit.base);
  operation.combine = combine_of(unit, operation.op);
  fill(operation.source, unit.base);
  fill(operation.target, unit.base);
  memcpy(operation.expected, operation.target, BUFFER_BYTES);
  apply_one_by_one();
}

static void expect_result(void)
{
  ck_assert_msg(memcmp(operation.target, operation.expected, BUFFER_BYTES) == 0, "%s(%s x %lld, %s) of %lld edges",
                operation.kind == SFSHM_BCAST ? "bcast" : "reduce", sfshm_base_name(operation.combine.unit.base),
                (long long)operation.combine.unit.count, sfshm_op_name(operation.op), (long long)edges.n);
}

/* Values first .. first + n - 1 of the message, in memory that ends behind them. */
static uint8_t *pack(int64_t first, int64_t n)
{
  const sfshm_pattern_t *pattern = operation.kind == SFSHM_BCAST ? &edges.link.value_root : &edges.link.leaf;
  size_t unit_bytes = operation.combine.unit_bytes;
  uint8_t *packed = malloc((size_t)n * unit_bytes);
  for (int64_t i = 0; i < n; i++)
    memcpy(packed + (size_t)i * unit_bytes,
           operation.source + (size_t)sfshm_pattern_at(pattern, first + i) * unit_bytes, unit_bytes);
  return packed;
}

/* ---- Tests ---- */

static void setup(void)
{
  random_state = sftest_random_start(seed, 1);
}

SFTEST_FIXTURE(setup, NULL);

SFTEST(what_a_link_says_of_itself)
{
  for (int round = 0; round < ROUNDS; round++) {
    bool has_leaves[MAX_VERTEX] = {false};
    int64_t nvalues = 0, root_max = -1, leaf_max = -1;
    make_link();
    for (int64_t i = 0; i < edges.n; i++) {
      nvalues += !has_leaves[edges.root[i]];
      has_leaves[edges.root[i]] = true;
      root_max = edges.root[i] > root_max ? edges.root[i] : root_max;
      leaf_max = edges.leaf[i] > leaf_max ? edges.leaf[i] : leaf_max;
    }
    const sfc_link_t *link = &edges.link;
    ck_assert(link->nedges == edges.n && link->nvalues == nvalues);
    ck_assert(link->root_max == root_max && link->leaf_max == leaf_max);
    ck_assert(sfc_link_count(link, SFSHM_BCAST) == nvalues && sfc_link_count(link, SFSHM_REDUCE) == edges.n);
    ck_assert(link->root_runs >= 1 && link->root_runs <= nvalues && link->leaf_runs <= edges.n);
    destroy_link();
  }
  sfc_link_destroy(&(sfc_link_t){0});
}

SFTEST(messages_unpacked_in_pieces)
{
  for (int round = 0; round < ROUNDS; round++) {
    make_link();
    start_operation(round);
    int64_t count = sfc_link_count(&edges.link, operation.kind), longest = 1 + below(round % 3 == 0 ? 3 : count);
    for (int64_t first = 0, n; first < count; first += n) {
      n = 1 + below(longest);
      if (n > count - first)
        n = count - first;
      uint8_t *packed = pack(first, n);
      sfc_link_unpack(&edges.link, operation.kind, &operation.combine, first, n, packed, operation.target);
      free(packed);
    }
    expect_result();
    destroy_link();
  }
}

SFTEST(units_unpacked_in_parts)
{
  for (int round = 0; round < ROUNDS; round++) {
    make_link();
    start_operation(round);
    size_t unit_bytes = operation.combine.unit_bytes, base_bytes = sfshm_base_size(operation.combine.unit.base);
    int64_t count = sfc_link_count(&edges.link, operation.kind), most = operation.combine.unit.count;
    for (int64_t value = 0; value < count; value++) {
      uint8_t *packed = pack(value, 1);
      for (int64_t at = 0, n; at < most; at += n) {
        n = 1 + below(most);
        if (n > most - at)
          n = most - at;
        sfc_combine_t part = combine_of((sfshm_unit_t){operation.combine.unit.base, n}, operation.op);
        size_t offset = (size_t)at * base_bytes;
        sfc_link_unpack_part(&edges.link, operation.kind, &part, unit_bytes, value, offset, packed + offset,
                             operation.target);
      }
      free(packed);
    }
    expect_result();
    destroy_link();
  }
}

SFTEST(from_buffer_to_buffer)
{
  for (int round = 0; round < ROUNDS; round++) {
    make_link();
    start_operation(round);
    sfc_link_apply(&edges.link, operation.kind, &operation.combine, operation.source, operation.target);
    expect_result();
    destroy_link();
  }
}
