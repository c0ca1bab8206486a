/* Unpacking protobuf messages such that a lack of memory is not taken for a malformed message. Any thread. */
#ifndef SFPROTO_UNPACK_H
#define SFPROTO_UNPACK_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

/* As protobuf_c_message_unpack; *message_p is to be freed by free_unpacked of its kind, with NULL as allocator.
 * SF_ERR_PROTO: the bytes are no such message; SF_ERR_NOMEM. Sets no detail: the caller knows who sent them. */
sf_status_t sfproto_unpack(const ProtobufCMessageDescriptor *descriptor, size_t length_bytes, const void *packed,
                           ProtobufCMessage **message_p) __attribute__((warn_unused_result));

#endif
