/* Small operations with several alike fields, which the library carries out as one field from the second call on:
 * compared with one operation for each field. Fields adjoin, lie apart, or lie so far apart that lists need wide
 * indices; units and ops vary; several operations are in flight at a time. On one node and over several. */
#include "tests/system/operations/fields.h"

#define RANKS SFTEST_FIELDS_RANKS
#define ROOTS 60
#define MOST 200 /* leaves of a rank */
#define FIELDS 5
#define UNIT_BYTES 24 /* of the largest unit */
#define AT_ONCE 12    /* more than the messages for which a lane has slots */
#define CALLS 2

/* How the fields lie in memory. */
typedef enum spacing { ADJOINING, APART, FAR, ODD, SPACINGS } spacing_t;

typedef struct unit {
  const sf_type_t *type;
  const sf_op_t *op;
  size_t bytes;
} unit_t;

enum { UNITS = 5 };

/* The first array of FAR is in static memory, the others are in memory of the heap: further apart than 2^32 units. */
static char near[2][(MOST + ROOTS) * UNIT_BYTES];

typedef struct data {
  size_t bytes; /* of the arrays of one side of one field */
  char *memory[2];
  char *arrays[FIELDS][2]; /* roots, leaves */
} data_t;

static void data_init(data_t *data, spacing_t spacing, size_t unit_bytes, const int64_t n[2])
{
  for (int side = 0; side < 2; side++) {
    size_t used = (size_t)n[side] * unit_bytes, step = used;
    if (spacing != ADJOINING)
      step += 7 * unit_bytes;
    if (spacing == ODD)
      step += 1;
    data->memory[side] = malloc(FIELDS * step + 1);
    for (int k = 0; k < FIELDS; k++)
      data->arrays[k][side] = data->memory[side] + (size_t)k * step;
    if (spacing == FAR)
      data->arrays[1][side] = near[side];
  }
}

static void data_free(data_t *data)
{
  free(data->memory[0]);
  free(data->memory[1]);
}

static void fill(sftest_rank_t *self, const data_t *data, size_t unit_bytes, const int64_t n[2], int call)
{
  for (int k = 0; k < FIELDS; k++)
    for (int side = 0; side < 2; side++)
      for (size_t i = 0; i < (size_t)n[side] * unit_bytes; i++)
        data->arrays[k][side][i] = (char)((i * 7 + (size_t)(k * 31 + side * 3 + call * 11 + self->rank * 5)) % 100);
}

static void list_fields(const data_t *data, const unit_t *unit, sf_field_t fields[FIELDS])
{
  for (int k = 0; k < FIELDS; k++)
    fields[k] = (sf_field_t){unit->type, data->arrays[k][0], data->arrays[k][1], unit->op};
}

static void require_equal(sftest_rank_t *self, const data_t *found, const data_t *expected, size_t unit_bytes,
                          const int64_t n[2])
{
  for (int k = 0; k < FIELDS; k++)
    for (int side = 0; side < 2; side++)
      SFTEST_REQUIRE(self,
                     memcmp(found->arrays[k][side], expected->arrays[k][side], (size_t)n[side] * unit_bytes) == 0);
}

/* The same call again and again, then a persistent request. */
static void operate(sftest_rank_t *self, sf_graph_t *graph, const unit_t *unit, spacing_t spacing, const int64_t n[2],
                    bool bcast)
{
  data_t found, expected;
  sf_field_t fields[FIELDS], apart[FIELDS];
  data_init(&found, spacing, unit->bytes, n);
  data_init(&expected, APART, unit->bytes, n);
  list_fields(&found, unit, fields);
  list_fields(&expected, unit, apart);
  sf_request_t *persistent = sftest_fields_init(self, graph, FIELDS, fields, bcast);
  for (int call = 0; call < 2 * CALLS; call++) {
    fill(self, &found, unit->bytes, n, call);
    fill(self, &expected, unit->bytes, n, call);
    sftest_fields_one_by_one(self, graph, FIELDS, apart, bcast);
    if (call < CALLS) {
      sf_request_t *request = sftest_fields_begin(self, graph, FIELDS, fields, bcast);
      SFTEST_OK(self, sf_wait(&request));
    } else {
      SFTEST_OK(self, sf_start(persistent));
      SFTEST_OK(self, sf_wait(&persistent));
    }
    require_equal(self, &found, &expected, unit->bytes, n);
  }
  SFTEST_OK(self, sf_request_free(&persistent));
  data_free(&found);
  data_free(&expected);
}

/* Operations begin before any of them is waited for, so that messages are pieces, and in memory of the writer. */
static void operate_at_once(sftest_rank_t *self, sf_graph_t *graph, const unit_t *unit, const int64_t n[2])
{
  data_t found[AT_ONCE], expected;
  sf_field_t fields[FIELDS];
  sf_request_t *requests[AT_ONCE];
  for (int i = 0; i < AT_ONCE; i++) {
    data_init(&found[i], APART, unit->bytes, n);
    fill(self, &found[i], unit->bytes, n, i);
    list_fields(&found[i], unit, fields);
    requests[i] = sftest_fields_init(self, graph, FIELDS, fields, true);
  }
  for (int i = 0; i < AT_ONCE; i++)
    SFTEST_OK(self, sf_start(requests[i]));
  SFTEST_OK(self, sf_wait_all(AT_ONCE, requests));
  data_init(&expected, APART, unit->bytes, n);
  list_fields(&expected, unit, fields);
  for (int i = 0; i < AT_ONCE; i++) {
    fill(self, &expected, unit->bytes, n, i);
    sftest_fields_one_by_one(self, graph, FIELDS, fields, true);
    require_equal(self, &found[i], &expected, unit->bytes, n);
    SFTEST_OK(self, sf_request_free(&requests[i]));
    data_free(&found[i]);
  }
  data_free(&expected);
}

/* Leaves on random roots of all ranks, often several on one root; or on consecutive roots of the next rank. */
static sf_graph_t *create_graph(sftest_rank_t *self, sf_group_t *group, int64_t nleaves, bool contiguous)
{
  int32_t rank[MOST];
  int64_t root[MOST];
  uint64_t random = (uint64_t)(nleaves * self->size + self->rank);
  sf_graph_t *graph;
  for (int64_t i = 0; i < nleaves; i++) {
    rank[i] = contiguous ? (self->rank + 1) % self->size : (int32_t)sftest_below(&random, self->size);
    root[i] = contiguous ? i : sftest_below(&random, ROOTS);
  }
  SFTEST_OK(self, sf_graph_create(group, ROOTS, nleaves, NULL, rank, root, SF_GRAPH_REPRODUCIBLE, &graph));
  return graph;
}

SFTEST_CASE(sftest_cluster_for_case(tests, 3));

SFTEST_JOINED_JOB(test_flat, SFTEST_FIELDS_PLACINGS,
                  sftest_cluster_run(&sftest_case_cluster, sftest_fields_placings[_i], RANKS, ranks, NULL))
{
  static const int64_t nleaves[] = {1, 9, 60, MOST};
  const sf_type_t *opaque, *block;
  SFTEST_OK(self, sf_type_create_opaque(12, &opaque));
  SFTEST_OK(self, sf_type_create_block(3, SF_INT64, &block));
  const unit_t units[UNITS] = {{SF_DOUBLE, SF_REPLACE, 8},
                               {SF_INT32, SF_SUM, 4},
                               {opaque, SF_REPLACE, 12},
                               {block, SF_MAX, 24},
                               {SF_UINT8, SF_BXOR, 1}};
  for (size_t g = 0; g < 8; g++) {
    const int64_t n[2] = {ROOTS, nleaves[g / 2]};
    bool contiguous = g % 2 != 0 && n[1] <= ROOTS;
    sf_graph_t *graph = create_graph(self, world, n[1], contiguous);
    for (int u = 0; u < UNITS; u++) {
      spacing_t spacing = (spacing_t)((g + (size_t)u) % SPACINGS);
      sftest_at(self, "%lld leaves, contiguous %d, unit %d, spacing %d", (long long)n[1], contiguous, u, (int)spacing);
      operate(self, graph, &units[u], spacing, n, true);
      operate(self, graph, &units[u], spacing, n, false);
      operate_at_once(self, graph, &units[u], n);
    }
    SFTEST_OK(self, sf_graph_destroy(graph));
  }
  SFTEST_OK(self, sf_type_destroy(opaque));
  SFTEST_OK(self, sf_type_destroy(block));
}
