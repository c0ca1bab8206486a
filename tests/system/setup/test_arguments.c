/* Arguments that the interface refuses, by one rank alone: each with the documented error, and with nothing broken
 * afterwards. States: test_states.c. Errors that concern several ranks are in test_setup_errors.c and test_mismatch.c.
 */
#include "tests/system/setup/alone.h"

static void refuse_init(sftest_alone_t *scene)
{
  sf_init_options_t options = scene->self->options;
  sf_context_t *none = NULL;
  SFTEST_EXPECT(scene->self, sf_init(&options, NULL), SF_ERR_ARG);
  options.rank = options.size;
  SFTEST_EXPECT(scene->self, sf_init(&options, &none), SF_ERR_ARG);
  options = scene->self->options;
  options.size = 0;
  SFTEST_EXPECT(scene->self, sf_init(&options, &none), SF_ERR_ARG);
  options.size = -1;
  SFTEST_EXPECT(scene->self, sf_init(&options, &none), SF_ERR_ARG);
  options = scene->self->options;
  options.timeout_ms = -2;
  SFTEST_EXPECT(scene->self, sf_init(&options, &none), SF_ERR_ARG);
  SFTEST_REQUIRE(scene->self, none == NULL);
  SFTEST_OK(scene->self, sf_finalize(NULL));
  SFTEST_REQUIRE(scene->self, sf_rank(NULL) == -1 && sf_size(NULL) == -1 && sf_group_world(NULL) == NULL);
}

static void refuse_groups(sftest_alone_t *scene)
{
  sf_group_t *group = NULL;
  int32_t zero = 0, one = 1, twice[] = {0, 0}, negative = -1;
  SFTEST_EXPECT(scene->self, sf_group_create(NULL, 1, &zero, 0, &group), SF_ERR_ARG);
  SFTEST_EXPECT(scene->self, sf_group_create(scene->context, 0, &zero, 0, &group), SF_ERR_ARG);
  SFTEST_EXPECT(scene->self, sf_group_create(scene->context, 1, NULL, 0, &group), SF_ERR_ARG);
  SFTEST_EXPECT(scene->self, sf_group_create(scene->context, 1, &zero, 0, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(scene->self, sf_group_create(scene->context, 1, &one, 0, &group), SF_ERR_ARG);
  SFTEST_EXPECT(scene->self, sf_group_create(scene->context, 1, &negative, 0, &group), SF_ERR_ARG);
  SFTEST_EXPECT(scene->self, sf_group_create(scene->context, 2, twice, 0, &group), SF_ERR_ARG);
  SFTEST_DETAIL(scene->self, "twice");
  SFTEST_EXPECT(scene->self, sf_group_destroy(sf_group_world(scene->context)), SF_ERR_ARG);
  SFTEST_OK(scene->self, sf_group_destroy(NULL));
  SFTEST_REQUIRE(scene->self, group == NULL && sf_group_rank(NULL) == -1 && sf_group_size(NULL) == -1);
  SFTEST_OK(scene->self, sf_group_create(scene->context, 1, &zero, 7, &group));
  SFTEST_REQUIRE(scene->self, sf_group_rank(group) == 0 && sf_group_size(group) == 1);
  SFTEST_OK(scene->self, sf_group_destroy(group));
}

static void refuse_memory(sftest_alone_t *scene)
{
  sftest_rank_t *self = scene->self;
  void *address = NULL;
  sf_region_t *region = NULL, *other = NULL;
  char *memory = malloc(1000);
  SFTEST_EXPECT(self, sf_alloc(NULL, 10, &address), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_alloc(scene->context, 0, &address), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_alloc(scene->context, 10, NULL), SF_ERR_ARG);
  SFTEST_REQUIRE(self, sf_alloc(scene->context, SIZE_MAX / 2, &address) != SF_OK && address == NULL);
  SFTEST_EXPECT(self, sf_alloc(scene->context, (size_t)1 << 45, &address), SF_ERR_NOMEM);
  SFTEST_OK(self, sf_alloc(scene->context, 1000, &address));
  SFTEST_EXPECT(self, sf_free(scene->context, (char *)address + 1), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_free(scene->context, memory), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_register(scene->context, address, 100, SF_MEMORY_HOST, &region), SF_ERR_EXISTS);
  SFTEST_OK(self, sf_free(scene->context, address));
  SFTEST_EXPECT(self, sf_free(scene->context, address), SF_ERR_ARG);
  SFTEST_OK(self, sf_free(scene->context, NULL));
  SFTEST_EXPECT(self, sf_register(NULL, memory, 100, SF_MEMORY_HOST, &region), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_register(scene->context, NULL, 100, SF_MEMORY_HOST, &region), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_register(scene->context, memory, 0, SF_MEMORY_HOST, &region), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_register(scene->context, memory, SIZE_MAX, SF_MEMORY_HOST, &region), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_register(scene->context, memory, 100, SF_MEMORY_HOST, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_register(scene->context, memory, 100, (sf_memory_kind_t)99, &region), SF_ERR_ARG);
  SFTEST_OK(self, sf_register(scene->context, memory + 100, 100, SF_MEMORY_HOST, &region));
  SFTEST_EXPECT(self, sf_register(scene->context, memory, 101, SF_MEMORY_HOST, &other), SF_ERR_EXISTS);
  SFTEST_EXPECT(self, sf_register(scene->context, memory + 199, 100, SF_MEMORY_HOST, &other), SF_ERR_EXISTS);
  SFTEST_EXPECT(self, sf_register(scene->context, memory + 120, 10, SF_MEMORY_HOST, &other), SF_ERR_EXISTS);
  SFTEST_OK(self, sf_register(scene->context, memory + 200, 100, SF_MEMORY_HOST, &other));
  SFTEST_OK(self, sf_unregister(region));
  SFTEST_OK(self, sf_register(scene->context, memory, 200, SF_MEMORY_HOST, &region));
  SFTEST_OK(self, sf_unregister(other));
  SFTEST_OK(self, sf_unregister(region));
  SFTEST_OK(self, sf_unregister(NULL));
  free(memory);
}

static void refuse_units(sftest_alone_t *scene)
{
  sftest_rank_t *self = scene->self;
  const sf_type_t *type = NULL, *nested = NULL;
  SFTEST_EXPECT(self, sf_type_create_block(0, SF_DOUBLE, &type), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_type_create_block(2, NULL, &type), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_type_create_block(2, SF_DOUBLE, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_type_create_block(INT64_MAX, SF_DOUBLE, &type), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_type_create_opaque(0, &type), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_type_create_opaque(-5, &type), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_type_create_opaque(5, NULL), SF_ERR_ARG);
  SFTEST_REQUIRE(self, type == NULL);
  SFTEST_OK(self, sf_type_create_block(3, SF_INT16, &type));
  SFTEST_OK(self, sf_type_create_block(5, type, &nested));
  SFTEST_REQUIRE(self, sf_type_size(type) == 6 && sf_type_size(nested) == 30 && sf_type_size(SF_DOUBLE_COMPLEX) == 16);
  SFTEST_OK(self, sf_type_destroy(type));
  SFTEST_OK(self, sf_type_destroy(nested));
  SFTEST_OK(self, sf_type_destroy(SF_DOUBLE));
  SFTEST_OK(self, sf_type_destroy(NULL));
  SFTEST_REQUIRE(self, sf_type_size(SF_DOUBLE) == 8);
}

static void refuse_graphs(sftest_alone_t *scene)
{
  sftest_rank_t *self = scene->self;
  sf_group_t *world = sf_group_world(scene->context);
  sf_graph_t *graph = NULL;
  sf_graph_info_t info;
  int32_t ranks[2] = {0, 0};
  int64_t roots[2] = {0, 0}, twice[2] = {3, 3}, negative[2] = {4, -1}, beyond[2] = {0, 5};
  int32_t no_rank[2] = {0, 1};
  SFTEST_EXPECT(self, sf_graph_create(NULL, 5, 2, NULL, ranks, roots, 0, &graph), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_create(world, 5, 2, NULL, ranks, roots, 0, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_create(world, 5, 2, NULL, ranks, roots, 1u << 20, &graph), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_create(world, -1, 0, NULL, ranks, roots, 0, &graph), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_create(world, 5, -1, NULL, ranks, roots, 0, &graph), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_create(world, 5, 2, NULL, NULL, roots, 0, &graph), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_create(world, 5, 2, NULL, ranks, NULL, 0, &graph), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_create(world, 5, 2, twice, ranks, roots, 0, &graph), SF_ERR_ARG);
  SFTEST_DETAIL(self, "leaf 3");
  SFTEST_REQUIRE(self, sf_graph_create(world, 5, 2, negative, ranks, roots, 0, &graph) != SF_OK);
  SFTEST_EXPECT(self, sf_graph_create(world, 5, 2, NULL, ranks, beyond, 0, &graph), SF_ERR_RANGE);
  SFTEST_DETAIL(self, "leaf 1");
  SFTEST_EXPECT(self, sf_graph_create(world, 5, 2, NULL, no_rank, roots, 0, &graph), SF_ERR_RANGE);
  SFTEST_REQUIRE(self, graph == NULL);
  SFTEST_EXPECT(self, sf_graph_info(NULL, &info), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_info(scene->graph, NULL), SF_ERR_ARG);
  SFTEST_OK(self, sf_graph_destroy(NULL));
  SFTEST_OK(self, sf_graph_create(world, 0, 0, NULL, NULL, NULL, 0, &graph)); /* nothing at all is a graph */
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, NULL, NULL, SF_SUM));
  SFTEST_OK(self, sf_reduce(graph, SF_DOUBLE, NULL, NULL, SF_SUM));
  SFTEST_OK(self, sf_graph_destroy(graph));
}

static void refuse_operations(sftest_alone_t *scene)
{
  sftest_rank_t *self = scene->self;
  sf_request_t *request = NULL;
  sf_graph_t *graph = scene->graph;
  const sf_type_t *opaque;
  double *roots = scene->roots, *leaves = scene->leaves;
  SFTEST_EXPECT(self, sf_bcast(NULL, SF_DOUBLE, roots, leaves, SF_SUM), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_bcast(graph, NULL, roots, leaves, SF_SUM), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_bcast(graph, SF_DOUBLE, NULL, leaves, SF_SUM), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_bcast(graph, SF_DOUBLE, roots, NULL, SF_SUM), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_reduce(NULL, SF_DOUBLE, leaves, roots, SF_SUM), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_reduce(graph, SF_DOUBLE, NULL, roots, SF_SUM), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_reduce(graph, SF_DOUBLE, leaves, NULL, SF_SUM), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_bcast_begin(graph, SF_DOUBLE, roots, leaves, SF_SUM, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_bcast_init(graph, SF_DOUBLE, NULL, leaves, SF_SUM, &request), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_reduce_init(graph, SF_DOUBLE, NULL, roots, SF_SUM, &request), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_BAND), SF_ERR_ARG);
  SFTEST_DETAIL(self, "double");
  SFTEST_EXPECT(self, sf_bcast(graph, SF_FLOAT, roots, leaves, SF_LAND), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_bcast(graph, SF_FLOAT_COMPLEX, roots, leaves, SF_MAX), SF_ERR_ARG);
  SFTEST_OK(self, sf_type_create_opaque(8, &opaque));
  SFTEST_EXPECT(self, sf_bcast(graph, opaque, roots, leaves, SF_SUM), SF_ERR_ARG);
  SFTEST_OK(self, sf_bcast(graph, opaque, roots, leaves, SF_REPLACE));
  SFTEST_OK(self, sf_type_destroy(opaque));
  SFTEST_REQUIRE(self, request == NULL);
}

static void add(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context)
{
  (void)unit_bytes;
  (void)context;
  for (int64_t i = 0; i < n; i++)
    ((double *)inout)[i] += ((const double *)in)[i];
}

/* Operations of two steps, and what they stand on. */
static void refuse_gathers(sftest_alone_t *scene)
{
  sftest_rank_t *self = scene->self;
  sf_request_t *request = NULL, *kept;
  sf_graph_t *graph = scene->graph, *multi = NULL;
  sf_graph_ranks_t ranks;
  const sf_op_t *op = NULL;
  double *roots = scene->roots, *leaves = scene->leaves, *update = malloc(SFTEST_ALONE_VALUES * sizeof *update);
  SFTEST_EXPECT(self, sf_op_create(NULL, NULL, &op), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_op_create(add, NULL, NULL), SF_ERR_ARG);
  SFTEST_OK(self, sf_op_create(add, NULL, &op));
  SFTEST_OK(self, sf_op_destroy(SF_SUM)); /* kept */
  SFTEST_OK(self, sf_op_destroy(NULL));
  SFTEST_EXPECT(self, sf_graph_multi(NULL, &multi), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_multi(graph, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_root_ranks(NULL, &ranks), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_leaf_ranks(graph, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_degrees(graph, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_graph_edges(NULL, NULL, NULL, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_gather(NULL, SF_DOUBLE, leaves, roots), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_gather(graph, NULL, leaves, roots), SF_ERR_ARG);
  SFTEST_DETAIL(self, "gather: unit is NULL");
  SFTEST_EXPECT(self, sf_gather(graph, SF_DOUBLE, leaves, NULL), SF_ERR_ARG);
  SFTEST_DETAIL(self, "gather: slotdata is NULL");
  SFTEST_EXPECT(self, sf_scatter(graph, SF_DOUBLE, NULL, leaves), SF_ERR_ARG);
  SFTEST_DETAIL(self, "scatter: slotdata is NULL");
  SFTEST_EXPECT(self, sf_fetch_op(NULL, SF_DOUBLE, roots, leaves, update, SF_SUM), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_fetch_op(graph, SF_DOUBLE, NULL, leaves, update, SF_SUM), SF_ERR_ARG);
  SFTEST_DETAIL(self, "fetch_op: rootdata is NULL");
  SFTEST_EXPECT(self, sf_fetch_op(graph, SF_DOUBLE, roots, NULL, update, SF_SUM), SF_ERR_ARG);
  SFTEST_DETAIL(self, "fetch_op: leafdata is NULL");
  SFTEST_EXPECT(self, sf_fetch_op(graph, SF_DOUBLE, roots, leaves, NULL, SF_SUM), SF_ERR_ARG);
  SFTEST_DETAIL(self, "fetch_op: leafupdate is NULL");
  SFTEST_EXPECT(self, sf_fetch_op(graph, SF_DOUBLE, roots, leaves, update, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_fetch_op(graph, SF_DOUBLE, roots, leaves, update, SF_MAXLOC), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_fetch_op_begin(graph, SF_DOUBLE, roots, leaves, update, SF_SUM, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_reduce(graph, SF_DOUBLE, NULL, roots, op), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_bcast_init(graph, SF_DOUBLE, roots, NULL, op, &request), SF_ERR_ARG);
  SFTEST_REQUIRE(self, request == NULL);
  SFTEST_OK(self, sf_fetch_op_begin(graph, SF_DOUBLE, roots, leaves, update, op, &request));
  SFTEST_EXPECT(self, sf_graph_destroy(graph), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_finalize(scene->context), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_request_free(&request), SF_ERR_STATE);
  SFTEST_OK(self, sf_op_destroy(op)); /* operations begun are not affected */
  SFTEST_OK(self, sf_wait(&request));
  SFTEST_OK(self, sf_fetch_op_init(graph, SF_DOUBLE, roots, leaves, leaves, SF_SUM, &kept)); /* freed with the graph */
  free(update);
}

static void refuse_short_memory(sftest_alone_t *scene)
{
  sftest_rank_t *self = scene->self;
  sf_region_t *region;
  void *address;
  double *roots = scene->roots, *leaves = scene->leaves;
  sf_request_t *request = NULL;
  SFTEST_OK(self, sf_register(scene->context, leaves, sizeof scene->leaves - 1, SF_MEMORY_HOST, &region));
  SFTEST_EXPECT(self, sf_bcast(scene->graph, SF_DOUBLE, roots, leaves, SF_SUM), SF_ERR_RANGE);
  SFTEST_EXPECT(self, sf_reduce(scene->graph, SF_DOUBLE, leaves, roots, SF_SUM), SF_ERR_RANGE);
  SFTEST_EXPECT(self, sf_bcast_init(scene->graph, SF_DOUBLE, roots, leaves, SF_SUM, &request), SF_ERR_RANGE);
  SFTEST_OK(self, sf_bcast(scene->graph, SF_FLOAT, roots, leaves, SF_SUM));
  SFTEST_OK(self, sf_unregister(region));
  /* What was checked when the request was made must be checked again: the region is new. */
  SFTEST_OK(self, sf_bcast_init(scene->graph, SF_DOUBLE, roots, leaves, SF_SUM, &request));
  SFTEST_OK(self, sf_register(scene->context, leaves, sizeof scene->leaves - 1, SF_MEMORY_HOST, &region));
  SFTEST_EXPECT(self, sf_start(request), SF_ERR_RANGE);
  SFTEST_OK(self, sf_unregister(region));
  SFTEST_OK(self, sf_start(request));
  SFTEST_OK(self, sf_wait(&request));
  SFTEST_OK(self, sf_request_free(&request));
  SFTEST_OK(self, sf_alloc(scene->context, sizeof scene->roots, &address));
  SFTEST_OK(self, sf_bcast(scene->graph, SF_DOUBLE, address, leaves, SF_REPLACE));
  SFTEST_EXPECT(self, sf_bcast(scene->graph, SF_DOUBLE, (char *)address + 1, leaves, SF_REPLACE), SF_ERR_RANGE);
  SFTEST_OK(self, sf_free(scene->context, address));
}

SFTEST(one_rank_alone)
{
  static const sftest_alone_part_t parts[] = {{"init", refuse_init},
                                              {"groups", refuse_groups},
                                              {"memory", refuse_memory},
                                              {"units", refuse_units},
                                              {"graphs", refuse_graphs},
                                              {"operations", refuse_operations},
                                              {"gathers", refuse_gathers},
                                              {"short memory", refuse_short_memory},
                                              {NULL, NULL}};
  sftest_alone_run(parts);
}
