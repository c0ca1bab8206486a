/* Exchanges of blocks: see blocks.h. */
#include "tests/system/model/blocks.h"

#define GUARD 16 /* bytes behind each leaf's room that stay as they are */
#define UNTOUCHED 0x5a

/* ---- What is sent ------------------------------------------------------------------------------------------------ */

/* A rank keeps its lengths for some calls, or changes them at each; in some calls it has nothing. */
size_t sftest_block_length(const sftest_blocks_t *blocks, uint64_t call, int32_t rank, int64_t root)
{
  uint64_t own = sftest_hash2(blocks->seed, (uint64_t)rank), period = 1 + own % 4;
  uint64_t phase = sftest_hash2(own, (call + own / 4 % period) / period), one = sftest_hash2(phase, (uint64_t)root);
  size_t most = blocks->longest >> (phase % 16 < 12 ? phase % 12 : 0);
  return phase % 16 == 15 || one % 8 == 0 ? 0 : (size_t)(one / 8 % (most + 1));
}

static char byte_of(const sftest_blocks_t *blocks, uint64_t call, int32_t rank, int64_t root, size_t i)
{
  uint64_t of_block = sftest_hash2(blocks->seed + call, ((uint64_t)rank << 32) + (uint64_t)root);
  return (char)((of_block >> i % 8 * 8) + i / 8 * 13);
}

/* The block of exactly that size, so that the address sanitizer sees what lies beyond. */
static void fill_root(const sftest_blocks_t *blocks, int64_t root)
{
  sf_block_t *block = &blocks->root[root];
  int32_t rank = blocks->self->rank;
  block->bytes = sftest_block_length(blocks, blocks->call, rank, root);
  block->data = block->bytes > 0 ? realloc(block->data, block->bytes) : (free(block->data), NULL);
  for (size_t i = 0; i < block->bytes; i++)
    ((char *)block->data)[i] = byte_of(blocks, blocks->call, rank, root, i);
}

/* ---- What comes -------------------------------------------------------------------------------------------------- */

static const sftest_edge_t *edge_at(const sftest_blocks_t *blocks, int64_t i)
{
  return &blocks->forest->edges[blocks->self->rank][i];
}

static size_t expected_bytes(const sftest_blocks_t *blocks, const sftest_edge_t *edge)
{
  return sftest_block_length(blocks, blocks->call, edge->root_rank, edge->root);
}

static void make_room(const sftest_blocks_t *blocks, int64_t leaf, size_t bytes)
{
  sf_block_t *block = &blocks->leaf[leaf];
  free(block->data);
  block->data = malloc(bytes + GUARD);
  block->bytes = bytes;
  memset(block->data, UNTOUCHED, bytes + GUARD);
}

/* Room for what comes, or some more; for one leaf less. */
static void make_rooms(sftest_blocks_t *blocks, bool narrow)
{
  int64_t n = blocks->forest->n[blocks->self->rank];
  blocks->narrow = -1;
  for (int64_t i = 0; i < n; i++) {
    const sftest_edge_t *edge = edge_at(blocks, i);
    size_t bytes = expected_bytes(blocks, edge);
    if (narrow && blocks->narrow < 0 && bytes > 0) {
      blocks->narrow = edge->leaf;
      make_room(blocks, edge->leaf, bytes / 2);
    } else {
      make_room(blocks, edge->leaf, bytes + sftest_hash2(blocks->call, (uint64_t)i) % 3 * 5);
    }
  }
}

static void compare_leaf(const sftest_blocks_t *blocks, const sftest_edge_t *edge)
{
  const sf_block_t *block = &blocks->leaf[edge->leaf];
  const char *data = block->data;
  size_t bytes = expected_bytes(blocks, edge), there = bytes < block->bytes ? bytes : block->bytes;
  sftest_require(blocks->self, blocks->bytes[edge->leaf] == bytes, __FILE__, __LINE__,
                 "call %llu, leaf %lld: %zu bytes have come, expected %zu", (unsigned long long)blocks->call,
                 (long long)edge->leaf, blocks->bytes[edge->leaf], bytes);
  for (size_t i = 0; i < block->bytes + GUARD; i++) {
    char expected = i < there ? byte_of(blocks, blocks->call, edge->root_rank, edge->root, i) : UNTOUCHED;
    sftest_require(blocks->self, data[i] == expected, __FILE__, __LINE__,
                   "call %llu, leaf %lld of rank %d root %lld: byte %zu of %zu", (unsigned long long)blocks->call,
                   (long long)edge->leaf, edge->root_rank, (long long)edge->root, i, bytes);
  }
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

void sftest_blocks_make(sftest_blocks_t *blocks, sftest_rank_t *self, const sftest_forest_t *forest, sf_graph_t *graph,
                        uint64_t seed, size_t longest)
{
  int64_t nleaves = sftest_forest_space(forest, self->rank);
  *blocks = (sftest_blocks_t){
      .self = self,
      .forest = forest,
      .graph = graph,
      .seed = seed,
      .longest = longest,
      .root = calloc((size_t)forest->nroots[self->rank] + 1, sizeof *blocks->root),
      .leaf = calloc((size_t)nleaves + 1, sizeof *blocks->leaf),
      .bytes = calloc((size_t)nleaves + 1, sizeof *blocks->bytes),
      .nleaves = nleaves,
      .narrow = -1,
  };
}

void sftest_blocks_free(sftest_blocks_t *blocks)
{
  if (blocks->request != NULL)
    SFTEST_OK(blocks->self, sf_request_free(&blocks->request));
  for (int64_t i = 0; i < blocks->forest->nroots[blocks->self->rank]; i++)
    free(blocks->root[i].data);
  for (int64_t i = 0; i < blocks->nleaves; i++)
    free(blocks->leaf[i].data);
  free(blocks->root);
  free(blocks->leaf);
  free(blocks->bytes);
}

/* Until sf_wait a persistent request remains; its arguments are always the same. */
static void choose_way(sftest_blocks_t *blocks, sftest_blocks_way_t way)
{
  if (blocks->request != NULL && way != SFTEST_BLOCKS_PERSISTENT)
    SFTEST_OK(blocks->self, sf_request_free(&blocks->request));
  else if (blocks->request == NULL && way == SFTEST_BLOCKS_PERSISTENT)
    SFTEST_OK(blocks->self,
              sf_exchange_init(blocks->graph, blocks->root, blocks->leaf, blocks->bytes, &blocks->request));
  blocks->way = way;
}

void sftest_blocks_begin(sftest_blocks_t *blocks, uint64_t call, sftest_blocks_way_t way, bool narrow)
{
  sftest_rank_t *self = blocks->self;
  bool without_memory = way == SFTEST_BLOCKS_PROBED || way == SFTEST_BLOCKS_LATE;
  blocks->call = call;
  choose_way(blocks, way);
  for (int64_t i = 0; i < blocks->forest->nroots[self->rank]; i++)
    fill_root(blocks, i);
  make_rooms(blocks, narrow);
  for (int64_t i = 0; i < blocks->nleaves; i++)
    blocks->bytes[i] = SIZE_MAX;
  if (way == SFTEST_BLOCKS_PERSISTENT)
    SFTEST_OK(self, sf_start(blocks->request));
  else if (way != SFTEST_BLOCKS_AT_ONCE)
    SFTEST_OK(self, sf_exchange_begin(blocks->graph, blocks->root, without_memory ? NULL : blocks->leaf, blocks->bytes,
                                      &blocks->request));
}

/* Sizes are known before there is memory; memory as it was made for these sizes. */
static void probe(sftest_blocks_t *blocks)
{
  int64_t n = blocks->forest->n[blocks->self->rank];
  size_t *bytes = calloc((size_t)blocks->nleaves + 1, sizeof *bytes);
  SFTEST_OK(blocks->self, sf_exchange_probe(blocks->request, bytes));
  for (int64_t i = 0; i < n; i++)
    SFTEST_REQUIRE(blocks->self, bytes[edge_at(blocks, i)->leaf] == expected_bytes(blocks, edge_at(blocks, i)));
  free(bytes);
}

void sftest_blocks_end(sftest_blocks_t *blocks)
{
  sftest_rank_t *self = blocks->self;
  if (blocks->way == SFTEST_BLOCKS_PROBED && blocks->nleaves > 0)
    probe(blocks);
  if ((blocks->way == SFTEST_BLOCKS_PROBED || blocks->way == SFTEST_BLOCKS_LATE) && blocks->nleaves > 0)
    SFTEST_OK(self, sf_exchange_receive(blocks->request, blocks->leaf));
  sf_status_t status = blocks->way == SFTEST_BLOCKS_AT_ONCE
                           ? sf_exchange(blocks->graph, blocks->root, blocks->leaf, blocks->bytes)
                           : sf_wait(&blocks->request);
  SFTEST_EXPECT(self, status, blocks->narrow >= 0 ? SF_ERR_RANGE : SF_OK);
  if (blocks->narrow >= 0)
    SFTEST_DETAIL(self, "leaf");
  for (int64_t i = 0; i < blocks->forest->n[self->rank]; i++)
    compare_leaf(blocks, edge_at(blocks, i));
}
