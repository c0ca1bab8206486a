/* What a control connection makes of bytes and descriptors as they arrive: put together, or refused. */
#include <fcntl.h>
#include <sys/resource.h>

#include "shm/base/error.h"
#include "tests/unit/frames.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

static int fds_before;
static int fds_open; /* when nothing has been received */
static int peer;     /* the other end of conn's socket */
static int tagged;
static sfproto_conn_t *conn;

static void setup(void)
{
  fds_before = sftest_count_fds();
  int ends[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  peer = ends[0];
  ck_assert_int_eq(sfproto_conn_create(ends[1], &conn), SF_OK);
  tagged = sftest_tagged_fd(77);
  ck_assert_int_ge(tagged, 0);
  fds_open = sftest_count_fds();
}

/* In every test: what the connection received and nobody took is closed with it. */
static void teardown(void)
{
  close(peer);
  close(tagged);
  sfproto_conn_destroy(conn);
  ck_assert_int_eq(sftest_count_fds(), fds_before);
}

static void send_part(const sftest_frame_t *frame, size_t from, size_t to, int nfds)
{
  ck_assert(sftest_send(peer, frame->bytes + from, to - from, tagged, nfds));
}

static void send_frame(sftest_frame_t frame, int nfds)
{
  send_part(&frame, 0, frame.length, nfds);
}

static void expect_next(uint64_t request, int nfds)
{
  sfproto_incoming_t incoming;
  ck_assert(sfproto_conn_next(conn, &incoming));
  ck_assert_uint_eq(incoming.message->request, request);
  ck_assert_int_eq(incoming.nfds, nfds);
  for (int i = 0; i < nfds; i++) {
    ck_assert_int_eq(sftest_tag_of(incoming.fds[i]), 77);
    ck_assert_int_eq(fcntl(incoming.fds[i], F_GETFD), FD_CLOEXEC);
  }
  sfproto_incoming_free(&incoming);
}

static void expect_none(void)
{
  sfproto_incoming_t incoming;
  ck_assert(!sfproto_conn_next(conn, &incoming));
}

/* What was refused is closed at once, not only with the connection. */
static void expect_nothing_left(void)
{
  expect_none();
  ck_assert_int_eq(sftest_count_fds(), fds_open);
}

/* The error, its text, and that both stay. */
static void expect_refusal(sf_status_t status, const char *text)
{
  ck_assert_int_eq(sfproto_conn_read(conn), status);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), text));
  sfshm_error(SF_ERR_ARG, "something else");
  send_frame(sftest_frame(99, 0), 0);
  ck_assert_int_eq(sfproto_conn_read(conn), status);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), text));
}

static void expect_refusal_of(sftest_frame_t frame, sf_status_t status, const char *text)
{
  send_frame(frame, 0);
  expect_refusal(status, text);
  expect_nothing_left();
}

/* ---- Put together ---- */

START_TEST(one_frame)
{
  send_frame(sftest_frame(5, 0), 0);
  ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
  expect_next(5, 0);
  expect_none();
  ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
  expect_none();
}
END_TEST

START_TEST(several_frames_in_one_read)
{
  sftest_frame_t frames = sftest_frame(1, 0);
  sftest_frame_append(&frames, sftest_frame(2, 0));
  sftest_frame_append(&frames, sftest_frame(3, 0));
  send_frame(frames, 0);
  ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
  for (uint64_t request = 1; request <= 3; request++)
    expect_next(request, 0);
  expect_none();
}
END_TEST

START_TEST(byte_by_byte)
{
  sftest_frame_t frame = sftest_frame(6, 2);
  for (size_t i = 0; i < frame.length; i++) {
    expect_none();
    send_part(&frame, i, i + 1, i == 0 ? 2 : 0);
    ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
  }
  expect_next(6, 2);
}
END_TEST

/* Descriptors come with bytes of frames before theirs. */
START_TEST(fds_behind_other_frames)
{
  send_frame(sftest_frame(1, 0), 0);
  send_frame(sftest_frame(2, 0), 0);
  send_frame(sftest_frame(3, 2), 2);
  send_frame(sftest_frame(4, 0), 0);
  send_frame(sftest_frame(5, 64), 64);
  send_frame(sftest_frame(6, 1), 1);
  ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
  expect_next(1, 0);
  expect_next(2, 0);
  expect_next(3, 2);
  expect_next(4, 0);
  expect_next(5, 64);
  expect_next(6, 1);
}
END_TEST

/* One recvmsg gets the end of a frame and the beginning of the next, with its descriptors. */
START_TEST(fds_behind_an_incomplete_frame)
{
  sftest_frame_t first = sftest_frame(1, 1);
  for (size_t cut = 1; cut < first.length; cut++) {
    send_part(&first, 0, cut, 1);
    ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
    expect_none();
    send_part(&first, cut, first.length, 0);
    send_frame(sftest_frame(2, 3), 3);
    ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
    expect_next(1, 1);
    expect_next(2, 3);
  }
}
END_TEST

/* A sender may put frames without descriptors behind one that has some, in the same sendmsg. */
START_TEST(fds_in_front_of_other_frames)
{
  sftest_frame_t frames = sftest_frame(1, 2);
  sftest_frame_append(&frames, sftest_frame(2, 0));
  send_frame(frames, 2);
  ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
  expect_next(1, 2);
  expect_next(2, 0);
}
END_TEST

/* What nobody takes stays in the socket instead of filling memory. */
START_TEST(flood_waits_in_the_socket)
{
  const size_t packed = 4000;
  char text[4096] = {0};
  memset(text, 'x', packed);
  Sfproto__Error error = SFPROTO__ERROR__INIT;
  error.detail = text;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  message.body_case = SFPROTO__MESSAGE__BODY_ERROR;
  message.error = &error;
  sfproto_conn_t *sender;
  ck_assert_int_eq(sfproto_conn_create(dup(peer), &sender), SF_OK);
  const int count = 200;
  for (int i = 0; i < count; i++)
    ck_assert_int_eq(sfproto_conn_queue(sender, &message, NULL, 0), SF_OK);
  int taken = 0;
  int most = 0;
  while (taken < count) {
    ck_assert_int_eq(sfproto_conn_flush(sender), SF_OK);
    ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
    int batch = 0;
    for (sfproto_incoming_t incoming; sfproto_conn_next(conn, &incoming); batch++)
      sfproto_incoming_free(&incoming);
    ck_assert_int_gt(batch, 0);
    most = batch > most ? batch : most;
    taken += batch;
  }
  ck_assert_int_eq(taken, count);
  ck_assert_int_le(most, 24); /* 64 KiB and what one recvmsg may add */
  sfproto_conn_destroy(sender);
}
END_TEST

/* ---- Refused ---- */

START_TEST(bad_magic)
{
  send_frame(sftest_frame(1, 0), 0);
  sftest_frame_t frame = {.length = 5, .bytes = "GET /"};
  send_frame(frame, 0);
  expect_refusal(SF_ERR_PROTO, "at byte 20 of the connection: magic 0x20544547, expected 0x43464453");
  expect_next(1, 0);
  expect_nothing_left();
}
END_TEST

START_TEST(bad_reserved)
{
  sftest_frame_t frame = sftest_frame(1, 0);
  frame.bytes[13] = 1;
  expect_refusal_of(frame, SF_ERR_PROTO, "at byte 0 of the connection: reserved field 0x00000100, expected 0");
}
END_TEST

START_TEST(too_long)
{
  sftest_frame_t frame = sftest_frame(1, 0);
  frame.bytes[8] = 1;
  frame.bytes[10] = 0x10;
  frame.length = SFPROTO_HEADER_BYTES;
  expect_refusal_of(frame, SF_ERR_PROTO, "message of 1048577 bytes, at most 1048576");
}
END_TEST

START_TEST(too_many_fds_in_header)
{
  send_frame(sftest_frame(1, 65), 65);
  expect_refusal(SF_ERR_PROTO, "65 descriptors, at most 64");
  expect_nothing_left();
}
END_TEST

START_TEST(not_a_message)
{
  sftest_frame_t frame = sftest_frame(1, 0);
  frame.bytes[SFPROTO_HEADER_BYTES] = 0xff;
  expect_refusal_of(frame, SF_ERR_PROTO, "are not a message");
}
END_TEST

START_TEST(empty_message)
{
  sftest_frame_t frame = sftest_frame(1, 0);
  frame.bytes[8] = 0;
  frame.length = SFPROTO_HEADER_BYTES;
  expect_refusal_of(frame, SF_ERR_PROTO, "its 0 bytes are not a message");
}
END_TEST

/* Whatever else its header says, and without waiting for its body. */
START_TEST(other_version)
{
  sftest_frame_t frame = sftest_frame(1, 3);
  memset(frame.bytes + 4, 0xff, 12);
  frame.bytes[4] = 7;
  frame.bytes[5] = 0;
  send_part(&frame, 0, SFPROTO_HEADER_BYTES, 3);
  expect_refusal(SF_ERR_VERSION, "speaks version 7 of the control protocol, this end version 1");
  expect_nothing_left();
}
END_TEST

START_TEST(fewer_fds)
{
  send_frame(sftest_frame(1, 3), 2);
  expect_refusal(SF_ERR_PROTO, "2 descriptors came, its header says 3");
  expect_nothing_left();
}
END_TEST

START_TEST(no_fds)
{
  send_frame(sftest_frame(1, 1), 0);
  expect_refusal(SF_ERR_PROTO, "0 descriptors came, its header says 1");
  expect_nothing_left();
}
END_TEST

/* As many as announced, but not with the first byte. */
START_TEST(late_fds)
{
  sftest_frame_t frame = sftest_frame(1, 2);
  size_t cut = 1 + (size_t)_i;
  send_part(&frame, 0, cut, 0);
  ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
  send_part(&frame, cut, frame.length, 2);
  expect_refusal(SF_ERR_PROTO, "0 descriptors came, its header says 2");
  expect_nothing_left();
}
END_TEST

START_TEST(more_fds)
{
  send_frame(sftest_frame(1, 1), 2);
  expect_refusal(SF_ERR_PROTO, "2 descriptors came, its header says 1");
  expect_nothing_left();
}
END_TEST

START_TEST(as_many_fds_as_the_kernel_lets_through)
{
  send_frame(sftest_frame(1, 64), SFTEST_MAX_SENT_FDS);
  expect_refusal(SF_ERR_PROTO, "253 descriptors came, its header says 64");
  expect_nothing_left();
}
END_TEST

START_TEST(unannounced_fds)
{
  send_frame(sftest_frame(1, 0), 1);
  expect_refusal(SF_ERR_PROTO, "1 descriptors came with bytes 0 to 19 of the connection");
  expect_nothing_left();
}
END_TEST

/* Anywhere but with the first byte, with and without descriptors that are in order. */
START_TEST(fds_in_the_middle)
{
  int nfds = _i % 2;
  size_t cut = 1 + (size_t)_i / 2;
  sftest_frame_t frame = sftest_frame(1, nfds);
  send_part(&frame, 0, cut, nfds);
  ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
  send_part(&frame, cut, cut + 1, 2);
  expect_refusal(SF_ERR_PROTO, "2 descriptors came with bytes");
  expect_nothing_left();
}
END_TEST

/* The descriptors of a frame do not serve the next one. */
START_TEST(fds_of_another_frame)
{
  sftest_frame_t frame = sftest_frame(1, 0);
  send_part(&frame, 0, 10, 1);
  ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
  send_part(&frame, 10, frame.length, 0);
  send_frame(sftest_frame(2, 1), 0);
  expect_refusal(SF_ERR_PROTO, "1 descriptors came with bytes 0 to 9");
  expect_nothing_left();
}
END_TEST

START_TEST(two_frames_share_fds)
{
  sftest_frame_t frames = sftest_frame(1, 1);
  sftest_frame_append(&frames, sftest_frame(2, 1));
  send_frame(frames, 1);
  expect_refusal(SF_ERR_PROTO, "0 descriptors came, its header says 1");
  expect_next(1, 1);
  expect_nothing_left();
}
END_TEST

START_TEST(what_was_complete_can_be_taken)
{
  send_frame(sftest_frame(1, 2), 2);
  send_frame(sftest_frame(2, 0), 1);
  expect_refusal(SF_ERR_PROTO, "1 descriptors came");
  expect_next(1, 2);
  expect_nothing_left();
}
END_TEST

START_TEST(out_of_descriptors)
{
  send_frame(sftest_frame(1, 0), 0);
  send_frame(sftest_frame(2, 8), 8);
  struct rlimit before;
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
  int lowest = dup(peer);
  close(lowest);
  struct rlimit limit = {.rlim_cur = (rlim_t)(lowest + _i), .rlim_max = before.rlim_max};
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
  sf_status_t status = sfproto_conn_read(conn);
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
  ck_assert_int_eq(status, SF_ERR_LIMIT);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "ulimit -n"));
  expect_next(1, 0);
  expect_nothing_left();
}
END_TEST

START_TEST(answer_after_refusal)
{
  sftest_frame_t frame = {.length = 4, .bytes = "junk"};
  expect_refusal_of(frame, SF_ERR_PROTO, "magic");
  Sfproto__Error error = SFPROTO__ERROR__INIT;
  error.status = SF_ERR_PROTO;
  error.detail = (char *)(uintptr_t) "junk";
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  message.body_case = SFPROTO__MESSAGE__BODY_ERROR;
  message.error = &error;
  ck_assert_int_eq(sfproto_conn_send(conn, &message, NULL, 0), SF_OK);
  sftest_frame_t answer;
  ck_assert_int_gt(recv(peer, answer.bytes, sizeof answer.bytes, 0), (int)SFPROTO_HEADER_BYTES);
}
END_TEST

START_TEST(end_of_stream)
{
  send_frame(sftest_frame(1, 1), 1);
  shutdown(peer, SHUT_WR);
  ck_assert_int_eq(sfproto_conn_read(conn), SF_ERR_DAEMON_LOST);
  ck_assert_int_eq(sfproto_conn_read(conn), SF_ERR_DAEMON_LOST);
  expect_next(1, 1);
}
END_TEST

START_TEST(end_of_stream_within_a_frame)
{
  sftest_frame_t frame = sftest_frame(1, 2);
  send_part(&frame, 0, 1 + (size_t)_i, 2);
  ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
  shutdown(peer, SHUT_WR);
  ck_assert_int_eq(sfproto_conn_read(conn), SF_ERR_DAEMON_LOST);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "in the middle of the frame at byte 0"));
  expect_nothing_left();
}
END_TEST

START_TEST(untaken_descriptors_are_closed)
{
  send_frame(sftest_frame(1, 5), 5);
  send_frame(sftest_frame(2, 5), 5);
  sftest_frame_t frame = sftest_frame(3, 5);
  send_part(&frame, 0, frame.length - 1, 5);
  ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
  ck_assert_int_ge(sftest_count_fds(), fds_before + 15);
}
END_TEST

/* ---- Random ---- */

/* A stream of acceptable frames as bytes, and where its descriptors belong. */
typedef struct script {
  size_t length;
  uint8_t bytes[64 * 64];
  int nfds[64 * 64]; /* by position */
  int count;
  int nfds_of[64]; /* by frame */
} script_t;

static void random_script(script_t *script, uint64_t *random)
{
  memset(script, 0, sizeof *script);
  script->count = 1 + (int)(sftest_random(random) % 64);
  for (int i = 0; i < script->count; i++) {
    int nfds = sftest_random(random) % 3 == 0 ? (int)(sftest_random(random) % 5) : 0;
    sftest_frame_t frame = sftest_frame((uint64_t)i, nfds);
    memcpy(script->bytes + script->length, frame.bytes, frame.length);
    script->nfds[script->length] = nfds;
    script->nfds_of[i] = nfds;
    script->length += frame.length;
  }
}

/* Sends some bytes from position on, as far as one sendmsg may reach; returns where it ended. */
static size_t send_some(const script_t *script, size_t position, uint64_t *random)
{
  size_t most = 1 + sftest_random(random) % (sftest_random(random) % 2 ? 7 : 80);
  size_t end = position + 1;
  while (end < script->length && end < position + most && script->nfds[end] == 0)
    end++;
  ck_assert(sftest_send(peer, script->bytes + position, end - position, tagged, script->nfds[position]));
  return end;
}

START_TEST(random_segments)
{
  unsigned seed = sftest_seed(1);
  for (unsigned round = 0; round < 200; round++) {
    uint64_t random = sftest_random_start(seed, round);
    script_t script;
    random_script(&script, &random);
    int taken = 0;
    for (size_t position = 0; position < script.length;) {
      position = send_some(&script, position, &random);
      if (position < script.length && sftest_random(&random) % 4 != 0)
        continue;
      ck_assert_int_eq(sfproto_conn_read(conn), SF_OK);
      sfproto_incoming_t incoming;
      for (; sfproto_conn_next(conn, &incoming); taken++) {
        ck_assert_uint_eq(incoming.message->request, (uint64_t)taken);
        ck_assert_int_eq(incoming.nfds, script.nfds_of[taken]);
        sfproto_incoming_free(&incoming);
      }
    }
    ck_assert_int_eq(taken, script.count);
  }
}
END_TEST

static TCase *put_together(void)
{
  TCase *tcase = tcase_create("put together");
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_test(tcase, one_frame);
  tcase_add_test(tcase, several_frames_in_one_read);
  tcase_add_test(tcase, byte_by_byte);
  tcase_add_test(tcase, fds_behind_other_frames);
  tcase_add_test(tcase, fds_behind_an_incomplete_frame);
  tcase_add_test(tcase, fds_in_front_of_other_frames);
  tcase_add_test(tcase, flood_waits_in_the_socket);
  tcase_add_test(tcase, random_segments);
  return tcase;
}

static TCase *refused(void)
{
  TCase *tcase = tcase_create("refused");
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_test(tcase, bad_magic);
  tcase_add_test(tcase, bad_reserved);
  tcase_add_test(tcase, too_long);
  tcase_add_test(tcase, too_many_fds_in_header);
  tcase_add_test(tcase, not_a_message);
  tcase_add_test(tcase, empty_message);
  tcase_add_test(tcase, other_version);
  tcase_add_test(tcase, fewer_fds);
  tcase_add_test(tcase, no_fds);
  tcase_add_loop_test(tcase, late_fds, 0, 15);
  tcase_add_test(tcase, more_fds);
  tcase_add_test(tcase, as_many_fds_as_the_kernel_lets_through);
  tcase_add_test(tcase, unannounced_fds);
  tcase_add_loop_test(tcase, fds_in_the_middle, 0, 38);
  tcase_add_test(tcase, fds_of_another_frame);
  tcase_add_test(tcase, two_frames_share_fds);
  tcase_add_test(tcase, what_was_complete_can_be_taken);
  tcase_add_loop_test(tcase, out_of_descriptors, 0, 8);
  tcase_add_test(tcase, answer_after_refusal);
  tcase_add_test(tcase, end_of_stream);
  tcase_add_loop_test(tcase, end_of_stream_within_a_frame, 0, 19);
  tcase_add_test(tcase, untaken_descriptors_are_closed);
  return tcase;
}

int main(void)
{
  Suite *suite = suite_create("frames");
  suite_add_tcase(suite, put_together());
  suite_add_tcase(suite, refused());
  return sftest_run(suite);
}
