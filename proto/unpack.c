/* Unpacking: see unpack.h. Any thread. */
#include "proto/unpack.h"

#include <stdbool.h>
#include <stdlib.h>

/* data: bool, set when memory is lacking. */
static void *allocate(void *data, size_t size_bytes)
{
  void *memory = malloc(size_bytes);
  if (memory == NULL && size_bytes > 0)
    *(bool *)data = true;
  return memory;
}

static void release(void *data, void *memory)
{
  (void)data;
  free(memory);
}

sf_status_t sfproto_unpack(const ProtobufCMessageDescriptor *descriptor, size_t length_bytes, const void *packed,
                           ProtobufCMessage **message_p)
{
  bool lacked = false;
  ProtobufCAllocator allocator = {allocate, release, &lacked};
  ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, &allocator, length_bytes, packed);
  if (message == NULL)
    return lacked ? SF_ERR_NOMEM : SF_ERR_PROTO;
  *message_p = message;
  return SF_OK;
}
