/* The bytes of a channel: what a frame looks like, and whether what has arrived is one. docs/channel-protocol.md says
 * the same in prose. Pure functions, any thread.
 *
 *   header                   32 bytes
 *   table                    table_bytes; of a hello: sfd_hello_t; else for each message, in order:
 *     head                     40 bytes, sfd_message_head_t
 *     payload                  if it has no more than SFD_FRAME_INLINE_MAX bytes
 *   payloads                 payload_bytes; all the others, in order
 *
 * Everything is little-endian. Each payload is followed by as many bytes as make its length a multiple of 8: so parts
 * lie aligned if the frame does. */
#ifndef SFD_NET_FRAME_H
#define SFD_NET_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/net/channel.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are written as they lie in memory");

#define SFD_FRAME_MAGIC 0x72466673u /* the bytes "sfFr" */
#define SFD_FRAME_VERSION 2u
#define SFD_FRAME_INLINE_MAX 512u
#define SFD_FRAME_MESSAGES_MAX 256u
#define SFD_FRAME_TABLE_MAX (24u << 10)

typedef enum sfd_frame_type { SFD_FRAME_HELLO = 1, SFD_FRAME_MESSAGES = 2 } sfd_frame_type_t;

/* Magic, version and type are where they are in every version. */
typedef struct sfd_frame_header {
  uint32_t magic;
  uint16_t version;
  uint16_t type;
  uint32_t number; /* of the frame in its stream, from 0, wrapping round */
  uint16_t messages;
  uint16_t table_bytes;
  uint64_t payload_bytes; /* behind the table, with what makes up multiples of 8 */
  uint32_t table_hash;
  uint32_t header_hash; /* of the header with 0 here */
} sfd_frame_header_t;

_Static_assert(sizeof(sfd_frame_header_t) == 32, "frame version 2");
_Static_assert(offsetof(sfd_frame_header_t, version) == 4, "layout of the header");
_Static_assert(offsetof(sfd_frame_header_t, type) == 6, "layout of the header");
_Static_assert(SFD_FRAME_TABLE_MAX <= UINT16_MAX, "table_bytes has 16 bits");
_Static_assert(SFD_FRAME_TABLE_MAX >= sizeof(sfd_message_head_t) + SFD_FRAME_INLINE_MAX, "a message always fits");

#define SFD_FRAME_HEADER_BYTES sizeof(sfd_frame_header_t)

#define SFD_HELLO_TEXT_SIZE 64

/* The first frame of a stream. Texts end in a zero byte. */
typedef struct sfd_hello {
  int32_t node;   /* who sends it */
  int32_t nnodes; /* how many there are, in the sender's opinion */
  char software[SFD_HELLO_TEXT_SIZE];
  char cluster[SFD_HELLO_TEXT_SIZE];
} sfd_hello_t;

_Static_assert(sizeof(sfd_hello_t) == 136, "frame version 2");

/* A length with what makes it a multiple of 8. */
static inline uint64_t sfd_frame_padded(uint64_t nbytes)
{
  return (nbytes + 7) & ~UINT64_C(7);
}

static inline bool sfd_frame_is_inline(const sfd_message_head_t *head)
{
  return head->payload_bytes <= SFD_FRAME_INLINE_MAX;
}

/* What a message takes in the table. */
static inline size_t sfd_frame_table_bytes(const sfd_message_head_t *head)
{
  return sizeof *head + (sfd_frame_is_inline(head) ? (size_t)sfd_frame_padded(head->payload_bytes) : 0);
}

/* Fills magic, version, and the two hashes. */
void sfd_frame_seal(sfd_frame_header_t *header, const void *table);

/* Checks as much of a header as the first available bytes hold, so that garbage is refused without waiting for more of
 * it. What lies at position 0 of the stream is a hello; number is that of the frame that is due. Writes *header_p if
 * the header is complete and acceptable. SF_ERR_PROTO; SF_ERR_VERSION. */
sf_status_t sfd_frame_check_header(const uint8_t *bytes, size_t available, uint64_t position, uint32_t number,
                                   sfd_frame_header_t *header_p) __attribute__((warn_unused_result));

/* Checks a whole table, which lies at a multiple of 8, of an acceptable header. Afterwards the lengths in it can be
 * believed. SF_ERR_PROTO. */
sf_status_t sfd_frame_check_table(const sfd_frame_header_t *header, const uint8_t *table)
    __attribute__((warn_unused_result));

/* Compares what a node, by its place in the fabric, says of itself with what this daemon says. SF_ERR_PROTO: it is not
 * the one that it should be; SF_ERR_VERSION: other software. */
sf_status_t sfd_frame_check_hello(const sfd_hello_t *theirs, int32_t node, const sfd_hello_t *ours)
    __attribute__((warn_unused_result));

#endif
