/* Frames and descriptors made by hand, for tests of what a control connection does with what arrives. */
#ifndef SFTEST_FRAMES_H
#define SFTEST_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "proto/conn.h"
#include "proto/frame.h"
#include "tests/unit/descriptors.h"

#define SFTEST_MAX_FRAME 4096
#define SFTEST_MAX_SENT_FDS 253

typedef struct sftest_frame {
  size_t length;
  uint8_t bytes[SFTEST_MAX_FRAME];
} sftest_frame_t;

/* An acceptable frame around a small message; tests then spoil it. */
static inline sftest_frame_t sftest_frame(uint64_t request, int nfds)
{
  Sfproto__Done done = SFPROTO__DONE__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  message.request = request;
  message.body_case = SFPROTO__MESSAGE__BODY_DONE;
  message.done = &done;
  sftest_frame_t frame;
  size_t packed = sfproto__message__pack(&message, frame.bytes + SFPROTO_HEADER_BYTES);
  sfproto_header_t header = sfproto_header_make(packed, nfds);
  memcpy(frame.bytes, &header, sizeof header);
  frame.length = sizeof header + packed;
  return frame;
}

static inline void sftest_frame_append(sftest_frame_t *frame, sftest_frame_t other)
{
  memcpy(frame->bytes + frame->length, other.bytes, other.length);
  frame->length += other.length;
}

/* One sendmsg that doesn't block; nfds copies of fd go along. */
static inline bool sftest_send(int socket, const uint8_t *bytes, size_t length, int fd, int nfds)
{
  union {
    struct cmsghdr align;
    char space[CMSG_SPACE(SFTEST_MAX_SENT_FDS * sizeof(int))];
  } control;
  struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
  struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
  if (nfds > 0) {
    memset(&control, 0, sizeof control);
    msg.msg_control = &control;
    msg.msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int));
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SCM_RIGHTS;
    cmsg->cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int));
    for (int i = 0; i < nfds; i++)
      memcpy(CMSG_DATA(cmsg) + (size_t)i * sizeof(int), &fd, sizeof fd);
  }
  return sendmsg(socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length;
}

/* A descriptor that can be told from others after it has travelled. */
static inline int sftest_tagged_fd(int tag)
{
  int fd = memfd_create("tag", MFD_CLOEXEC);
  return fd >= 0 && ftruncate(fd, tag) == 0 ? fd : -1;
}

static inline int sftest_tag_of(int fd)
{
  struct stat stat;
  return fstat(fd, &stat) == 0 ? (int)stat.st_size : -1;
}

#endif
