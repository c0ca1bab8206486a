/* Fuzz target: whatever bytes and descriptors arrive on a control connection, it refuses or delivers them and keeps
 * nothing open. Built with libFuzzer, or with SFTEST_STANDALONE as an ordinary program that makes up its inputs.
 *
 * An input is a sequence of sendmsg calls: a byte with the number of descriptors (below 128: none, else the number
 * above 128), two bytes with the length (low one first; of the high one, 0x80 tells not to read yet and 0x40 not to
 * take messages yet), the bytes. */
#include <fcntl.h>

#include "tests/unit/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition, const char *what)
{
  if (condition)
    return;
  fprintf(stderr, "fuzz_frames: %s\n", what);
  abort();
}

/* The number that the next descriptor will get: the same before and after if nothing was left open below it. */
static int lowest_free_fd(void)
{
  int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  close(fd);
  return fd;
}

static int drain(sfproto_conn_t *conn)
{
  int taken = 0;
  for (sfproto_incoming_t incoming; sfproto_conn_next(conn, &incoming); taken++) {
    require(incoming.message != NULL, "no message");
    require(incoming.nfds >= 0 && incoming.nfds <= SFPROTO_MAX_FDS, "number of descriptors out of range");
    for (int i = 0; i < incoming.nfds; i++)
      require(fcntl(incoming.fds[i], F_GETFD) == FD_CLOEXEC, "a descriptor is closed or would survive exec");
    require(sfproto__message__get_packed_size(incoming.message) > 0, "a message without content");
    sfproto_incoming_free(&incoming);
  }
  return taken;
}

/* Reads, but takes the messages only now and then, so that some are left when the connection ends. */
static sf_status_t step(sfproto_conn_t *conn, bool take)
{
  sf_status_t status = sfproto_conn_read(conn);
  require(status == SF_OK || status == SF_ERR_PROTO || status == SF_ERR_VERSION || status == SF_ERR_DAEMON_LOST,
          "unexpected status");
  if (status != SF_OK) {
    require(sfproto_conn_read(conn) == status, "an error did not stay");
    drain(conn);
    require(sfproto_conn_read(conn) == status && drain(conn) == 0, "something came after an error");
  } else if (take) {
    drain(conn);
  }
  return status;
}

static void feed(int peer, sfproto_conn_t *conn, const uint8_t *data, size_t size)
{
  bool take = true;
  while (size > 3) {
    int nfds = data[0] < 128 ? 0 : data[0] - 128;
    size_t length = (size_t)data[1] | (size_t)(data[2] & 0x3f) << 8;
    bool wait = (data[2] & 0x80) != 0;
    take = (data[2] & 0x40) == 0;
    data += 3;
    size -= 3;
    length = length < size ? length : size;
    if (length > 0)
      sftest_send(peer, data, length, STDERR_FILENO, nfds);
    data += length;
    size -= length;
    if (!wait && step(conn, take) != SF_OK)
      return;
  }
  if (take)
    shutdown(peer, SHUT_WR);
  step(conn, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  int before = lowest_free_fd(), ends[2];
  sfproto_conn_t *conn;
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no socket pair");
  require(sfproto_conn_create(ends[1], &conn) == SF_OK, "no connection");
  feed(ends[0], conn, data, size);
  sfproto_conn_destroy(conn);
  close(ends[0]);
  require(lowest_free_fd() == before, "descriptors were left open");
  return 0;
}

#ifdef SFTEST_STANDALONE

#include "tests/fuzz/made.h"

#define ROUNDS 20000u

/* A message with nested, repeated and packed fields. */
static void make_graph_create(sftest_frame_t *frame, int nfds)
{
  Sfproto__EdgeBlock blocks[8], *pointers[8];
  for (unsigned i = 0; i < 8; i++) {
    sfproto__edge_block__init(&blocks[i]);
    blocks[i].rank = (int32_t)i;
    blocks[i].offset = sftest_random(&random_state);
    pointers[i] = &blocks[i];
  }
  Sfproto__GraphCreate create = SFPROTO__GRAPH_CREATE__INIT;
  create.n_blocks = below(9);
  create.blocks = pointers;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_CREATE;
  message.graph_create = &create;
  size_t packed = sfproto__message__pack(&message, frame->bytes + SFPROTO_HEADER_BYTES);
  sfproto_header_t header = sfproto_header_make(packed, nfds);
  memcpy(frame->bytes, &header, sizeof header);
  frame->length = sizeof header + packed;
}

static void spoil(sftest_frame_t *frame)
{
  spoil_bytes(frame->bytes, &frame->length, below(2) ? frame->length : SFPROTO_HEADER_BYTES);
}

/* Appends the frame as one or more sendmsg. */
static void append(sftest_made_t *input, const sftest_frame_t *frame, int nfds)
{
  for (size_t done = 0; done < frame->length; nfds = below(400) == 0 ? 2 : 0) {
    size_t left = frame->length - done, part = below(2) ? left : 1 + below((unsigned)left);
    input->bytes[input->size++] = nfds > 0 ? (uint8_t)(128 + nfds) : (uint8_t)below(4);
    input->bytes[input->size++] = (uint8_t)(part & 0xff);
    input->bytes[input->size++] = (uint8_t)(part >> 8 | (below(3) ? 0u : 0x80u) | (below(3) ? 0u : 0x40u));
    memcpy(input->bytes + input->size, frame->bytes + done, part);
    input->size += part;
    done += part;
  }
}

static void make_input(sftest_made_t *input)
{
  input->size = 0;
  bool clean = below(4) == 0;
  for (unsigned n = 1 + below(8); n > 0; n--) {
    int nfds = below(3) == 0 ? (int)below(7) : 0, sent = !clean && below(30) == 0 ? (int)below(80) : nfds;
    sftest_frame_t frame = sftest_frame(n, nfds);
    if (below(2))
      make_graph_create(&frame, nfds);
    if (!clean && below(5) == 0)
      spoil(&frame);
    append(input, &frame, sent);
  }
}

int main(void)
{
  return run_rounds("fuzz_frames", ROUNDS, make_input);
}

#endif
