/* Frame headers: see frame.h. Pure functions, any thread. */
#include "proto/frame.h"

#include <inttypes.h>
#include <string.h>

#include "proto/conn.h"
#include "shm/base/error.h"

sfproto_header_t sfproto_header_make(size_t length, int nfds)
{
  return (sfproto_header_t){
      .magic = SFPROTO_MAGIC, .version = SFPROTO_VERSION, .nfds = (uint16_t)nfds, .length = (uint32_t)length};
}

static sf_status_t check_magic(const uint8_t *bytes, uint64_t position)
{
  uint32_t magic;
  memcpy(&magic, bytes, sizeof magic);
  if (magic == SFPROTO_MAGIC)
    return SF_OK;
  return sfshm_error(SF_ERR_PROTO, "frame at byte %" PRIu64 " of the connection: magic 0x%08x, expected 0x%08x",
                     position, magic, SFPROTO_MAGIC);
}

static sf_status_t check_fields(const sfproto_header_t *header, uint64_t position)
{
  /* first: frames of other versions are not checked further */
  if (header->version != SFPROTO_VERSION)
    return sfshm_error(SF_ERR_VERSION, "the other end speaks version %u of the control protocol, this end version %u",
                       header->version, SFPROTO_VERSION);
  if (header->reserved != 0)
    return sfshm_error(SF_ERR_PROTO, "frame at byte %" PRIu64 " of the connection: reserved field 0x%08x, expected 0",
                       position, header->reserved);
  if (header->length > SFPROTO_MAX_LENGTH)
    return sfshm_error(SF_ERR_PROTO, "frame at byte %" PRIu64 " of the connection: message of %u bytes, at most %u",
                       position, header->length, SFPROTO_MAX_LENGTH);
  if (header->nfds > SFPROTO_MAX_FDS)
    return sfshm_error(SF_ERR_PROTO, "frame at byte %" PRIu64 " of the connection: %u descriptors, at most %d",
                       position, header->nfds, SFPROTO_MAX_FDS);
  return SF_OK;
}

sf_status_t sfproto_header_check(const uint8_t *bytes, size_t available, uint64_t position, sfproto_header_t *header_p)
{
  if (available >= sizeof header_p->magic) {
    sf_status_t status = check_magic(bytes, position);
    if (status != SF_OK)
      return status;
  }
  if (available < SFPROTO_HEADER_BYTES)
    return SF_OK;
  sfproto_header_t header;
  memcpy(&header, bytes, sizeof header);
  sf_status_t status = check_fields(&header, position);
  if (status == SF_OK)
    *header_p = header;
  return status;
}
