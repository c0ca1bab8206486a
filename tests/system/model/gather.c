/* The serial model of gather, scatter and fetch_op: see model_gather.h. */
#include "tests/system/model/gather.h"

void sftest_slots_number(sftest_slots_t *model)
{
  const sftest_graph_t *graph = &model->graph;
  int64_t *next[SFTEST_GROUP_MAX];
  for (int32_t rank = 0; rank < graph->size; rank++)
    next[rank] = calloc((size_t)graph->parts[rank].nroots + 2, sizeof(int64_t));
  for (int32_t rank = 0; rank < graph->size; rank++)
    for (int64_t i = 0; i < graph->parts[rank].nleaves; i++)
      next[graph->parts[rank].edges[i].root_rank][graph->parts[rank].edges[i].root + 1]++;
  for (int32_t rank = 0; rank < graph->size; rank++)
    for (int64_t root = 0; root < graph->parts[rank].nroots; root++)
      next[rank][root + 1] += next[rank][root];
  for (int32_t rank = 0; rank < graph->size; rank++)
    model->nslots[rank] = next[rank][graph->parts[rank].nroots];
  for (int32_t rank = 0; rank < graph->size; rank++) {
    const sftest_part_t *part = &graph->parts[rank];
    model->slot[rank] = malloc(((size_t)part->nleaves + 1) * sizeof(int64_t));
    for (int64_t i = 0; i < part->nleaves; i++)
      model->slot[rank][i] = next[part->edges[i].root_rank][part->edges[i].root]++;
  }
  for (int32_t rank = 0; rank < graph->size; rank++)
    free(next[rank]);
}

void sftest_slots_free(sftest_slots_t *model)
{
  for (int32_t rank = 0; rank < model->graph.size; rank++)
    free(model->slot[rank]);
  sftest_graph_free(&model->graph);
}

int64_t sftest_gather_vertices(const sftest_gather_t *act, sftest_place_t place, int32_t rank)
{
  const sftest_part_t *part = &act->model->graph.parts[rank];
  return place == PLACE_ROOTS ? part->nroots : place == PLACE_SLOTS ? act->model->nslots[rank] : part->leaf_space;
}

static void value_at(const sftest_gather_t *act, sftest_place_t place, int32_t rank, int64_t vertex, void *value)
{
  uint64_t seed = sftest_hash2(act->seed, (uint64_t)rank * PLACE_COUNT + (uint64_t)place);
  sftest_make_value(act->unit, act->op, sftest_hash2(seed, (uint64_t)vertex), value);
}

void sftest_gather_fill(const sftest_gather_t *act, sftest_place_t place, int32_t rank, char *array)
{
  size_t unit_bytes = sftest_unit_size(act->unit);
  for (int64_t vertex = 0; vertex < sftest_gather_vertices(act, place, rank); vertex++)
    value_at(act, place, rank, vertex, array + (size_t)vertex * unit_bytes);
}

void sftest_mix(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context)
{
  const unsigned char *from = in;
  unsigned char *to = inout;
  for (size_t i = 0; i < (size_t)n * unit_bytes; i++)
    to[i] = (unsigned char)(to[i] * 31 + from[i] + *(const int *)context);
}

int sftest_mix_by = 7;

void sftest_add(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context)
{
  const unsigned char *from = in;
  unsigned char *to = inout;
  (void)context;
  for (size_t i = 0; i < (size_t)n * unit_bytes; i++)
    to[i] = (unsigned char)(to[i] + from[i]);
}

static void combine(const sftest_gather_t *act, void *present, const void *in)
{
  if (act->own_op && act->commutative)
    sftest_add(in, present, 1, sftest_unit_size(act->unit), NULL);
  else if (act->own_op)
    sftest_mix(in, present, 1, sftest_unit_size(act->unit), &sftest_mix_by);
  else
    sftest_combine(act->unit, act->op, present, in);
}

/* What the rank's leaves contribute to the roots of one rank, or all; what they fetch goes to update, if that is not
 * NULL. */
static void contribute(const sftest_gather_t *act, int32_t leaf_rank, int32_t root_rank, char *roots, char *update)
{
  size_t unit_bytes = sftest_unit_size(act->unit);
  const sftest_part_t *part = &act->model->graph.parts[leaf_rank];
  char *value = malloc(unit_bytes);
  for (int64_t i = 0; i < part->nleaves; i++) {
    const sftest_edge_t *edge = &part->edges[i];
    if (edge->root_rank != root_rank)
      continue;
    value_at(act, PLACE_LEAVES, leaf_rank, edge->leaf, value);
    char *root = roots + (size_t)edge->root * unit_bytes;
    if (update != NULL)
      memcpy(update + (size_t)edge->leaf * unit_bytes, root, unit_bytes);
    combine(act, root, value);
  }
  free(value);
}

/* What becomes of the roots of a rank; what a rank fetches from there. */
static void expect_roots(const sftest_gather_t *act, int32_t root_rank, int32_t rank, char *roots, char *update)
{
  sftest_gather_fill(act, PLACE_ROOTS, root_rank, roots);
  for (int32_t leaf_rank = 0; leaf_rank < act->model->graph.size; leaf_rank++)
    contribute(act, leaf_rank, root_rank, roots, leaf_rank == rank ? update : NULL);
}

static void expect_update(const sftest_gather_t *act, int32_t rank, char *update)
{
  for (int32_t root_rank = 0; root_rank < act->model->graph.size; root_rank++) {
    int64_t nroots = act->model->graph.parts[root_rank].nroots;
    char *roots = malloc((size_t)nroots * sftest_unit_size(act->unit) + 1);
    expect_roots(act, root_rank, rank, roots, update);
    free(roots);
  }
}

static void expect_slots(const sftest_gather_t *act, int32_t rank, char *slots)
{
  const sftest_graph_t *graph = &act->model->graph;
  for (int32_t leaf_rank = 0; leaf_rank < graph->size; leaf_rank++)
    for (int64_t i = 0; i < graph->parts[leaf_rank].nleaves; i++) {
      const sftest_edge_t *edge = &graph->parts[leaf_rank].edges[i];
      if (edge->root_rank == rank)
        value_at(act, PLACE_LEAVES, leaf_rank, edge->leaf,
                 slots + (size_t)act->model->slot[leaf_rank][i] * sftest_unit_size(act->unit));
    }
}

/* The leaves of a scatter, or of a bcast. */
static void expect_leaves(const sftest_gather_t *act, int32_t rank, char *leaves)
{
  size_t unit_bytes = sftest_unit_size(act->unit);
  const sftest_part_t *part = &act->model->graph.parts[rank];
  char *value = malloc(unit_bytes);
  for (int64_t i = 0; i < part->nleaves; i++) {
    const sftest_edge_t *edge = &part->edges[i];
    char *leaf = leaves + (size_t)edge->leaf * unit_bytes;
    if (act->kind == KIND_SCATTER) {
      value_at(act, PLACE_SLOTS, edge->root_rank, act->model->slot[rank][i], leaf);
    } else {
      value_at(act, PLACE_ROOTS, edge->root_rank, edge->root, value);
      combine(act, leaf, value);
    }
  }
  free(value);
}

void sftest_gather_expect(const sftest_gather_t *act, sftest_place_t place, int32_t rank, char *array)
{
  sftest_gather_fill(act, place, rank, array);
  if (place == PLACE_SLOTS && act->kind == KIND_GATHER)
    expect_slots(act, rank, array);
  if (place == PLACE_ROOTS && (act->kind == KIND_FETCH || act->kind == KIND_REDUCE))
    expect_roots(act, rank, rank, array, NULL);
  if (place == PLACE_LEAVES && (act->kind == KIND_SCATTER || act->kind == KIND_BCAST))
    expect_leaves(act, rank, array);
  if (act->kind == KIND_FETCH && place == (act->one_array ? PLACE_LEAVES : PLACE_UPDATE))
    expect_update(act, rank, array);
}

/* ---- What is told of the edges ----------------------------------------------------------------------------------- */

static void check_ranks(sftest_rank_t *self, const sftest_slots_t *model, int32_t rank, bool of_leaves)
{
  sf_graph_ranks_t ranks;
  int32_t at = 0;
  if (of_leaves)
    SFTEST_OK(self, sf_graph_leaf_ranks(model->real, &ranks));
  else
    SFTEST_OK(self, sf_graph_root_ranks(model->real, &ranks));
  SFTEST_REQUIRE(self, ranks.offset[0] == 0);
  for (int32_t other = 0; other < model->graph.size; other++) {
    const sftest_part_t *part = &model->graph.parts[of_leaves ? other : rank];
    int64_t n = 0, first = at < ranks.nranks ? ranks.offset[at] : 0;
    for (int64_t i = 0; i < part->nleaves; i++) {
      if (part->edges[i].root_rank != (of_leaves ? rank : other))
        continue;
      SFTEST_REQUIRE(self, at < ranks.nranks && ranks.ranks[at] == other && first + n < ranks.offset[at + 1]);
      SFTEST_REQUIRE(self, ranks.leaf_index[first + n] == part->edges[i].leaf);
      SFTEST_REQUIRE(self, ranks.root_index[first + n] == part->edges[i].root);
      n++;
    }
    SFTEST_REQUIRE(self, n == 0 || ranks.offset[at + 1] == first + n);
    at += n > 0;
  }
  SFTEST_REQUIRE(self, at == ranks.nranks);
}

static void check_degrees(sftest_rank_t *self, const sftest_slots_t *model, int32_t rank)
{
  const sftest_graph_t *graph = &model->graph;
  int64_t nroots = graph->parts[rank].nroots, *expected = calloc((size_t)nroots + 1, sizeof *expected);
  int64_t *found = malloc(((size_t)nroots + 1) * sizeof *found);
  for (int32_t other = 0; other < graph->size; other++)
    for (int64_t i = 0; i < graph->parts[other].nleaves; i++)
      if (graph->parts[other].edges[i].root_rank == rank)
        expected[graph->parts[other].edges[i].root]++;
  SFTEST_OK(self, sf_graph_degrees(model->real, found));
  for (int64_t root = 0; root < nroots; root++)
    SFTEST_REQUIRE(self, found[root] == expected[root]);
  free(expected);
  free(found);
}

/* The multi-graph connects each leaf with its slot, and belongs to its graph. */
static void check_multi(sftest_rank_t *self, const sftest_slots_t *model, int32_t rank)
{
  const sftest_part_t *part = &model->graph.parts[rank];
  sf_graph_t *multi, *again;
  sf_graph_info_t info;
  size_t n = (size_t)part->nleaves + 1;
  int64_t *leaf = malloc(n * sizeof *leaf), *root = malloc(n * sizeof *root);
  int32_t *root_rank = malloc(n * sizeof *root_rank);
  SFTEST_OK(self, sf_graph_multi(model->real, &multi));
  SFTEST_OK(self, sf_graph_multi(model->real, &again));
  SFTEST_REQUIRE(self, multi == again);
  SFTEST_EXPECT(self, sf_graph_destroy(multi), SF_ERR_ARG);
  SFTEST_OK(self, sf_graph_info(multi, &info));
  SFTEST_REQUIRE(self, info.nroots == model->nslots[rank] && info.nleaves == part->nleaves);
  SFTEST_OK(self, sf_graph_edges(multi, leaf, root_rank, root));
  for (int64_t i = 0; i < part->nleaves; i++)
    SFTEST_REQUIRE(self, leaf[i] == part->edges[i].leaf && root_rank[i] == part->edges[i].root_rank &&
                             root[i] == model->slot[rank][i]);
  free(leaf);
  free(root);
  free(root_rank);
}

void sftest_multi_make(sftest_rank_t *self, sf_graph_t *graph)
{
  sf_graph_info_t info;
  SFTEST_OK(self, sf_graph_info(graph, &info));
  char *roots = calloc((size_t)info.nroots + 1, 1), *leaves = calloc((size_t)info.leaf_space + 1, 1);
  sf_request_t *request;
  SFTEST_OK(self, sf_fetch_op_init(graph, SF_INT8, roots, leaves, leaves, SF_SUM, &request));
  SFTEST_OK(self, sf_start(request));
  SFTEST_OK(self, sf_wait(&request));
  SFTEST_OK(self, sf_request_free(&request));
  free(roots);
  free(leaves);
}

void sftest_slots_ask(sftest_rank_t *self, const sftest_slots_t *model, int32_t rank, uint64_t *random)
{
  for (int64_t n = sftest_below(random, 5); n > 0; n--) {
    int64_t question = sftest_below(random, 4);
    sftest_at(self, "question %lld", (long long)question);
    if (question < 2)
      check_ranks(self, model, rank, question == 0);
    else if (question == 2)
      check_degrees(self, model, rank);
    else
      check_multi(self, model, rank);
  }
}
