/* Merging edge blocks of a node: random instances, whose images are used as ranks use them and compared with a serial
 * model; and images spoilt at random, which have to be refused or to stay within their limits. */
#include "shm/merge/merge.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shm/error.h"
#include "shm/trunk.h"
#include "tests/unit/runner.h"

static unsigned seed;

static void expect(bool condition, const char *what)
{
  if (!condition)
    ck_abort_msg("not so: %s (%s); SF_TEST_SEED=%u", what, sfshm_error_detail(), seed);
}

static uint64_t state;

static uint64_t any(void)
{
  state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t z = state;
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static int64_t below(int64_t n)
{
  return (int64_t)(any() % (uint64_t)n);
}

static void start_random(unsigned salt)
{
  const char *given = getenv("SF_TEST_SEED");
  seed = given != NULL ? (unsigned)strtoul(given, NULL, 0) : (unsigned)time(NULL);
  state = (uint64_t)seed << 8 | salt;
}

/* ---- Instances --------------------------------------------------------------------------------------------------- */

#define MAX_OWNERS 6
#define MAX_RANKS 6
#define MAX_BLOCKS (MAX_OWNERS * MAX_RANKS)
#define MAX_ROOTS 40 /* of an owner */
#define MAX_EXTRAS 8 /* of a block */
#define MAX_EDGES (MAX_ROOTS + MAX_EXTRAS)

/* What an owner's roots look like: universe number u stands for the root start + u * stride, or something spread. */
typedef struct owner {
  int32_t rank;
  int64_t nroots; /* of the universe */
  int64_t root[MAX_ROOTS];
} owner_t;

/* A block and its arrays. value[v]: the universe number of its root. */
typedef struct block {
  const owner_t *owner;
  int64_t value[MAX_ROOTS];
  int64_t root64[MAX_ROOTS];
  uint32_t root32[MAX_ROOTS];
  int64_t leaf[MAX_EDGES];
  int64_t extra[MAX_EXTRAS];
  sfshm_edges_t edges;
} block_t;

typedef struct instance {
  bool uncombined;
  int32_t nowners;
  int32_t nranks;
  owner_t owners[MAX_OWNERS];
  int32_t ranks[MAX_RANKS];
  int32_t nblocks;
  block_t blocks[MAX_BLOCKS];
  sfshm_merge_block_t given[MAX_BLOCKS];
  sfshm_merge_t merge;
} instance_t;

static void make_owner(owner_t *owner, int32_t rank)
{
  static const int64_t starts[] = {0, 5, UINT32_MAX - INT64_C(10), (INT64_C(1) << 33) + 3, INT64_C(1) << 60};
  static const int64_t strides[] = {1, 1, 1, 3, 1000003, INT64_C(1) << 40};
  int64_t start = starts[below(5)], stride = strides[below(6)];
  bool ragged = below(2) == 0;
  *owner = (owner_t){.rank = rank, .nroots = 1 + below(MAX_ROOTS)};
  for (int64_t u = 0; u < owner->nroots; u++)
    owner->root[u] = start + u * stride + (ragged ? below(stride) : 0);
}

static void shuffle(int64_t list[], int64_t n)
{
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t j = below(i + 1), swap = list[i];
    list[i] = list[j];
    list[j] = swap;
  }
}

/* Some of the owner's roots: consecutive ones, in steps, descending, or any. Returns how many. */
static int64_t choose_values(const owner_t *owner, int64_t value[])
{
  int64_t form = below(4), n = 0, step = form == 1 ? 1 + below(3) : 1, first = below(owner->nroots);
  if (form == 3) {
    for (int64_t u = 0; u < owner->nroots; u++)
      value[u] = u;
    shuffle(value, owner->nroots);
    return 1 + below(owner->nroots);
  }
  int64_t most = 1 + below((owner->nroots - first + step - 1) / step);
  for (int64_t u = first; n < most; u += step)
    value[n++] = u;
  for (int64_t i = 0; form == 2 && i < n / 2; i++) {
    int64_t swap = value[i];
    value[i] = value[n - 1 - i];
    value[n - 1 - i] = swap;
  }
  return n;
}

static int by_number(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void make_block(block_t *block, const owner_t *owner, int64_t *next_leaf)
{
  block->owner = owner;
  int64_t nvalues = choose_values(owner, block->value), nextras = below(2) ? below(MAX_EXTRAS + 1) : 0;
  bool narrow = below(2) == 0;
  for (int64_t v = 0; v < nvalues; v++) {
    block->root64[v] = owner->root[block->value[v]];
    block->root32[v] = (uint32_t)block->root64[v];
    narrow = narrow && block->root64[v] <= UINT32_MAX;
  }
  for (int64_t e = 0; e < nextras; e++)
    block->extra[e] = below(nvalues);
  qsort(block->extra, (size_t)nextras, sizeof block->extra[0], by_number);
  for (int64_t e = 0; e < nvalues + nextras; e++)
    block->leaf[e] = (*next_leaf)++;
  block->edges = (sfshm_edges_t){.value_root = narrow ? sfshm_pattern_from_index32(block->root32, nvalues)
                                                      : sfshm_pattern_from_index64(block->root64, nvalues),
                                 .leaf = sfshm_pattern_from_index64(block->leaf, nvalues + nextras),
                                 .extra_value = sfshm_pattern_from_index64(block->extra, nextras)};
  block->edges.roots = sfshm_pattern_survey(&block->edges.value_root);
  block->edges.leaves = sfshm_pattern_survey(&block->edges.leaf);
}

static void make_instance(instance_t *instance)
{
  int64_t next_leaf[MAX_RANKS] = {0};
  memset(instance, 0, sizeof *instance);
  instance->uncombined = below(3) == 0;
  instance->nowners = (int32_t)(1 + below(MAX_OWNERS));
  instance->nranks = (int32_t)(1 + below(MAX_RANKS));
  for (int32_t i = 0, rank = 0; i < instance->nowners; i++, rank++)
    make_owner(&instance->owners[i], rank += (int32_t)below(3));
  for (int32_t i = 0, rank = 0; i < instance->nranks; i++, rank++)
    instance->ranks[i] = rank += (int32_t)below(3);
  for (int32_t o = 0; o < instance->nowners; o++)
    for (int32_t r = 0; r < instance->nranks; r++) {
      if (below(4) == 0 && !(o + 1 == instance->nowners && r + 1 == instance->nranks))
        continue;
      block_t *block = &instance->blocks[instance->nblocks];
      make_block(block, &instance->owners[o], &next_leaf[r]);
      instance->given[instance->nblocks++] =
          (sfshm_merge_block_t){.owner = instance->owners[o].rank, .rank = instance->ranks[r], .edges = &block->edges};
    }
  expect(sfshm_merge_make(instance->given, instance->nblocks, instance->uncombined, &instance->merge) == SF_OK,
         "images are made");
}

/* ---- Using images as ranks do ------------------------------------------------------------------------------------ */

#define MAX_TOKENS (MAX_RANKS * (1 + MAX_EXTRAS))

/* A unit under the operation that appends: what was combined with it, in which order. */
typedef struct record {
  int64_t ntokens;
  int64_t token[MAX_TOKENS];
  int64_t sum;
} record_t;

static int64_t token_of(int32_t rank, int64_t leaf)
{
  return (int64_t)rank << 32 | leaf;
}

static void append(record_t *record, const record_t *other)
{
  expect(record->ntokens + other->ntokens <= MAX_TOKENS, "records don't grow beyond the contributors");
  memcpy(record->token + record->ntokens, other->token, (size_t)other->ntokens * sizeof other->token[0]);
  record->ntokens += other->ntokens;
  record->sum += other->sum;
}

static record_t contribution(int32_t rank, int64_t leaf)
{
  return (record_t){.ntokens = 1, .token = {token_of(rank, leaf)}, .sum = (leaf + 1) * (rank + 7)};
}

static int64_t root_value(int32_t owner, int64_t root)
{
  return (int64_t)((uint64_t)root * 31 + (uint64_t)owner);
}

static int64_t universe_number(const owner_t *owner, int64_t root)
{
  for (int64_t u = 0; u < owner->nroots; u++)
    if (owner->root[u] == root)
      return u;
  expect(false, "images name the owner's roots only");
  return -1;
}

static void open_image(const instance_t *instance, bool root, sfshm_image_t *image)
{
  const sfshm_merge_t *merge = &instance->merge;
  expect(sfshm_image_open(root ? merge->root_image : merge->leaf_image,
                          root ? merge->root_image_bytes : merge->leaf_image_bytes,
                          root ? SFSHM_ROOT_IMAGE_MAGIC : SFSHM_LEAF_IMAGE_MAGIC, image) == SF_OK,
         "the image is sound");
  expect(!root || sfshm_root_image_check(image) == SF_OK, "the whole root image is sound");
}

static sfshm_root_roots_t open_owner(const sfshm_image_t *image, const owner_t *owner)
{
  sfshm_root_roots_t part;
  int64_t i = sfshm_image_find(image, owner->rank);
  expect(i >= 0 && sfshm_root_part_open(image, (uint32_t)i, INT64_MAX, &part) == SF_OK, "the owner has a part");
  expect(part.rank == owner->rank, "it is the owner's");
  return part;
}

/* nvalues and nedges of one rank in all its blocks. */
static sfshm_leaf_positions_t open_rank(const instance_t *instance, const sfshm_image_t *image, int32_t rank)
{
  int64_t nvalues = 0, nedges = 0;
  sfshm_leaf_positions_t part = {.rank = -1};
  for (int32_t b = 0; b < instance->nblocks; b++) {
    nvalues += instance->given[b].rank == rank ? instance->blocks[b].edges.value_root.n : 0;
    nedges += instance->given[b].rank == rank ? instance->blocks[b].edges.leaf.n : 0;
  }
  int64_t i = sfshm_image_find(image, rank);
  expect((i >= 0) == (nvalues > 0), "ranks with values have parts");
  if (i >= 0)
    expect(sfshm_leaf_part_open(image, (uint32_t)i, nvalues, nedges, &part) == SF_OK, "the part is sound");
  return part;
}

static bool owner_takes_part(const instance_t *instance, const owner_t *owner)
{
  for (int32_t b = 0; b < instance->nblocks; b++)
    if (instance->blocks[b].owner == owner)
      return true;
  return false;
}

static int64_t count_distinct(const instance_t *instance)
{
  int64_t n = 0;
  for (int32_t o = 0; o < instance->nowners; o++) {
    bool wanted[MAX_ROOTS] = {false};
    for (int32_t b = 0; b < instance->nblocks; b++)
      for (int64_t v = 0;
           instance->blocks[b].owner == &instance->owners[o] && v < instance->blocks[b].edges.value_root.n; v++)
        wanted[instance->blocks[b].value[v]] = true;
    for (int64_t u = 0; u < MAX_ROOTS; u++)
      n += wanted[u];
  }
  return n;
}

static void check_bcast(const instance_t *instance)
{
  sfshm_image_t root_image, leaf_image;
  open_image(instance, true, &root_image);
  open_image(instance, false, &leaf_image);
  int64_t n = root_image.header.bcast_values;
  expect(n == leaf_image.header.bcast_values && n == count_distinct(instance), "each root is carried once");
  int64_t *message = calloc((size_t)n, sizeof *message);
  bool *written = calloc((size_t)n, sizeof *written);
  for (int32_t o = 0; o < instance->nowners; o++) {
    if (!owner_takes_part(instance, &instance->owners[o])) {
      expect(sfshm_image_find(&root_image, instance->owners[o].rank) == -1, "others have no part");
      continue;
    }
    sfshm_root_roots_t part = open_owner(&root_image, &instance->owners[o]);
    for (int64_t i = 0; i < part.root.n; i++) {
      expect(!written[part.first + i], "positions are written once");
      written[part.first + i] = true;
      message[part.first + i] = root_value(part.rank, sfshm_pattern_at(&part.root, i));
    }
  }
  for (int32_t r = 0; r < instance->nranks; r++) {
    sfshm_leaf_positions_t part = open_rank(instance, &leaf_image, instance->ranks[r]);
    for (int32_t b = 0, v = 0; b < instance->nblocks; b++) {
      const block_t *block = &instance->blocks[b];
      for (int64_t i = 0; instance->given[b].rank == instance->ranks[r] && i < block->edges.value_root.n; i++, v++)
        expect(message[sfshm_pattern_at(&part.from, v)] == root_value(block->owner->rank, block->root64[i]),
               "each value gets that of its root");
    }
  }
  free(message);
  free(written);
}

/* One rank's part of a slot. */
static void fill_slot(const instance_t *instance, const sfshm_image_t *image, int32_t rank, record_t slot[])
{
  sfshm_leaf_positions_t part = open_rank(instance, image, rank);
  int64_t first = 0; /* value, or edge if uncombined, of the block */
  for (int32_t b = 0; b < instance->nblocks; b++) {
    const sfshm_edges_t *edges = &instance->blocks[b].edges;
    int64_t nvalues = edges->value_root.n;
    if (instance->given[b].rank != rank)
      continue;
    for (int64_t e = 0; e < edges->leaf.n; e++) {
      int64_t value = e < nvalues ? e : sfshm_pattern_at(&edges->extra_value, e - nvalues);
      record_t *unit = &slot[sfshm_pattern_at(&part.to, first + (instance->uncombined ? e : value))];
      record_t mine = contribution(rank, sfshm_pattern_at(&edges->leaf, e));
      expect(instance->uncombined || e >= nvalues ? true : unit->ntokens == 0, "units are written once");
      append(unit, &mine);
    }
    first += instance->uncombined ? edges->leaf.n : nvalues;
  }
}

static void combine_staged(const sfshm_image_t *image, record_t slot[])
{
  int64_t expected = 0;
  for (uint32_t k = 0; k < image->header.nlayers; k++) {
    sfshm_pattern_t positions;
    int64_t first;
    expect(sfshm_leaf_layer_open(image, k, &positions, &first) == SF_OK, "layers are sound");
    expect(first == expected, "layers stand behind each other");
    for (int64_t i = 0; i < positions.n; i++)
      append(&slot[sfshm_pattern_at(&positions, i)], &slot[image->header.reduce_values + first + i]);
    expected += positions.n;
  }
  expect(expected == image->header.staged, "all staging is in layers");
}

/* What the serial model gives for a root: contributions by ascending rank, of each rank by edge. */
static record_t model(const instance_t *instance, const owner_t *owner, int64_t u)
{
  record_t result = {.ntokens = 0};
  for (int32_t b = 0; b < instance->nblocks; b++) {
    const block_t *block = &instance->blocks[b];
    int64_t nvalues = block->edges.value_root.n;
    for (int64_t e = 0; block->owner == owner && e < block->edges.leaf.n; e++)
      if (block->value[e < nvalues ? e : block->extra[e - nvalues]] == u) {
        record_t one = contribution(instance->given[b].rank, block->leaf[e]);
        append(&result, &one);
      }
  }
  return result;
}

/* The turns of one owner, combined with its roots. */
static void take_turns(const instance_t *instance, const sfshm_image_t *image, const owner_t *owner,
                       const record_t slot[], int64_t *nread)
{
  record_t result[MAX_ROOTS] = {{0}};
  sfshm_root_roots_t part = open_owner(image, owner);
  int32_t previous = -1;
  for (uint32_t i = 0; i < part.nsegments; i++) {
    sfshm_root_turn_t turn;
    expect(sfshm_root_segment_open(image, &part, i, INT64_MAX, &turn) == SF_OK, "turns are sound");
    expect(turn.rank > previous && turn.first == *nread, "turns are in order");
    bool alone = true;
    for (int64_t k = 0; k < turn.root.n; k++) {
      const record_t *unit = &slot[turn.first + k];
      int32_t winner = turn.winners != NULL ? turn.winners[k] : turn.rank;
      expect(unit->ntokens > 0 && unit->token[0] >> 32 == turn.rank, "a turn begins with its rank's contribution");
      expect(unit->token[unit->ntokens - 1] >> 32 == winner, "the winner contributes last");
      alone = alone && winner == turn.rank;
      append(&result[universe_number(owner, sfshm_pattern_at(&turn.root, k))], unit);
    }
    expect(alone == (turn.winners == NULL), "winners are listed only where others win");
    previous = turn.rank;
    *nread += turn.root.n;
  }
  for (int64_t u = 0; u < owner->nroots; u++) {
    record_t serial = model(instance, owner, u);
    expect(memcmp(&serial, &result[u], sizeof serial) == 0, "contributions are those of the model, in its order");
  }
}

static void check_reduce(const instance_t *instance)
{
  sfshm_image_t root_image, leaf_image;
  open_image(instance, true, &root_image);
  open_image(instance, false, &leaf_image);
  int64_t n = leaf_image.header.reduce_values, units = n + leaf_image.header.staged, nread = 0;
  expect(n == root_image.header.reduce_values, "both images have messages of the same length");
  expect(root_image.header.uncombined == instance->uncombined, "they say how contributions travel");
  record_t *slot = calloc((size_t)units, sizeof *slot);
  for (int32_t r = instance->nranks - 1; r >= 0; r--) /* ranks come in any order */
    fill_slot(instance, &leaf_image, instance->ranks[r], slot);
  for (int64_t i = 0; i < units; i++)
    expect(slot[i].ntokens > 0, "all units are written");
  combine_staged(&leaf_image, slot);
  for (int32_t o = 0; o < instance->nowners; o++)
    if (owner_takes_part(instance, &instance->owners[o]))
      take_turns(instance, &root_image, &instance->owners[o], slot, &nread);
  expect(nread == n, "all of the message is read");
  free(slot);
}

static instance_t instance;

START_TEST(random_instances_give_what_the_serial_model_gives)
{
  start_random(1);
  for (int i = 0; i < 4000; i++) {
    make_instance(&instance);
    check_bcast(&instance);
    check_reduce(&instance);
    sfshm_merge_free(&instance.merge);
  }
}
END_TEST

/* ---- Spoilt images ----------------------------------------------------------------------------------------------- */

/* An image at the very end of memory of its own. */
static char *copy_image(const void *image, size_t bytes)
{
  char *copy = malloc(bytes);
  memcpy(copy, image, bytes);
  return copy;
}

static void spoil(char *image, size_t bytes)
{
  static const uint64_t words[] = {0, 1, UINT32_MAX, INT64_MAX, UINT64_MAX, (uint64_t)1 << 63, (uint64_t)1 << 62};
  size_t limit = below(2) ? bytes : bytes < 300 ? bytes : 300; /* the tables, rather than arrays */
  for (int64_t i = below(3); i >= 0; i--) {
    uint64_t word = below(2) ? words[below(7)] : (uint64_t)below((int64_t)bytes + 16);
    if (below(2) == 0)
      image[below((int64_t)limit)] ^= (char)(1 << below(8));
    else
      memcpy(image + (size_t)below((int64_t)limit / 8) * 8, &word, sizeof word);
  }
}

static void expect_within(const sfshm_pattern_t *pattern, int64_t limit)
{
  bool arithmetic = pattern->kind == SFSHM_PATTERN_CONTIGUOUS || pattern->kind == SFSHM_PATTERN_STRIDED;
  int64_t step = arithmetic && pattern->n > 1 ? pattern->n - 1 : 1;
  expect(pattern->n > 0, "patterns have entries");
  for (int64_t i = 0; i < pattern->n; i += step) {
    int64_t index = sfshm_pattern_at(pattern, i);
    expect(index >= 0 && index < limit, "indices are in range");
    if (i > INT64_MAX - step)
      break;
  }
}

static bool use_root_image(const sfshm_image_t *image, int64_t nroots)
{
  bool sound = true;
  for (uint32_t i = 0; i < image->header.nparts; i++) {
    sfshm_root_roots_t part;
    if (sfshm_root_part_open(image, i, nroots, &part) != SF_OK) {
      sound = false;
      continue;
    }
    expect_within(&part.root, nroots);
    expect(part.first >= 0 && part.root.n <= image->header.bcast_values - part.first, "positions are in range");
    for (uint32_t k = 0; k < part.nsegments; k++) {
      sfshm_root_turn_t turn;
      if (sfshm_root_segment_open(image, &part, k, nroots, &turn) != SF_OK) {
        sound = false;
        continue;
      }
      expect_within(&turn.root, nroots);
      expect(turn.first >= 0 && turn.root.n <= image->header.reduce_values - turn.first, "positions are in range");
      for (int64_t w = 0; turn.winners != NULL && w < turn.root.n; w++)
        expect(turn.winners[w] >= turn.rank && turn.rank >= 0, "winners are ranks");
    }
  }
  return sound;
}

static int naccepted, nrefused;

static void try_root_image(const void *bytes, size_t length_bytes, int64_t nroots)
{
  sfshm_image_t image;
  if (sfshm_image_open(bytes, length_bytes, SFSHM_ROOT_IMAGE_MAGIC, &image) != SF_OK)
    return;
  sf_status_t status = sfshm_root_image_check(&image);
  expect(status == SF_OK || status == SF_ERR_PROTO, "spoilt images are malformed");
  naccepted += status == SF_OK;
  nrefused += status != SF_OK;
  expect(status != SF_OK || use_root_image(&image, INT64_MAX), "an image that is sound as a whole is so in parts");
  use_root_image(&image, nroots);
  for (int32_t rank = -1; rank < 20; rank++)
    expect(sfshm_image_find(&image, rank) < (int64_t)image.header.nparts, "parts are found within");
}

static void use_layers(const sfshm_image_t *image)
{
  int64_t end = 0;
  for (uint32_t k = 0; k < image->header.nlayers; k++) {
    sfshm_pattern_t positions;
    int64_t first;
    expect(sfshm_leaf_layer_open(image, k, &positions, &first) == SF_OK, "layers were checked");
    expect_within(&positions, image->header.reduce_values);
    expect(first == end, "layers stand behind each other");
    end = first + positions.n;
  }
  expect(end == image->header.staged, "staging is in range");
}

static void try_leaf_image(const void *bytes, size_t length_bytes)
{
  sfshm_image_t image;
  if (sfshm_image_open(bytes, length_bytes, SFSHM_LEAF_IMAGE_MAGIC, &image) != SF_OK)
    return;
  use_layers(&image);
  for (int32_t r = 0; r < instance.nranks; r++) {
    int64_t nvalues = 0, nedges = 0, i = sfshm_image_find(&image, instance.ranks[r]);
    sfshm_leaf_positions_t part;
    for (int32_t b = 0; b < instance.nblocks; b++) {
      nvalues += instance.given[b].rank == instance.ranks[r] ? instance.blocks[b].edges.value_root.n : 0;
      nedges += instance.given[b].rank == instance.ranks[r] ? instance.blocks[b].edges.leaf.n : 0;
    }
    if (i < 0 || sfshm_leaf_part_open(&image, (uint32_t)i, nvalues, nedges, &part) != SF_OK)
      continue;
    expect(part.from.n == nvalues && part.to.n == (image.header.uncombined ? nedges : nvalues), "none is missing");
    expect_within(&part.from, image.header.bcast_values);
    expect_within(&part.to, image.header.reduce_values + image.header.staged);
  }
}

START_TEST(spoilt_images_are_refused_or_stay_in_range)
{
  start_random(2);
  for (int i = 0; i < 1000; i++) {
    make_instance(&instance);
    sfshm_merge_t *merge = &instance.merge;
    for (int k = 0; k < 60; k++) {
      size_t root_bytes = below(8) ? merge->root_image_bytes : (size_t)below((int64_t)merge->root_image_bytes);
      size_t leaf_bytes = below(8) ? merge->leaf_image_bytes : (size_t)below((int64_t)merge->leaf_image_bytes);
      char *root = copy_image(merge->root_image, root_bytes), *leaf = copy_image(merge->leaf_image, leaf_bytes);
      if (root_bytes >= 8 && below(8))
        spoil(root, root_bytes);
      if (leaf_bytes >= 8 && below(8))
        spoil(leaf, leaf_bytes);
      try_root_image(root, root_bytes, below(2) ? INT64_C(1) << 62 : below(1000000));
      try_leaf_image(leaf, leaf_bytes);
      free(root);
      free(leaf);
    }
    sfshm_merge_free(merge);
  }
  expect(naccepted > 1000 && nrefused > 1000, "many images have to be looked at closely");
}
END_TEST

/* ---- Particular instances ---------------------------------------------------------------------------------------- */

static sfshm_edges_t edges_to(const uint32_t root[], int64_t n)
{
  sfshm_edges_t edges = {.value_root = sfshm_pattern_from_index32(root, n),
                         .leaf = sfshm_pattern_contiguous(0, n),
                         .extra_value = sfshm_pattern_contiguous(0, 0)};
  edges.roots = sfshm_pattern_survey(&edges.value_root);
  edges.leaves = sfshm_pattern_survey(&edges.leaf);
  return edges;
}

START_TEST(one_rank_alone_has_its_own_order)
{
  static const uint32_t any_roots[] = {9, 2, 7, 4}, strided[] = {10, 13, 16};
  sfshm_edges_t first = edges_to(any_roots, 4), second = edges_to(strided, 3);
  const sfshm_merge_block_t blocks[] = {{2, 5, &first}, {3, 5, &second}};
  sfshm_merge_t merge;
  sfshm_image_t root, leaf;
  sfshm_leaf_positions_t positions;
  sfshm_root_roots_t part;
  ck_assert_int_eq(sfshm_merge_make(blocks, 2, false, &merge), SF_OK);
  ck_assert_int_eq(merge.values_before, 7);
  ck_assert_uint_eq(merge.leaf_image_bytes, sizeof(sfshm_image_header_t) + sizeof(sfshm_leaf_part_t));
  ck_assert_int_eq(sfshm_image_open(merge.leaf_image, merge.leaf_image_bytes, SFSHM_LEAF_IMAGE_MAGIC, &leaf), SF_OK);
  ck_assert_int_eq(sfshm_leaf_part_open(&leaf, 0, 7, 7, &positions), SF_OK);
  ck_assert_int_eq(positions.from.kind, SFSHM_PATTERN_CONTIGUOUS);
  ck_assert_int_eq(positions.to.kind, SFSHM_PATTERN_CONTIGUOUS);
  ck_assert_int_eq(sfshm_image_open(merge.root_image, merge.root_image_bytes, SFSHM_ROOT_IMAGE_MAGIC, &root), SF_OK);
  ck_assert_int_eq(sfshm_root_part_open(&root, 0, 10, &part), SF_OK);
  ck_assert_int_eq(part.root.kind, SFSHM_PATTERN_INDEX32);
  ck_assert_int_eq(memcmp(part.root.index32, any_roots, sizeof any_roots), 0);
  ck_assert_int_eq(sfshm_root_part_open(&root, 0, 9, &part), SF_ERR_RANGE);
  ck_assert_int_eq(sfshm_root_part_open(&root, 1, 17, &part), SF_OK);
  ck_assert_int_eq(part.root.kind, SFSHM_PATTERN_STRIDED);
  ck_assert_int_eq(part.first, 4);
  sfshm_merge_free(&merge);
  sfshm_merge_free(&merge);
}
END_TEST

START_TEST(disjoint_consecutive_roots_need_no_arrays)
{
  sfshm_edges_t edges[3];
  sfshm_merge_block_t blocks[3];
  sfshm_merge_t merge;
  for (int32_t i = 0; i < 3; i++) {
    edges[i] = (sfshm_edges_t){.value_root = sfshm_pattern_contiguous(1000 * i, 1000),
                               .leaf = sfshm_pattern_contiguous(0, 1000),
                               .roots = {1000 * i, 1000 * i + 999, 1}};
    blocks[i] = (sfshm_merge_block_t){0, 7 + i, &edges[i]};
  }
  ck_assert_int_eq(sfshm_merge_make(blocks, 3, false, &merge), SF_OK);
  ck_assert_uint_eq(merge.leaf_image_bytes, sizeof(sfshm_image_header_t) + 3 * sizeof(sfshm_leaf_part_t));
  ck_assert_uint_eq(merge.root_image_bytes,
                    sizeof(sfshm_image_header_t) + sizeof(sfshm_root_part_t) + 3 * sizeof(sfshm_root_segment_t));
  sfshm_merge_free(&merge);
}
END_TEST

START_TEST(contributors_fill_layers_in_order)
{
  static const uint32_t roots[] = {3, 1, 2};
  sfshm_edges_t all = edges_to(roots, 3), two = edges_to(roots + 1, 2), one = edges_to(roots + 1, 1);
  const sfshm_merge_block_t blocks[] = {{0, 1, &all}, {0, 4, &two}, {0, 6, &one}};
  sfshm_merge_t merge;
  sfshm_image_t leaf;
  sfshm_pattern_t positions;
  sfshm_leaf_positions_t part;
  int64_t first;
  ck_assert_int_eq(sfshm_merge_make(blocks, 3, false, &merge), SF_OK);
  ck_assert_int_eq(sfshm_image_open(merge.leaf_image, merge.leaf_image_bytes, SFSHM_LEAF_IMAGE_MAGIC, &leaf), SF_OK);
  ck_assert_uint_eq(leaf.header.nlayers, 2);
  ck_assert_int_eq(sfshm_leaf_layer_open(&leaf, 0, &positions, &first), SF_OK);
  ck_assert_int_eq(positions.n, 2);
  ck_assert_int_eq(first, 0);
  ck_assert_int_eq(sfshm_leaf_layer_open(&leaf, 1, &positions, &first), SF_OK);
  ck_assert_int_eq(positions.n, 1);
  ck_assert_int_eq(positions.start, 1);
  ck_assert_int_eq(first, 2);
  ck_assert_int_eq(sfshm_leaf_part_open(&leaf, 2, 1, 1, &part), SF_OK);
  ck_assert_int_eq(part.from.start, 1);
  ck_assert_int_eq(part.to.start, 5);
  sfshm_merge_free(&merge);
}
END_TEST

START_TEST(what_cannot_be_merged)
{
  static const uint32_t twice[] = {3, 1, 3}, once[] = {8};
  sfshm_edges_t bad = edges_to(twice, 3), good = edges_to(once, 1);
  const sfshm_merge_block_t blocks[] = {{0, 1, &good}, {0, 4, &bad}};
  sfshm_merge_t merge;
  ck_assert_int_eq(sfshm_merge_make(blocks, 2, false, &merge), SF_ERR_PROTO);
  ck_assert_str_eq(sfshm_error_detail(), "edge list of rank 4: a root of rank 0 is there twice");
  good.leaf.n = UINT32_MAX;
  ck_assert_int_eq(sfshm_merge_make(blocks, 2, false, &merge), SF_ERR_LIMIT);
  good.leaf.n = INT64_MAX;
  ck_assert_int_eq(sfshm_merge_make(blocks, 2, false, &merge), SF_ERR_LIMIT);
}
END_TEST

static Suite *merge_suite(void)
{
  Suite *suite = suite_create("merge");
  TCase *tcase = tcase_create("merge");
  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, random_instances_give_what_the_serial_model_gives);
  tcase_add_test(tcase, spoilt_images_are_refused_or_stay_in_range);
  tcase_add_test(tcase, one_rank_alone_has_its_own_order);
  tcase_add_test(tcase, disjoint_consecutive_roots_need_no_arrays);
  tcase_add_test(tcase, contributors_fill_layers_in_order);
  tcase_add_test(tcase, what_cannot_be_merged);
  suite_add_tcase(suite, tcase);
  return suite;
}

int main(void)
{
  return sftest_run(merge_suite());
}
