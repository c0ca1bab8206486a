/* What hostile clients share: see attacker.h. */
#include "tests/system/attacker.h"

#include <sys/socket.h>

#include "proto/address.h"
#include "proto/frame.h"
#include "tests/system/work.h"

sftest_attacker_t sftest_attacker(sftest_rank_t *self)
{
  return (sftest_attacker_t){.self = self, .assault = self->argument, .random = sftest_seed() + (uint64_t)getpid()};
}

int sftest_attacker_connect(const sftest_attacker_t *attacker)
{
  int fd = -1;
  if (sfproto_connect(attacker->self->options.socket_path, &fd) != SF_OK)
    return -1;
  return fd;
}

bool sftest_send_bytes(int socket, const void *bytes, size_t length, const int fds[], int n)
{
  union {
    struct cmsghdr align;
    char space[CMSG_SPACE(253 * sizeof(int))];
  } control = {0};
  struct iovec part = {(void *)(uintptr_t)bytes, length};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (n > 0) {
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
    memcpy(CMSG_DATA(header), fds, (size_t)n * sizeof(int));
  }
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

size_t sftest_pack_frame(const Sfproto__Message *message, int nfds, uint8_t frame[SFTEST_MAX_PACKED])
{
  size_t length = sfproto__message__pack(message, frame + SFPROTO_HEADER_BYTES);
  sfproto_header_t header = sfproto_header_make(length, nfds);
  memcpy(frame, &header, sizeof header);
  return sizeof header + length;
}

void sftest_make_hello(const sftest_attacker_t *attacker, const char *job, Sfproto__Hello *hello,
                       Sfproto__Message *message)
{
  sfproto__hello__init(hello);
  sfproto__message__init(message);
  hello->role = SFPROTO__HELLO__ROLE__CLIENT;
  hello->job = (char *)(uintptr_t)job; /* only read */
  hello->key = (char *)(uintptr_t)attacker->self->options.key;
  hello->has_rank = hello->has_size = hello->has_pid = hello->has_probe_address = hello->has_probe_value = true;
  hello->size = 1;
  hello->pid = (int32_t)getpid();
  message->request = 1;
  message->body_case = SFPROTO__MESSAGE__BODY_HELLO;
  message->hello = hello;
}
