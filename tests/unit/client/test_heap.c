/* Blocks of shared memory: apart, aligned, zeroed, and the space used again. A thread plays the daemon that is told of
 * segments. */
#include "client/core/shared_heap.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "shm/base/error.h"
#include "shm/region/inbox.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#define SEGMENT_BYTES ((size_t)256 << 10)
#define MAX_BLOCKS 200
#define MAX_SEGMENTS 1000

SFTEST_SEED(20240903);

/* ---- The daemon ---- */

typedef struct daemon {
  pthread_t thread;
  sfproto_conn_t *conn;
  size_t length[MAX_SEGMENTS]; /* by number; 0: not there */
  int added;
  int removed;
  sf_status_t refuse; /* SF_OK, or what it answers */
  const char *error;
} daemon_t;

static daemon_t fake;

static void take_segment(const Sfproto__Message *message, const sfproto_incoming_t *incoming)
{
  const Sfproto__SegmentAdd *add = message->segment_add;
  size_t length = 0;
  sfshm_region_kind_t kind = add->inbox ? SFSHM_REGION_INBOX : SFSHM_REGION_ALLOC;
  if (incoming->nfds != 1 || sfshm_region_verify(incoming->fds[0], kind, UINT64_MAX, &length) != SF_OK)
    fake.error = "a segment that others would refuse";
  else if (length != add->length || add->segment >= MAX_SEGMENTS || fake.length[add->segment] != 0)
    fake.error = "a segment of another length, or one that is there already";
  else if (fake.refuse == SF_OK)
    fake.length[add->segment] = length;
  fake.added++;
}

static void drop_segment(const Sfproto__Message *message)
{
  uint64_t segment = message->segment_remove->segment;
  if (segment >= MAX_SEGMENTS || fake.length[segment] == 0)
    fake.error = "a segment is removed that is not there";
  else
    fake.length[segment] = 0;
  fake.removed++;
}

static void answer(uint64_t request)
{
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  Sfproto__Done done = SFPROTO__DONE__INIT;
  Sfproto__Error error = SFPROTO__ERROR__INIT;
  message.request = request;
  message.body_case = SFPROTO__MESSAGE__BODY_DONE;
  message.done = &done;
  if (fake.refuse != SF_OK) {
    error.status = fake.refuse;
    error.detail = "as you like it";
    message.body_case = SFPROTO__MESSAGE__BODY_ERROR;
    message.error = &error;
  }
  if (sfproto_conn_send(fake.conn, &message, NULL, 0) != SF_OK)
    fake.error = "no answer could be sent";
}

static void *serve(void *unused)
{
  sfproto_incoming_t incoming;
  while (sfproto_conn_receive(fake.conn, -1, &incoming) == SF_OK) {
    uint64_t request = incoming.message->request;
    if (incoming.message->body_case == SFPROTO__MESSAGE__BODY_SEGMENT_ADD)
      take_segment(incoming.message, &incoming);
    else if (incoming.message->body_case == SFPROTO__MESSAGE__BODY_SEGMENT_REMOVE)
      drop_segment(incoming.message);
    else
      fake.error = "an unexpected message";
    sfproto_incoming_free(&incoming); /* before the answer, after which tests count descriptors */
    answer(request);
  }
  return unused;
}

/* ---- A heap for each test ---- */

static int fds_before;
static sfc_daemon_conn_t control;
static sfc_heap_t heap;
static _Atomic uint64_t last_segment;

static void setup(void)
{
  int ends[2];
  fds_before = sftest_count_fds();
  fake = (daemon_t){0};
  control = (sfc_daemon_conn_t){0};
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  ck_assert_int_eq(sfproto_conn_create(ends[0], &control.conn), SF_OK);
  ck_assert_int_eq(sfproto_conn_create(ends[1], &fake.conn), SF_OK);
  pthread_mutex_init(&control.lock, NULL);
  pthread_cond_init(&control.changed, NULL);
  ck_assert_int_eq(pthread_create(&fake.thread, NULL, serve, NULL), 0);
  sfc_heap_init(&heap, SFSHM_REGION_ALLOC, &control, &last_segment, SEGMENT_BYTES);
}

static void stop_daemon(void)
{
  if (fake.conn == NULL)
    return;
  shutdown(sfproto_conn_fd(fake.conn), SHUT_RDWR);
  pthread_join(fake.thread, NULL);
  sfproto_conn_destroy(fake.conn);
  fake.conn = NULL;
}

static void teardown(void)
{
  sfc_heap_destroy(&heap);
  stop_daemon();
  sfc_daemon_close(&control);
  ck_assert_msg(fake.error == NULL, "%s", fake.error);
  ck_assert_int_eq(sftest_count_fds(), fds_before);
}

SFTEST_FIXTURE(setup, teardown);

/* ---- Blocks ---- */

static bool is_filled(const sfc_block_t *block, uint8_t value)
{
  const uint8_t *bytes = block->address;
  for (size_t i = 0; i < block->length_bytes; i++)
    if (bytes[i] != value)
      return false;
  return true;
}

static sfc_block_t take(size_t length_bytes)
{
  sfc_block_t block;
  ck_assert_int_eq(sfc_heap_take(&heap, length_bytes, true, &block), SF_OK);
  ck_assert_uint_ge(block.length_bytes, length_bytes);
  ck_assert_uint_eq((uintptr_t)block.address % SFC_BLOCK_ALIGN, 0);
  ck_assert_uint_eq(block.offset % SFC_BLOCK_ALIGN, 0);
  ck_assert_uint_ge(block.offset, sizeof(sfshm_region_header_t));
  ck_assert_uint_le(block.offset + block.length_bytes, fake.length[block.segment]);
  ck_assert(is_filled(&block, 0));
  return block;
}

SFTEST(blocks_are_where_they_say)
{
  sfc_block_t one = take(1), two = take(129);
  ck_assert_int_eq(fake.added, 1);
  ck_assert_uint_eq(one.segment, two.segment);
  ck_assert_uint_eq(one.length_bytes, 128);
  ck_assert_uint_eq(two.length_bytes, 256);
  const char *base = (const char *)one.address - one.offset;
  ck_assert_ptr_eq(base, (const char *)two.address - two.offset);
  ck_assert_uint_eq(((const sfshm_region_header_t *)(const void *)base)->magic, SFSHM_REGION_MAGIC);
}

SFTEST(large_blocks_have_segments_of_their_own)
{
  sfc_block_t small = take(100), limit = take(SEGMENT_BYTES / 4), large = take(SEGMENT_BYTES);
  sfc_block_t huge = take(10 * SEGMENT_BYTES);
  ck_assert_uint_eq(limit.segment, small.segment);
  ck_assert_int_eq(fake.added, 3);
  sfc_heap_give(&heap, &huge);
  ck_assert_uint_eq(fake.length[huge.segment], 0);
  ck_assert_int_eq(fake.removed, 1);
  sfc_block_t again = take(10 * SEGMENT_BYTES);
  ck_assert_uint_gt(again.segment, huge.segment); /* numbers are not used again */
  sfc_heap_give(&heap, &large);
  sfc_heap_give(&heap, &again);
  sfc_heap_give(&heap, &limit);
  sfc_heap_give(&heap, &small);
  ck_assert_int_eq(fake.removed, 3); /* an ordinary segment stays */
}

SFTEST(space_is_used_again_and_zeroed)
{
  sfc_block_t first = take(1000), second = take(1000);
  memset(first.address, 0xff, first.length_bytes);
  memset(second.address, 0xff, second.length_bytes);
  sfc_heap_give(&heap, &first);
  sfc_block_t again = take(1000);
  ck_assert_ptr_eq(again.address, first.address);
  ck_assert(is_filled(&second, 0xff));
}

/* Blocks given back in any order leave one gap, that a block of all their sizes together fits in. */
SFTEST(gaps_are_merged)
{
  static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {0, 2, 1, 3}, {1, 3, 0, 2}, {2, 0, 3, 1}, {1, 2, 3, 0}};
  sfc_block_t guard = {0};
  for (size_t o = 0; o < sizeof orders / sizeof orders[0]; o++) {
    sfc_block_t blocks[4];
    for (int i = 0; i < 4; i++)
      blocks[i] = take(8192);
    if (o == 0)
      guard = take(1);
    for (int i = 0; i < 4; i++)
      sfc_heap_give(&heap, &blocks[orders[o][i]]);
    sfc_block_t all = take(4 * 8192);
    ck_assert_ptr_eq(all.address, blocks[0].address);
    sfc_heap_give(&heap, &all);
  }
  sfc_heap_give(&heap, &guard);
  ck_assert_int_eq(fake.added, 1);
}

SFTEST(a_full_segment_is_followed_by_another)
{
  sfc_block_t blocks[24];
  for (int i = 0; i < 24; i++)
    blocks[i] = take(SEGMENT_BYTES / 8);
  ck_assert_int_ge(fake.added, 4); /* 7 in each, as the header takes its part */
  for (int i = 0; i < 24; i++)
    sfc_heap_give(&heap, &blocks[i]);
  int added = fake.added;
  for (int i = 0; i < 24; i++)
    blocks[i] = take(SEGMENT_BYTES / 8);
  ck_assert_int_eq(fake.added, added);
}

SFTEST(an_adopted_segment_keeps_what_is_taken)
{
  sfshm_region_t region;
  ck_assert_int_eq(sfshm_region_create("sf-test", SFSHM_REGION_ALLOC, SEGMENT_BYTES, SFSHM_SEAL_FUTURE_WRITE,
                                       SFSHM_COMMIT_LATER, &region),
                   SF_OK);
  ck_assert_int_eq(sfc_heap_adopt(&heap, &region, 0, sizeof(sfshm_inbox_t) + 1), SF_OK);
  fake.length[0] = region.length_bytes;
  sfc_block_t block = take(1000);
  ck_assert_int_eq(fake.added, 0);
  ck_assert_uint_eq(block.segment, 0);
  ck_assert_uint_eq(block.offset, sizeof(sfshm_inbox_t) + SFC_BLOCK_ALIGN);
}

/* Pages are allocated for what is taken only. */
SFTEST(pages_come_with_blocks)
{
  struct stat info;
  sfshm_region_t region;
  ck_assert_int_eq(sfshm_region_create("sf-test", SFSHM_REGION_ALLOC, (size_t)16 << 20, SFSHM_SEAL_FUTURE_WRITE,
                                       SFSHM_COMMIT_LATER, &region),
                   SF_OK);
  ck_assert_int_eq(sfc_heap_adopt(&heap, &region, 0, sizeof(sfshm_inbox_t)), SF_OK);
  fake.length[0] = region.length_bytes;
  for (size_t i = 1; i <= 20; i++) {
    sfc_block_t block = take(20000);
    ck_assert_int_eq(fstat(region.fd, &info), 0);
    ck_assert_uint_ge((size_t)info.st_blocks * 512, block.offset + block.length_bytes);
    ck_assert_uint_le((size_t)info.st_blocks * 512, i * 21000 + (128 << 10));
  }
}

SFTEST(impossible_sizes)
{
  sfc_block_t block = {.segment = 99};
  ck_assert_int_eq(sfc_heap_take(&heap, 0, true, &block), SF_ERR_ARG);
  ck_assert_int_eq(sfc_heap_take(&heap, SIZE_MAX, true, &block), SF_ERR_ARG);
  ck_assert_int_lt(sfc_heap_take(&heap, (size_t)1 << 55, true, &block), 0);
  ck_assert_uint_eq(block.segment, 99);
  take(1);
}

SFTEST(a_refusal_of_the_daemon_is_passed_on)
{
  sfc_block_t block;
  int fds = sftest_count_fds();
  fake.refuse = SF_ERR_LIMIT;
  ck_assert_int_eq(sfc_heap_take(&heap, 1000, true, &block), SF_ERR_LIMIT);
  ck_assert_str_eq(sfshm_error_detail(), "as you like it");
  ck_assert_int_eq(sftest_count_fds(), fds);
  fake.refuse = SF_OK;
  take(1000);
}

SFTEST(a_lost_daemon_is_noticed)
{
  sfc_block_t block, kept = take(1000), large = take(SEGMENT_BYTES);
  stop_daemon();
  ck_assert_int_eq(sfc_heap_take(&heap, SEGMENT_BYTES, true, &block), SF_ERR_DAEMON_LOST);
  ck_assert_int_eq(sfc_heap_take(&heap, 1000, true, &block), SF_OK); /* nobody need be asked */
  sfc_heap_give(&heap, &large);
  sfc_heap_give(&heap, &kept);
}

/* ---- Many at random ---- */

static bool overlap(const sfc_block_t *a, const sfc_block_t *b)
{
  return a->segment == b->segment && a->offset < b->offset + b->length_bytes && b->offset < a->offset + a->length_bytes;
}

/* Each block keeps the value that was written all over it until it is given back. */
SFTEST(blocks_never_touch)
{
  static sfc_block_t blocks[MAX_BLOCKS];
  uint64_t random = sftest_random_start(seed, 1);
  memset(blocks, 0, sizeof blocks);
  for (int step = 0; step < 6000; step++) {
    unsigned i = sftest_random(&random) % MAX_BLOCKS;
    uint8_t value = (uint8_t)(i + 1);
    if (blocks[i].address != NULL) {
      ck_assert(is_filled(&blocks[i], value));
      sfc_heap_give(&heap, &blocks[i]);
      blocks[i] = (sfc_block_t){0};
      continue;
    }
    bool large = sftest_random(&random) % 100 == 0;
    blocks[i] = take(1 + sftest_random(&random) % (large ? 2 * SEGMENT_BYTES : 4000));
    memset(blocks[i].address, value, blocks[i].length_bytes);
    for (unsigned other = 0; other < MAX_BLOCKS; other++)
      ck_assert(other == i || blocks[other].address == NULL || !overlap(&blocks[i], &blocks[other]));
  }
  int segments = 0;
  for (int i = 0; i < MAX_SEGMENTS; i++)
    segments += fake.length[i] == SEGMENT_BYTES;
  ck_assert_int_le(segments, 4); /* 200 blocks of 2000 bytes: little is lost to gaps */
}

typedef struct taker {
  pthread_t thread;
  uint64_t random;
  bool good;
} taker_t;

static void *take_and_give(void *argument)
{
  taker_t *taker = argument;
  sfc_block_t blocks[8] = {{0}};
  uint8_t value = (uint8_t)taker->random;
  taker->good = true;
  for (int step = 0; step < 1000 && taker->good; step++) {
    sfc_block_t *block = &blocks[sftest_random(&taker->random) % 8];
    if (block->address != NULL) {
      taker->good = is_filled(block, value);
      sfc_heap_give(&heap, block);
      block->address = NULL;
    } else if (sfc_heap_take(&heap, 1 + sftest_random(&taker->random) % 3000, true, block) == SF_OK) {
      taker->good = is_filled(block, 0);
      memset(block->address, value, block->length_bytes);
    } else {
      taker->good = false;
    }
  }
  return NULL;
}

SFTEST(any_thread_may_use_it)
{
  taker_t takers[4];
  for (unsigned i = 0; i < 4; i++) {
    takers[i] = (taker_t){.random = sftest_random_start(seed, 10 + i)};
    ck_assert_int_eq(pthread_create(&takers[i].thread, NULL, take_and_give, &takers[i]), 0);
  }
  for (int i = 0; i < 4; i++)
    pthread_join(takers[i].thread, NULL);
  for (int i = 0; i < 4; i++)
    ck_assert(takers[i].good);
}
