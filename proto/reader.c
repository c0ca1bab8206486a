/* Input of a control connection: see reader.h. All input is checked here. The connection's thread. */
#include "proto/reader.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/frame.h"
#include "proto/unpack.h"
#include "shm/base/error.h"

/* holds most messages, and several small ones */
#define MIN_DATA_BYTES ((size_t)8192)

/* Reading stops at so many bytes of messages that are not taken, so that a flood stays in the socket. */
#define MAX_READY_BYTES ((size_t)65536)

struct sfproto_ready {
  sfproto_ready_t *next;
  size_t length_bytes;
  sfproto_incoming_t incoming;
};

static void drop_batches(sfproto_reader_t *reader)
{
  for (int b = 0; b < reader->nbatches; b++)
    for (int i = 0; i < reader->batches[b].nfds; i++)
      sfproto_close_received(reader->batches[b].fds[i]);
  reader->nbatches = 0;
}

static void drop_data(sfproto_reader_t *reader)
{
  free(reader->data);
  reader->data = NULL;
  reader->size_bytes = 0;
  reader->used_bytes = 0;
}

void sfproto_reader_release(sfproto_reader_t *reader)
{
  sfproto_incoming_t incoming;
  while (sfproto_reader_next(reader, &incoming))
    sfproto_incoming_free(&incoming);
  drop_batches(reader);
  drop_data(reader);
}

bool sfproto_reader_next(sfproto_reader_t *reader, sfproto_incoming_t *incoming)
{
  sfproto_ready_t *ready = reader->first;
  if (ready == NULL)
    return false;
  reader->first = ready->next;
  if (reader->first == NULL)
    reader->last = NULL;
  reader->ready_bytes -= ready->length_bytes;
  *incoming = ready->incoming;
  free(ready);
  return true;
}

/* ---- Descriptors ---- */

/* At most one batch is left of earlier calls: parse refuses others as soon as the bytes that came with them can't
 * contain the start of a frame; and of an incomplete frame only the start matters. */
static void add_batch(sfproto_reader_t *reader, const sfproto_batch_t *batch)
{
  assert(reader->nbatches < 2);
  reader->batches[reader->nbatches++] = *batch;
}

static void remove_first_batch(sfproto_reader_t *reader)
{
  assert(reader->nbatches > 0);
  if (--reader->nbatches > 0)
    reader->batches[0] = reader->batches[1];
}

static sf_status_t out_of_fds(uint64_t position)
{
  return sfshm_error(SF_ERR_LIMIT,
                     "descriptors sent around byte %" PRIu64
                     " of the connection could not be received: %s, process %d, has reached its limit of open files "
                     "(ulimit -n)",
                     position, program_invocation_short_name, (int)getpid());
}

static sf_status_t stray_fds(const sfproto_batch_t *batch)
{
  return sfshm_error(SF_ERR_PROTO,
                     "%d descriptors came with bytes %" PRIu64 " to %" PRIu64
                     " of the connection, where no frame that announces descriptors starts",
                     batch->nfds, batch->start, batch->end - 1);
}

/* Whether the frame from start has nfds descriptors, and no others came before end: the frame's end, or with an
 * incomplete header the end of input. */
static sf_status_t check_fds(const sfproto_reader_t *reader, uint64_t start, uint64_t end, int nfds)
{
  const sfproto_batch_t *first = reader->nbatches > 0 ? &reader->batches[0] : NULL;
  bool own = nfds > 0 && first != NULL && first->start <= start;
  if (own && first->truncated)
    return out_of_fds(first->start);
  if (nfds > 0 && (!own || first->nfds != nfds))
    return sfshm_error(SF_ERR_PROTO,
                       "frame at byte %" PRIu64 " of the connection: %d descriptors came, its header says %d", start,
                       own ? first->nfds : 0, nfds);
  for (int b = own ? 1 : 0; b < reader->nbatches; b++)
    if (reader->batches[b].end <= end)
      return stray_fds(&reader->batches[b]);
  return SF_OK;
}

/* Refuses too many descriptors before the frame is complete. */
static sf_status_t check_number(const sfproto_reader_t *reader, const sfproto_batch_t *batch)
{
  int max_fds = reader->max_fds == 0 ? SFPROTO_MAX_FDS : reader->max_fds;
  if (batch->nfds <= max_fds)
    return SF_OK;
  return sfshm_error(SF_ERR_PROTO,
                     "%d descriptors came with bytes %" PRIu64 " to %" PRIu64
                     " of the connection, at most %d are accepted",
                     batch->nfds, batch->start, batch->end - 1, max_fds);
}

/* Incomplete header: descriptors that came with its first byte may belong to it, later ones can't. */
static sf_status_t check_fds_early(const sfproto_reader_t *reader, uint64_t start)
{
  for (int b = 0; b < reader->nbatches; b++)
    if (reader->batches[b].start > start)
      return stray_fds(&reader->batches[b]);
  return SF_OK;
}

/* ---- Frames ---- */

/* Makes a message of the packed bytes, with the first batch of descriptors if it announces any. */
static sf_status_t deliver(sfproto_reader_t *reader, const sfproto_header_t *header, const uint8_t *packed,
                           uint64_t position)
{
  sfproto_ready_t *ready = calloc(1, sizeof *ready);
  if (ready == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a received message");
  ProtobufCMessage *message;
  sf_status_t status = sfproto_unpack(&sfproto__message__descriptor, header->length, packed, &message);
  if (status != SF_OK) {
    free(ready);
    return sfshm_error(status, "frame at byte %" PRIu64 " of the connection: %s %u bytes%s", position,
                       status == SF_ERR_NOMEM ? "no memory for a message of" : "its", header->length,
                       status == SF_ERR_NOMEM ? "" : " are not a message of this protocol");
  }
  ready->incoming.message = (Sfproto__Message *)message;
  if (header->nfds > 0) {
    ready->incoming.nfds = header->nfds;
    memcpy(ready->incoming.fds, reader->batches[0].fds, header->nfds * sizeof(int));
    remove_first_batch(reader);
  }
  ready->length_bytes = SFPROTO_HEADER_BYTES + header->length;
  reader->ready_bytes += ready->length_bytes;
  if (reader->last != NULL)
    reader->last->next = ready;
  else
    reader->first = ready;
  reader->last = ready;
  return SF_OK;
}

/* Takes the frame at *offset if it is complete, and moves *offset behind it. */
static sf_status_t take_frame(sfproto_reader_t *reader, size_t *offset)
{
  uint64_t start = reader->position + *offset;
  const uint8_t *bytes = reader->data + *offset;
  size_t available = reader->used_bytes - *offset;
  sfproto_header_t header;
  sf_status_t status = sfproto_header_check(bytes, available, start, &header);
  if (status != SF_OK)
    return status;
  if (available < SFPROTO_HEADER_BYTES)
    return check_fds_early(reader, start);
  size_t length = SFPROTO_HEADER_BYTES + header.length;
  status = check_fds(reader, start, start + length, header.nfds);
  if (status != SF_OK || available < length)
    return status;
  status = deliver(reader, &header, bytes + SFPROTO_HEADER_BYTES, start);
  if (status == SF_OK)
    *offset += length;
  return status;
}

static sf_status_t take_frames(sfproto_reader_t *reader)
{
  size_t offset = 0;
  size_t before;
  sf_status_t status;
  do {
    before = offset;
    status = take_frame(reader, &offset);
  } while (status == SF_OK && offset > before);
  reader->used_bytes -= offset;
  reader->position += offset;
  memmove(reader->data, reader->data + offset, reader->used_bytes);
  return status;
}

/* ---- Reading ---- */

/* Makes room for the first frame and one more header, so that a read that completes the frame does not fill the buffer
 * if nothing is left. A large buffer is freed after its frame. */
static sf_status_t fit_data(sfproto_reader_t *reader)
{
  size_t size = MIN_DATA_BYTES;
  if (reader->used_bytes >= SFPROTO_HEADER_BYTES) {
    sfproto_header_t header; /* checked on arrival */
    memcpy(&header, reader->data, sizeof header);
    if (size < 2 * SFPROTO_HEADER_BYTES + header.length)
      size = 2 * SFPROTO_HEADER_BYTES + header.length;
  }
  if (size == reader->size_bytes)
    return SF_OK;
  uint8_t *data = realloc(reader->data, size);
  if (data == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a frame of %zu bytes", size);
  reader->data = data;
  reader->size_bytes = size;
  return SF_OK;
}

static void collect_fds(struct msghdr *msg, sfproto_batch_t *batch)
{
  for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg != NULL; cmsg = CMSG_NXTHDR(msg, cmsg)) {
    if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
      continue;
    size_t bytes = cmsg->cmsg_len - CMSG_LEN(0);
    memcpy(batch->fds + batch->nfds, CMSG_DATA(cmsg), bytes);
    batch->nfds += (int)(bytes / sizeof(int));
  }
  batch->truncated = (msg->msg_flags & MSG_CTRUNC) != 0;
}

/* Removes bytes from the socket after MSG_PEEK. The kernel drops their descriptors without blocking, as peeking has
 * made duplicates. */
static void skip(int fd, uint8_t *bytes, size_t length)
{
  ssize_t taken = 1;
  for (size_t done = 0; done < length && taken > 0; done += taken > 0 ? (size_t)taken : 0)
    taken = recv(fd, bytes + done, length - done, MSG_DONTWAIT);
}

/* As recvmsg, into the free part of the data. */
static ssize_t receive(sfproto_reader_t *reader, int fd, bool wait, sfproto_batch_t *batch)
{
  union {
    struct cmsghdr align;
    char space[CMSG_SPACE(sizeof batch->fds)];
  } control;
  struct iovec rest = {.iov_base = reader->data + reader->used_bytes,
                       .iov_len = reader->size_bytes - reader->used_bytes};
  struct msghdr msg = {
      .msg_iov = &rest, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof batch->fds)};
  int flags = (wait ? 0 : MSG_DONTWAIT) | MSG_CMSG_CLOEXEC | (reader->look_first ? MSG_PEEK : 0);
  ssize_t received;
  do
    received = recvmsg(fd, &msg, flags);
  while (received < 0 && errno == EINTR);
  batch->nfds = 0;
  batch->truncated = false;
  if (received > 0) {
    batch->start = reader->position + reader->used_bytes;
    batch->end = batch->start + (uint64_t)received;
    collect_fds(&msg, batch);
  }
  if (received > 0 && reader->look_first && !batch->truncated)
    skip(fd, rest.iov_base, (size_t)received);
  return received;
}

static sf_status_t end_of_stream(const sfproto_reader_t *reader)
{
  if (reader->used_bytes > 0)
    return sfshm_error(SF_ERR_DAEMON_LOST,
                       "the other end closed the control connection in the middle of the frame at byte %" PRIu64,
                       reader->position);
  return sfshm_error(SF_ERR_DAEMON_LOST, "the other end closed the control connection");
}

/* Whether there may be more to read, without asking the kernel: a read ends early only behind descriptors, or when
 * nothing is left. Reads on after half a frame, so that the end of a stream within a frame is found with it. */
static bool may_be_more(const sfproto_reader_t *reader, size_t room, size_t received, const sfproto_batch_t *batch)
{
  return received == room || batch->nfds > 0 || reader->used_bytes > 0;
}

/* One recvmsg and its results; *more_p: there may be more to read. */
static sf_status_t read_once(sfproto_reader_t *reader, int fd, bool wait, bool *more_p)
{
  sf_status_t status = fit_data(reader);
  if (status != SF_OK)
    return status;
  sfproto_batch_t batch;
  size_t room = reader->size_bytes - reader->used_bytes;
  ssize_t received = receive(reader, fd, wait, &batch);
  *more_p = received > 0;
  if (received == 0)
    return end_of_stream(reader);
  if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    return SF_OK;
  if (received < 0)
    return sfshm_error_errno(errno == ECONNRESET ? SF_ERR_DAEMON_LOST : SF_ERR_SYS,
                             "cannot read from the control connection");
  reader->used_bytes += (size_t)received;
  if (batch.nfds > 0 || batch.truncated)
    add_batch(reader, &batch);
  status = take_frames(reader);
  *more_p = may_be_more(reader, room, (size_t)received, &batch);
  if (status == SF_OK)
    status = check_number(reader, &batch);
  return status == SF_OK && batch.truncated ? out_of_fds(batch.start) : status;
}

/* The first error is final: later bytes can't be assigned to frames. */
static void fail(sfproto_reader_t *reader, sf_status_t status)
{
  reader->status = status;
  snprintf(reader->detail, sizeof reader->detail, "%s", sfshm_error_detail());
  drop_batches(reader);
  drop_data(reader);
}

sf_status_t sfproto_reader_read(sfproto_reader_t *reader, int fd, bool wait)
{
  if (reader->status != SF_OK)
    return sfshm_error(reader->status, "%s", reader->detail);
  bool more = true;
  while (more && reader->ready_bytes < MAX_READY_BYTES) {
    sf_status_t status = read_once(reader, fd, wait, &more);
    wait = false;
    if (status != SF_OK) {
      fail(reader, status);
      return status;
    }
  }
  return SF_OK;
}
