/* Memory of devices that the daemon allocates: see device_alloc.h. */
#include "client/core/device_alloc.h"

#include <string.h>

#include "client/core/context.h"
#include "shm/base/error.h"
#include "shm/device/device_load.h"

/* The daemon's answer; the incoming message is the caller's. */
static sf_status_t ask(sf_context_t *context, int32_t device, size_t len_bytes, uint64_t region,
                       sfproto_incoming_t *incoming)
{
  const sfshm_device_ops_t *ops = sfshm_device_loaded();
  sfshm_device_identity_t identity;
  sf_status_t status = ops->identify(device, &identity);
  if (status != SF_OK)
    return sfshm_error(status, "%s", ops->detail());
  Sfproto__DeviceAlloc alloc = SFPROTO_BODY(device_alloc, .region = region, .length = len_bytes);
  Sfproto__Message message = SFPROTO_MESSAGE(DEVICE_ALLOC, device_alloc, &alloc);
  alloc.device.data = identity.bytes;
  alloc.device.len = sizeof identity.bytes;
  return sfc_daemon_call(&context->control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_REGION, incoming);
}

/* Opens what the daemon has allocated. */
static sf_status_t open_told(const Sfproto__Region *told, int32_t reader, size_t len_bytes, char **base_p)
{
  const sfshm_device_ops_t *ops = sfshm_device_loaded();
  sfshm_device_handle_t handle;
  sfshm_device_range_t range;
  if (told->handle.len != sizeof handle.bytes || told->offset != 0)
    return sfshm_error(SF_ERR_PROTO, "handle of %zu bytes, %zu expected", told->handle.len, sizeof handle.bytes);
  memcpy(handle.bytes, told->handle.data, sizeof handle.bytes);
  sf_status_t status = ops->open_shared(&handle, -1, reader, &range);
  if (status != SF_OK)
    return sfshm_error(status, "%s", ops->detail());
  *base_p = range.base;
  if (range.length_bytes >= len_bytes)
    return SF_OK;
  ops->close_shared(range.base);
  return sfshm_error(SF_ERR_PROTO, "the daemon allocated %zu bytes of %zu", range.length_bytes, len_bytes);
}

sf_status_t sfc_device_block_take(sf_context_t *context, int32_t device, int32_t reader, size_t len_bytes,
                                  sfc_device_block_t *block_p)
{
  sfproto_incoming_t incoming;
  sfc_device_block_t block = {.region = sfc_memory_number(&context->memory)};
  sf_status_t status = ask(context, device, len_bytes, block.region, &incoming);
  if (status != SF_OK)
    return status;
  status = open_told(incoming.message->region, reader, len_bytes, &block.base);
  sfproto_incoming_free(&incoming);
  if (status == SF_OK)
    *block_p = block;
  else
    sfc_memory_withdraw(context, block.region, true);
  return status;
}

void sfc_device_block_give(sf_context_t *context, const sfc_device_block_t *block, bool wait)
{
  sfshm_device_loaded()->close_shared(block->base);
  sfc_memory_withdraw(context, block->region, wait);
}
