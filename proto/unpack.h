/* Unpacking of protobuf messages that distinguishes lack of memory from malformed messages. Any thread. */
#ifndef SFPROTO_UNPACK_H
#define SFPROTO_UNPACK_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

/* As protobuf_c_message_unpack. Free *message_p by the free_unpacked function of its type, with NULL as allocator.
 * SF_ERR_PROTO: not a valid message. SF_ERR_NOMEM. Sets no detail: the caller knows the sender. */
sf_status_t sfproto_unpack(const ProtobufCMessageDescriptor *descriptor, size_t length_bytes, const void *packed,
                           ProtobufCMessage **message_p) __attribute__((warn_unused_result));

#endif
