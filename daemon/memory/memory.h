/* What a daemon keeps for memory of devices, beside the memory. */
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
  sfd_devices_t *devices;        /* NULL: no work for their driver; see device_driver.h */
  bool lost;                     /* it did not come back */
  sfd_started_devices_t started; /* the next time they take less long */
} sfd_memory_t;

#endif
