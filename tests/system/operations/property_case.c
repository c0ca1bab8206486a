/* Random cases: see property_case.h. */
#include "tests/system/operations/property_case.h"

#include <stdio.h>
#include <stdlib.h>

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

static int64_t largest_array(const sftest_graph_t *graph)
{
  int64_t largest = 1;
  for (int32_t rank = 0; rank < graph->size; rank++)
    if (sftest_graph_space(graph, rank) > largest)
      largest = sftest_graph_space(graph, rank);
  return largest;
}

void sftest_case_choose(sftest_case_t *scene, int64_t max_bytes, sftest_act_t *act)
{
  uint64_t *random = &scene->random;
  int32_t graph = (int32_t)sftest_below(random, scene->ngraphs);
  sftest_operation_t *operation = &act->operation;
  operation->graph = &scene->graphs[graph];
  operation->bcast = sftest_below(random, 2) == 0;
  operation->unit.base = (sftest_base_t)sftest_below(random, SFTEST_BASE_COUNT);
  operation->unit.count = choose_count(random, operation->unit.base);
  int64_t room = max_bytes / (largest_array(operation->graph) * (int64_t)sftest_base_size(operation->unit.base));
  if (operation->unit.count > room)
    operation->unit.count = room < 1 ? 1 : room;
  do
    operation->op = (sftest_op_t)sftest_below(random, SFTEST_OP_COUNT);
  while (!sftest_op_applies(operation->op, operation->unit.base));
  operation->places = (scene->flags[graph] & SF_GRAPH_REPRODUCIBLE) == 0 ? scene->places : NULL;
  act->one_array = operation->graph->one_array && sftest_below(random, 2) == 0;
  act->real = scene->real[graph];
  act->memory[0] = (sftest_memory_t)sftest_below(&scene->own, sftest_memory_count());
  act->memory[1] = (sftest_memory_t)sftest_below(&scene->own, sftest_memory_count());
}

/* ---- One operation ----------------------------------------------------------------------------------------------- */

static sftest_side_t target_side(const sftest_act_t *act)
{
  return act->operation.bcast ? SFTEST_LEAVES : SFTEST_ROOTS;
}

static int64_t side_bytes(const sftest_case_t *scene, const sftest_act_t *act, sftest_side_t side)
{
  return sftest_operation_vertices(&act->operation, side, scene->rank) * (int64_t)sftest_unit_size(act->operation.unit);
}

void sftest_act_make_buffers(sftest_case_t *scene, sftest_act_t *act)
{
  for (int side = 0; side < 2; side++) {
    if (side == SFTEST_LEAVES && act->one_array)
      act->buffers[side] = act->buffers[SFTEST_ROOTS];
    else
      sftest_buffer_make(scene->self, scene->context, act->memory[side], side_bytes(scene, act, (sftest_side_t)side),
                         sftest_random(&scene->own), &act->buffers[side]);
  }
  act->type = sftest_unit_make(act->operation.unit);
}

void sftest_act_free_buffers(sftest_case_t *scene, sftest_act_t *act)
{
  SFTEST_OK(scene->self, sf_type_destroy(act->type));
  sftest_buffer_free(scene->self, &act->buffers[SFTEST_ROOTS]);
  if (!act->one_array)
    sftest_buffer_free(scene->self, &act->buffers[SFTEST_LEAVES]);
}

static const char *name_of(const void *test, int32_t i)
{
  return ((const sftest_case_t *)test)->acts[i].operation.bcast ? "bcast" : "reduce";
}

static void fill(void *test, int32_t i, uint64_t seed)
{
  sftest_case_t *scene = test;
  sftest_act_t *act = &scene->acts[i];
  act->operation.seed = seed;
  for (int side = 0; side < 2; side++)
    sftest_operation_fill(&act->operation, (sftest_side_t)side, scene->rank, act->buffers[side].view);
  for (int side = 0; side < 2; side++)
    sftest_buffer_put(&act->buffers[side]);
}

static void report_difference(sftest_case_t *scene, const sftest_act_t *act, sftest_side_t side, int64_t byte,
                              const char *expected)
{
  char text[80];
  const sftest_operation_t *operation = &act->operation;
  int64_t unit_bytes = (int64_t)sftest_unit_size(operation->unit);
  int64_t size = (int64_t)sftest_base_size(operation->unit.base), at = byte / size * size;
  const unsigned char *found = (const unsigned char *)act->buffers[side].view + at;
  sftest_describe(operation->unit, operation->op, text, sizeof text);
  char bytes[2][40] = {"", ""};
  for (int64_t i = 0; i < size; i++) {
    snprintf(bytes[0] + 2 * i, 3, "%02x", found[i]);
    snprintf(bytes[1] + 2 * i, 3, "%02x", ((const unsigned char *)expected)[at + i]);
  }
  sftest_require(scene->self, false, __FILE__, __LINE__,
                 "operation %d of %d, form %d, %s, %s: group rank %d of %d, %s (%s memory) %lld, value %lld: found %s, "
                 "expected %s (bytes in memory order)",
                 (int)(act - scene->acts), scene->nacts, (int)scene->form, operation->bcast ? "bcast" : "reduce", text,
                 scene->rank, operation->graph->size, side == SFTEST_ROOTS ? "root" : "leaf",
                 sftest_memory_name(act->memory[side]), (long long)(byte / unit_bytes),
                 (long long)(byte % unit_bytes / size), bytes[0], bytes[1]);
}

/* Compares both arrays as a whole with what they must hold now. */
static void check(void *test, int32_t i)
{
  sftest_case_t *scene = test;
  const sftest_act_t *act = &scene->acts[i];
  for (int side = 0; side < 2; side++) {
    int64_t bytes = side_bytes(scene, act, (sftest_side_t)side);
    char *expected = malloc((size_t)bytes + 1);
    sftest_operation_fill(&act->operation, (sftest_side_t)side, scene->rank, expected);
    if ((sftest_side_t)side == target_side(act) || act->one_array)
      sftest_operation_apply(&act->operation, scene->rank, expected);
    sftest_buffer_get(&act->buffers[side]);
    int64_t byte = sftest_first_difference(act->buffers[side].view, expected, bytes);
    if (byte >= 0)
      report_difference(scene, act, (sftest_side_t)side, byte, expected);
    free(expected);
  }
}

static sf_status_t begin(void *test, int32_t i, sf_request_t **request_p)
{
  const sftest_act_t *act = &((const sftest_case_t *)test)->acts[i];
  const sf_op_t *op = sftest_op_handle(act->operation.op);
  char *roots = act->buffers[SFTEST_ROOTS].data, *leaves = act->buffers[SFTEST_LEAVES].data;
  return act->operation.bcast ? sf_bcast_begin(act->real, act->type, roots, leaves, op, request_p)
                              : sf_reduce_begin(act->real, act->type, leaves, roots, op, request_p);
}

static sf_status_t call(void *test, int32_t i)
{
  const sftest_act_t *act = &((const sftest_case_t *)test)->acts[i];
  const sf_op_t *op = sftest_op_handle(act->operation.op);
  char *roots = act->buffers[SFTEST_ROOTS].data, *leaves = act->buffers[SFTEST_LEAVES].data;
  return act->operation.bcast ? sf_bcast(act->real, act->type, roots, leaves, op)
                              : sf_reduce(act->real, act->type, leaves, roots, op);
}

static sf_status_t init(void *test, int32_t i, sf_request_t **request_p)
{
  const sftest_act_t *act = &((const sftest_case_t *)test)->acts[i];
  const sf_op_t *op = sftest_op_handle(act->operation.op);
  char *roots = act->buffers[SFTEST_ROOTS].data, *leaves = act->buffers[SFTEST_LEAVES].data;
  return act->operation.bcast ? sf_bcast_init(act->real, act->type, roots, leaves, op, request_p)
                              : sf_reduce_init(act->real, act->type, leaves, roots, op, request_p);
}

const sftest_operations_t sftest_case_operations = {
    .name = name_of, .fill = fill, .call = call, .begin = begin, .init = init, .check = check};
