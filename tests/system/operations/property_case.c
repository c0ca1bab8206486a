/* Random cases: see property_case.h. */
#include "tests/system/operations/property_case.h"

/* ---- Choosing ---------------------------------------------------------------------------------------------------- */

/* One value, few, many, and now and then more than a cell holds. */
static int64_t choose_count(uint64_t *random, sftest_base_t base)
{
  int64_t size = (int64_t)sftest_base_size(base);
  switch (sftest_below(random, 16)) {
  case 0:
    return 1000;
  case 1:
    return 65536 / size + 1 + sftest_below(random, 1000);
  case 2:
  case 3:
    return 4 + sftest_below(random, 30);
  case 4:
  case 5:
    return 2;
  case 6:
  case 7:
    return 3;
  default:
    return base == SFTEST_OPAQUE ? 1 + sftest_below(random, 40) : 1;
  }
}

static int64_t largest_field(const sftest_graph_t *graph)
{
  int64_t largest = 1;
  for (int32_t rank = 0; rank < graph->size; rank++)
    if (sftest_graph_space(graph, rank) > largest)
      largest = sftest_graph_space(graph, rank);
  return largest;
}

static void choose_field(sftest_case_t *scene, int64_t max_bytes, const sftest_act_t *act, int32_t graph,
                         sftest_act_field_t *field)
{
  uint64_t *random = &scene->random;
  sftest_operation_t *operation = &field->operation;
  operation->graph = &scene->graphs[graph];
  operation->bcast = act->bcast;
  operation->unit.base = (sftest_base_t)sftest_below(random, SFTEST_BASE_COUNT);
  operation->unit.count = choose_count(random, operation->unit.base);
  int64_t room =
      max_bytes / act->nfields / (largest_field(operation->graph) * (int64_t)sftest_base_size(operation->unit.base));
  if (operation->unit.count > room)
    operation->unit.count = room < 1 ? 1 : room;
  do
    operation->op = (sftest_op_t)sftest_below(random, SFTEST_OP_COUNT);
  while (!sftest_op_applies(operation->op, operation->unit.base));
  operation->places = (scene->flags[graph] & SF_GRAPH_REPRODUCIBLE) == 0 ? scene->places : NULL;
  field->in_one = operation->graph->one_array && sftest_below(random, 2) == 0;
}

/* All of a rank's fields are in the same kind of memory now and then. */
static void choose_memory(sftest_case_t *scene, sftest_act_t *act)
{
  bool alike = sftest_below(&scene->own, 2) == 0;
  for (int32_t k = 0; k < act->nfields; k++)
    for (int side = 0; side < 2; side++)
      act->fields[k].memory[side] = alike && k > 0 ? act->fields[0].memory[side]
                                                   : (sftest_memory_t)sftest_below(&scene->own, sftest_memory_count());
}

void sftest_case_choose(sftest_case_t *scene, int64_t max_bytes, sftest_act_t *act)
{
  int32_t graph = (int32_t)sftest_below(&scene->random, scene->ngraphs);
  act->bcast = sftest_below(&scene->random, 2) == 0;
  act->by_list = sftest_below(&scene->own, 2) == 0;
  act->nfields =
      sftest_below(&scene->random, 2) == 0 ? 1 : 1 + (int32_t)sftest_below(&scene->random, SFTEST_CASE_FIELDS);
  act->real = scene->real[graph];
  for (int32_t k = 0; k < act->nfields; k++)
    choose_field(scene, max_bytes, act, graph, &act->fields[k]);
  choose_memory(scene, act);
}

/* ---- One operation ----------------------------------------------------------------------------------------------- */

static sftest_side_t target_side(const sftest_operation_t *operation)
{
  return operation->bcast ? SFTEST_LEAVES : SFTEST_ROOTS;
}

static int64_t side_bytes(const sftest_case_t *scene, const sftest_operation_t *operation, sftest_side_t side)
{
  return sftest_operation_vertices(operation, side, scene->rank) * (int64_t)sftest_unit_size(operation->unit);
}

static void make_field(sftest_case_t *scene, sftest_act_field_t *field)
{
  for (int side = 0; side < 2; side++) {
    if (side == SFTEST_LEAVES && field->in_one)
      field->buffers[side] = field->buffers[SFTEST_ROOTS];
    else
      sftest_buffer_make(scene->self, scene->context, field->memory[side],
                         side_bytes(scene, &field->operation, (sftest_side_t)side), sftest_random(&scene->own),
                         &field->buffers[side]);
  }
  field->type = sftest_unit_make(field->operation.unit);
}

static void free_field(sftest_case_t *scene, sftest_act_field_t *field)
{
  SFTEST_OK(scene->self, sf_type_destroy(field->type));
  sftest_buffer_free(scene->self, &field->buffers[SFTEST_ROOTS]);
  if (!field->in_one)
    sftest_buffer_free(scene->self, &field->buffers[SFTEST_LEAVES]);
}

void sftest_act_make_buffers(sftest_case_t *scene, sftest_act_t *act)
{
  for (int32_t k = 0; k < act->nfields; k++)
    make_field(scene, &act->fields[k]);
}

void sftest_act_free_buffers(sftest_case_t *scene, sftest_act_t *act)
{
  for (int32_t k = 0; k < act->nfields; k++)
    free_field(scene, &act->fields[k]);
}

static const char *name_of(const void *test, int32_t i)
{
  return ((const sftest_case_t *)test)->acts[i].bcast ? "bcast" : "reduce";
}

static void fill(void *test, int32_t i, uint64_t seed)
{
  sftest_case_t *scene = test;
  for (int32_t k = 0; k < scene->acts[i].nfields; k++) {
    sftest_act_field_t *field = &scene->acts[i].fields[k];
    field->operation.seed = sftest_hash2(seed, (uint64_t)k);
    for (int side = 0; side < 2; side++)
      sftest_operation_fill(&field->operation, (sftest_side_t)side, scene->rank, field->buffers[side].view);
    for (int side = 0; side < 2; side++)
      sftest_buffer_put(&field->buffers[side]);
  }
}

static void report_difference(sftest_case_t *scene, const sftest_act_t *act, const sftest_act_field_t *field,
                              sftest_side_t side, int64_t byte, const char *expected)
{
  char text[80];
  const sftest_operation_t *operation = &field->operation;
  int64_t unit_bytes = (int64_t)sftest_unit_size(operation->unit);
  int64_t size = (int64_t)sftest_base_size(operation->unit.base), at = byte / size * size;
  const unsigned char *found = (const unsigned char *)field->buffers[side].view + at;
  sftest_describe(operation->unit, operation->op, text, sizeof text);
  char bytes[2][40] = {"", ""};
  for (int64_t i = 0; i < size; i++) {
    snprintf(bytes[0] + 2 * i, 3, "%02x", found[i]);
    snprintf(bytes[1] + 2 * i, 3, "%02x", ((const unsigned char *)expected)[at + i]);
  }
  sftest_require(scene->self, false, __FILE__, __LINE__,
                 "operation %d of %d, form %d, %s, field %d of %d, %s: group rank %d of %d, %s (%s memory) %lld, value "
                 "%lld: found %s, expected %s (bytes in memory order)",
                 (int)(act - scene->acts), scene->nacts, (int)scene->form, operation->bcast ? "bcast" : "reduce",
                 (int)(field - act->fields), act->nfields, text, scene->rank, operation->graph->size,
                 side == SFTEST_ROOTS ? "root" : "leaf", sftest_memory_name(field->memory[side]),
                 (long long)(byte / unit_bytes), (long long)(byte % unit_bytes / size), bytes[0], bytes[1]);
}

/* Besides bits of NaNs, which may have come from a device. */
static int64_t first_difference(const sftest_act_field_t *field, sftest_side_t side, const char *expected,
                                int64_t bytes)
{
  const char *found = field->buffers[side].view;
  for (int64_t byte = 0, step; byte < bytes; byte += step + 1) {
    step = sftest_first_difference(found + byte, expected + byte, bytes - byte);
    if (step < 0)
      return -1;
    if (!sftest_both_nan(field->operation.unit, found, expected, byte + step))
      return byte + step;
  }
  return -1;
}

/* Compares both sides of a field as a whole with what they must hold now. */
static void check_field(sftest_case_t *scene, const sftest_act_t *act, const sftest_act_field_t *field)
{
  for (int side = 0; side < 2; side++) {
    int64_t bytes = side_bytes(scene, &field->operation, (sftest_side_t)side);
    char *expected = malloc((size_t)bytes + 1);
    sftest_operation_fill(&field->operation, (sftest_side_t)side, scene->rank, expected);
    if ((sftest_side_t)side == target_side(&field->operation) || field->in_one)
      sftest_operation_apply(&field->operation, scene->rank, expected);
    sftest_buffer_get(&field->buffers[side]);
    int64_t byte = first_difference(field, (sftest_side_t)side, expected, bytes);
    if (byte >= 0)
      report_difference(scene, act, field, (sftest_side_t)side, byte, expected);
    free(expected);
  }
}

static void check(void *test, int32_t i)
{
  sftest_case_t *scene = test;
  for (int32_t k = 0; k < scene->acts[i].nfields; k++)
    check_field(scene, &scene->acts[i], &scene->acts[i].fields[k]);
}

static const sftest_act_t *find_act(const void *test, int32_t i, sf_field_t list[])
{
  const sftest_act_t *act = &((const sftest_case_t *)test)->acts[i];
  for (int32_t k = 0; k < act->nfields; k++) {
    const sftest_act_field_t *field = &act->fields[k];
    list[k] = (sf_field_t){field->type, field->buffers[SFTEST_ROOTS].data, field->buffers[SFTEST_LEAVES].data,
                           sftest_op_handle(field->operation.op)};
  }
  return act;
}

static sf_status_t begin(void *test, int32_t i, sf_request_t **request_p)
{
  sf_field_t list[SFTEST_CASE_FIELDS];
  const sftest_act_t *act = find_act(test, i, list);
  if (act->nfields > 1 || act->by_list)
    return (act->bcast ? sf_bcast_begin_v : sf_reduce_begin_v)(act->real, act->nfields, list, request_p);
  return act->bcast ? sf_bcast_begin(act->real, list->unit, list->rootdata, list->leafdata, list->op, request_p)
                    : sf_reduce_begin(act->real, list->unit, list->leafdata, list->rootdata, list->op, request_p);
}

static sf_status_t call(void *test, int32_t i)
{
  sf_field_t list[SFTEST_CASE_FIELDS];
  const sftest_act_t *act = find_act(test, i, list);
  if (act->nfields > 1 || act->by_list)
    return (act->bcast ? sf_bcast_v : sf_reduce_v)(act->real, act->nfields, list);
  return act->bcast ? sf_bcast(act->real, list->unit, list->rootdata, list->leafdata, list->op)
                    : sf_reduce(act->real, list->unit, list->leafdata, list->rootdata, list->op);
}

static sf_status_t init(void *test, int32_t i, sf_request_t **request_p)
{
  sf_field_t list[SFTEST_CASE_FIELDS];
  const sftest_act_t *act = find_act(test, i, list);
  if (act->nfields > 1 || act->by_list)
    return (act->bcast ? sf_bcast_init_v : sf_reduce_init_v)(act->real, act->nfields, list, request_p);
  return act->bcast ? sf_bcast_init(act->real, list->unit, list->rootdata, list->leafdata, list->op, request_p)
                    : sf_reduce_init(act->real, list->unit, list->leafdata, list->rootdata, list->op, request_p);
}

const sftest_operations_t sftest_case_operations = {
    .name = name_of, .fill = fill, .call = call, .begin = begin, .init = init, .check = check};
