/* Operations with several fields, beside those that the property tests choose at random: wrong arguments, each way in
 * which a payload travels, up to the largest number of fields, values that are larger than a cell, and how many
 * messages it takes, on one node and over several. */
#include "tests/system/operations/fields.h"
#include "tests/system/work.h"

#define RANKS SFTEST_FIELDS_RANKS
#define ROUNDS 3

/* Where a rank's fields are. */
typedef enum place { PLACE_PLAIN, PLACE_ALLOC, PLACE_REGISTERED, PLACE_MIXED, PLACE_COUNT } place_t;

typedef struct shape {
  int32_t nfields;
  int64_t vertices;
  int64_t count; /* of doubles in the unit of the last field; the others have one */
} shape_t;

/* In a slot; in a cell; in pieces, and in place with the list of buffers in the slot, and in a cell; in parts. */
static const shape_t shapes[] = {
    {2, 3, 1},     {9, 1, 1}, {9, 40, 2}, {5, 20000, 3}, {9, 8000, 1}, {SF_FIELDS_MAX, 1, 1}, {SF_FIELDS_MAX, 900, 1},
    {3, 4, 70001},
};
#define NSHAPES ((int)(sizeof shapes / sizeof shapes[0]))

typedef struct fields {
  const shape_t *shape;
  const sf_type_t *last; /* unit of the last one */
  char *memory[2];       /* of the roots of all, and of the leaves */
  size_t bytes;
  sf_region_t *regions[2];
  double *plain[2]; /* with PLACE_MIXED of the first field, behind each other with the others */
  sf_field_t list[SF_FIELDS_MAX];
} fields_t;

static int64_t count_of(const shape_t *shape, int32_t k)
{
  return k + 1 < shape->nfields ? 1 : shape->count;
}

static void make_memory(sftest_rank_t *self, sf_context_t *context, place_t place, fields_t *fields, int side)
{
  const shape_t *shape = fields->shape;
  void *memory;
  if (place == PLACE_ALLOC || place == PLACE_MIXED) {
    SFTEST_OK(self, sf_alloc(context, fields->bytes, &memory));
  } else {
    memory = malloc(fields->bytes);
  }
  if (place == PLACE_REGISTERED)
    SFTEST_OK(self, sf_register(context, memory, fields->bytes, SF_MEMORY_HOST, &fields->regions[side]));
  fields->memory[side] = memory;
  fields->plain[side] = malloc((size_t)shape->vertices * sizeof(double));
}

static void make(sftest_rank_t *self, sf_context_t *context, const shape_t *shape, place_t place, bool bcast,
                 fields_t *fields)
{
  *fields = (fields_t){.shape = shape};
  fields->bytes = (size_t)(shape->vertices * (shape->nfields - 1 + shape->count)) * sizeof(double);
  SFTEST_OK(self, sf_type_create_block(shape->count, SF_DOUBLE, &fields->last));
  for (int side = 0; side < 2; side++)
    make_memory(self, context, place, fields, side);
  for (int32_t k = 0; k < shape->nfields; k++) {
    size_t offset = (size_t)k * (size_t)shape->vertices * sizeof(double);
    fields->list[k] = (sf_field_t){.unit = k + 1 < shape->nfields ? SF_DOUBLE : fields->last,
                                   .rootdata = fields->memory[0] + offset,
                                   .leafdata = fields->memory[1] + offset,
                                   .op = bcast || k % 2 == 0 ? SF_REPLACE : SF_SUM};
  }
  if (place == PLACE_MIXED) {
    fields->list[0].rootdata = fields->plain[0];
    fields->list[0].leafdata = fields->plain[1];
  }
}

static void destroy(sftest_rank_t *self, sf_context_t *context, place_t place, fields_t *fields)
{
  for (int side = 0; side < 2; side++) {
    if (fields->regions[side] != NULL)
      SFTEST_OK(self, sf_unregister(fields->regions[side]));
    if (place == PLACE_ALLOC || place == PLACE_MIXED)
      SFTEST_OK(self, sf_free(context, fields->memory[side]));
    else
      free(fields->memory[side]);
    free(fields->plain[side]);
  }
  SFTEST_OK(self, sf_type_destroy(fields->last));
}

static double value(int32_t rank, int side, int round, int32_t k, int64_t i)
{
  return 1e8 * rank + 1e7 * side + 1e6 * round + 1e4 * k + (double)(i % 9973);
}

static void fill(const fields_t *fields, int32_t rank, int round)
{
  for (int32_t k = 0; k < fields->shape->nfields; k++) {
    double *roots = fields->list[k].rootdata, *leaves = fields->list[k].leafdata;
    for (int64_t i = 0; i < fields->shape->vertices * count_of(fields->shape, k); i++) {
      roots[i] = value(rank, 0, round, k, i);
      leaves[i] = value(rank, 1, round, k, i);
    }
  }
}

/* In a ring: leaf i of each rank is on root i of the next one. */
static void check(sftest_rank_t *self, const fields_t *fields, bool bcast, int round)
{
  int32_t next = (self->rank + 1) % self->size, previous = (self->rank + self->size - 1) % self->size;
  for (int32_t k = 0; k < fields->shape->nfields; k++) {
    const double *found = bcast ? fields->list[k].leafdata : fields->list[k].rootdata;
    for (int64_t i = 0; i < fields->shape->vertices * count_of(fields->shape, k); i++) {
      double expected = value(bcast ? next : previous, bcast ? 0 : 1, round, k, i);
      if (!bcast && fields->list[k].op == SF_SUM)
        expected += value(self->rank, 0, round, k, i);
      sftest_require(self, found[i] == expected, __FILE__, __LINE__, "field %d, value %lld: %g, expected %g", k,
                     (long long)i, found[i], expected);
    }
  }
}

static void exchange(sftest_rank_t *self, sf_context_t *context, sf_graph_t *graph, const shape_t *shape, place_t place)
{
  for (int bcast = 0; bcast < 2; bcast++) {
    fields_t fields;
    make(self, context, shape, place, bcast != 0, &fields);
    sf_request_t *request = sftest_fields_init(self, graph, shape->nfields, fields.list, bcast);
    for (int round = 0; round < ROUNDS; round++) {
      sftest_at(self, "%d fields of %lld vertices, place %d, bcast %d, round %d", shape->nfields,
                (long long)shape->vertices, (int)place, bcast, round);
      fill(&fields, self->rank, round);
      if (round == 0)
        SFTEST_OK(self, (bcast ? sf_bcast_v : sf_reduce_v)(graph, shape->nfields, fields.list));
      else
        SFTEST_OK(self, sf_start(request));
      SFTEST_OK(self, sf_wait(&request));
      check(self, &fields, bcast != 0, round);
    }
    SFTEST_OK(self, sf_request_free(&request));
    destroy(self, context, place, &fields);
  }
}

SFTEST_CASE(sftest_cluster_for_case(tests, 3));

SFTEST_JOINED_JOB(payloads, 3, sftest_cluster_run(&sftest_case_cluster, sftest_fields_placings[_i], RANKS, ranks, NULL))
{
  for (int i = 0; i < NSHAPES; i++) {
    sf_graph_t *graph;
    SFTEST_OK(self, sftest_ring_create(world, shapes[i].vertices, i % 2 == 0 ? 0 : SF_GRAPH_REPRODUCIBLE, &graph));
    for (int place = 0; place < PLACE_COUNT; place++)
      exchange(self, context, graph, &shapes[i], (place_t)place);
    SFTEST_OK(self, sf_graph_destroy(graph));
  }
}

/* ---- Several contributions to one root --------------------------------------------------------------------------- */

/* Every rank has a leaf on each root of rank 0. Over nodes, contributions of a node are combined in staging units. */
#define SHARED 700

SFTEST_JOINED_JOB(shared_roots, 3,
                  sftest_cluster_run(&sftest_case_cluster, sftest_fields_placings[_i], RANKS, ranks, NULL))
{
  static double doubles[2][SHARED];
  static int16_t shorts[2][SHARED];
  static int8_t bytes[2][SHARED];
  int32_t owner[SHARED] = {0};
  int64_t root[SHARED];
  sf_graph_t *graph;
  for (int64_t i = 0; i < SHARED; i++) {
    root[i] = i;
    doubles[0][i] = 0.5, doubles[1][i] = self->rank + (double)i;
    shorts[0][i] = 7, shorts[1][i] = (int16_t)(100 * self->rank + i);
    bytes[0][i] = 1, bytes[1][i] = (int8_t)(self->rank + i % 50);
  }
  SFTEST_OK(self, sf_graph_create(world, self->rank == 0 ? SHARED : 0, SHARED, NULL, owner, root, 0, &graph));
  const sf_field_t fields[] = {{SF_INT8, bytes[0], bytes[1], SF_MAX},
                               {SF_DOUBLE, doubles[0], doubles[1], SF_SUM},
                               {SF_INT16, shorts[0], shorts[1], SF_REPLACE}};
  SFTEST_OK(self, sf_reduce_v(graph, 3, fields));
  for (int64_t i = 0; i < SHARED && self->rank == 0; i++) {
    SFTEST_REQUIRE(self, bytes[0][i] == self->size - 1 + i % 50);
    SFTEST_REQUIRE(self, doubles[0][i] == 0.5 + self->size * (double)i + self->size * (self->size - 1) / 2);
    SFTEST_REQUIRE(self, shorts[0][i] == 100 * (self->size - 1) + i);
  }
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* ---- Payloads in turns ------------------------------------------------------------------------------------------- */

/* Several fields of which each takes its turn several times. */
#define ROOTS 9000
#define LEAVES (3 * ROOTS)
#define NTURNS 4

/* Leaves are on this rank's roots, and two on each root of the next rank. */
static void connect(const sftest_rank_t *self, int32_t rank[], int64_t root[])
{
  for (int64_t i = 0; i < LEAVES; i++) {
    rank[i] = i < ROOTS ? self->rank : (self->rank + 1) % self->size;
    root[i] = i * 7 % ROOTS;
  }
}

SFTEST_JOINED_JOB(turns, 3, sftest_cluster_run(&sftest_case_cluster, sftest_fields_placings[_i], RANKS, ranks, NULL))
{
  static int32_t rank[LEAVES];
  static int64_t root[LEAVES];
  sf_graph_t *graph;
  void *memory;
  sf_field_t fields[NTURNS];
  connect(self, rank, root);
  SFTEST_OK(self, sf_graph_create(world, ROOTS, LEAVES, NULL, rank, root, 0, &graph));
  SFTEST_OK(self, sf_alloc(context, NTURNS * (ROOTS + LEAVES) * sizeof(int64_t), &memory));
  for (int k = 0; k < NTURNS; k++) {
    int64_t *roots = (int64_t *)memory + k * (ROOTS + LEAVES), *leaves = roots + ROOTS;
    fields[k] = (sf_field_t){SF_INT64, roots, leaves, SF_SUM};
    for (int64_t i = 0; i < ROOTS; i++)
      roots[i] = 1000000 * (10 * k + self->rank) + i;
    memset(leaves, 0, LEAVES * sizeof *leaves);
  }
  SFTEST_OK(self, sf_bcast_v(graph, NTURNS, fields));
  for (int k = 0; k < NTURNS; k++)
    for (int64_t i = 0; i < LEAVES; i++)
      SFTEST_REQUIRE(self, ((int64_t *)fields[k].leafdata)[i] == 1000000 * (10 * k + rank[i]) + root[i]);
  SFTEST_OK(self, sf_reduce_v(graph, NTURNS, fields));
  for (int k = 0; k < NTURNS; k++)
    for (int64_t i = 0; i < ROOTS; i++)
      SFTEST_REQUIRE(self, ((int64_t *)fields[k].rootdata)[i] == 4 * (1000000 * (10 * k + self->rank) + i));
  SFTEST_OK(self, sf_free(context, memory));
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* ---- Requests that start together -------------------------------------------------------------------------------- */

#define PARTS 7 /* bcasts, a bcast of two fields among them, then reduces */

static void end_part(sftest_rank_t *self, sf_request_t **request, int how)
{
  bool done = false;
  while (how > 0 && !done)
    SFTEST_OK(self, how == 1 ? sf_test(request, &done) : sf_wait_for(request, 1000, &done));
  SFTEST_OK(self, sf_wait(request));
}

static void fill_parts(double roots[][5], double leaves[][5], int32_t rank, int round)
{
  for (int k = 0; k <= PARTS; k++)
    for (int i = 0; i < 5; i++) {
      roots[k][i] = value(rank, 0, round, k, i);
      leaves[k][i] = value(rank, 1, round, k, i);
    }
}

static void check_part(sftest_rank_t *self, double roots[][5], double leaves[][5], int k, int round)
{
  int32_t next = (self->rank + 1) % self->size, previous = (self->rank + self->size - 1) % self->size;
  for (int i = 0; i < 5; i++)
    SFTEST_REQUIRE(self, k < 5 ? leaves[k][i] == value(next, 0, round, k, i)
                               : roots[k][i] == value(self->rank, 0, round, k, i) + value(previous, 1, round, k, i));
}

/* One request after the other is refused; then all start, as one bcast and one reduce in place of seven operations. */
SFTEST_JOINED_JOB(together, 3, sftest_cluster_run(&sftest_case_cluster, sftest_fields_placings[_i], RANKS, ranks, NULL))
{
  static double roots[PARTS + 1][5], leaves[PARTS + 1][5];
  sf_request_t *requests[PARTS];
  sf_graph_t *graph;
  sf_graph_info_t info;
  SFTEST_OK(self, sftest_ring_create(world, 5, SF_GRAPH_TOGETHER, &graph));
  const sf_field_t two[] = {{SF_DOUBLE, roots[0], leaves[0], SF_REPLACE}, {SF_DOUBLE, roots[1], leaves[1], SF_REPLACE}};
  SFTEST_OK(self, sf_bcast_init_v(graph, 2, two, &requests[0]));
  for (int k = 1; k < PARTS; k++)
    SFTEST_OK(self, k < 4 ? sf_bcast_init(graph, SF_DOUBLE, roots[k + 1], leaves[k + 1], SF_REPLACE, &requests[k])
                          : sf_reduce_init(graph, SF_DOUBLE, leaves[k + 1], roots[k + 1], SF_SUM, &requests[k]));
  sf_request_t *twice[] = {requests[2], requests[3], requests[2]};
  uint64_t operations = 0;
  for (int round = 0; round < 2 * ROUNDS; round++) {
    fill_parts(roots, leaves, self->rank, round);
    SFTEST_OK(self, sf_start_all(PARTS, requests));
    SFTEST_OK(self, sf_graph_info(graph, &info));
    operations += 2;
    SFTEST_REQUIRE(self, info.operations == operations);
    SFTEST_EXPECT(self, sf_start(requests[1]), SF_ERR_STATE);
    SFTEST_EXPECT(self, sf_request_free(&requests[1]), SF_ERR_STATE);
    for (int i = 0; i < PARTS; i++) {
      int k = (i + round) % PARTS;
      end_part(self, &requests[k], (i + round) % 3);
      check_part(self, roots, leaves, k + 1, round);
    }
  }
  SFTEST_EXPECT(self, sf_start_all(3, twice), SF_ERR_STATE);
  SFTEST_OK(self, sf_wait_all(2, twice));
  SFTEST_OK(self, sf_start(requests[1])); /* by itself */
  SFTEST_OK(self, sf_wait(&requests[1]));
  for (int k = 0; k < PARTS; k++)
    SFTEST_OK(self, sf_request_free(&requests[k]));
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* Rank 1 starts them one by one. */
SFTEST_JOINED_JOB(apart, 3, sftest_cluster_run(&sftest_case_cluster, sftest_fields_placings[_i], RANKS, ranks, NULL))
{
  double roots[2][5] = {{0}}, leaves[2][5];
  sf_request_t *requests[2];
  sf_graph_t *graph;
  SFTEST_OK(self, sftest_ring_create(world, 5, SF_GRAPH_TOGETHER, &graph));
  for (int k = 0; k < 2; k++)
    SFTEST_OK(self, sf_bcast_init(graph, SF_DOUBLE, roots[k], leaves[k], SF_REPLACE, &requests[k]));
  sf_status_t status = SF_OK;
  for (int k = 0; k < (self->rank == 1 ? 2 : 1) && status == SF_OK; k++)
    status = self->rank == 1 ? sf_start(requests[k]) : sf_start_all(2, requests);
  sf_status_t ended = sf_wait_all(2, requests); /* also those begun before the mismatch was known */
  if (status == SF_OK)
    status = ended;
  while (status == SF_OK) /* the neighbours of this rank called the same */
    status = sf_bcast(graph, SF_DOUBLE, roots[0], leaves[0], SF_REPLACE);
  SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "bcast(2 fields [");
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

SFTEST_JOINED_JOB(arguments, 1, sftest_cluster_run(&sftest_case_cluster, sftest_fields_placings[0], RANKS, ranks, NULL))
{
  double roots[2][3] = {{self->rank}, {-self->rank}}, leaves[2][3];
  sf_graph_t *graph;
  sf_request_t *request;
  const sf_type_t *huge;
  SFTEST_OK(self, sf_type_create_opaque(INT64_C(1) << 40, &huge));
  SFTEST_OK(self, sftest_ring_create(world, 3, 0, &graph));
  const sf_field_t good[2] = {{SF_DOUBLE, roots[0], leaves[0], SF_REPLACE}, {SF_DOUBLE, roots[1], leaves[1], SF_SUM}};
  sf_field_t bad[2] = {good[0], good[1]};
  SFTEST_EXPECT(self, sf_bcast_begin_v(NULL, 2, good, &request), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_bcast_begin_v(graph, 0, good, &request), SF_ERR_ARG);
  SFTEST_DETAIL(self, "0 fields");
  SFTEST_EXPECT(self, sf_bcast_begin_v(graph, SF_FIELDS_MAX + 1, good, &request), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_reduce_begin_v(graph, 2, NULL, &request), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_reduce_begin_v(graph, 2, good, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_bcast_init_v(graph, -1, good, &request), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_reduce_init_v(graph, 1, NULL, &request), SF_ERR_ARG);
  bad[1].unit = NULL;
  SFTEST_EXPECT(self, sf_bcast_v(graph, 2, bad), SF_ERR_ARG);
  SFTEST_DETAIL(self, "field 1: unit is NULL");
  bad[1] = (sf_field_t){SF_DOUBLE, roots[1], leaves[1], SF_BAND};
  SFTEST_EXPECT(self, sf_reduce_v(graph, 2, bad), SF_ERR_ARG);
  SFTEST_DETAIL(self, "field 1: op band is not defined for double");
  bad[1] = (sf_field_t){SF_DOUBLE, NULL, leaves[1], SF_SUM};
  SFTEST_EXPECT(self, sf_bcast_v(graph, 2, bad), SF_ERR_ARG);
  SFTEST_DETAIL(self, "field 1: bcast: rootdata is NULL");
  bad[0].unit = huge;
  bad[1] = good[1];
  SFTEST_EXPECT(self, sf_bcast_v(graph, 2, bad), SF_ERR_ARG);
  SFTEST_DETAIL(self, "2^40");
  SFTEST_OK(self, sf_bcast_v(graph, 2, good)); /* nothing had begun */
  SFTEST_REQUIRE(self, leaves[0][0] == (self->rank + 1) % self->size);
  SFTEST_OK(self, sf_graph_destroy(graph));
  SFTEST_OK(self, sf_type_destroy(huge));
}
