/* Output of a control connection: see writer.h. A sendmsg with descriptors carries bytes of one frame only, as the
 * kernel attaches descriptors to a whole sendmsg; frames without descriptors are sent together. The connection's
 * thread. */
#include "proto/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/conn.h"
#include "proto/frame.h"
#include "shm/base/error.h"

/* frames per sendmsg */
#define MAX_GATHERED 16

struct sfproto_output {
  sfproto_output_t *next;
  size_t length_bytes;
  size_t sent_bytes;
  int nfds; /* still to be sent */
  int fds[SFPROTO_MAX_FDS];
  uint8_t bytes[];
};

static void close_fds(sfproto_output_t *output)
{
  for (int i = 0; i < output->nfds; i++)
    close(output->fds[i]);
  output->nfds = 0;
}

static void free_output(sfproto_output_t *output)
{
  close_fds(output);
  free(output);
}

void sfproto_writer_release(sfproto_writer_t *writer)
{
  while (writer->first != NULL) {
    sfproto_output_t *output = writer->first;
    writer->first = output->next;
    free_output(output);
  }
  *writer = (sfproto_writer_t){0};
}

static sf_status_t duplicate_fds(sfproto_output_t *output, const int fds[], int nfds)
{
  for (int i = 0; i < nfds; i++) {
    int fd = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
      return sfshm_error_errno(errno == EBADF ? SF_ERR_ARG : SF_ERR_LIMIT,
                               "cannot duplicate descriptor %d (number %d of %d of a message)", fds[i], i, nfds);
    output->fds[output->nfds++] = fd;
  }
  return SF_OK;
}

static sf_status_t check_limits(size_t length, int nfds)
{
  if (length > SFPROTO_MAX_LENGTH)
    return sfshm_error(SF_ERR_LIMIT, "message of %zu bytes, a frame holds at most %u", length, SFPROTO_MAX_LENGTH);
  if (nfds < 0 || nfds > SFPROTO_MAX_FDS)
    return sfshm_error(SF_ERR_LIMIT, "message with %d descriptors, a frame holds at most %d", nfds, SFPROTO_MAX_FDS);
  return SF_OK;
}

/* The frame, without descriptors; NULL: no memory. */
static sfproto_output_t *pack(const Sfproto__Message *message, size_t length, int nfds)
{
  sfproto_output_t *output = malloc(sizeof *output + SFPROTO_HEADER_BYTES + length);
  if (output == NULL)
    return NULL;
  *output = (sfproto_output_t){.length_bytes = SFPROTO_HEADER_BYTES + length};
  sfproto_header_t header = sfproto_header_make(length, nfds);
  memcpy(output->bytes, &header, sizeof header);
  sfproto__message__pack(message, output->bytes + SFPROTO_HEADER_BYTES);
  return output;
}

static void append(sfproto_writer_t *writer, sfproto_output_t *output)
{
  if (writer->last != NULL)
    writer->last->next = output;
  else
    writer->first = output;
  writer->last = output;
  writer->queued_bytes += output->length_bytes;
  writer->queued_fds += output->nfds;
}

sf_status_t sfproto_writer_queue(sfproto_writer_t *writer, const Sfproto__Message *message, const int fds[], int nfds)
{
  size_t length = sfproto__message__get_packed_size(message);
  sf_status_t status = check_limits(length, nfds);
  if (status != SF_OK)
    return status;
  sfproto_output_t *output = pack(message, length, nfds);
  if (output == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a message of %zu bytes", length);
  status = duplicate_fds(output, fds, nfds);
  if (status != SF_OK) {
    free_output(output);
    return status;
  }
  append(writer, output);
  return SF_OK;
}

/* The rest of the first frame, and following frames that can be sent with it; returns their number. */
static size_t gather(const sfproto_writer_t *writer, struct iovec iov[MAX_GATHERED])
{
  size_t n = 0;
  for (sfproto_output_t *output = writer->first; output != NULL && n < MAX_GATHERED; output = output->next) {
    if (n > 0 && output->nfds > 0)
      break;
    iov[n++] = (struct iovec){.iov_base = output->bytes + output->sent_bytes,
                              .iov_len = output->length_bytes - output->sent_bytes};
    if (output->nfds > 0)
      break;
  }
  return n;
}

/* As sendmsg. */
static ssize_t send_gathered(const sfproto_writer_t *writer, int fd)
{
  union {
    struct cmsghdr align;
    char space[CMSG_SPACE(SFPROTO_MAX_FDS * sizeof(int))];
  } control;
  struct iovec iov[MAX_GATHERED];
  struct msghdr msg = {.msg_iov = iov, .msg_iovlen = gather(writer, iov)};
  const sfproto_output_t *output = writer->first;
  if (output->nfds > 0) {
    size_t fds_bytes = (size_t)output->nfds * sizeof(int);
    memset(&control, 0, sizeof control);
    msg.msg_control = &control;
    msg.msg_controllen = CMSG_SPACE(fds_bytes);
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SCM_RIGHTS;
    cmsg->cmsg_len = CMSG_LEN(fds_bytes);
    memcpy(CMSG_DATA(cmsg), output->fds, fds_bytes);
  }
  ssize_t sent;
  do
    sent = sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent;
}

static void remove_first(sfproto_writer_t *writer)
{
  sfproto_output_t *output = writer->first;
  writer->first = output->next;
  if (writer->first == NULL)
    writer->last = NULL;
  free_output(output);
}

static void account(sfproto_writer_t *writer, size_t sent_bytes)
{
  writer->queued_fds -= writer->first->nfds;
  close_fds(writer->first); /* sent with the first byte, and not to be sent again */
  writer->queued_bytes -= sent_bytes;
  while (sent_bytes > 0) {
    sfproto_output_t *output = writer->first;
    size_t left = output->length_bytes - output->sent_bytes;
    if (sent_bytes < left) {
      output->sent_bytes += sent_bytes;
      return;
    }
    sent_bytes -= left;
    remove_first(writer);
  }
}

static sf_status_t send_error(void)
{
  switch (errno) {
  case EPIPE:
  case ECONNRESET:
    return sfshm_error_errno(SF_ERR_DAEMON_LOST, "the other end of the control connection is gone");
  default:
    return sfshm_error_errno(SF_ERR_SYS, "cannot write to the control connection");
  }
}

sf_status_t sfproto_writer_flush(sfproto_writer_t *writer, int fd)
{
  writer->crowded = false;
  while (writer->first != NULL) {
    ssize_t sent = send_gathered(writer, fd);
    writer->crowded = sent < 0 && errno == ETOOMANYREFS;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETOOMANYREFS))
      return SF_OK;
    if (sent < 0)
      return send_error();
    account(writer, (size_t)sent);
  }
  return SF_OK;
}

void sfproto_writer_withdraw(sfproto_writer_t *writer)
{
  sfproto_output_t *last = writer->last, *before = NULL;
  if (last == NULL || last->sent_bytes > 0)
    return;
  for (sfproto_output_t *output = writer->first; output != last; output = output->next)
    before = output;
  if (before != NULL)
    before->next = NULL;
  else
    writer->first = NULL;
  writer->last = before;
  writer->queued_bytes -= last->length_bytes;
  writer->queued_fds -= last->nfds;
  free_output(last);
}
