/* Operations with several fields, some of which have ops of the application: compared with one operation for each
 * field, and with a serial model; on one node and over several. */
#include "tests/system/operations/fields.h"

#define RANKS SFTEST_FIELDS_RANKS
#define ROOTS 3000 /* of each rank: more units than the library hands to an op at once */
#define FIELDS 4
#define ROUNDS 2

/* Neither associative nor commutative. */
static uint64_t append(uint64_t in, uint64_t inout)
{
  return inout * 31 + in;
}

static void append_all(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context)
{
  const uint64_t *from = in;
  uint64_t *to = inout;
  for (int64_t i = 0; i < n * (int64_t)(unit_bytes / sizeof *to); i++)
    to[i] = append(from[i], to[i]);
  ++*(int64_t *)context;
}

/* Fields in one list: numbers and pairs of numbers with an op of the application, and two with predefined ops. */
typedef struct fields {
  const sf_type_t *pair;
  const sf_op_t *own;
  int64_t calls; /* of the op */
  uint64_t numbers[2][2 * ROOTS], pairs[2][2 * 2 * ROOTS];
  double doubles[2][2 * ROOTS];
  uint8_t bytes[2][2 * ROOTS];
  sf_field_t list[FIELDS];
} fields_t;

static void fields_init(sftest_rank_t *self, fields_t *fields)
{
  SFTEST_OK(self, sf_type_create_block(2, SF_UINT64, &fields->pair));
  SFTEST_OK(self, sf_op_create(append_all, &fields->calls, &fields->own));
  const sf_field_t list[FIELDS] = {{SF_UINT8, fields->bytes[0], fields->bytes[1], SF_REPLACE},
                                   {SF_UINT64, fields->numbers[0], fields->numbers[1], fields->own},
                                   {SF_DOUBLE, fields->doubles[0], fields->doubles[1], SF_SUM},
                                   {fields->pair, fields->pairs[0], fields->pairs[1], fields->own}};
  memcpy(fields->list, list, sizeof list);
}

static uint64_t value(int32_t rank, int side, int64_t i)
{
  return (uint64_t)rank * 1000000 + (uint64_t)side * 100000 + (uint64_t)i;
}

static void fill(fields_t *fields, int32_t rank)
{
  for (int side = 0; side < 2; side++)
    for (int64_t i = 0; i < 2 * ROOTS; i++) {
      fields->numbers[side][i] = value(rank, side, i);
      fields->pairs[side][2 * i] = value(rank, side, i) + 7;
      fields->pairs[side][2 * i + 1] = value(rank, side, i) + 9;
      fields->doubles[side][i] = 0.1 * (double)value(rank, side, i);
      fields->bytes[side][i] = (uint8_t)value(rank, side, i);
    }
}

/* Each rank has two leaves, i and ROOTS + i, on root i of every second rank beginning with its own. */
static sf_graph_t *create_graph(sftest_rank_t *self, sf_group_t *group, uint32_t flags)
{
  static int32_t rank[2 * ROOTS];
  static int64_t root[2 * ROOTS];
  sf_graph_t *graph;
  for (int64_t i = 0; i < 2 * ROOTS; i++) {
    rank[i] = (int32_t)((self->rank + i % 2 * 2) % self->size);
    root[i] = i % ROOTS;
  }
  SFTEST_OK(self, sf_graph_create(group, ROOTS, 2 * ROOTS, NULL, rank, root, flags, &graph));
  return graph;
}

/* The numbers that a reduce leaves at root i: leaves i and ROOTS + i of each rank with such edges, rank by rank. */
static uint64_t expected_number(const sftest_rank_t *self, int64_t i)
{
  uint64_t number = value(self->rank, 0, i);
  for (int32_t from = 0; from < self->size; from++)
    for (int64_t leaf = i; leaf < 2 * ROOTS; leaf += ROOTS)
      if ((from + leaf % 2 * 2) % self->size == self->rank)
        number = append(value(from, 1, leaf), number);
  return number;
}

static void check(sftest_rank_t *self, const fields_t *found, const fields_t *one_by_one, bool bcast)
{
  int side = bcast ? 1 : 0;
  SFTEST_REQUIRE(self, memcmp(found->numbers, one_by_one->numbers, sizeof found->numbers) == 0);
  SFTEST_REQUIRE(self, memcmp(found->pairs, one_by_one->pairs, sizeof found->pairs) == 0);
  SFTEST_REQUIRE(self, memcmp(found->doubles, one_by_one->doubles, sizeof found->doubles) == 0);
  SFTEST_REQUIRE(self, memcmp(found->bytes, one_by_one->bytes, sizeof found->bytes) == 0);
  for (int64_t i = 0; i < ROOTS; i++) {
    int32_t owner = (int32_t)((self->rank + i % 2 * 2) % self->size);
    uint64_t expected = bcast ? append(value(owner, 0, i), value(self->rank, 1, i)) : expected_number(self, i);
    SFTEST_REQUIRE(self, found->numbers[side][i] == expected);
  }
}

static void operate(sftest_rank_t *self, sf_graph_t *graph, bool bcast)
{
  static fields_t fields, apart; /* of this process */
  fields_init(self, &fields);
  fields_init(self, &apart);
  fill(&apart, self->rank);
  sftest_fields_one_by_one(self, graph, FIELDS, apart.list, bcast);
  sf_request_t *request = sftest_fields_init(self, graph, FIELDS, fields.list, bcast);
  for (int round = 0; round < ROUNDS; round++) {
    fill(&fields, self->rank);
    SFTEST_OK(self, sf_start(request));
    SFTEST_OK(self, sf_wait(&request));
    check(self, &fields, &apart, bcast);
    fill(&fields, self->rank);
    sf_request_t *begun = sftest_fields_begin(self, graph, FIELDS, fields.list, bcast);
    SFTEST_OK(self, sf_wait(&begun));
    check(self, &fields, &apart, bcast);
    fill(&fields, self->rank);
    SFTEST_OK(self, (bcast ? sf_bcast_v : sf_reduce_v)(graph, 2, fields.list));
    SFTEST_REQUIRE(self, memcmp(fields.numbers, apart.numbers, sizeof fields.numbers) == 0);
  }
  SFTEST_REQUIRE(self, fields.calls > 0);
  SFTEST_OK(self, sf_request_free(&request));
  SFTEST_OK(self, sf_op_destroy(fields.own));
  SFTEST_OK(self, sf_op_destroy(apart.own));
  SFTEST_OK(self, sf_type_destroy(fields.pair));
  SFTEST_OK(self, sf_type_destroy(apart.pair));
}

SFTEST_CASE(sftest_cluster_for_case(tests, 3));

SFTEST_JOINED_JOB(test_ops, SFTEST_FIELDS_PLACINGS,
                  sftest_cluster_run(&sftest_case_cluster, sftest_fields_placings[_i], RANKS, ranks, NULL))
{
  sf_graph_t *graph = create_graph(self, world, SF_GRAPH_REPRODUCIBLE);
  operate(self, graph, true);
  operate(self, graph, false);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* ---- Wrong calls ------------------------------------------------------------------------------------------------- */

/* Many bytes at once; messages of one operation, in place of one for each field. */
SFTEST_JOINED(count_operations)
{
  static fields_t fields;
  sf_graph_t *graph = create_graph(self, world, 0);
  sf_graph_info_t info;
  fields_init(self, &fields);
  SFTEST_OK(self, sf_bcast_v(graph, FIELDS, fields.list));
  SFTEST_OK(self, sf_graph_info(graph, &info));
  SFTEST_REQUIRE(self, info.operations == 1);
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_op_destroy(fields.own));
  SFTEST_OK(self, sf_type_destroy(fields.pair));
}

/* The last rank's error is that of all ranks in the first reduce, which creates the multi-graph; then only its own. */
SFTEST_JOINED(pass_bad_fields)
{
  static fields_t fields;
  sf_graph_t *graph = create_graph(self, world, 0);
  bool last = self->rank == self->size - 1;
  fields_init(self, &fields);
  fields.list[3].unit = last ? NULL : fields.pair;
  SFTEST_EXPECT(self, sf_reduce_v(graph, FIELDS, fields.list), SF_ERR_ARG);
  SFTEST_DETAIL(self, "field 3: unit is NULL");
  fields.list[3].unit = fields.pair;
  fields.list[2].rootdata = last ? NULL : fields.doubles[0];
  SFTEST_EXPECT(self, sf_reduce_v(graph, FIELDS, fields.list), SF_ERR_ARG);
  SFTEST_DETAIL(self, "field 2: reduce: rootdata is NULL");
  fields.list[2].rootdata = fields.doubles[0];
  SFTEST_OK(self, sf_reduce_v(graph, FIELDS, fields.list));
  fields.list[2].rootdata = NULL;
  SFTEST_EXPECT(self, sf_reduce_v(graph, FIELDS, fields.list), SF_ERR_ARG);
  SFTEST_DETAIL(self, "field 2: reduce: rootdata is NULL");
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_op_destroy(fields.own));
  SFTEST_OK(self, sf_type_destroy(fields.pair));
}

/* The last rank takes a predefined op for one of the fields. */
SFTEST_JOINED(mistake_op)
{
  static fields_t fields;
  sf_graph_t *graph = create_graph(self, world, 0);
  fields_init(self, &fields);
  if (self->rank == self->size - 1)
    fields.list[3].op = SF_SUM;
  sf_status_t status = SF_OK;
  while (status == SF_OK) /* not all ranks are neighbours of the last one */
    status = sf_bcast_v(graph, FIELDS, fields.list);
  SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "bcast(4 fields [");
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_op_destroy(fields.own));
  SFTEST_OK(self, sf_type_destroy(fields.pair));
}

static const sftest_rank_fn_t cases[] = {count_operations, pass_bad_fields, mistake_op};

SFTEST_FOR(test_calls, 3 * SFTEST_FIELDS_PLACINGS)
{
  sftest_cluster_run(&sftest_case_cluster, sftest_fields_placings[_i % SFTEST_FIELDS_PLACINGS], RANKS,
                     cases[_i / SFTEST_FIELDS_PLACINGS], NULL);
}
