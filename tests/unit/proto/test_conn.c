/* Sending over control connections: messages with descriptors, sockets that are full, messages that are withdrawn. */
#include <sys/prctl.h>
#include <sys/resource.h>

#include "proto/writer.h"
#include "shm/base/error.h"
#include "tests/unit/conn_pair.h"
#include "tests/unit/frames.h"

#define FIRST_OTHER_USER 20000u /* containers may have 16 bits for users */
#define NOTHER_USERS 40000u

static void make_fds(int tag, int nfds, int fds[])
{
  for (int i = 0; i < nfds; i++) {
    fds[i] = sftest_tagged_fd(tag + i);
    ck_assert_int_ge(fds[i], 0);
  }
}

static void close_fds(int nfds, const int fds[])
{
  for (int i = 0; i < nfds; i++)
    close(fds[i]);
}

/* ---- Sending ---- */

SFTEST_FIXTURE(sftest_pair_setup, sftest_pair_teardown);

/* The sender may close its descriptors as soon as the message is queued. */
SFTEST(message_with_fds)
{
  int fds[SFPROTO_MAX_FDS];
  make_fds(10, SFPROTO_MAX_FDS, fds);
  ck_assert_int_eq(sftest_pair_queue(sftest_left, 7, 100, fds, SFPROTO_MAX_FDS), SF_OK);
  close_fds(SFPROTO_MAX_FDS, fds);
  ck_assert_uint_gt(sfproto_conn_queued_bytes(sftest_left), 100 + SFPROTO_HEADER_BYTES);
  ck_assert_int_eq(sfproto_conn_flush(sftest_left), SF_OK);
  ck_assert_uint_eq(sfproto_conn_queued_bytes(sftest_left), 0);
  ck_assert_int_eq(sfproto_conn_read(sftest_right), SF_OK);
  sfproto_incoming_t incoming;
  ck_assert(sfproto_conn_next(sftest_right, &incoming));
  sftest_expect_message(&incoming, 7, 100, 10, SFPROTO_MAX_FDS);
}

SFTEST(taken_descriptors_stay_open)
{
  int fds[2];
  make_fds(20, 2, fds);
  ck_assert_int_eq(sftest_pair_queue(sftest_left, 1, 0, fds, 2), SF_OK);
  close_fds(2, fds);
  ck_assert_int_eq(sfproto_conn_flush(sftest_left), SF_OK);
  sfproto_incoming_t incoming;
  ck_assert_int_eq(sfproto_conn_receive(sftest_right, -1, &incoming), SF_OK);
  int kept = incoming.fds[1];
  incoming.fds[1] = -1;
  sfproto_incoming_free(&incoming);
  ck_assert_int_eq(sftest_tag_of(kept), 21);
  close(kept);
}

SFTEST(longest_message)
{
  /* Without the fields around the text: request 2, tag and length of error 1 + 3, status 2, tag and length 1 + 3. */
  size_t text = SFPROTO_MAX_LENGTH - 12;
  ck_assert_int_eq(sftest_pair_queue(sftest_left, 1, text, NULL, 0), SF_OK);
  ck_assert_uint_eq(sfproto_conn_queued_bytes(sftest_left), SFPROTO_HEADER_BYTES + SFPROTO_MAX_LENGTH);
  ck_assert_int_eq(sftest_pair_queue(sftest_left, 1, text + 1, NULL, 0), SF_ERR_LIMIT);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "1048577 bytes, a frame holds at most 1048576"));
  sfproto_incoming_t incoming;
  while (!sfproto_conn_next(sftest_right, &incoming)) {
    ck_assert_int_eq(sfproto_conn_flush(sftest_left), SF_OK);
    ck_assert_int_eq(sfproto_conn_read(sftest_right), SF_OK);
  }
  sftest_expect_message(&incoming, 1, text, 0, 0);
}

SFTEST(impossible_descriptors)
{
  int fds[SFPROTO_MAX_FDS + 1] = {0};
  ck_assert_int_eq(sftest_pair_queue(sftest_left, 1, 0, fds, SFPROTO_MAX_FDS + 1), SF_ERR_LIMIT);
  ck_assert_int_eq(sftest_pair_queue(sftest_left, 1, 0, fds, -1), SF_ERR_LIMIT);
  fds[5] = -1;
  ck_assert_int_eq(sftest_pair_queue(sftest_left, 1, 0, fds, SFPROTO_MAX_FDS), SF_ERR_ARG);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "descriptor -1 (number 5 of 64"));
  ck_assert_uint_eq(sfproto_conn_queued_bytes(sftest_left), 0);
  ck_assert_int_eq(sftest_count_fds(), sftest_pair_fds_before + 2);
}

/* Frames larger than what the socket holds: each set of descriptors arrives once, with its frame. */
SFTEST(partial_writes)
{
  const int count = 12;
  const size_t length = 50000;
  const int small = 4096;
  ck_assert_int_eq(setsockopt(sfproto_conn_fd(sftest_left), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
  for (int i = 0; i < count; i++) {
    int fds[3];
    make_fds(100 * i, i % 4, fds);
    ck_assert_int_eq(sftest_pair_queue(sftest_left, (uint64_t)i, length, fds, i % 4), SF_OK);
    close_fds(i % 4, fds);
  }
  int taken = 0, flushes = 0;
  for (; taken < count; flushes++) {
    size_t before = sfproto_conn_queued_bytes(sftest_left);
    ck_assert_int_eq(sfproto_conn_flush(sftest_left), SF_OK);
    ck_assert(before == 0 || sfproto_conn_queued_bytes(sftest_left) < before);
    ck_assert_int_eq(sfproto_conn_read(sftest_right), SF_OK);
    for (sfproto_incoming_t incoming; sfproto_conn_next(sftest_right, &incoming); taken++)
      sftest_expect_message(&incoming, (uint64_t)taken, length, 100 * taken, taken % 4);
  }
  ck_assert_int_gt(flushes, count);
  ck_assert_uint_eq(sfproto_conn_queued_bytes(sftest_left), 0);
}

/* Of a socket that keeps what one sendmsg sent together. */
static ssize_t length_of_next(int socket)
{
  char bytes[4096];
  return recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
}

SFTEST(frames_without_descriptors_leave_together)
{
  int ends[2], fd;
  sfproto_conn_t *conn;
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  ck_assert_int_eq(sfproto_conn_create(ends[0], &conn), SF_OK);
  make_fds(30, 1, &fd);
  for (uint64_t request = 1; request <= 6; request++)
    ck_assert_int_eq(sftest_pair_queue(conn, request, 10, &fd, request == 3), SF_OK);
  size_t frame = sfproto_conn_queued_bytes(conn) / 6;
  ck_assert_int_eq(sfproto_conn_flush(conn), SF_OK);
  ck_assert_uint_eq(sfproto_conn_queued_bytes(conn), 0);
  ck_assert_int_eq(length_of_next(ends[1]), (ssize_t)(2 * frame));
  ck_assert_int_eq(length_of_next(ends[1]), (ssize_t)frame);
  ck_assert_int_eq(length_of_next(ends[1]), (ssize_t)(3 * frame));
  close_fds(1, &fd);
  close(ends[1]);
  sfproto_conn_destroy(conn);
}

/* A full socket: nothing is written and nothing is lost. */
SFTEST(full_socket)
{
  int fds[1];
  make_fds(5, 1, fds);
  int queued = 0;
  while (sfproto_conn_queued_bytes(sftest_left) == 0) {
    ck_assert_int_eq(sftest_pair_queue(sftest_left, (uint64_t)queued++, 10000, fds, 1), SF_OK);
    ck_assert_int_eq(sfproto_conn_flush(sftest_left), SF_OK);
  }
  close_fds(1, fds);
  size_t stuck = sfproto_conn_queued_bytes(sftest_left);
  ck_assert_int_eq(sfproto_conn_flush(sftest_left), SF_OK);
  ck_assert_uint_eq(sfproto_conn_queued_bytes(sftest_left), stuck);
  for (int taken = 0; taken < queued; taken++) {
    sfproto_incoming_t incoming;
    while (!sfproto_conn_next(sftest_right, &incoming)) {
      ck_assert_int_eq(sfproto_conn_read(sftest_right), SF_OK);
      ck_assert_int_eq(sfproto_conn_flush(sftest_left), SF_OK);
    }
    sftest_expect_message(&incoming, (uint64_t)taken, 10000, 5, 1);
  }
}

/* The kernel limits how many descriptors a user, but not root, has in flight in sockets, over all processes: messages
 * whose descriptors would exceed the limit wait. Run by root, the test becomes a user without other processes. */
SFTEST(crowded)
{
  int fds[8], flood[2];
  sfproto_conn_t *flooder;
  uid_t user = geteuid(), nobody_else = FIRST_OTHER_USER + (uid_t)getpid() % NOTHER_USERS;
  struct rlimit before;
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
  const struct rlimit low = {.rlim_cur = 64, .rlim_max = before.rlim_max};
  if (user == 0)
    ck_assert_int_eq(setresuid(nobody_else, nobody_else, 0), 0);
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, flood), 0);
  ck_assert_int_eq(sfproto_conn_create(flood[0], &flooder), SF_OK);
  make_fds(1, 8, fds);
  for (rlim_t sent = 0; sent <= low.rlim_cur; sent += 8) {
    ck_assert_int_eq(sftest_pair_queue(flooder, 0, 0, fds, 8), SF_OK);
    ck_assert_int_eq(sfproto_conn_flush(flooder), SF_OK);
    ck_assert(!sfproto_conn_crowded(flooder));
  }
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
  ck_assert_int_eq(sftest_pair_queue(sftest_left, 1, 10, fds, 3), SF_OK);
  ck_assert_int_eq(sfproto_conn_flush(sftest_left), SF_OK);
  ck_assert(sfproto_conn_crowded(sftest_left) && sfproto_conn_queued_bytes(sftest_left) > 0);
  sfproto_conn_destroy(flooder);
  close(flood[1]);
  ck_assert_int_eq(sftest_pair_send(sftest_left, 2, 10), SF_OK); /* waits until the kernel has cleared away */
  ck_assert(!sfproto_conn_crowded(sftest_left) && sfproto_conn_queued_bytes(sftest_left) == 0);
  close_fds(8, fds);
  sfproto_incoming_t incoming;
  ck_assert_int_eq(sfproto_conn_receive(sftest_right, -1, &incoming), SF_OK);
  sftest_expect_message(&incoming, 1, 10, 1, 3);
  ck_assert_int_eq(sfproto_conn_receive(sftest_right, -1, &incoming), SF_OK);
  sftest_expect_message(&incoming, 2, 10, 0, 0);
  if (user == 0)
    ck_assert_int_eq(setresuid(0, 0, 0), 0);
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
  prctl(PR_SET_DUMPABLE, 1); /* leaks are looked for by ptrace, which a change of user takes away */
}

SFTEST(untaken_output_is_closed)
{
  int fds[4];
  make_fds(1, 4, fds);
  ck_assert_int_eq(sftest_pair_queue(sftest_left, 1, 0, fds, 4), SF_OK);
  ck_assert_int_eq(sftest_pair_queue(sftest_left, 2, 0, fds, 4), SF_OK);
  close_fds(4, fds);
  ck_assert_int_eq(sftest_count_fds(), sftest_pair_fds_before + 2 + 8);
}

SFTEST(destroy_nothing)
{
  sfproto_conn_destroy(NULL);
}

/* ---- Waiting ---- */

static sf_status_t queue_at(sfproto_writer_t *writer, uint64_t request, size_t length, const int fds[], int nfds)
{
  Sfproto__Message message;
  Sfproto__Error error;
  sftest_message_make(&message, &error, request, length);
  return sfproto_writer_queue(writer, &message, fds, nfds);
}

/* Queues messages of that length until the socket takes no more; returns their number. */
static int fill(sfproto_writer_t *writer, int fd, uint64_t request, size_t length, const int fds[], int nfds)
{
  int queued = 0;
  for (; writer->queued_bytes == 0; queued++) {
    ck_assert_int_eq(queue_at(writer, request, length, fds, nfds), SF_OK);
    ck_assert_int_eq(sfproto_writer_flush(writer, fd), SF_OK);
  }
  return queued;
}

/* As if it had never been queued, and its descriptors are closed. */
SFTEST(withdrawn)
{
  int fds[2], fd = sfproto_conn_fd(sftest_left);
  sfproto_writer_t writer = {0};
  sfproto_incoming_t incoming;
  make_fds(1, 2, fds);
  sfproto_writer_withdraw(&writer); /* nothing */
  ck_assert_int_eq(queue_at(&writer, 1, 10, fds, 2), SF_OK);
  sfproto_writer_withdraw(&writer); /* the only one */
  ck_assert_uint_eq(writer.queued_bytes, 0);
  int queued = fill(&writer, fd, 2, 100000, fds, 2);
  size_t rest_bytes = writer.queued_bytes;
  ck_assert_int_eq(queue_at(&writer, 3, 10, fds, 2), SF_OK);
  sfproto_writer_withdraw(&writer); /* one behind another */
  ck_assert_uint_eq(writer.queued_bytes, rest_bytes);
  ck_assert_int_eq(queue_at(&writer, 4, 10, NULL, 0), SF_OK);
  for (int taken = 0; taken <= queued; taken++) {
    while (!sfproto_conn_next(sftest_right, &incoming)) {
      ck_assert_int_eq(sfproto_conn_read(sftest_right), SF_OK);
      ck_assert_int_eq(sfproto_writer_flush(&writer, fd), SF_OK);
    }
    sftest_expect_message(&incoming, taken < queued ? 2 : 4, taken < queued ? 100000 : 10, 1, taken < queued ? 2 : 0);
  }
  close_fds(2, fds);
}

SFTEST(what_has_begun_to_leave_is_not_withdrawn)
{
  sfproto_writer_t writer = {0};
  fill(&writer, sfproto_conn_fd(sftest_left), 1, SFPROTO_MAX_LENGTH - 100, NULL, 0);
  size_t rest_bytes = writer.queued_bytes;
  ck_assert_uint_lt(rest_bytes, SFPROTO_MAX_LENGTH - 100);
  sfproto_writer_withdraw(&writer);
  ck_assert_uint_eq(writer.queued_bytes, rest_bytes);
  sfproto_writer_release(&writer);
}
