/* What device_slots.c (life and requests) and device_slots_choose.c (which slots are where) share. */
#ifndef SFD_DATA_DEVICE_SLOTS_INTERNAL_H
#define SFD_DATA_DEVICE_SLOTS_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/data/device_slots.h"
#include "daemon/data/trunks_internal.h"
#include "daemon/memory.h"
#include "daemon/net.h"

typedef enum sfd_slots_state {
  SFD_SLOTS_ASKING,
  SFD_SLOTS_MAKING,
  SFD_SLOTS_MADE,
  SFD_SLOTS_USED,
  SFD_SLOTS_NONE
} sfd_slots_state_t;

/* A rank here. */
typedef struct sfd_slots_user {
  bool takes_part; /* in some side */
  bool has_asked;  /* then: */
  bool roots, leaves, sees_adapters;
  sfshm_device_identity_t device;
  bool uses_some; /* of the slots */
  bool was_told;  /* how to open them; then one of these: */
  bool has_opened, has_closed;
  bool waits; /* for the answer to: */
  uint64_t request;
} sfd_slots_user_t;

typedef struct sfd_trunk_devices {
  sfd_slots_state_t state;
  uint64_t class_bytes;
  sfd_device_memory_t *memory; /* NULL: there is none */
  sfshm_device_handle_t handle;
  int fd;               /* that belongs to it; -1: there is none */
  uint64_t taken_bytes; /* of the job's quota */
  sfd_fabric_memory_t told;
  uint8_t *where; /* by side */
  sfshm_side_slots_t *slots;
  sfd_slots_user_t users[]; /* by rank here */
} sfd_trunk_devices_t;

/* The rank on whose device the slots are; NULL: none has data on a device. */
const sfd_slots_user_t *sfd_device_slots_owner(const sfd_trunks_t *trunks);

/* Chooses slots for each side, and returns the bytes that they take; 0: no slot is worth it. */
uint64_t sfd_device_slots_lay_out(sfd_trunks_t *trunks);

#endif
