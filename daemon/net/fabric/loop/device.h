/* Memory of devices at the ends of the loop fabric's pipes (loop.c, the only user): bytes pass through the host's. */
#ifndef SFD_FABRIC_LOOP_DEVICE_H
#define SFD_FABRIC_LOOP_DEVICE_H

#include <stdlib.h>

#include "daemon/net/fabric/loop/pipe.h"

/* What a node has. */
typedef struct sfd_loop_devices {
  LIST_HEAD(, sfd_fabric_memory) memories;
  void (*copy)(void *to, const void *from, size_t nbytes); /* between devices and the host; NULL: there are none */
} sfd_loop_devices_t;

static inline bool sfd_loop_is_on_device(const sfd_loop_devices_t *devices, const void *address)
{
  const sfd_fabric_memory_t *memory;
  LIST_FOREACH(memory, &devices->memories, entry)
  {
    if ((uintptr_t)address - (uintptr_t)memory->base < memory->length_bytes)
      return true;
  }
  return false;
}

static inline uint8_t *sfd_loop_stage(size_t nbytes)
{
  uint8_t *staged = malloc(nbytes);
  if (staged == NULL)
    abort(); /* in a test */
  return staged;
}

/* As sfd_pipe_put and sfd_pipe_get, from and to memory of either kind. */
static inline void sfd_loop_put(const sfd_loop_devices_t *devices, sfd_pipe_t *pipe, const uint8_t *from, size_t nbytes)
{
  if (!sfd_loop_is_on_device(devices, from)) {
    sfd_pipe_put(pipe, from, nbytes);
    return;
  }
  uint8_t *staged = sfd_loop_stage(nbytes);
  devices->copy(staged, from, nbytes);
  sfd_pipe_put(pipe, staged, nbytes);
  free(staged);
}

static inline void sfd_loop_get(const sfd_loop_devices_t *devices, sfd_pipe_t *pipe, uint8_t *to, size_t nbytes)
{
  if (!sfd_loop_is_on_device(devices, to)) {
    sfd_pipe_get(pipe, to, nbytes);
    return;
  }
  uint8_t *staged = sfd_loop_stage(nbytes);
  sfd_pipe_get(pipe, staged, nbytes);
  devices->copy(to, staged, nbytes);
  free(staged);
}

#endif
