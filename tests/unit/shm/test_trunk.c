/* Trunks in shared memory: maps that are accepted or refused, and where the slots of an exchange stand. */
#include "shm/trunk/trunk.h"

#include "tests/unit/trunk_images.h"

/* ---- Maps -------------------------------------------------------------------------------------------------------- */

typedef struct map_bytes {
  sfshm_region_header_t header;
  uint32_t nsides;
  uint32_t reserved;
  sfshm_trunk_side_t sides[3];
  sftest_root_image_t root;
  sftest_leaf_image_t leaf;
  sftest_root_image_t other;
} map_bytes_t;

static map_bytes_t map;
static sfshm_region_t region;

static void setup_map(void)
{
  memset(&map, 0, sizeof map);
  map.nsides = 3;
  map.root = sftest_root_image_make();
  map.leaf = sftest_leaf_image_make();
  map.other = sftest_root_image_make();
  map.sides[0] = (sfshm_trunk_side_t){.node = 1,
                                      .role = SFSHM_AS_ROOT,
                                      .nmembers = 2,
                                      .send_values = 5,
                                      .send_units = 5,
                                      .receive_values = 5,
                                      .image = offsetof(map_bytes_t, root),
                                      .image_bytes = sizeof map.root};
  map.sides[1] = (sfshm_trunk_side_t){.node = 1,
                                      .role = SFSHM_AS_LEAF,
                                      .nmembers = 3,
                                      .send_values = 4,
                                      .send_units = 7,
                                      .receive_values = 4,
                                      .image = offsetof(map_bytes_t, leaf),
                                      .image_bytes = sizeof map.leaf};
  map.sides[2] = map.sides[0];
  map.sides[2].node = 2;
  map.sides[2].image = offsetof(map_bytes_t, other);
  region = (sfshm_region_t){.fd = -1, .base = &map, .length_bytes = sizeof map};
}

#define EXPECT_MAP_MALFORMED(change)                                                                                   \
  do {                                                                                                                 \
    const sfshm_trunk_map_t *refused = NULL;                                                                           \
    setup_map();                                                                                                       \
    change;                                                                                                            \
    ck_assert_msg(sfshm_trunk_map_open(&region, &refused) == SF_ERR_PROTO, "%s is accepted", #change);                 \
    ck_assert_ptr_null(refused);                                                                                       \
  } while (0)

SFTEST(maps)
{
  const sfshm_trunk_map_t *opened = NULL;
  setup_map();
  ck_assert_int_eq(sfshm_trunk_map_open(&region, &opened), SF_OK);
  ck_assert_uint_eq(opened->nsides, 3);
  ck_assert_int_eq(opened->sides[1].send_units, 7);
  EXPECT_MAP_MALFORMED(region.length_bytes = sizeof map.header);
  EXPECT_MAP_MALFORMED(region.length_bytes = sizeof map - 1);
  EXPECT_MAP_MALFORMED(map.nsides = 100);
  EXPECT_MAP_MALFORMED(map.nsides = UINT32_MAX);
  EXPECT_MAP_MALFORMED(map.sides[0].role = SFSHM_AS_LEAF);
  EXPECT_MAP_MALFORMED(map.sides[2].role = 2);
  EXPECT_MAP_MALFORMED(map.sides[2].node = 1);
  EXPECT_MAP_MALFORMED(map.sides[1].nmembers = 0);
  EXPECT_MAP_MALFORMED(map.sides[1].nmembers = -1);
  EXPECT_MAP_MALFORMED(map.sides[0].send_values = 4);
  EXPECT_MAP_MALFORMED(map.sides[0].send_units = 6);
  EXPECT_MAP_MALFORMED(map.sides[0].receive_values = 0);
  EXPECT_MAP_MALFORMED(map.sides[1].send_values = 7);
  EXPECT_MAP_MALFORMED(map.sides[1].send_units = 4);
  EXPECT_MAP_MALFORMED(map.sides[1].receive_values = INT64_MAX);
  EXPECT_MAP_MALFORMED(map.sides[0].image += 4);
  EXPECT_MAP_MALFORMED(map.sides[0].image = UINT64_MAX - 7);
  EXPECT_MAP_MALFORMED(map.sides[0].image = sizeof map + 8);
  EXPECT_MAP_MALFORMED(map.sides[0].image_bytes = UINT64_MAX);
  EXPECT_MAP_MALFORMED(map.sides[0].image_bytes = sizeof map - offsetof(map_bytes_t, root)); /* overlaps others */
  EXPECT_MAP_MALFORMED(map.sides[2].image_bytes = sizeof(sfshm_image_header_t));
  EXPECT_MAP_MALFORMED(map.leaf.index[1] = 4);
}

/* ---- Exchanges --------------------------------------------------------------------------------------------------- */

SFTEST(classes_of_units)
{
  ck_assert_uint_eq(sfshm_exchange_class(1), 8);
  ck_assert_uint_eq(sfshm_exchange_class(8), 8);
  ck_assert_uint_eq(sfshm_exchange_class(9), 16);
  ck_assert_uint_eq(sfshm_exchange_class(24), 32);
  ck_assert_uint_eq(sfshm_exchange_class(512 + 1), 1024);
  ck_assert_uint_eq(sfshm_exchange_class(1024 + SFSHM_ROOM_FOR_ENTRY), 1024);
  ck_assert_uint_eq(sfshm_exchange_class(1024 + SFSHM_ROOM_FOR_ENTRY + 1), 2048);
  ck_assert_uint_eq(sfshm_exchange_class((size_t)1 << 40), (uint64_t)1 << 40);
  ck_assert_uint_eq(sfshm_exchange_class(((size_t)1 << 40) + 1), 0);
  ck_assert_uint_eq(sfshm_exchange_class(SIZE_MAX), 0);
}

SFTEST(slots_stand_behind_each_other)
{
  sfshm_trunk_side_t sides[] = {{.send_values = 10, .send_units = 20, .receive_values = 1},
                                {.send_values = 16, .send_units = 16, .receive_values = 17}};
  sfshm_side_slots_t slots[2];
  uint64_t length;
  ck_assert_int_eq(sfshm_exchange_layout(sides, 2, SFSHM_ALL_SIDES, 8, 1 << 20, slots, &length), SF_OK);
  ck_assert_uint_eq(slots[0].send, 128);
  ck_assert_uint_eq(slots[0].send_stride, 256);
  ck_assert_uint_eq(slots[0].receive, 128 + 2048);
  ck_assert_uint_eq(slots[0].receive_stride, 128);
  ck_assert_uint_eq(slots[1].send, 128 + 2048 + 1024);
  ck_assert_uint_eq(slots[1].send_stride, 128);
  ck_assert_uint_eq(slots[1].receive, 128 + 2048 + 1024 + 1024);
  ck_assert_uint_eq(slots[1].receive_stride, 256);
  ck_assert_uint_eq(length, 128 + 2048 + 1024 + 1024 + 2048);
  ck_assert_int_eq(sfshm_exchange_layout(sides, 2, SFSHM_ALL_SIDES, 8, length, slots, &length), SF_OK);
  ck_assert_int_eq(sfshm_exchange_layout(sides, 2, SFSHM_ALL_SIDES, 8, length - 1, slots, &length), SF_ERR_LIMIT);
}

/* Long blocks: memory of one side does not depend on the number of positions of others. */
SFTEST(slots_of_one_side)
{
  enum { MANY = 100000 };
  sfshm_trunk_side_t sides[] = {{.role = SFSHM_AS_ROOT, .send_values = 2, .send_units = 2, .receive_values = MANY},
                                {.role = SFSHM_AS_LEAF, .send_values = MANY, .send_units = MANY, .receive_values = 3},
                                {.role = SFSHM_AS_ROOT, .send_values = MANY, .send_units = MANY, .receive_values = 1}};
  const uint64_t class_bytes = sfshm_own_class(sides, 3), room = sfshm_class_room(class_bytes);
  sfshm_side_slots_t slots[3];
  uint64_t length;
  ck_assert_int_eq(sfshm_exchange_layout(sides, 3, SFSHM_ALL_SIDES, class_bytes, SFSHM_SHARED_SLOTS, slots, &length),
                   SF_ERR_LIMIT);
  ck_assert_int_eq(
      sfshm_exchange_layout(sides, 3, SFSHM_ALL_SIDES, class_bytes / 2, SFSHM_SHARED_SLOTS, slots, &length), SF_OK);
  ck_assert_int_eq(sfshm_exchange_layout(sides, 3, 0, class_bytes, 1 << 20, slots, &length), SF_OK);
  ck_assert_uint_ge(slots[0].send_stride, 2 * room);
  ck_assert_uint_eq(slots[0].receive_stride, 0);
  ck_assert_uint_eq(slots[1].receive_stride, 0);
  ck_assert_uint_eq(slots[2].send_stride, 0);
  ck_assert_uint_eq(length, slots[0].send + slots[0].nsend * slots[0].send_stride);
  ck_assert_int_eq(sfshm_exchange_layout(sides, 3, 1, class_bytes, 1 << 20, slots, &length), SF_OK);
  ck_assert_uint_eq(slots[1].send_stride, 0);
  ck_assert_uint_ge(slots[1].receive_stride, 3 * room);
  ck_assert_int_eq(sfshm_exchange_layout(sides, 3, 2, class_bytes, 1 << 20, slots, &length), SF_ERR_LIMIT);
  ck_assert_uint_eq(sfshm_own_class(sides, 0), (uint64_t)1 << 40);
}

SFTEST(large_messages_have_fewer_slots)
{
  enum { SMALL = SFSHM_TRUNK_LARGE / 16 };
  sfshm_trunk_side_t side = {.send_values = SMALL, .send_units = SMALL + 1, .receive_values = SMALL + 1};
  sfshm_side_slots_t slots;
  uint64_t length;
  ck_assert_int_eq(sfshm_exchange_layout(&side, 1, SFSHM_ALL_SIDES, 16, 1 << 24, &slots, &length), SF_OK);
  ck_assert_uint_eq(slots.nsend, SFSHM_TRUNK_SLOTS);
  ck_assert_uint_eq(slots.nreceive, SFSHM_TRUNK_LARGE_SLOTS);
  ck_assert_uint_eq(sfshm_send_slot(&slots, SFSHM_TRUNK_SLOTS + 1), slots.send + slots.send_stride);
  ck_assert_uint_eq(sfshm_receive_slot(&slots, SFSHM_TRUNK_LARGE_SLOTS + 1), slots.receive + slots.receive_stride);
  ck_assert_uint_eq(length, slots.receive + SFSHM_TRUNK_LARGE_SLOTS * slots.receive_stride);
  /* A message may be written when the one before it in its slot is over: 8 more than that is granted then. */
  ck_assert_uint_eq(sfshm_trunk_needs(20, SMALL, 16), 20);
  ck_assert_uint_eq(sfshm_trunk_needs(20, SMALL + 1, 16), 20 - SFSHM_TRUNK_LARGE_SLOTS + SFSHM_TRUNK_SLOTS);
  ck_assert_uint_eq(sfshm_trunk_slots(1, 0), SFSHM_TRUNK_SLOTS);
}

/* Whatever was consumed and returned: if credit is not due, all of it would not give the other node a slot for its next
 * message. */
SFTEST_FOR(credit_is_due_when_slots_lack, 4)
{
  uint64_t values[] = {1, SFSHM_TRUNK_LARGE * 2 / 8};
  bool answered = _i % 2 != 0;
  int64_t n = (int64_t)values[_i / 2];
  uint64_t slots = sfshm_trunk_slots(n, 8), returned = 10;
  for (uint64_t consumed = returned + 1; consumed <= returned + slots; consumed++)
    for (uint64_t arrived = consumed; arrived <= returned + slots; arrived++) {
      uint64_t needed = sfshm_trunk_needs(arrived + 1, n, 8);
      bool lacks = needed > returned + SFSHM_TRUNK_SLOTS && needed <= consumed + SFSHM_TRUNK_SLOTS;
      ck_assert(!lacks || sfshm_trunk_credit_is_due(arrived, consumed, returned, answered, slots));
    }
  ck_assert(!sfshm_trunk_credit_is_due(returned + 3, returned + 3, returned, true, slots));
  ck_assert(sfshm_trunk_credit_is_due(returned + 2, returned + 2, returned, false, slots));
  ck_assert(!sfshm_trunk_credit_is_due(returned + 1, returned + 1, returned, false, slots));
}

SFTEST(slots_that_no_memory_can_hold)
{
  static const int64_t counts[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX / 8, INT64_MAX / 32, (int64_t)1 << 58};
  sfshm_side_slots_t slots[2];
  uint64_t length = 77;
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    sfshm_trunk_side_t sides[] = {{.send_units = 5, .receive_values = counts[i]},
                                  {.send_units = counts[i], .receive_values = 5}};
    ck_assert_int_eq(sfshm_exchange_layout(sides, 1, SFSHM_ALL_SIDES, 8, UINT64_MAX / 4, slots, &length), SF_ERR_LIMIT);
    ck_assert_int_eq(sfshm_exchange_layout(sides + 1, 1, SFSHM_ALL_SIDES, 8, UINT64_MAX / 4, slots, &length),
                     SF_ERR_LIMIT);
    ck_assert_int_eq(sfshm_exchange_layout(sides, 2, SFSHM_ALL_SIDES, (uint64_t)1 << 40, UINT64_MAX, slots, &length),
                     SF_ERR_LIMIT);
  }
  ck_assert_int_eq(sfshm_exchange_layout(NULL, 0, SFSHM_ALL_SIDES, 8, 100, slots, &length), SF_ERR_LIMIT);
  ck_assert_uint_eq(length, 77);
}
