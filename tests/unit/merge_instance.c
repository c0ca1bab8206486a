/* Random instances: see merge_instance.h. */
#include "tests/unit/merge_instance.h"

#include "shm/base/error.h"
#include "tests/unit/seed.h"

static unsigned seed;

void sftest_merge_expect(bool condition, const char *what)
{
  if (!condition)
    ck_abort_msg("not so: %s (%s); SF_TEST_SEED=%u", what, sfshm_error_detail(), seed);
}

static uint64_t state;

uint64_t sftest_merge_any(void)
{
  return sftest_random64(&state);
}

int64_t sftest_merge_below(int64_t n)
{
  return (int64_t)(sftest_merge_any() % (uint64_t)n);
}

void sftest_merge_start(unsigned salt)
{
  seed = sftest_seed(20261107);
  state = (uint64_t)seed << 8 | salt;
}

static void make_owner(sftest_owner_t *owner, int32_t rank)
{
  static const int64_t starts[] = {0, 5, UINT32_MAX - INT64_C(10), (INT64_C(1) << 33) + 3, INT64_C(1) << 60};
  static const int64_t strides[] = {1, 1, 1, 3, 1000003, INT64_C(1) << 40};
  int64_t start = starts[sftest_merge_below(5)], stride = strides[sftest_merge_below(6)];
  bool ragged = sftest_merge_below(2) == 0;
  *owner = (sftest_owner_t){.rank = rank, .nroots = 1 + sftest_merge_below(MAX_ROOTS)};
  for (int64_t u = 0; u < owner->nroots; u++)
    owner->root[u] = start + u * stride + (ragged ? sftest_merge_below(stride) : 0);
}

static void shuffle(int64_t list[], int64_t n)
{
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t j = sftest_merge_below(i + 1), swap = list[i];
    list[i] = list[j];
    list[j] = swap;
  }
}

/* Some of the owner's roots: consecutive ones, in steps, descending, or any. Returns how many. */
static int64_t choose_values(const sftest_owner_t *owner, int64_t value[])
{
  int64_t form = sftest_merge_below(4), n = 0, step = form == 1 ? 1 + sftest_merge_below(3) : 1,
          first = sftest_merge_below(owner->nroots);
  if (form == 3) {
    for (int64_t u = 0; u < owner->nroots; u++)
      value[u] = u;
    shuffle(value, owner->nroots);
    return 1 + sftest_merge_below(owner->nroots);
  }
  int64_t most = 1 + sftest_merge_below((owner->nroots - first + step - 1) / step);
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

static void describe_block(sftest_block_t *block, int64_t nvalues, int64_t nextras, bool narrow)
{
  block->edges = (sfshm_edges_t){.value_root = narrow ? sfshm_pattern_from_index32(block->root32, nvalues)
                                                      : sfshm_pattern_from_index64(block->root64, nvalues),
                                 .leaf = sfshm_pattern_from_index64(block->leaf, nvalues + nextras),
                                 .extra_value = sfshm_pattern_from_index64(block->extra, nextras)};
  block->edges.roots = sfshm_pattern_survey(&block->edges.value_root);
  block->edges.leaves = sfshm_pattern_survey(&block->edges.leaf);
}

static void make_block(sftest_block_t *block, const sftest_owner_t *owner, int64_t *next_leaf)
{
  block->owner = owner;
  int64_t nvalues = choose_values(owner, block->value),
          nextras = sftest_merge_below(2) ? sftest_merge_below(MAX_EXTRAS + 1) : 0;
  bool narrow = sftest_merge_below(2) == 0;
  for (int64_t v = 0; v < nvalues; v++) {
    block->root64[v] = owner->root[block->value[v]];
    block->root32[v] = (uint32_t)block->root64[v];
    narrow = narrow && block->root64[v] <= UINT32_MAX;
  }
  for (int64_t e = 0; e < nextras; e++)
    block->extra[e] = sftest_merge_below(nvalues);
  qsort(block->extra, (size_t)nextras, sizeof block->extra[0], by_number);
  for (int64_t e = 0; e < nvalues + nextras; e++)
    block->leaf[e] = (*next_leaf)++;
  describe_block(block, nvalues, nextras, narrow);
}

void sftest_instance_make(sftest_instance_t *instance)
{
  int64_t next_leaf[MAX_RANKS] = {0};
  memset(instance, 0, sizeof *instance);
  instance->uncombined = sftest_merge_below(3) == 0;
  instance->nowners = (int32_t)(1 + sftest_merge_below(MAX_OWNERS));
  instance->nranks = (int32_t)(1 + sftest_merge_below(MAX_RANKS));
  for (int32_t i = 0, rank = 0; i < instance->nowners; i++, rank++)
    make_owner(&instance->owners[i], rank += (int32_t)sftest_merge_below(3));
  for (int32_t i = 0, rank = 0; i < instance->nranks; i++, rank++)
    instance->ranks[i] = rank += (int32_t)sftest_merge_below(3);
  for (int32_t o = 0; o < instance->nowners; o++)
    for (int32_t r = 0; r < instance->nranks; r++) {
      if (sftest_merge_below(4) == 0 && !(o + 1 == instance->nowners && r + 1 == instance->nranks))
        continue;
      sftest_block_t *block = &instance->blocks[instance->nblocks];
      make_block(block, &instance->owners[o], &next_leaf[r]);
      instance->given[instance->nblocks++] =
          (sfshm_merge_block_t){.owner = instance->owners[o].rank, .rank = instance->ranks[r], .edges = &block->edges};
    }
  sftest_merge_expect(sfshm_merge_make(instance->given, instance->nblocks, instance->uncombined, &instance->merge) ==
                          SF_OK,
                      "images are made");
}
