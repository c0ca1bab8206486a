/* Checks of frames: see frame.h. Pure functions, any thread. */
#include "daemon/net/frame.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/base.h"
#include "shm/base/error.h"

/* Checksum of a multiple of 8 bytes, with one multiplication per word. Each step is a bijection of state and word, so
 * that any change of one word changes the 64-bit state. Against accidents, not against attacks: fabrics authenticate
 * peers. */
static uint32_t hash_of(const void *bytes, size_t nbytes)
{
  const uint8_t *next = bytes;
  uint64_t state = UINT64_C(0x243f6a8885a308d3) + nbytes;
  for (size_t i = 0; i < nbytes; i += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, next + i, sizeof word);
    state = (state ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    state ^= state >> 29;
  }
  return (uint32_t)(state ^ state >> 32);
}

static uint32_t hash_header(sfd_frame_header_t header)
{
  header.header_hash = 0;
  return hash_of(&header, sizeof header);
}

void sfd_frame_seal(sfd_frame_header_t *header, const void *table)
{
  header->magic = SFD_FRAME_MAGIC;
  header->version = SFD_FRAME_VERSION;
  header->table_hash = hash_of(table, header->table_bytes);
  header->header_hash = hash_header(*header);
}

/* ---- The header ---- */

static sf_status_t check_magic(const uint8_t *bytes, uint64_t position)
{
  uint32_t magic;
  memcpy(&magic, bytes, sizeof magic);
  if (magic == SFD_FRAME_MAGIC)
    return SF_OK;
  return sfshm_error(SF_ERR_PROTO, "frame at byte %" PRIu64 " of the channel: magic 0x%08x, expected 0x%08x", position,
                     magic, SFD_FRAME_MAGIC);
}

static sf_status_t check_version(const uint8_t *bytes)
{
  uint16_t version;
  memcpy(&version, bytes + offsetof(sfd_frame_header_t, version), sizeof version);
  if (version == SFD_FRAME_VERSION)
    return SF_OK;
  return sfshm_error(SF_ERR_VERSION, "the daemon there speaks version %u of the channel protocol, this one version %u",
                     version, SFD_FRAME_VERSION);
}

static sf_status_t check_place(const sfd_frame_header_t *header, uint64_t position, uint32_t number)
{
  sfd_frame_type_t type = position == 0 ? SFD_FRAME_HELLO : SFD_FRAME_MESSAGES;
  if (header->number != number)
    return sfshm_error(SF_ERR_PROTO, "frame at byte %" PRIu64 " of the channel: number %u, expected %u", position,
                       header->number, number);
  if (header->type != type)
    return sfshm_error(SF_ERR_PROTO, "frame %u at byte %" PRIu64 " of the channel: type %u, expected %u", number,
                       position, header->type, type);
  return SF_OK;
}

static sf_status_t check_hello_lengths(const sfd_frame_header_t *header)
{
  if (header->table_bytes != sizeof(sfd_hello_t) || header->messages != 0 || header->payload_bytes != 0)
    return sfshm_error(SF_ERR_PROTO,
                       "hello of %u bytes with %u messages and %" PRIu64 " bytes behind them, expected %zu, 0 and 0",
                       header->table_bytes, header->messages, header->payload_bytes, sizeof(sfd_hello_t));
  return SF_OK;
}

static sf_status_t check_lengths(const sfd_frame_header_t *header, uint64_t position)
{
  if (header->type == SFD_FRAME_HELLO)
    return check_hello_lengths(header);
  if (header->messages == 0 || header->messages > SFD_FRAME_MESSAGES_MAX)
    return sfshm_error(SF_ERR_PROTO, "frame at byte %" PRIu64 " of the channel: %u messages, expected 1 to %u",
                       position, header->messages, SFD_FRAME_MESSAGES_MAX);
  if (header->table_bytes < header->messages * sizeof(sfd_message_head_t) ||
      header->table_bytes > SFD_FRAME_TABLE_MAX || header->table_bytes % 8 != 0)
    return sfshm_error(SF_ERR_PROTO,
                       "frame at byte %" PRIu64 " of the channel: table of %u bytes for %u messages, expected a "
                       "multiple of 8 of at least %zu for each and %u in all at most",
                       position, header->table_bytes, header->messages, sizeof(sfd_message_head_t),
                       SFD_FRAME_TABLE_MAX);
  return SF_OK;
}

sf_status_t sfd_frame_check_header(const uint8_t *bytes, size_t available, uint64_t position, uint32_t number,
                                   sfd_frame_header_t *header_p)
{
  sfd_frame_header_t header;
  sf_status_t status = SF_OK;
  if (available >= sizeof header.magic)
    status = check_magic(bytes, position);
  /* first: frames of other versions are not checked further */
  if (status == SF_OK && available >= offsetof(sfd_frame_header_t, type))
    status = check_version(bytes);
  if (status != SF_OK || available < sizeof header)
    return status;
  memcpy(&header, bytes, sizeof header);
  uint32_t hash = hash_header(header);
  if (header.header_hash != hash)
    return sfshm_error(SF_ERR_PROTO,
                       "frame at byte %" PRIu64 " of the channel: checksum of the header 0x%08x, "
                       "expected 0x%08x",
                       position, header.header_hash, hash);
  status = check_place(&header, position, number);
  if (status == SF_OK)
    status = check_lengths(&header, position);
  if (status == SF_OK)
    *header_p = header;
  return status;
}

/* ---- The table ---- */

static sf_status_t check_head(const sfd_frame_header_t *header, unsigned i, const sfd_message_head_t *head, size_t room)
{
  if (head->kind >= SFD_MESSAGE_KINDS)
    return sfshm_error(SF_ERR_PROTO, "frame %u: message %u of %u is of kind %u, expected less than %u", header->number,
                       i, header->messages, head->kind, SFD_MESSAGE_KINDS);
  if (head->payload_bytes > SFD_PAYLOAD_MAX)
    return sfshm_error(SF_ERR_PROTO,
                       "frame %u: message %u of %u has a payload of %" PRIu64 " bytes, expected at most %" PRIu64,
                       header->number, i, header->messages, head->payload_bytes, SFD_PAYLOAD_MAX);
  if (sfd_frame_table_bytes(head) > room)
    return sfshm_error(SF_ERR_PROTO,
                       "frame %u: message %u of %u has a payload of %" PRIu64 " bytes, more than the table holds",
                       header->number, i, header->messages, head->payload_bytes);
  return SF_OK;
}

sf_status_t sfd_frame_check_table(const sfd_frame_header_t *header, const uint8_t *table)
{
  uint32_t hash = hash_of(table, header->table_bytes);
  if (header->table_hash != hash)
    return sfshm_error(SF_ERR_PROTO, "frame %u: checksum of the table 0x%08x, expected 0x%08x", header->number,
                       header->table_hash, hash);
  if (header->type == SFD_FRAME_HELLO)
    return SF_OK;
  size_t used = 0;
  uint64_t payload_bytes = 0;
  for (unsigned i = 0; i < header->messages; i++) {
    size_t room = header->table_bytes - used;
    if (room < sizeof(sfd_message_head_t))
      return sfshm_error(SF_ERR_PROTO, "frame %u: the table ends before message %u of %u", header->number, i,
                         header->messages);
    const sfd_message_head_t *head = (const sfd_message_head_t *)(const void *)(table + used);
    sf_status_t status = check_head(header, i, head, room);
    if (status != SF_OK)
      return status;
    used += sfd_frame_table_bytes(head);
    payload_bytes += sfd_frame_is_inline(head) ? 0 : sfd_frame_padded(head->payload_bytes);
  }
  if (used != header->table_bytes || payload_bytes != header->payload_bytes)
    return sfshm_error(SF_ERR_PROTO,
                       "frame %u: table of %u bytes and %" PRIu64 " bytes behind it, expected %zu and %" PRIu64
                       " for its messages",
                       header->number, header->table_bytes, header->payload_bytes, used, payload_bytes);
  return SF_OK;
}

/* ---- The hello ---- */

/* Texts of others may have any bytes, and no end. */
static void copy_text(char to[SFD_HELLO_TEXT_SIZE], const char from[SFD_HELLO_TEXT_SIZE])
{
  char ended[SFD_HELLO_TEXT_SIZE];
  memcpy(ended, from, sizeof ended);
  ended[sizeof ended - 1] = '\0';
  sfd_text_printable(to, SFD_HELLO_TEXT_SIZE, ended);
}

sf_status_t sfd_frame_check_hello(const sfd_hello_t *theirs, int32_t node, const sfd_hello_t *ours)
{
  char text[SFD_HELLO_TEXT_SIZE];
  copy_text(text, theirs->cluster);
  if (strncmp(theirs->cluster, ours->cluster, sizeof ours->cluster) != 0)
    return sfshm_error(SF_ERR_PROTO, "the daemon there belongs to cluster \"%s\", this one to \"%s\"", text,
                       ours->cluster);
  copy_text(text, theirs->software);
  if (strncmp(theirs->software, ours->software, sizeof ours->software) != 0)
    return sfshm_error(SF_ERR_VERSION,
                       "the daemon there is \"%s\", this one \"%s\": all daemons of a cluster are of one version", text,
                       ours->software);
  if (theirs->node != node || theirs->nnodes != ours->nnodes)
    return sfshm_error(SF_ERR_PROTO,
                       "the daemon there says that it is node %d of %d, expected node %d of %d: the lists of nodes "
                       "differ",
                       theirs->node, theirs->nnodes, node, ours->nnodes);
  return SF_OK;
}
