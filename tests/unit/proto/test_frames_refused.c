/* Frames that a control connection refuses: each with its error, and the descriptors that came with them are closed. */
#include <sys/resource.h>

#include "shm/base/error.h"
#include "tests/unit/frame_reader.h"
#include "tests/unit/frames.h"
#include "tests/unit/runner.h"

/* What was refused is closed at once, not only with the connection. */
static void expect_nothing_left(void)
{
  sftest_expect_none();
  ck_assert_int_eq(sftest_count_fds(), sftest_reader_fds_open);
}

/* The error, its text, and that both stay. */
static void expect_refusal(sf_status_t status, const char *text)
{
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), status);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), text));
  sfshm_error(SF_ERR_ARG, "something else");
  sftest_send_frame(sftest_frame(99, 0), 0);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), status);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), text));
}

static void expect_refusal_of(sftest_frame_t frame, sf_status_t status, const char *text)
{
  sftest_send_frame(frame, 0);
  expect_refusal(status, text);
  expect_nothing_left();
}

START_TEST(bad_magic)
{
  sftest_send_frame(sftest_frame(1, 0), 0);
  sftest_frame_t frame = {.length = 5, .bytes = "GET /"};
  sftest_send_frame(frame, 0);
  expect_refusal(SF_ERR_PROTO, "at byte 20 of the connection: magic 0x20544547, expected 0x43464453");
  sftest_expect_next(1, 0);
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
  sftest_send_frame(sftest_frame(1, 65), 65);
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
  sftest_send_part(&frame, 0, SFPROTO_HEADER_BYTES, 3);
  expect_refusal(SF_ERR_VERSION, "speaks version 7 of the control protocol, this end version 1");
  expect_nothing_left();
}
END_TEST

START_TEST(fewer_fds)
{
  sftest_send_frame(sftest_frame(1, 3), 2);
  expect_refusal(SF_ERR_PROTO, "2 descriptors came, its header says 3");
  expect_nothing_left();
}
END_TEST

START_TEST(no_fds)
{
  sftest_send_frame(sftest_frame(1, 1), 0);
  expect_refusal(SF_ERR_PROTO, "0 descriptors came, its header says 1");
  expect_nothing_left();
}
END_TEST

/* As many as announced, but not with the first byte. */
START_TEST(late_fds)
{
  sftest_frame_t frame = sftest_frame(1, 2);
  size_t cut = 1 + (size_t)_i;
  sftest_send_part(&frame, 0, cut, 0);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  sftest_send_part(&frame, cut, frame.length, 2);
  expect_refusal(SF_ERR_PROTO, "0 descriptors came, its header says 2");
  expect_nothing_left();
}
END_TEST

START_TEST(more_fds)
{
  sftest_send_frame(sftest_frame(1, 1), 2);
  expect_refusal(SF_ERR_PROTO, "2 descriptors came, its header says 1");
  expect_nothing_left();
}
END_TEST

START_TEST(as_many_fds_as_the_kernel_lets_through)
{
  sftest_send_frame(sftest_frame(1, 64), SFTEST_MAX_SENT_FDS);
  expect_refusal(SF_ERR_PROTO, "253 descriptors came, its header says 64");
  expect_nothing_left();
}
END_TEST

START_TEST(unannounced_fds)
{
  sftest_send_frame(sftest_frame(1, 0), 1);
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
  sftest_send_part(&frame, 0, cut, nfds);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  sftest_send_part(&frame, cut, cut + 1, 2);
  expect_refusal(SF_ERR_PROTO, "2 descriptors came with bytes");
  expect_nothing_left();
}
END_TEST

/* The descriptors of a frame do not serve the next one. */
START_TEST(fds_of_another_frame)
{
  sftest_frame_t frame = sftest_frame(1, 0);
  sftest_send_part(&frame, 0, 10, 1);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  sftest_send_part(&frame, 10, frame.length, 0);
  sftest_send_frame(sftest_frame(2, 1), 0);
  expect_refusal(SF_ERR_PROTO, "1 descriptors came with bytes 0 to 9");
  expect_nothing_left();
}
END_TEST

START_TEST(two_frames_share_fds)
{
  sftest_frame_t frames = sftest_frame(1, 1);
  sftest_frame_append(&frames, sftest_frame(2, 1));
  sftest_send_frame(frames, 1);
  expect_refusal(SF_ERR_PROTO, "0 descriptors came, its header says 1");
  sftest_expect_next(1, 1);
  expect_nothing_left();
}
END_TEST

START_TEST(what_was_complete_can_be_taken)
{
  sftest_send_frame(sftest_frame(1, 2), 2);
  sftest_send_frame(sftest_frame(2, 0), 1);
  expect_refusal(SF_ERR_PROTO, "1 descriptors came");
  sftest_expect_next(1, 2);
  expect_nothing_left();
}
END_TEST

START_TEST(out_of_descriptors)
{
  sftest_send_frame(sftest_frame(1, 0), 0);
  sftest_send_frame(sftest_frame(2, 8), 8);
  struct rlimit before;
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
  int lowest = dup(sftest_writer);
  close(lowest);
  struct rlimit limit = {.rlim_cur = (rlim_t)(lowest + _i), .rlim_max = before.rlim_max};
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
  sf_status_t status = sfproto_conn_read(sftest_reader);
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
  ck_assert_int_eq(status, SF_ERR_LIMIT);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "ulimit -n"));
  sftest_expect_next(1, 0);
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
  ck_assert_int_eq(sfproto_conn_send(sftest_reader, &message, NULL, 0), SF_OK);
  sftest_frame_t answer;
  ck_assert_int_gt(recv(sftest_writer, answer.bytes, sizeof answer.bytes, 0), (int)SFPROTO_HEADER_BYTES);
}
END_TEST

START_TEST(end_of_stream_within_a_frame)
{
  sftest_frame_t frame = sftest_frame(1, 2);
  sftest_send_part(&frame, 0, 1 + (size_t)_i, 2);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  shutdown(sftest_writer, SHUT_WR);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_ERR_DAEMON_LOST);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "in the middle of the frame at byte 0"));
  expect_nothing_left();
}
END_TEST

static TCase *refused(void)
{
  TCase *tcase = tcase_create("refused");
  tcase_add_checked_fixture(tcase, sftest_reader_setup, sftest_reader_teardown);
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
  tcase_add_loop_test(tcase, end_of_stream_within_a_frame, 0, 19);
  return tcase;
}

int main(void)
{
  Suite *suite = suite_create("frames: refused");
  suite_add_tcase(suite, refused());
  return sftest_run(suite);
}
