/* State of the daemon for device memory. */
#ifndef SFD_MEMORY_MEMORY_H
#define SFD_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/device/device.h"

typedef struct sfd_devices sfd_devices_t;

/* Devices on which memory has been allocated. */
#define SFD_MAX_STARTED 64
typedef struct sfd_started_devices {
  sfshm_device_identity_t device[SFD_MAX_STARTED];
  int32_t n;
} sfd_started_devices_t;

typedef struct sfd_memory {
  sfd_devices_t *devices;        /* NULL: no work; see device_driver.h */
  bool lost;                     /* the thread hangs */
  sfd_started_devices_t started; /* these take less time */
} sfd_memory_t;

#endif
