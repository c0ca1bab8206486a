/* Messages of blocks on trunks: members in threads that share one mapping, so that the thread sanitizer sees whatever
 * race there is; and what a member may have written that is nonsense. */
#include "shm/trunk/blocks.h"

#include <pthread.h>
#include <sched.h>

#include "shm/base/error.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#define MEMBERS 4
#define PER_MEMBER 3
#define N (MEMBERS * PER_MEMBER)
#define HIGHEST 14u /* class of the slots that there are */
#define MESSAGES 500

/* ---- Members ----------------------------------------------------------------------------------------------------- */

/* One side of a trunk with a single slot of each class. Member i has positions from i * PER_MEMBER on. */
typedef struct side {
  sfshm_flow_t flow;
  char *slots[SFSHM_BLOCKS_MAX_CLASS + 1];
  unsigned seed;
  int64_t moved;  /* messages that were in several slots */
  int64_t direct; /* messages that were not */
} side_t;

typedef struct member {
  side_t *side;
  int number;
} member_t;

/* Length of a block, and its bytes. Lengths differ by message and by member, up to some 2 KiB. */
static uint64_t length_of(const side_t *side, uint64_t message, int64_t position)
{
  uint64_t state = sftest_random_start(side->seed, (unsigned)message * 1000 + (unsigned)(position / PER_MEMBER));
  uint64_t limit = UINT64_C(1) << (sftest_random64(&state) % 12);
  state += (uint64_t)position;
  return sftest_random64(&state) % limit;
}

static char byte_of(uint64_t message, int64_t position)
{
  return (char)(message * 31 + (uint64_t)position);
}

static void write_part(side_t *side, int number, uint64_t message)
{
  sfshm_blocks_room_t room;
  uint64_t bytes = 0;
  for (int64_t p = number * PER_MEMBER; p < (number + 1) * PER_MEMBER; p++)
    bytes += length_of(side, message, p);
  ck_assert_int_eq(sfshm_blocks_reserve(side->flow.reserved, N, bytes, atomic_load(&side->flow.class_hint), &room),
                   SF_OK);
  ck_assert_uint_le(room.table_class, room.class);
  ck_assert_uint_le(room.class, HIGHEST);
  ck_assert_uint_le(room.offset + room.bytes, sfshm_blocks_slot_bytes(N, room.class));
  sfshm_block_entry_t *table = (void *)side->slots[room.table_class];
  for (int64_t p = number * PER_MEMBER; p < (number + 1) * PER_MEMBER; p++) {
    sfshm_block_at_t block = {.class = room.class != room.table_class ? room.class : 0,
                              .offset = room.offset,
                              .bytes = length_of(side, message, p)};
    sfshm_block_store(&table[p], &block);
    memset(side->slots[room.class] + room.offset, byte_of(message, p), block.bytes);
    room.offset += block.bytes;
  }
}

/* What the last member does, and then the receiver. */
static void complete(side_t *side, uint64_t message)
{
  sfshm_blocks_message_t complete;
  char *slots[SFSHM_BLOCKS_MAX_CLASS + 1] = {NULL};
  ck_assert_int_eq(sfshm_blocks_complete(side->flow.reserved, N, &complete), SF_OK);
  slots[complete.table_class] = side->slots[complete.table_class];
  slots[complete.class] = side->slots[complete.class];
  uint64_t classes = sfshm_blocks_classes((void *)slots[complete.table_class], N);
  for (uint32_t c = 0; c <= SFSHM_BLOCKS_MAX_CLASS; c++)
    if ((classes >> c & 1) != 0)
      slots[c] = side->slots[c];
  ck_assert_int_eq(sfshm_blocks_move(&complete, N, slots), SF_OK);
  atomic_store(&side->flow.class_hint, sfshm_blocks_next_class(&complete));
  *(complete.class != complete.table_class ? &side->moved : &side->direct) += 1;
  const char *slot = slots[complete.class];
  for (int64_t p = 0; p < N; p++) {
    sfshm_block_at_t block = sfshm_block_load(&((const sfshm_block_entry_t *)(const void *)slot)[p]);
    ck_assert_uint_eq(block.class, 0);
    ck_assert_uint_eq(block.bytes, length_of(side, message, p));
    ck_assert(sfshm_block_fits(&block, N, N * complete.unit_bytes));
    for (uint64_t i = 0; i < block.bytes; i++)
      ck_assert_int_eq(slot[block.offset + i], byte_of(message, p));
  }
}

static void *be_member(void *argument)
{
  const member_t *member = argument;
  side_t *side = member->side;
  for (uint64_t message = 1; message <= MESSAGES; message++) {
    while (atomic_load_explicit(&side->flow.granted, memory_order_acquire) < message)
      sched_yield();
    write_part(side, member->number, message);
    if ((atomic_fetch_add_explicit(&side->flow.packed[0][0], 1, memory_order_acq_rel) + 1) % MEMBERS == 0) {
      complete(side, message);
      atomic_store_explicit(&side->flow.granted, message + 1, memory_order_release);
    }
  }
  return NULL;
}

SFTEST(members_find_room_beside_each_other)
{
  static side_t side;
  pthread_t threads[MEMBERS];
  member_t members[MEMBERS];
  side.seed = sftest_seed(1);
  atomic_store(&side.flow.granted, 1);
  for (uint32_t c = SFSHM_BLOCKS_MIN_CLASS; c <= HIGHEST; c++)
    ck_assert_ptr_nonnull(side.slots[c] = calloc(1, sfshm_blocks_slot_bytes(N, c)));
  for (int i = 0; i < MEMBERS; i++) {
    members[i] = (member_t){&side, i};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, be_member, &members[i]), 0);
  }
  for (int i = 0; i < MEMBERS; i++)
    ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
  printf("%lld messages in one slot, %lld in several\n", (long long)side.direct, (long long)side.moved);
  ck_assert_int_gt(side.direct, 0);
  ck_assert_int_gt(side.moved, 0);
  for (uint32_t c = SFSHM_BLOCKS_MIN_CLASS; c <= HIGHEST; c++)
    free(side.slots[c]);
}

/* ---- Rooms ------------------------------------------------------------------------------------------------------- */

static sfshm_blocks_room_t reserve(_Atomic uint64_t *word, int64_t n, uint64_t bytes, uint64_t hint)
{
  sfshm_blocks_room_t room;
  ck_assert_int_eq(sfshm_blocks_reserve(word, n, bytes, hint, &room), SF_OK);
  return room;
}

SFTEST(the_first_member_chooses_the_class)
{
  _Atomic uint64_t word = 0;
  sfshm_blocks_room_t room = reserve(&word, 4, 0, 0);
  ck_assert_uint_eq(room.table_class, SFSHM_BLOCKS_MIN_CLASS);
  ck_assert_uint_eq(room.class, SFSHM_BLOCKS_MIN_CLASS);
  ck_assert_uint_eq(room.offset, 64);
  room = reserve(&word, 4, 13, 9);
  ck_assert_uint_eq(room.table_class, SFSHM_BLOCKS_MIN_CLASS);
  ck_assert_uint_eq(room.class, 5);
  ck_assert_uint_eq(room.offset, 64);
  room = reserve(&word, 4, 48, 0);
  ck_assert_uint_eq(room.offset, 64 + 16);
  ck_assert_uint_eq(room.class, 5);
  word = 0;
  room = reserve(&word, 4, 48, 9);
  ck_assert_uint_eq(room.table_class, 9);
  ck_assert_uint_eq(room.class, 9);
  ck_assert_uint_eq(reserve(&word, 4, 4 * 512, 0).class, 10);
  word = 0; /* blocks of 64 KiB have entries, too, but no slots of twice that size */
  ck_assert_uint_eq(reserve(&word, 4, 4 << 16, 0).class, 16);
  ck_assert_uint_eq(reserve(&word, 4, 1, 0).class, 17);
}

SFTEST(messages_have_the_shortest_units)
{
  _Atomic uint64_t word = 0;
  sfshm_blocks_message_t message;
  reserve(&word, 10, 0, 0);
  ck_assert_int_eq(sfshm_blocks_complete(&word, 10, &message), SF_OK);
  ck_assert_uint_eq(message.unit_bytes, 16);
  ck_assert_uint_eq(word, 0);
  reserve(&word, 10, 1, 8);
  ck_assert_int_eq(sfshm_blocks_complete(&word, 10, &message), SF_OK);
  ck_assert_uint_eq(message.unit_bytes, 17);
  ck_assert_uint_eq(message.class, 8);
  ck_assert_uint_eq(sfshm_blocks_next_class(&message), 7);
  message.unit_bytes = 32;
  ck_assert_uint_eq(sfshm_blocks_next_class(&message), 8);
}

SFTEST(messages_that_are_too_long)
{
  _Atomic uint64_t word = 0;
  sfshm_blocks_room_t room;
  const uint64_t most = ((UINT64_C(1) << 40) - 16) * 2;
  ck_assert_uint_eq(reserve(&word, 2, most, 0).class, 40);
  ck_assert_int_eq(sfshm_blocks_reserve(&word, 2, 1, 0, &room), SF_ERR_LIMIT);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "2199023255528 bytes"));
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "the limit is 2199023255520"));
  word = 0;
  ck_assert_int_eq(sfshm_blocks_reserve(&word, 2, most + 1, 0, &room), SF_ERR_LIMIT);
  ck_assert_int_eq(sfshm_blocks_reserve(&word, 2, UINT64_MAX, 0, &room), SF_ERR_LIMIT);
  ck_assert_int_eq(sfshm_blocks_reserve(&word, 2, UINT64_MAX - 7, 0, &room), SF_ERR_LIMIT);
  ck_assert_int_eq(sfshm_blocks_reserve(&word, INT64_MAX, UINT64_C(1) << 56, 0, &room), SF_ERR_LIMIT);
  ck_assert_uint_eq(word, 0);
}

/* ---- Nonsense ---------------------------------------------------------------------------------------------------- */

SFTEST(words_that_are_nonsense)
{
  static const uint64_t classes[] = {0, 1, 3, 41, 64, 255};
  sfshm_blocks_room_t room;
  sfshm_blocks_message_t message;
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
    _Atomic uint64_t word = classes[i] << SFSHM_BLOCKS_CLASS_SHIFT | 8;
    ck_assert_int_eq(sfshm_blocks_reserve(&word, 4, 8, 0, &room), SF_ERR_PROTO);
    ck_assert_int_eq(sfshm_blocks_complete(&word, 4, &message), SF_ERR_PROTO);
  }
  _Atomic uint64_t word = 0;
  ck_assert_int_eq(sfshm_blocks_complete(&word, 4, &message), SF_ERR_PROTO);
  word = UINT64_C(5) << SFSHM_BLOCKS_CLASS_SHIFT | SFSHM_BLOCKS_OFFSET_MASK;
  ck_assert_int_eq(sfshm_blocks_reserve(&word, 4, 8, 0, &room), SF_ERR_LIMIT);
  ck_assert_int_eq(sfshm_blocks_complete(&word, 4, &message), SF_ERR_LIMIT);
  word = 0;
  ck_assert_uint_eq(reserve(&word, 4, 8, UINT64_MAX).table_class, 5);
}

/* Random tables: what is accepted lies within the slots, as the address sanitizer sees. */
SFTEST(tables_that_are_nonsense)
{
  enum { LOW = 6, MIDDLE = 7, HIGH = 8, ROUNDS = 20000 };
  const sfshm_blocks_message_t message = {.unit_bytes = 200, .table_class = LOW, .class = HIGH};
  char *slots[SFSHM_BLOCKS_MAX_CLASS + 1] = {NULL};
  uint64_t random = sftest_random_start(sftest_seed(1), 0);
  int accepted = 0;
  for (uint32_t c = LOW; c <= HIGH; c += 2) /* MIDDLE: NULL */
    ck_assert_ptr_nonnull(slots[c] = calloc(1, sfshm_blocks_slot_bytes(N, c)));
  for (int i = 0; i < ROUNDS; i++) {
    static const uint64_t named[] = {0, 0, 0, LOW, HIGH, MIDDLE, HIGH + 1, SFSHM_BLOCKS_MAX_CLASS, 63, 255};
    sfshm_block_entry_t *table = (void *)slots[LOW];
    for (int64_t p = 0; p < N; p++) {
      bool wild = sftest_random64(&random) % (4 * N) == 0;
      sfshm_block_at_t block = {.class = named[sftest_random64(&random) % (wild ? 10 : 5)],
                                .offset = N * 16 + sftest_random64(&random) % 300,
                                .bytes = sftest_random64(&random) % 200};
      if (wild)
        *(sftest_random64(&random) % 2 == 0 ? &block.offset : &block.bytes) =
            sftest_random64(&random) >> (sftest_random64(&random) % 64);
      block.offset &= SFSHM_BLOCKS_OFFSET_MASK;
      sfshm_block_store(&table[p], &block);
    }
    (void)sfshm_blocks_classes(table, N);
    sf_status_t status = sfshm_blocks_move(&message, N, slots);
    ck_assert(status == SF_OK || status == SF_ERR_PROTO);
    accepted += status == SF_OK;
  }
  ck_assert_int_gt(accepted, 0);
  ck_assert_int_lt(accepted, ROUNDS);
  free(slots[LOW]);
  free(slots[HIGH]);
}

SFTEST(blocks_that_lie_outside)
{
  const uint64_t bytes = 1000;
  ck_assert(sfshm_block_fits(&(sfshm_block_at_t){.offset = 64, .bytes = 936}, 4, bytes));
  ck_assert(!sfshm_block_fits(&(sfshm_block_at_t){.offset = 64, .bytes = 937}, 4, bytes));
  ck_assert(!sfshm_block_fits(&(sfshm_block_at_t){.offset = 63, .bytes = 1}, 4, bytes));
  ck_assert(sfshm_block_fits(&(sfshm_block_at_t){.offset = 1000, .bytes = 0}, 4, bytes));
  ck_assert(!sfshm_block_fits(&(sfshm_block_at_t){.offset = 1001, .bytes = 0}, 4, bytes));
  ck_assert(!sfshm_block_fits(&(sfshm_block_at_t){.offset = 64, .bytes = UINT64_MAX}, 4, bytes));
}
