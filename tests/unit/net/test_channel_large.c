/* Payloads of 4 GiB and more: no length on their way is cut. The payload's memory is never touched; a fabric of the
 * test's own carries what is small, and only counts the rest. */
#include <sys/mman.h>

#include "daemon/net/channel.h"
#include "tests/unit/runner.h"

#define LARGE ((UINT64_C(5) << 30) + 13) /* bytes */
#define AT_ONCE (UINT64_C(3) << 30)      /* that arrive in one go */

typedef struct user {
  sfd_fabric_t fabric; /* first */
  sfd_channels_t *channels;
  struct user *other;
  uint8_t *memory; /* of the payload here; not to be touched */
  struct iovec under_way[16];
  int nunder_way;
  int ndone;
  int narrived;
  sfd_message_head_t head; /* of the last one */
} user_t;

/* ---- The fabric -------------------------------------------------------------------------------------------------- */

static void fabric_ignore_node(sfd_fabric_t *fabric, int32_t node)
{
  (void)fabric, (void)node;
}

static void fabric_ignore(sfd_fabric_t *fabric)
{
  (void)fabric;
}

static void fabric_close(sfd_fabric_t *fabric)
{
  fabric->events->closed(fabric->owner);
}

static void fabric_send(sfd_fabric_t *fabric, int32_t node, const struct iovec iov[], int niov)
{
  user_t *user = (user_t *)fabric;
  (void)node;
  ck_assert_int_eq(user->nunder_way, 0);
  ck_assert_int_le(niov, 16);
  memcpy(user->under_way, iov, (size_t)niov * sizeof *iov);
  user->nunder_way = niov;
}

static void fabric_describe(const sfd_fabric_t *fabric, int32_t node, char *text, size_t text_size)
{
  (void)fabric;
  snprintf(text, text_size, "node %d", node);
}

static const sfd_fabric_functions_t functions = {.name = "counting",
                                                 .connect = fabric_ignore_node,
                                                 .send = fabric_send,
                                                 .disconnect = fabric_ignore_node,
                                                 .close = fabric_close,
                                                 .destroy = fabric_ignore,
                                                 .describe = fabric_describe};

/* The payload goes from and to nowhere but the places where it is expected. */
static void carry_piece(const user_t *from, struct iovec piece)
{
  user_t *to = from->other;
  const uint8_t *bytes = piece.iov_base;
  while (piece.iov_len > 0) {
    void *buffer = NULL;
    size_t room = to->fabric.events->want(to->fabric.owner, from->fabric.node, &buffer);
    size_t nbytes = room < piece.iov_len ? room : piece.iov_len;
    bool is_payload = bytes >= from->memory && bytes < from->memory + LARGE;
    ck_assert_ptr_nonnull(buffer);
    size_t due = to->fabric.events->due(to->fabric.owner, from->fabric.node);
    ck_assert_uint_eq(due, is_payload ? LARGE - (uint64_t)(bytes - from->memory) : 0);
    if (is_payload && nbytes > AT_ONCE)
      nbytes = AT_ONCE;
    if (is_payload)
      ck_assert_ptr_eq(buffer, to->memory + (bytes - from->memory));
    else
      memcpy(buffer, bytes, nbytes);
    to->fabric.events->got(to->fabric.owner, from->fabric.node, nbytes);
    bytes += nbytes;
    piece.iov_len -= nbytes;
  }
}

static bool carry(user_t *from)
{
  struct iovec pieces[16];
  int n = from->nunder_way;
  if (n == 0)
    return false;
  memcpy(pieces, from->under_way, sizeof pieces);
  for (int i = 0; i < n; i++)
    carry_piece(from, pieces[i]);
  from->nunder_way = 0;
  from->fabric.events->sent(from->fabric.owner, from->other->fabric.node);
  return true;
}

/* ---- The user ---------------------------------------------------------------------------------------------------- */

static sfd_placing_t place(void *owner, int32_t node, const sfd_message_head_t *head, void **buffer_p)
{
  (void)node;
  ck_assert(head->payload_bytes == LARGE || head->payload_bytes == 3);
  *buffer_p = ((user_t *)owner)->memory;
  return head->payload_bytes == LARGE ? SFD_PLACE_HERE : SFD_PLACE_CHANNEL;
}

static sf_status_t arrived(void *owner, int32_t node, const sfd_message_head_t *head, void *payload)
{
  user_t *user = owner;
  (void)node;
  user->narrived++;
  user->head = *head;
  if (head->payload_bytes == 3)
    ck_assert_mem_eq(payload, "end", 3);
  return SF_OK;
}

static void lost(void *owner, int32_t node, const sfd_message_head_t *head)
{
  (void)owner, (void)node, (void)head;
  ck_abort_msg("a payload was lost");
}

static void down(void *owner, int32_t node, sf_status_t status, const char *detail)
{
  (void)owner, (void)node, (void)status;
  ck_abort_msg("%s", detail);
}

static void ignore(void *owner)
{
  (void)owner;
}

static void on_done(void *context, sf_status_t status)
{
  ck_assert_int_eq(status, SF_OK);
  ((user_t *)context)->ndone++;
}

static const sfd_channel_handlers_t handlers = {
    .place = place, .arrived = arrived, .lost = lost, .down = down, .closed = ignore, .deferred = ignore};

static void start(user_t users[2])
{
  for (int32_t i = 0; i < 2; i++) {
    users[i] = (user_t){.fabric = {.functions = &functions, .node = i, .nnodes = 2}, .other = &users[1 - i]};
    users[i].memory = mmap(NULL, LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(users[i].memory, MAP_FAILED);
    ck_assert_int_eq(sfd_channels_create(&users[i].fabric, &handlers, &users[i], &users[i].channels), SF_OK);
  }
  for (int32_t i = 0; i < 2; i++)
    users[i].fabric.events->up(users[i].fabric.owner, 1 - i);
}

static void stop(user_t users[2])
{
  for (int32_t i = 0; i < 2; i++) {
    sfd_channels_close(users[i].channels);
    sfd_channels_destroy(users[i].channels);
    munmap(users[i].memory, LARGE);
  }
}

SFTEST(large)
{
  user_t users[2];
  start(users);
  sfd_message_head_t heads[] = {{.kind = 2, .number = 7, .payload_bytes = LARGE, .desc = 1}, {.payload_bytes = 3}};
  ck_assert_int_eq(sfd_channel_send(users[0].channels, 1, &heads[0], users[0].memory, on_done, &users[0]), SF_OK);
  while (users[1].narrived == 0)
    ck_assert_msg(carry(&users[0]) || carry(&users[1]), "nothing is under way");
  ck_assert_mem_eq(&users[1].head, &heads[0], sizeof heads[0]);
  ck_assert_int_eq(users[0].ndone, 1);
  ck_assert_int_eq(sfd_channel_send(users[0].channels, 1, &heads[1], "end", NULL, NULL), SF_OK);
  ck_assert(carry(&users[0]));
  ck_assert_int_eq(users[1].narrived, 2);
  ck_assert_uint_eq(sfd_channel_counts(users[0].channels, 1)->payload_sent[2], LARGE);
  ck_assert_uint_eq(sfd_channel_counts(users[1].channels, 0)->payload_received[2], LARGE);
  ck_assert_uint_eq(sfd_channel_counts(users[0].channels, 1)->queued_bytes, 0);
  stop(users);
}
