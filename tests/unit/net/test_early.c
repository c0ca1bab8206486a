/* Messages that came too early: which are kept, delivered, and dropped. */
#include "daemon/net/early_messages.h"
#include "shm/base/error.h"
#include "tests/unit/runner.h"

#define KEPT_MS 60000
#define MAX_SEEN 16

static sfd_early_messages_t early;

/* What the handler has been offered, by desc, and up to which job it finds them. */
static uint64_t offered[MAX_SEEN];
static size_t noffered;
static uint64_t known;

static void setup(void)
{
  sfd_early_messages_init(&early);
  noffered = 0;
  known = 0;
}

static void teardown(void)
{
  sfd_early_messages_free(&early);
}

SFTEST_FIXTURE(setup, teardown);

static void keep(uint64_t now_ms, int32_t node, uint64_t job, uint64_t desc)
{
  sfd_message_head_t head = {.kind = 1, .payload_bytes = 8, .job = job, .desc = desc};
  uint64_t *payload = malloc(sizeof *payload);
  *payload = 100 * desc;
  ck_assert_int_eq(sfd_early_messages_keep(&early, now_ms, node, &head, payload), SF_OK);
}

static sf_status_t deliver(void *context, int32_t node, const sfd_message_head_t *head, void *payload)
{
  ck_assert_ptr_eq(context, &early);
  ck_assert_int_eq(node, (int32_t)(head->job % 10));
  ck_assert_uint_eq(*(uint64_t *)payload, 100 * head->desc);
  ck_assert_uint_lt(noffered, MAX_SEEN);
  offered[noffered++] = head->desc;
  if (head->job > known)
    return SF_ERR_NOT_FOUND;
  free(payload);
  return SF_OK;
}

/* Something begins; these are offered, in order. */
static void expect_offers(bool delivered, size_t n, const uint64_t descs[])
{
  noffered = 0;
  early.begun = true;
  ck_assert(sfd_early_messages_attend(&early, deliver, &early) == delivered);
  ck_assert_uint_eq(noffered, n);
  if (n > 0)
    ck_assert_mem_eq(offered, descs, n * sizeof descs[0]);
}

/* In the order in which they came, and only when something has begun; what is still too early stays. */
SFTEST(delivered_in_order)
{
  keep(1, 1, 11, 1);
  keep(2, 2, 12, 2);
  keep(3, 1, 11, 3);
  ck_assert(!sfd_early_messages_attend(&early, deliver, &early));
  ck_assert_uint_eq(noffered, 0);
  expect_offers(false, 3, (const uint64_t[]){1, 2, 3});
  known = 11;
  expect_offers(true, 3, (const uint64_t[]){1, 2, 3});
  expect_offers(false, 1, (const uint64_t[]){2});
  keep(4, 1, 21, 4);
  known = 21;
  expect_offers(true, 2, (const uint64_t[]){2, 4});
  expect_offers(false, 0, NULL);
  ck_assert_uint_eq(early.bytes, 0);
}

SFTEST(dropped_with_the_node)
{
  keep(1, 1, 11, 1);
  keep(1, 2, 12, 2);
  keep(1, 1, 21, 3);
  sfd_early_messages_forget(&early, 1);
  expect_offers(false, 1, (const uint64_t[]){2});
  sfd_early_messages_forget(&early, 3);
  expect_offers(false, 1, (const uint64_t[]){2});
}

/* Looked at when the next one comes. */
SFTEST(dropped_after_a_minute)
{
  keep(1000, 1, 11, 1);
  keep(1001, 1, 11, 2);
  keep(1000 + KEPT_MS - 1, 1, 11, 3);
  expect_offers(false, 3, (const uint64_t[]){1, 2, 3});
  keep(1000 + KEPT_MS, 1, 11, 4);
  expect_offers(false, 3, (const uint64_t[]){2, 3, 4});
  keep(5 * KEPT_MS, 1, 11, 5);
  expect_offers(false, 1, (const uint64_t[]){5});
}

/* The payload of a message that is refused stays the caller's. */
SFTEST(bounded)
{
  uint64_t payload = 0;
  sfd_message_head_t head = {.kind = 1, .payload_bytes = 1u << 30, .job = 1, .desc = 1};
  ck_assert_int_eq(sfd_early_messages_keep(&early, 1, 7, &head, malloc(8)), SF_OK);
  head.payload_bytes = 8;
  ck_assert_int_eq(sfd_early_messages_keep(&early, 2, 7, &head, &payload), SF_ERR_LIMIT);
  ck_assert_ptr_ne(strstr(sfshm_error_detail(), "node 7"), NULL);
  sfd_early_messages_forget(&early, 7);
  keep(3, 1, 11, 2);
}
