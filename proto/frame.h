/* Frame header of control messages. Pure functions, any thread. */
#ifndef SFPROTO_FRAME_H
#define SFPROTO_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

/* Host byte order: both ends are on one host. The same in every version of the protocol. */
typedef struct sfproto_header {
  uint32_t magic;
  uint16_t version;
  uint16_t nfds;
  uint32_t length; /* bytes of the packed message that follows */
  uint32_t reserved;
} sfproto_header_t;

_Static_assert(sizeof(sfproto_header_t) == 16, "the header is 16 bytes in every version");
_Static_assert(offsetof(sfproto_header_t, version) == 4, "layout of the header");
_Static_assert(offsetof(sfproto_header_t, nfds) == 6, "layout of the header");
_Static_assert(offsetof(sfproto_header_t, length) == 8, "layout of the header");
_Static_assert(offsetof(sfproto_header_t, reserved) == 12, "layout of the header");

#define SFPROTO_HEADER_BYTES sizeof(sfproto_header_t)

/* Creates the header of a frame of this version. */
sfproto_header_t sfproto_header_make(size_t length, int nfds);

/* Checks the available first bytes of a header, so that garbage is refused without waiting for the rest. position, in
 * the stream, is for the detail text. Writes *header_p if the header is complete and valid. SF_ERR_PROTO;
 * SF_ERR_VERSION. */
sf_status_t sfproto_header_check(const uint8_t *bytes, size_t available, uint64_t position, sfproto_header_t *header_p);

#endif
