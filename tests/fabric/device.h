/* Memory of devices at the ends of the loop fabric's pipes (loop.c, the only user): bytes pass through the host's. */
#ifndef SFTEST_FABRIC_DEVICE_H
#define SFTEST_FABRIC_DEVICE_H

#include <stdlib.h>

#include "tests/fabric/pipe.h"

/* What a node has. */
typedef struct sftest_fabric_devices {
  LIST_HEAD(, sfd_fabric_memory) memories;
  void (*copy)(void *to, const void *from, size_t nbytes); /* between devices and the host; NULL: there are none */
} sftest_fabric_devices_t;

static inline bool sftest_fabric_is_on_device(const sftest_fabric_devices_t *devices, const void *address)
{
  const sfd_fabric_memory_t *memory;
  LIST_FOREACH (memory, &devices->memories, entry)
    if ((uintptr_t)address - (uintptr_t)memory->base < memory->length_bytes)
      return true;
  return false;
}

static inline uint8_t *sftest_fabric_stage(size_t nbytes)
{
  uint8_t *staged = malloc(nbytes);
  if (staged == NULL)
    abort(); /* in a test */
  return staged;
}

/* As sfd_pipe_put and sfd_pipe_get, from and to memory of either kind. */
static inline void sftest_fabric_put(const sftest_fabric_devices_t *devices, sfd_pipe_t *pipe, const uint8_t *from,
                                     size_t nbytes)
{
  if (!sftest_fabric_is_on_device(devices, from)) {
    sfd_pipe_put(pipe, from, nbytes);
    return;
  }
  uint8_t *staged = sftest_fabric_stage(nbytes);
  devices->copy(staged, from, nbytes);
  sfd_pipe_put(pipe, staged, nbytes);
  free(staged);
}

static inline void sftest_fabric_get(const sftest_fabric_devices_t *devices, sfd_pipe_t *pipe, uint8_t *to,
                                     size_t nbytes)
{
  if (!sftest_fabric_is_on_device(devices, to)) {
    sfd_pipe_get(pipe, to, nbytes);
    return;
  }
  uint8_t *staged = sftest_fabric_stage(nbytes);
  sfd_pipe_get(pipe, staged, nbytes);
  devices->copy(to, staged, nbytes);
  free(staged);
}

#endif
