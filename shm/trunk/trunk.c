/* Trunk maps and the layout of exchanges, shared by ranks and daemon. Any thread; stateless. */
#include "shm/trunk/trunk.h"

#include "shm/base/error.h"

#define SLOT_ALIGNMENT 128u
#define MAX_CLASS_BYTES ((uint64_t)1 << 40)
#define MIN_CLASS_BYTES 8u

/* ---- Trunk maps -------------------------------------------------------------------------------------------------- */

/* Whether the side agrees with its image. */
static bool matches_image(const sfshm_trunk_side_t *side, const sfshm_image_header_t *header)
{
  if (side->role == SFSHM_AS_ROOT)
    return side->send_values == header->bcast_values && side->send_units == header->bcast_values &&
           side->receive_values == header->reduce_values;
  return side->send_values == header->reduce_values && side->send_units == header->reduce_values + header->staged &&
         side->receive_values == header->bcast_values;
}

/* *room: bytes of the region left for images, which do not overlap. */
static sf_status_t check_side(const sfshm_region_t *region, const sfshm_trunk_side_t *side, uint64_t *room)
{
  sfshm_image_t image;
  if (side->role > SFSHM_AS_LEAF || side->nmembers < 1)
    return sfshm_error(SF_ERR_PROTO, "trunk map: side of role %u with %d members", side->role, side->nmembers);
  if (side->image % sizeof(uint64_t) != 0 || side->image > region->length_bytes ||
      side->image_bytes > region->length_bytes - side->image || side->image_bytes > *room)
    return sfshm_error(SF_ERR_PROTO, "trunk map: image of %llu bytes at %llu in a region of %zu bytes",
                       (unsigned long long)side->image_bytes, (unsigned long long)side->image, region->length_bytes);
  *room -= side->image_bytes;
  sf_status_t status =
      sfshm_image_open((const char *)region->base + side->image, side->image_bytes,
                       side->role == SFSHM_AS_ROOT ? SFSHM_ROOT_IMAGE_MAGIC : SFSHM_LEAF_IMAGE_MAGIC, &image);
  if (status == SF_OK && !matches_image(side, &image.header))
    status = sfshm_error(SF_ERR_PROTO, "trunk map: side of %lld, %lld and %lld units does not match its image",
                         (long long)side->send_values, (long long)side->send_units, (long long)side->receive_values);
  return status;
}

static bool is_before(const sfshm_trunk_side_t *a, const sfshm_trunk_side_t *b)
{
  return a->node != b->node ? a->node < b->node : a->role < b->role;
}

sf_status_t sfshm_trunk_map_open(const sfshm_region_t *region, const sfshm_trunk_map_t **map_p)
{
  const sfshm_trunk_map_t *map = region->base;
  if (region->length_bytes < sizeof *map ||
      map->nsides > (region->length_bytes - sizeof *map) / sizeof(sfshm_trunk_side_t))
    return sfshm_error(SF_ERR_PROTO, "trunk map: its sides exceed the region of %zu bytes", region->length_bytes);
  uint64_t room = region->length_bytes - sizeof *map - map->nsides * sizeof(sfshm_trunk_side_t);
  for (uint32_t i = 0; i < map->nsides; i++) {
    if (i > 0 && !is_before(&map->sides[i - 1], &map->sides[i]))
      return sfshm_error(SF_ERR_PROTO, "trunk map: sides to nodes %d and %d in disorder", map->sides[i - 1].node,
                         map->sides[i].node);
    sf_status_t status = check_side(region, &map->sides[i], &room);
    if (status != SF_OK)
      return status;
  }
  *map_p = map;
  return SF_OK;
}

/* ---- Exchanges --------------------------------------------------------------------------------------------------- */

uint64_t sfshm_exchange_class(size_t unit_bytes)
{
  uint64_t class_bytes = MIN_CLASS_BYTES;
  if (unit_bytes > MAX_CLASS_BYTES)
    return 0;
  while (sfshm_class_room(class_bytes) < unit_bytes)
    class_bytes *= 2;
  return class_bytes;
}

/* Appends n slots for that many units. Returns whether they fit. */
static bool add_slots(uint64_t n, int64_t units, uint64_t class_bytes, uint64_t max_bytes, uint64_t *first_p,
                      uint64_t *stride_p, uint64_t *length)
{
  uint64_t bytes, all, end;
  if (units < 0 || __builtin_mul_overflow((uint64_t)units, sfshm_class_room(class_bytes), &bytes) ||
      __builtin_add_overflow(bytes, SLOT_ALIGNMENT - 1, &bytes))
    return false;
  bytes -= bytes % SLOT_ALIGNMENT;
  if (__builtin_mul_overflow(bytes, n, &all) || __builtin_add_overflow(*length, all, &end) || end > max_bytes)
    return false;
  *first_p = *length;
  *stride_p = bytes;
  *length = end;
  return true;
}

/* Adds the slots of a side: all of them, or those for bcasts, or none. */
static bool add_side(const sfshm_trunk_side_t *side, bool all, bool bcasts, uint64_t class_bytes, uint64_t max_bytes,
                     sfshm_side_slots_t *at, uint64_t *length)
{
  bool as_root = side->role == SFSHM_AS_ROOT;
  int64_t send = all || (bcasts && as_root) ? side->send_units : 0;
  int64_t receive = all || (bcasts && !as_root) ? side->receive_values : 0;
  at->nsend = sfshm_trunk_slots(side->send_values, class_bytes);
  at->nreceive = sfshm_trunk_slots(side->receive_values, class_bytes);
  return add_slots(at->nsend, send, class_bytes, max_bytes, &at->send, &at->send_stride, length) &&
         add_slots(at->nreceive, receive, class_bytes, max_bytes, &at->receive, &at->receive_stride, length);
}

static uint64_t length_before(void)
{
  return (sizeof(sfshm_region_header_t) + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
}

sf_status_t sfshm_exchange_layout(const sfshm_trunk_side_t sides[], uint32_t nsides, int64_t side, uint64_t class_bytes,
                                  uint64_t max_bytes, sfshm_side_slots_t slots[], uint64_t *length_p)
{
  uint64_t length = length_before();
  bool fits = length <= max_bytes;
  for (uint32_t i = 0; i < nsides && fits; i++)
    fits = add_side(&sides[i], side == SFSHM_ALL_SIDES, side == (int64_t)i, class_bytes, max_bytes, &slots[i], &length);
  if (!fits)
    return sfshm_error(SF_ERR_LIMIT, "the trunks' slots for units of %llu bytes exceed %llu bytes",
                       (unsigned long long)class_bytes, (unsigned long long)max_bytes);
  *length_p = length;
  return SF_OK;
}

uint64_t sfshm_own_class(const sfshm_trunk_side_t sides[], uint32_t nsides)
{
  for (uint64_t class_bytes = MIN_CLASS_BYTES; class_bytes < MAX_CLASS_BYTES; class_bytes *= 2) {
    uint64_t length = length_before();
    sfshm_side_slots_t unused;
    for (uint32_t i = 0; i < nsides; i++)
      if (!add_side(&sides[i], true, false, class_bytes, SFSHM_SHARED_SLOTS, &unused, &length))
        return class_bytes;
  }
  return MAX_CLASS_BYTES;
}
