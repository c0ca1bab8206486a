/* How a control connection puts frames together from bytes and descriptors as they arrive. */
#include "tests/unit/frame_reader.h"
#include "tests/unit/seed.h"

SFTEST_FIXTURE(sftest_reader_setup, sftest_reader_teardown);

SFTEST(one_frame)
{
  sftest_send_frame(sftest_frame(5, 0), 0);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  sftest_expect_next(5, 0);
  sftest_expect_none();
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  sftest_expect_none();
}

SFTEST(several_frames_in_one_read)
{
  sftest_frame_t frames = sftest_frame(1, 0);
  sftest_frame_append(&frames, sftest_frame(2, 0));
  sftest_frame_append(&frames, sftest_frame(3, 0));
  sftest_send_frame(frames, 0);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  for (uint64_t request = 1; request <= 3; request++)
    sftest_expect_next(request, 0);
  sftest_expect_none();
}

SFTEST(byte_by_byte)
{
  sftest_frame_t frame = sftest_frame(6, 2);
  for (size_t i = 0; i < frame.length; i++) {
    sftest_expect_none();
    sftest_send_part(&frame, i, i + 1, i == 0 ? 2 : 0);
    ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  }
  sftest_expect_next(6, 2);
}

/* Descriptors come with bytes of frames before theirs. */
SFTEST(fds_behind_other_frames)
{
  sftest_send_frame(sftest_frame(1, 0), 0);
  sftest_send_frame(sftest_frame(2, 0), 0);
  sftest_send_frame(sftest_frame(3, 2), 2);
  sftest_send_frame(sftest_frame(4, 0), 0);
  sftest_send_frame(sftest_frame(5, 64), 64);
  sftest_send_frame(sftest_frame(6, 1), 1);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  sftest_expect_next(1, 0);
  sftest_expect_next(2, 0);
  sftest_expect_next(3, 2);
  sftest_expect_next(4, 0);
  sftest_expect_next(5, 64);
  sftest_expect_next(6, 1);
}

/* One recvmsg gets the end of a frame and the beginning of the next, with its descriptors. */
SFTEST(fds_behind_an_incomplete_frame)
{
  sftest_frame_t first = sftest_frame(1, 1);
  for (size_t cut = 1; cut < first.length; cut++) {
    sftest_send_part(&first, 0, cut, 1);
    ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
    sftest_expect_none();
    sftest_send_part(&first, cut, first.length, 0);
    sftest_send_frame(sftest_frame(2, 3), 3);
    ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
    sftest_expect_next(1, 1);
    sftest_expect_next(2, 3);
  }
}

/* A sender may put frames without descriptors behind one that has some, in the same sendmsg. */
SFTEST(fds_in_front_of_other_frames)
{
  sftest_frame_t frames = sftest_frame(1, 2);
  sftest_frame_append(&frames, sftest_frame(2, 0));
  sftest_send_frame(frames, 2);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  sftest_expect_next(1, 2);
  sftest_expect_next(2, 0);
}

/* What nobody takes stays in the socket instead of filling memory. */
SFTEST(flood_waits_in_the_socket)
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
  ck_assert_int_eq(sfproto_conn_create(dup(sftest_writer), &sender), SF_OK);
  const int count = 200;
  for (int i = 0; i < count; i++)
    ck_assert_int_eq(sfproto_conn_queue(sender, &message, NULL, 0), SF_OK);
  int taken = 0, most = 0;
  while (taken < count) {
    ck_assert_int_eq(sfproto_conn_flush(sender), SF_OK);
    ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
    int batch = 0;
    for (sfproto_incoming_t incoming; sfproto_conn_next(sftest_reader, &incoming); batch++)
      sfproto_incoming_free(&incoming);
    ck_assert_int_gt(batch, 0);
    most = batch > most ? batch : most;
    taken += batch;
  }
  ck_assert_int_eq(taken, count);
  ck_assert_int_le(most, 24); /* 64 KiB and what one recvmsg may add */
  sfproto_conn_destroy(sender);
}

SFTEST(end_of_stream)
{
  sftest_send_frame(sftest_frame(1, 1), 1);
  shutdown(sftest_writer, SHUT_WR);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_ERR_DAEMON_LOST);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_ERR_DAEMON_LOST);
  sftest_expect_next(1, 1);
}

SFTEST(untaken_descriptors_are_closed)
{
  sftest_send_frame(sftest_frame(1, 5), 5);
  sftest_send_frame(sftest_frame(2, 5), 5);
  sftest_frame_t frame = sftest_frame(3, 5);
  sftest_send_part(&frame, 0, frame.length - 1, 5);
  ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
  ck_assert_int_ge(sftest_count_fds(), sftest_reader_fds_before + 15);
}

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
  size_t most = 1 + sftest_random(random) % (sftest_random(random) % 2 ? 7 : 80), end = position + 1;
  while (end < script->length && end < position + most && script->nfds[end] == 0)
    end++;
  ck_assert(
      sftest_send(sftest_writer, script->bytes + position, end - position, sftest_tagged, script->nfds[position]));
  return end;
}

SFTEST(random_segments)
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
      ck_assert_int_eq(sfproto_conn_read(sftest_reader), SF_OK);
      sfproto_incoming_t incoming;
      for (; sfproto_conn_next(sftest_reader, &incoming); taken++) {
        ck_assert_uint_eq(incoming.message->request, (uint64_t)taken);
        ck_assert_int_eq(incoming.nfds, script.nfds_of[taken]);
        sfproto_incoming_free(&incoming);
      }
    }
    ck_assert_int_eq(taken, script.count);
  }
}
