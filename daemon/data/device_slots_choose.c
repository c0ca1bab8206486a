/* Slots of trunks on devices: which messages have them: see device_slots.h. The daemon's thread. */
#include <string.h>

#include "daemon/data/device_slots_internal.h"
#include "daemon/jobs.h"

#define MAX_SLOTS_BYTES (UINT64_C(1) << 40)

/* ---- What is where ----------------------------------------------------------------------------------------------- */

uint8_t sfd_trunk_devices_where(const sfd_trunks_t *trunks, uint32_t side)
{
  const sfd_trunk_devices_t *devices = trunks->devices;
  return devices != NULL && devices->state == SFD_SLOTS_USED ? devices->where[side] : 0;
}

char *sfd_trunk_devices_slot(const sfd_trunks_t *trunks, uint32_t side, uint8_t where, uint64_t unit_bytes,
                             uint64_t message)
{
  const sfd_trunk_devices_t *devices = trunks->devices;
  const sfshm_trunk_side_t *told = &trunks->sides[side].told;
  bool sends = where == SFSHM_SLOTS_SEND;
  if ((sfd_trunk_devices_where(trunks, side) & where) == 0 ||
      !sfshm_slots_take(sends ? told->send_values : told->receive_values, unit_bytes, devices->class_bytes))
    return NULL;
  const sfshm_side_slots_t *slots = &devices->slots[side];
  return (char *)(uintptr_t)devices->told.base +
         (sends ? sfshm_send_slot(slots, message) : sfshm_receive_slot(slots, message));
}

/* ---- Choosing ---------------------------------------------------------------------------------------------------- */

static const sfd_slots_user_t *member_of(const sfd_trunks_t *trunks, const sfd_trunk_side_t *side, int32_t k)
{
  return &trunks->devices->users[sfd_group_local(trunks->graph->group, side->members[k])];
}

/* The last member combines what others contribute to the same roots: in a function of the host. */
static bool has_staging(const sfd_trunks_t *trunks, const sfd_trunk_side_t *side)
{
  const sfshm_image_header_t *image = (const void *)((const char *)trunks->plan->map.base + side->told.image);
  return side->told.role == SFSHM_AS_LEAF && image->nlayers > 0;
}

const sfd_slots_user_t *sfd_device_slots_owner(const sfd_trunks_t *trunks)
{
  for (int32_t i = 0; i < trunks->graph->group->nlocals; i++) {
    const sfd_slots_user_t *user = &trunks->devices->users[i];
    if (user->roots || user->leaves)
      return user;
  }
  return NULL;
}

/* Kernels of other devices may write what is sent; but what comes is read only where it has come to. */
static uint8_t choose_side(const sfd_trunks_t *trunks, const sfd_trunk_side_t *side)
{
  const sfd_trunk_devices_t *devices = trunks->devices;
  const sfshm_device_identity_t *device = &sfd_device_slots_owner(trunks)->device;
  bool sends = !has_staging(trunks, side), receives = true;
  for (int32_t k = 0; k < side->told.nmembers; k++) {
    const sfd_slots_user_t *user = member_of(trunks, side, k);
    bool on_device = side->told.role == SFSHM_AS_ROOT ? user->roots : user->leaves;
    sends &= on_device;
    receives &= on_device && user->sees_adapters && memcmp(&user->device, device, sizeof *device) == 0;
  }
  sends &= sfshm_slots_take(side->told.send_values, devices->class_bytes, devices->class_bytes);
  receives &= sfshm_slots_take(side->told.receive_values, devices->class_bytes, devices->class_bytes);
  return (uint8_t)((sends ? SFSHM_SLOTS_SEND : 0) | (receives ? SFSHM_SLOTS_RECEIVE : 0));
}

static void note_users(const sfd_trunks_t *trunks, const sfd_trunk_side_t *side)
{
  for (int32_t k = 0; k < side->told.nmembers; k++)
    trunks->devices->users[sfd_group_local(trunks->graph->group, side->members[k])].uses_some = true;
}

uint64_t sfd_device_slots_lay_out(sfd_trunks_t *trunks)
{
  sfd_trunk_devices_t *devices = trunks->devices;
  const sfshm_trunk_map_t *map = trunks->plan->map.base;
  uint64_t length = 0;
  for (uint32_t i = 0; i < trunks->nsides && sfd_device_slots_owner(trunks) != NULL; i++) {
    devices->where[i] = choose_side(trunks, &trunks->sides[i]);
    if (devices->where[i] != 0)
      note_users(trunks, &trunks->sides[i]);
  }
  sf_status_t status = sfshm_slots_layout(map->sides, devices->where, trunks->nsides, devices->class_bytes,
                                          MAX_SLOTS_BYTES, devices->slots, &length);
  return status == SF_OK ? length : 0;
}
