/* What is a frame, and what is refused with which text. */
#include "daemon/net/frame.h"
#include "shm/base/error.h"
#include "tests/unit/runner.h"

/* A frame of two messages, one with a payload in the table and one with a payload behind it. */
static struct {
  sfd_frame_header_t header;
  uint64_t table[SFD_FRAME_TABLE_MAX / 8 + 2];
} frame;

static sfd_message_head_t *first_head(void)
{
  return (sfd_message_head_t *)(void *)frame.table;
}

static void setup(void)
{
  const sfd_message_head_t heads[] = {{.kind = 1, .payload_bytes = 13}, {.kind = 15, .payload_bytes = 1001}};
  uint8_t *table = (uint8_t *)frame.table;
  memset(&frame, 0, sizeof frame);
  memcpy(table, &heads[0], sizeof heads[0]);
  memcpy(table + sizeof heads[0], "thirteen byte", 13);
  memcpy(table + sizeof heads[0] + 16, &heads[1], sizeof heads[1]);
  frame.header = (sfd_frame_header_t){
      .type = SFD_FRAME_MESSAGES, .number = 7, .messages = 2, .table_bytes = 96, .payload_bytes = 1008};
  sfd_frame_seal(&frame.header, frame.table);
}

SFTEST_FIXTURE(setup, NULL);

static sf_status_t check_part(size_t available)
{
  sfd_frame_header_t header;
  return sfd_frame_check_header((const uint8_t *)&frame.header, available, 4000, 7, &header);
}

/* The header is refused, with this in the text. */
static void expect_header(sf_status_t status, const char *text)
{
  sfd_frame_seal(&frame.header, frame.table);
  ck_assert_int_eq(check_part(sizeof frame.header), status);
  ck_assert_msg(strstr(sfshm_error_detail(), text) != NULL, "\"%s\"", sfshm_error_detail());
}

static void expect_table(const char *text)
{
  sfd_frame_seal(&frame.header, frame.table);
  ck_assert_int_eq(sfd_frame_check_table(&frame.header, (const uint8_t *)frame.table), SF_ERR_PROTO);
  ck_assert_msg(strstr(sfshm_error_detail(), text) != NULL, "\"%s\"", sfshm_error_detail());
}

SFTEST(good_frame)
{
  sfd_frame_header_t header;
  ck_assert_int_eq(sfd_frame_check_header((const uint8_t *)&frame.header, sizeof frame.header + 5, 4000, 7, &header),
                   SF_OK);
  ck_assert_mem_eq(&header, &frame.header, sizeof header);
  ck_assert_int_eq(sfd_frame_check_table(&header, (const uint8_t *)frame.table), SF_OK);
}

/* The number has wrapped round: it makes no hello. */
SFTEST(wrapped_number)
{
  sfd_frame_header_t header;
  frame.header.number = 0;
  sfd_frame_seal(&frame.header, frame.table);
  ck_assert_int_eq(sfd_frame_check_header((const uint8_t *)&frame.header, sizeof frame.header, 4000, 0, &header),
                   SF_OK);
}

SFTEST(incomplete_header)
{
  for (size_t available = 0; available < sizeof frame.header; available++)
    ck_assert_int_eq(check_part(available), SF_OK);
}

SFTEST(garbage_is_refused_early)
{
  frame.header.magic = 0x20544547;
  ck_assert_int_eq(check_part(3), SF_OK);
  ck_assert_int_eq(check_part(4), SF_ERR_PROTO);
  ck_assert_str_eq(sfshm_error_detail(), "frame at byte 4000 of the channel: magic 0x20544547, expected 0x72466673");
}

SFTEST(large_payloads)
{
  sfd_message_head_t *head = (sfd_message_head_t *)(void *)((uint8_t *)frame.table + sizeof *head + 16);
  head->payload_bytes = UINT32_MAX + UINT64_C(2);
  frame.header.payload_bytes = UINT32_MAX + UINT64_C(9);
  sfd_frame_seal(&frame.header, frame.table);
  ck_assert_int_eq(sfd_frame_check_table(&frame.header, (const uint8_t *)frame.table), SF_OK);
  head->payload_bytes = frame.header.payload_bytes = SFD_PAYLOAD_MAX;
  sfd_frame_seal(&frame.header, frame.table);
  ck_assert_int_eq(sfd_frame_check_table(&frame.header, (const uint8_t *)frame.table), SF_OK);
  head->payload_bytes++;
  expect_table("has a payload of 70368744177665 bytes, expected at most 70368744177664");
  head->payload_bytes = UINT64_MAX;
  expect_table("expected at most");
}

/* Of another version only magic and version are looked at: its checksum may be another one. */
SFTEST(other_version)
{
  frame.header.version = 3;
  frame.header.header_hash++;
  ck_assert_int_eq(check_part(6), SF_ERR_VERSION);
  ck_assert_str_eq(sfshm_error_detail(),
                   "the daemon there speaks version 3 of the channel protocol, this one version 2");
}

SFTEST(every_flipped_bit_is_found)
{
  for (size_t bit = 0; bit < 8 * sizeof frame.header; bit++) {
    ((uint8_t *)&frame.header)[bit / 8] ^= (uint8_t)(1u << bit % 8);
    ck_assert_int_ne(check_part(sizeof frame.header), SF_OK);
    ((uint8_t *)&frame.header)[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  for (size_t bit = 0; bit < 8 * (size_t)frame.header.table_bytes; bit++) {
    ((uint8_t *)frame.table)[bit / 8] ^= (uint8_t)(1u << bit % 8);
    ck_assert_int_eq(sfd_frame_check_table(&frame.header, (const uint8_t *)frame.table), SF_ERR_PROTO);
    ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "checksum of the table"));
    ((uint8_t *)frame.table)[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
}

SFTEST(header_fields)
{
  frame.header.number = 8;
  expect_header(SF_ERR_PROTO, "number 8, expected 7");
  setup();
  frame.header.type = SFD_FRAME_HELLO;
  expect_header(SF_ERR_PROTO, "type 1, expected 2");
  setup();
  frame.header.messages = 0;
  expect_header(SF_ERR_PROTO, "0 messages, expected 1 to 256");
  setup();
  frame.header.messages = 257;
  expect_header(SF_ERR_PROTO, "257 messages, expected 1 to 256");
  setup();
  frame.header.messages = 3;
  expect_header(SF_ERR_PROTO, "table of 96 bytes for 3 messages");
  setup();
  frame.header.table_bytes = 97;
  expect_header(SF_ERR_PROTO, "table of 97 bytes");
  setup();
  frame.header.table_bytes = SFD_FRAME_TABLE_MAX + 8;
  expect_header(SF_ERR_PROTO, "table of 24584 bytes");
}

SFTEST(table_fields)
{
  first_head()->kind = SFD_MESSAGE_KINDS;
  expect_table("message 0 of 2 is of kind 16, expected less than 16");
  setup();
  first_head()->payload_bytes = 400;
  expect_table("message 0 of 2 has a payload of 400 bytes, more than the table holds");
  setup();
  first_head()->payload_bytes = 5;
  expect_table("message 1 of 2 is of kind");
  setup();
  frame.header.messages = 3;
  expect_table("the table ends before message 2 of 3");
  setup();
  frame.header.messages = 1;
  expect_table("table of 96 bytes and 1008 bytes behind it, expected 56 and 0");
  setup();
  frame.header.payload_bytes = 1001;
  expect_table("1001 bytes behind it, expected 96 and 1008");
}

SFTEST(lengths_do_not_overflow)
{
  ck_assert_uint_eq(sfd_frame_padded(UINT32_MAX), UINT64_C(1) << 32);
  first_head()->payload_bytes = UINT32_MAX;
  expect_table("message 1 of 2");
}

/* ---- The hello ---- */

static const sfd_hello_t ours = {.node = 1, .nnodes = 4, .software = "sfd 0.1.0", .cluster = "alpha"};

static void expect_hello(sfd_hello_t theirs, sf_status_t status, const char *text)
{
  ck_assert_int_eq(sfd_frame_check_hello(&theirs, 3, &ours), status);
  if (status != SF_OK)
    ck_assert_msg(strstr(sfshm_error_detail(), text) != NULL, "\"%s\"", sfshm_error_detail());
}

SFTEST(hellos)
{
  sfd_hello_t theirs = ours;
  theirs.node = 3;
  expect_hello(theirs, SF_OK, NULL);
  expect_hello(ours, SF_ERR_PROTO, "node 1 of 4, expected node 3 of 4");
  theirs.nnodes = 5;
  expect_hello(theirs, SF_ERR_PROTO, "node 3 of 5, expected node 3 of 4");
  strcpy(theirs.software, "sfd 0.2.0");
  expect_hello(theirs, SF_ERR_VERSION, "the daemon there is \"sfd 0.2.0\", this one \"sfd 0.1.0\"");
  strcpy(theirs.cluster, "be\nta");
  expect_hello(theirs, SF_ERR_PROTO, "cluster \"be?ta\", this one to \"alpha\"");
  memset(theirs.cluster, 'x', sizeof theirs.cluster);
  expect_hello(theirs, SF_ERR_PROTO, "xxx\", this one to \"alpha\"");
}

SFTEST(hello_frame)
{
  frame.header = (sfd_frame_header_t){.type = SFD_FRAME_HELLO, .table_bytes = sizeof ours};
  sfd_frame_header_t header;
  sfd_frame_seal(&frame.header, frame.table);
  const uint8_t *bytes = (const uint8_t *)&frame.header;
  ck_assert_int_eq(sfd_frame_check_header(bytes, sizeof frame.header, 0, 0, &header), SF_OK);
  ck_assert_int_eq(sfd_frame_check_table(&header, (const uint8_t *)frame.table), SF_OK);
  frame.header.payload_bytes = 8;
  sfd_frame_seal(&frame.header, frame.table);
  ck_assert_int_eq(sfd_frame_check_header(bytes, sizeof frame.header, 0, 0, &header), SF_ERR_PROTO);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "expected 136, 0 and 0"));
}
