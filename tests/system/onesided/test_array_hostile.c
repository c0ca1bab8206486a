/* Arrays: a job that writes nonsense into its windows and rings. Its requests are refused, or fail its array; another
 * job on the same nodes gets right results meanwhile, and the daemons hold nothing of it afterwards. */
#include "client/onesided/window.h"
#include "tests/system/cluster.h"

#define NODES 2
#define N 600
#define REFUSED 20000 /* requests, of which hardly any is accepted by chance */
#define ACCEPTED 5

typedef struct scene {
  _Atomic bool over;
  _Atomic int refused; /* requests of the attackers, with an error in the slot */
  _Atomic int accepted;
  _Atomic int synced; /* attackers that have left the sync */
  uint64_t seed;
} scene_t;

/* ---- The attackers ----------------------------------------------------------------------------------------------- */

typedef struct attacker {
  sftest_rank_t *self;
  sf_context_t *context;
  sf_array_t *array;
  uint64_t random;
  uint64_t numbers[SFSHM_WINDOW_SLOTS]; /* of the last request in the slot */
} attacker_t;

static int64_t choose(attacker_t *attacker, const int64_t numbers[], size_t n)
{
  return numbers[sftest_below(&attacker->random, (int64_t)n)];
}
#define CHOOSE(attacker, ...)                                                                                          \
  choose(attacker, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static int64_t random_index(attacker_t *attacker)
{
  return sftest_below(&attacker->random, 6) == 0 ? CHOOSE(attacker, INT64_MIN, -1, N, INT64_MAX, INT64_MAX - 3)
                                                 : sftest_below(&attacker->random, N);
}

static void fill_request(attacker_t *attacker, sfshm_array_request_t *request)
{
  request->kind = (uint32_t)(sftest_below(&attacker->random, 8) == 0 ? CHOOSE(attacker, 0, 9, UINT32_MAX)
                                                                     : 1 + sftest_below(&attacker->random, 8));
  request->op = (uint32_t)sftest_below(&attacker->random, 20);
  for (int d = 0; d < SFSHM_ARRAY_DIMS; d++) {
    request->first[d] = random_index(attacker);
    request->extent[d] = random_index(attacker);
  }
  request->operand = sftest_random(&attacker->random);
  request->compare = sftest_random(&attacker->random);
  request->returned = sftest_random(&attacker->random);
}

/* How many bytes the request would need, or any. */
static uint64_t random_bytes(attacker_t *attacker, const sfshm_array_request_t *request)
{
  uint64_t n = (uint64_t)request->extent[0] % 8192;
  switch (sftest_below(&attacker->random, 6)) {
  case 0:
    return 0;
  case 1:
    return 8;
  case 2:
    return n * 8;
  case 3:
    return n * 16;
  case 4:
    return (uint64_t)sftest_below(&attacker->random, (int64_t)SFSHM_ARRAY_MAX_DATA + 1);
  default:
    return (uint64_t)sftest_below(&attacker->random, 600);
  }
}

/* In a slot that is free, with data within the window; what it asks for is nonsense. */
static void send_nonsense(attacker_t *attacker, scene_t *scene)
{
  sfshm_window_t *shared = attacker->context->window->shared;
  uint32_t number = (uint32_t)sftest_below(&attacker->random, SFSHM_WINDOW_SLOTS);
  sfshm_window_slot_t *slot = &shared->slots[number];
  if (atomic_load(&slot->done) != attacker->numbers[number])
    return;
  if (slot->status != SF_OK)
    scene->refused++;
  else if (attacker->numbers[number] != 0)
    scene->accepted++;
  fill_request(attacker, &slot->request);
  sfshm_ring_entry_t entry = {.kind = SFSHM_SUBMIT_ARRAY, .graph = attacker->array->graph->number};
  entry.message = ++attacker->numbers[number] | UINT64_C(1) << 40;
  attacker->numbers[number] = entry.message;
  entry.a = number;
  entry.b = (uint32_t)(1 - attacker->context->node);
  entry.size = random_bytes(attacker, &slot->request);
  entry.more[0] = offsetof(sfshm_window_t, chunks) + (uint64_t)sftest_below(&attacker->random, 3 << 20);
  entry.more[1] = random_bytes(attacker, &slot->request);
  for (uint64_t i = 0; i < 64; i++)
    ((uint64_t *)(void *)shared->chunks)[(uint64_t)sftest_below(&attacker->random, 4 << 17)] =
        (uint64_t)random_index(attacker);
  sfc_submit_ring_write(&attacker->context->submit_ring, &entry, false);
}

/* Anything at all. */
static void send_anything(attacker_t *attacker)
{
  sfshm_window_t *shared = attacker->context->window->shared;
  uint64_t *words = (uint64_t *)(void *)shared->slots;
  for (int i = 0; i < 100; i++)
    words[sftest_below(&attacker->random, (int64_t)sizeof shared->slots / 8)] = sftest_random(&attacker->random);
  sfshm_ring_entry_t entry = {.kind = SFSHM_SUBMIT_ARRAY};
  entry.graph = attacker->array->graph->number + (uint64_t)CHOOSE(attacker, 0, 0, 0, 1, -1);
  entry.message = sftest_random(&attacker->random) >> sftest_below(&attacker->random, 64);
  entry.a = (uint32_t)CHOOSE(attacker, 0, 1, 255, 256, UINT32_MAX);
  entry.b = (uint32_t)CHOOSE(attacker, 0, 1, 2, UINT32_MAX);
  entry.size = sftest_random(&attacker->random) >> sftest_below(&attacker->random, 64);
  entry.more[0] = sftest_random(&attacker->random) >> sftest_below(&attacker->random, 64);
  entry.more[1] = sftest_random(&attacker->random) >> sftest_below(&attacker->random, 64);
  sfc_submit_ring_write(&attacker->context->submit_ring, &entry, false);
}

static void await_answers(const attacker_t *attacker)
{
  const sfshm_window_t *shared = attacker->context->window->shared;
  for (uint32_t i = 0; i < SFSHM_WINDOW_SLOTS; i++)
    SFTEST_SLEEP_WHILE(atomic_load(&shared->slots[i].done) != attacker->numbers[i]);
}

static void attack(sftest_rank_t *self)
{
  scene_t *scene = self->argument;
  const int64_t extent[] = {N, N};
  sf_context_t *context = sftest_join(self);
  attacker_t *attacker = calloc(1, sizeof *attacker);
  *attacker = (attacker_t){.self = self, .context = context, .random = sftest_hash2(scene->seed, (uint64_t)self->rank)};
  SFTEST_OK(self, sf_array_create(sf_group_world(context), SF_INT64, 2, extent, NULL, &attacker->array));
  while (scene->refused < sftest_scale(REFUSED) || scene->accepted < ACCEPTED)
    send_nonsense(attacker, scene);
  sftest_at(self, "answers");
  await_answers(attacker);
  SFTEST_OK(self, sf_array_sync(attacker->array)); /* each request for itself was refused, or carried out */
  for (scene->synced++; scene->synced < NODES;)    /* a rank that is ahead would fail the other one's sync */
    sftest_sleep_ms(1);
  sftest_at(self, "anything");
  sf_status_t status = SF_OK;
  for (; status == SF_OK; sftest_sleep_ms(1)) {
    send_anything(attacker);
    status = sf_array_flush(attacker->array, self->rank); /* does nothing, but says whether the array has failed */
  }
  SFTEST_EXPECT(self, status, SF_ERR_PROTO);
  SFTEST_DETAIL(self, "submitted a request on an array");
  SFTEST_EXPECT(self, sf_array_destroy(attacker->array), SF_ERR_PROTO);
  sftest_leave(self, context);
  free(attacker);
}

/* ---- The others -------------------------------------------------------------------------------------------------- */

SFTEST_JOINED(work)
{
  scene_t *scene = self->argument;
  const int64_t extent[] = {N, N}, one = 1, zero = 0;
  static int64_t sent[N * N], got[N * N];
  int64_t rounds = 0, previous;
  sf_array_t *array, *counter;
  SFTEST_OK(self, sf_array_create(world, SF_INT64, 2, extent, NULL, &array));
  SFTEST_OK(self, sf_array_create(world, SF_INT64, 1, &one, NULL, &counter));
  uint64_t random = sftest_hash2(scene->seed, 100 + (uint64_t)self->rank);
  for (; !scene->over || rounds == 0; rounds++) {
    int64_t lo[] = {self->rank * (N / NODES), sftest_below(&random, N / 2)}; /* rows of its own, anywhere */
    int64_t patch[] = {1 + sftest_below(&random, N / NODES), 1 + sftest_below(&random, N / 2)};
    lo[0] = (1 - self->rank) * (N / NODES);
    for (int64_t i = 0; i < patch[0] * patch[1]; i++)
      sent[i] = (int64_t)sftest_random(&random);
    SFTEST_OK(self, sf_array_put(array, lo, patch, sent, NULL));
    SFTEST_OK(self, sf_array_get(array, lo, patch, got, NULL));
    SFTEST_REQUIRE(self, memcmp(sent, got, (size_t)(patch[0] * patch[1]) * sizeof sent[0]) == 0);
    SFTEST_OK(self, sf_array_read_inc(counter, &zero, 1, &previous));
  }
  int64_t mine[] = {rounds}, at[] = {self->rank}, all[NODES];
  sf_array_t *counts;
  const int64_t two = NODES;
  SFTEST_OK(self, sf_array_create(world, SF_INT64, 1, &two, NULL, &counts));
  SFTEST_OK(self, sf_array_put(counts, at, &one, mine, NULL));
  SFTEST_OK(self, sf_array_sync(counts));
  SFTEST_OK(self, sf_array_get(counts, &zero, &two, all, NULL));
  SFTEST_OK(self, sf_array_get(counter, &zero, &one, &previous, NULL));
  SFTEST_REQUIRE(self, previous == all[0] + all[1]);
  SFTEST_OK(self, sf_array_destroy(counts));
  SFTEST_OK(self, sf_array_destroy(counter));
  SFTEST_OK(self, sf_array_destroy(array));
}

SFTEST(nonsense)
{
  static const int32_t places[] = {0, 1};
  sftest_cluster_t cluster;
  sftest_job_t attackers, workers;
  scene_t *scene = sftest_shared(sizeof *scene);
  scene->seed = sftest_seed();
  sftest_use_seed(scene->seed);
  sftest_cluster_start_warm(&cluster, NODES);
  sftest_job_start_over(&workers, cluster.nodes, places, NODES, work, scene);
  sftest_job_start_over(&attackers, cluster.nodes, places, NODES, attack, scene);
  sftest_job_wait(&attackers);
  scene->over = true;
  sftest_job_wait(&workers);
  sftest_job_expect_all(&attackers);
  sftest_job_expect_all(&workers);
  sftest_cluster_settle(&cluster);
  sftest_cluster_warm(&cluster);
  sftest_cluster_stop(&cluster);
}
