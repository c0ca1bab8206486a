/* Hostile clients that belong to no job: see hostile.h. Nothing that they call has to succeed; they only must not stop
 * trying. */
#include "tests/system/hostile.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "proto/frame.h"
#include "tests/system/attacker.h"
#include "tests/system/work.h"

static size_t hello_frame(const sftest_attacker_t *attacker, const char *job, int nfds,
                          uint8_t frame[SFTEST_MAX_PACKED])
{
  Sfproto__Hello hello;
  Sfproto__Message message;
  sftest_make_hello(attacker, job, &hello, &message);
  return sftest_pack_frame(&message, nfds, frame);
}

static void fill_random(sftest_attacker_t *attacker, uint8_t *bytes, size_t length)
{
  for (size_t i = 0; i < length; i++)
    bytes[i] = (uint8_t)sftest_random(&attacker->random);
}

void sftest_send_garbage(sftest_rank_t *self)
{
  sftest_attacker_t attacker = sftest_attacker(self);
  static uint8_t bytes[65536];
  fill_random(&attacker, bytes, sizeof bytes);
  for (; !attacker.assault->over; attacker.assault->attempts++) {
    int fd = sftest_attacker_connect(&attacker);
    size_t length = 1 + (size_t)sftest_below(&attacker.random, sizeof bytes - SFPROTO_HEADER_BYTES);
    sfproto_header_t header = sfproto_header_make(length, 0);
    if (sftest_below(&attacker.random, 2) == 0)
      memcpy(bytes, &header, sizeof header);
    else
      fill_random(&attacker, bytes, sizeof header);
    if (fd < 0)
      continue;
    while (sftest_below(&attacker.random, 4) != 0 && sftest_send_bytes(fd, bytes, length + sizeof header, NULL, 0))
      ;
    close(fd);
  }
}

void sftest_send_fragments(sftest_rank_t *self)
{
  sftest_attacker_t attacker = sftest_attacker(self);
  uint8_t frame[SFTEST_MAX_PACKED];
  for (; !attacker.assault->over; attacker.assault->attempts++) {
    int fd = sftest_attacker_connect(&attacker), announced = (int)sftest_below(&attacker.random, 4);
    /* With its own socket in hand the daemon does not see that we close it: only now and then, as such a connection
     * lives until the daemon has waited long enough for a Hello. */
    int sent_fd = sftest_below(&attacker.random, 32) == 0 ? fd : STDERR_FILENO, three[] = {sent_fd, sent_fd, sent_fd};
    size_t length = hello_frame(&attacker, "fragments", announced, frame), sent = 0;
    size_t until = 1 + (size_t)sftest_below(&attacker.random, (int64_t)length);
    if (fd < 0)
      continue;
    while (sent < until) {
      size_t piece = 1 + (size_t)sftest_below(&attacker.random, 20);
      int nfds = sftest_below(&attacker.random, 3) == 0 ? (int)sftest_below(&attacker.random, 4) : 0;
      piece = piece < until - sent ? piece : until - sent;
      if (!sftest_send_bytes(fd, frame + sent, piece, three, nfds))
        break;
      sent += piece;
    }
    close(fd);
  }
}

/* A descriptor of a random kind. */
static int make_descriptor(sftest_attacker_t *attacker)
{
  int ends[2], fd;
  switch (sftest_below(&attacker->random, 6)) {
  case 0:
    return open("/dev/null", O_RDWR | O_CLOEXEC);
  case 1:
    return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  case 2: /* not sealed, and larger than any memory */
    fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    (void)!ftruncate(fd, (off_t)1 << 50);
    return fd;
  case 3: /* sealed, but without anything in it */
    fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    (void)!ftruncate(fd, sftest_below(&attacker->random, 10000));
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);
    return fd;
  case 4: /* our own socket to the daemon */
    return sftest_attacker_connect(attacker);
  default:
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return -1;
    close(ends[1]);
    return ends[0];
  }
}

void sftest_send_descriptors(sftest_rank_t *self)
{
  sftest_attacker_t attacker = sftest_attacker(self);
  uint8_t frame[SFTEST_MAX_PACKED];
  for (; !attacker.assault->over; attacker.assault->attempts++) {
    int fd = sftest_attacker_connect(&attacker), fds[100];
    int n = sftest_below(&attacker.random, 2) == 0 ? 3 : (int)sftest_below(&attacker.random, 100);
    int announced = sftest_below(&attacker.random, 2) == 0 ? n : 3;
    for (int i = 0; i < n; i++)
      fds[i] = i < 3 || fds[i - 1] < 0 ? make_descriptor(&attacker) : dup(fds[i - 1]);
    size_t length = hello_frame(&attacker, "descriptors", announced, frame);
    if (fd >= 0)
      sftest_send_bytes(fd, frame, length, fds, n);
    for (int i = 0; i < n; i++)
      close(fds[i]);
    close(fd);
  }
}

void sftest_flood_connections(sftest_rank_t *self)
{
  enum { HELD = 400 };
  sftest_attacker_t attacker = sftest_attacker(self);
  int held[HELD];
  uint8_t frame[SFTEST_MAX_PACKED];
  memset(held, -1, sizeof held);
  for (; !attacker.assault->over; attacker.assault->attempts++) {
    int *fd = &held[sftest_below(&attacker.random, HELD)];
    if (*fd >= 0)
      close(*fd);
    *fd = sftest_attacker_connect(&attacker);
    size_t length = hello_frame(&attacker, "connections", 60, frame);
    int many[60];
    for (int i = 0; i < 60; i++)
      many[i] = *fd;
    if (*fd >= 0 && sftest_below(&attacker.random, 2) == 0)
      sftest_send_bytes(*fd, frame, length / 2, many, 60);
  }
}
