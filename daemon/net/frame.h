/* Frames: the bytes of a channel, and checks of received ones. docs/channel-protocol.md has the same in prose. Pure
 * functions, any thread.
 *
 *   header                   32 bytes
 *   table                    table_bytes; of a hello: sfd_hello_t; else for each message, in order:
 *     head                     40 bytes, sfd_message_head_t
 *     payload                  up to SFD_FRAME_INLINE_MAX bytes
 *   payloads                 payload_bytes; all longer ones, in order
 *
 * Little-endian. Each payload is padded to a multiple of 8 bytes, so that parts are aligned if the frame is. */
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

/* Magic, version and type have the same offsets in all versions. */
typedef struct sfd_frame_header {
  uint32_t magic;
  uint16_t version;
  uint16_t type;
  uint32_t number; /* of the frame in its stream, from 0, wrapping */
  uint16_t messages;
  uint16_t table_bytes;
  uint64_t payload_bytes; /* behind the table, with padding */
  uint32_t table_hash;
  uint32_t header_hash; /* with 0 here */
} sfd_frame_header_t;

_Static_assert(sizeof(sfd_frame_header_t) == 32, "frame version 2");
_Static_assert(offsetof(sfd_frame_header_t, version) == 4, "layout of the header");
_Static_assert(offsetof(sfd_frame_header_t, type) == 6, "layout of the header");
_Static_assert(SFD_FRAME_TABLE_MAX <= UINT16_MAX, "table_bytes has 16 bits");
_Static_assert(SFD_FRAME_TABLE_MAX >= sizeof(sfd_message_head_t) + SFD_FRAME_INLINE_MAX, "a message always fits");

#define SFD_FRAME_HEADER_BYTES sizeof(sfd_frame_header_t)

#define SFD_HELLO_TEXT_SIZE 64

/* The first frame of a stream. Texts end with a zero byte. */
typedef struct sfd_hello {
  int32_t node;   /* the sender */
  int32_t nnodes; /* according to the sender */
  char software[SFD_HELLO_TEXT_SIZE];
  char cluster[SFD_HELLO_TEXT_SIZE];
} sfd_hello_t;

_Static_assert(sizeof(sfd_hello_t) == 136, "frame version 2");

/* Length with padding. */
static inline uint64_t sfd_frame_padded(uint64_t nbytes)
{
  return (nbytes + 7) & ~UINT64_C(7);
}

static inline bool sfd_frame_is_inline(const sfd_message_head_t *head)
{
  return head->payload_bytes <= SFD_FRAME_INLINE_MAX;
}

/* Bytes of a message in the table. */
static inline size_t sfd_frame_table_bytes(const sfd_message_head_t *head)
{
  return sizeof *head + (sfd_frame_is_inline(head) ? (size_t)sfd_frame_padded(head->payload_bytes) : 0);
}

/* Sets magic, version and both hashes. */
void sfd_frame_seal(sfd_frame_header_t *header, const void *table);

/* Checks the available bytes of a header, so that garbage is refused early. position 0 of the stream must be a hello;
 * number is that of the next frame. Writes *header_p if the header is complete and valid. SF_ERR_PROTO; SF_ERR_VERSION.
 * */
sf_status_t sfd_frame_check_header(const uint8_t *bytes, size_t available, uint64_t position, uint32_t number,
                                   sfd_frame_header_t *header_p) __attribute__((warn_unused_result));

/* Checks a complete table, aligned to 8, of a valid header; lengths in it are valid then. SF_ERR_PROTO. */
sf_status_t sfd_frame_check_table(const sfd_frame_header_t *header, const uint8_t *table)
    __attribute__((warn_unused_result));

/* Compares a node's hello with this daemon's. SF_ERR_PROTO: not the expected node or cluster; SF_ERR_VERSION: other
 * software. */
sf_status_t sfd_frame_check_hello(const sfd_hello_t *theirs, int32_t node, const sfd_hello_t *ours)
    __attribute__((warn_unused_result));

#endif
