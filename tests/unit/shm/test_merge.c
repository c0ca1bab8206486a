/* Merging edge blocks of a node: random instances, whose images are used as ranks use them and compared with a serial
 * model. Images that are spoilt: test_merge_spoilt.c. */
#include "shm/trunk/merge/merge.h"

#include "shm/trunk/trunk.h"
#include "tests/unit/merge_instance.h"

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
  sftest_merge_expect(record->ntokens + other->ntokens <= MAX_TOKENS, "records don't grow beyond the contributors");
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

static int64_t universe_number(const sftest_owner_t *owner, int64_t root)
{
  for (int64_t u = 0; u < owner->nroots; u++)
    if (owner->root[u] == root)
      return u;
  sftest_merge_expect(false, "images name the owner's roots only");
  return -1;
}

static void open_image(const sftest_instance_t *instance, bool root, sfshm_image_t *image)
{
  const sfshm_merge_t *merge = &instance->merge;
  sftest_merge_expect(sfshm_image_open(root ? merge->root_image : merge->leaf_image,
                                       root ? merge->root_image_bytes : merge->leaf_image_bytes,
                                       root ? SFSHM_ROOT_IMAGE_MAGIC : SFSHM_LEAF_IMAGE_MAGIC, image) == SF_OK,
                      "the image is sound");
  sftest_merge_expect(!root || sfshm_root_image_check(image) == SF_OK, "the whole root image is sound");
}

static sfshm_root_roots_t open_owner(const sfshm_image_t *image, const sftest_owner_t *owner)
{
  sfshm_root_roots_t part;
  int64_t i = sfshm_image_find(image, owner->rank);
  sftest_merge_expect(i >= 0 && sfshm_root_part_open(image, (uint32_t)i, INT64_MAX, &part) == SF_OK,
                      "the owner has a part");
  sftest_merge_expect(part.rank == owner->rank, "it is the owner's");
  return part;
}

/* nvalues and nedges of one rank in all its blocks. */
static sfshm_leaf_positions_t open_rank(const sftest_instance_t *instance, const sfshm_image_t *image, int32_t rank)
{
  int64_t nvalues = 0, nedges = 0;
  sfshm_leaf_positions_t part = {.rank = -1};
  for (int32_t b = 0; b < instance->nblocks; b++) {
    nvalues += instance->given[b].rank == rank ? instance->blocks[b].edges.value_root.n : 0;
    nedges += instance->given[b].rank == rank ? instance->blocks[b].edges.leaf.n : 0;
  }
  int64_t i = sfshm_image_find(image, rank);
  sftest_merge_expect((i >= 0) == (nvalues > 0), "ranks with values have parts");
  if (i >= 0)
    sftest_merge_expect(sfshm_leaf_part_open(image, (uint32_t)i, nvalues, nedges, &part) == SF_OK, "the part is sound");
  return part;
}

static bool owner_takes_part(const sftest_instance_t *instance, const sftest_owner_t *owner)
{
  for (int32_t b = 0; b < instance->nblocks; b++)
    if (instance->blocks[b].owner == owner)
      return true;
  return false;
}

static int64_t count_distinct(const sftest_instance_t *instance)
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

static void check_bcast(const sftest_instance_t *instance)
{
  sfshm_image_t root_image, leaf_image;
  open_image(instance, true, &root_image);
  open_image(instance, false, &leaf_image);
  int64_t n = root_image.header.bcast_values;
  sftest_merge_expect(n == leaf_image.header.bcast_values && n == count_distinct(instance),
                      "each root is carried once");
  int64_t *message = calloc((size_t)n, sizeof *message);
  bool *written = calloc((size_t)n, sizeof *written);
  for (int32_t o = 0; o < instance->nowners; o++) {
    if (!owner_takes_part(instance, &instance->owners[o])) {
      sftest_merge_expect(sfshm_image_find(&root_image, instance->owners[o].rank) == -1, "others have no part");
      continue;
    }
    sfshm_root_roots_t part = open_owner(&root_image, &instance->owners[o]);
    for (int64_t i = 0; i < part.root.n; i++) {
      sftest_merge_expect(!written[part.first + i], "positions are written once");
      written[part.first + i] = true;
      message[part.first + i] = root_value(part.rank, sfshm_pattern_at(&part.root, i));
    }
  }
  for (int32_t r = 0; r < instance->nranks; r++) {
    sfshm_leaf_positions_t part = open_rank(instance, &leaf_image, instance->ranks[r]);
    for (int32_t b = 0, v = 0; b < instance->nblocks; b++) {
      const sftest_block_t *block = &instance->blocks[b];
      for (int64_t i = 0; instance->given[b].rank == instance->ranks[r] && i < block->edges.value_root.n; i++, v++)
        sftest_merge_expect(message[sfshm_pattern_at(&part.from, v)] ==
                                root_value(block->owner->rank, block->root64[i]),
                            "each value gets that of its root");
    }
  }
  free(message);
  free(written);
}

/* One rank's part of a slot. */
static void fill_slot(const sftest_instance_t *instance, const sfshm_image_t *image, int32_t rank, record_t slot[])
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
      sftest_merge_expect(instance->uncombined || e >= nvalues ? true : unit->ntokens == 0, "units are written once");
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
    sftest_merge_expect(sfshm_leaf_layer_open(image, k, &positions, &first) == SF_OK, "layers are sound");
    sftest_merge_expect(first == expected, "layers stand behind each other");
    for (int64_t i = 0; i < positions.n; i++)
      append(&slot[sfshm_pattern_at(&positions, i)], &slot[image->header.reduce_values + first + i]);
    expected += positions.n;
  }
  sftest_merge_expect(expected == image->header.staged, "all staging is in layers");
}

/* What the serial model gives for a root: contributions by ascending rank, of each rank by edge. */
static record_t model(const sftest_instance_t *instance, const sftest_owner_t *owner, int64_t u)
{
  record_t result = {.ntokens = 0};
  for (int32_t b = 0; b < instance->nblocks; b++) {
    const sftest_block_t *block = &instance->blocks[b];
    int64_t nvalues = block->edges.value_root.n;
    for (int64_t e = 0; block->owner == owner && e < block->edges.leaf.n; e++)
      if (block->value[e < nvalues ? e : block->extra[e - nvalues]] == u) {
        record_t one = contribution(instance->given[b].rank, block->leaf[e]);
        append(&result, &one);
      }
  }
  return result;
}

/* The winner of each position of an owner, if the image lists one, else -1: then it is the turn's rank. */
static void find_winners(const sfshm_image_t *image, const sfshm_root_roots_t *part, int32_t winners[])
{
  int32_t previous = -1;
  for (int64_t k = 0; k < part->root.n; k++)
    winners[k] = -1;
  for (uint32_t i = 0; i < part->nwinners; i++) {
    sfshm_pattern_t position;
    int32_t rank;
    sftest_merge_expect(sfshm_root_winner_open(image, part, i, &rank, &position) == SF_OK, "winners are sound");
    sftest_merge_expect(rank > previous, "winners are in order");
    for (int64_t k = 0; k < position.n; k++) {
      int64_t at = sfshm_pattern_at(&position, k) - part->first;
      sftest_merge_expect(winners[at] < 0, "each contribution has one winner");
      winners[at] = rank;
    }
    previous = rank;
  }
}

/* The turns of one owner, combined with its roots. */
static void take_turns(const sftest_instance_t *instance, const sfshm_image_t *image, const sftest_owner_t *owner,
                       const record_t slot[], int64_t *nread)
{
  record_t result[MAX_ROOTS] = {{0}};
  sfshm_root_roots_t part = open_owner(image, owner);
  int32_t winners[MAX_ROOTS], previous = -1;
  find_winners(image, &part, winners);
  for (uint32_t i = 0; i < part.nsegments; i++) {
    sfshm_root_turn_t turn;
    sftest_merge_expect(sfshm_root_segment_open(image, &part, i, INT64_MAX, &turn) == SF_OK, "turns are sound");
    sftest_merge_expect(turn.rank > previous && turn.first == *nread, "turns are in order");
    for (int64_t k = 0; k < turn.root.n; k++) {
      const record_t *unit = &slot[turn.first + k];
      int32_t listed = part.nwinners > 0 ? winners[turn.first + k - part.first] : -1;
      int32_t winner = listed >= 0 ? listed : turn.rank;
      sftest_merge_expect(unit->ntokens > 0 && unit->token[0] >> 32 == turn.rank,
                          "a turn begins with its rank's contribution");
      sftest_merge_expect(unit->token[unit->ntokens - 1] >> 32 == winner, "the winner contributes last");
      sftest_merge_expect(listed != turn.rank, "winners are listed only if others lead");
      append(&result[universe_number(owner, sfshm_pattern_at(&turn.root, k))], unit);
    }
    previous = turn.rank;
    *nread += turn.root.n;
  }
  for (int64_t u = 0; u < owner->nroots; u++) {
    record_t serial = model(instance, owner, u);
    sftest_merge_expect(memcmp(&serial, &result[u], sizeof serial) == 0,
                        "contributions are those of the model, in its order");
  }
}

static void check_reduce(const sftest_instance_t *instance)
{
  sfshm_image_t root_image, leaf_image;
  open_image(instance, true, &root_image);
  open_image(instance, false, &leaf_image);
  int64_t n = leaf_image.header.reduce_values, units = n + leaf_image.header.staged, nread = 0;
  sftest_merge_expect(n == root_image.header.reduce_values, "both images have messages of the same length");
  sftest_merge_expect(root_image.header.uncombined == instance->uncombined, "they say how contributions travel");
  record_t *slot = calloc((size_t)units, sizeof *slot);
  for (int32_t r = instance->nranks - 1; r >= 0; r--) /* ranks come in any order */
    fill_slot(instance, &leaf_image, instance->ranks[r], slot);
  for (int64_t i = 0; i < units; i++)
    sftest_merge_expect(slot[i].ntokens > 0, "all units are written");
  combine_staged(&leaf_image, slot);
  for (int32_t o = 0; o < instance->nowners; o++)
    if (owner_takes_part(instance, &instance->owners[o]))
      take_turns(instance, &root_image, &instance->owners[o], slot, &nread);
  sftest_merge_expect(nread == n, "all of the message is read");
  free(slot);
}

static sftest_instance_t instance;

SFTEST(random_instances_give_what_the_serial_model_gives)
{
  sftest_merge_start(1);
  for (int i = 0; i < 4000; i++) {
    sftest_instance_make(&instance);
    check_bcast(&instance);
    check_reduce(&instance);
    sfshm_merge_free(&instance.merge);
  }
}
