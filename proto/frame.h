/* The header in front of every message of a control connection. Pure functions, any thread. */
#ifndef SFPROTO_FRAME_H
#define SFPROTO_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

/* In the host's byte order: both ends are on one host. The same in every version of the protocol. */
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

/* A frame of this version. */
sfproto_header_t sfproto_header_make(size_t length, int nfds);

/* Checks as much of a header as the first available bytes hold, so that garbage is refused without waiting for more of
 * it. position, in the stream, is for the detail text. Writes *header_p if the header is complete and acceptable.
 * SF_ERR_PROTO; SF_ERR_VERSION. */
sf_status_t sfproto_header_check(const uint8_t *bytes, size_t available, uint64_t position, sfproto_header_t *header_p);

#endif
