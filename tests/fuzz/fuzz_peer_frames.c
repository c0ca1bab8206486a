/* Fuzz target: whatever bytes another daemon sends, a channel delivers them or ends, alone. Built with libFuzzer, or
 * with SFTEST_STANDALONE as an ordinary program that makes up its inputs.
 *
 * An input is what arrives from node 1, after a byte that chooses how it is cut into pieces. Two bits of that byte help
 * the fuzzer to get behind the checks: REPAIRED asks for checksums and the like to be put right, GREETED for a proper
 * hello in front. Node 2 only ever sends a proper hello and one message after the other: it must never notice. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/net/frame.h"
#include "shm/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (1u << 18)
#define NNODES 3
#define REPAIRED 0x80
#define GREETED 0x40

static void require(bool condition, const char *what)
{
  if (condition)
    return;
  fprintf(stderr, "fuzz_peer_frames: %s\n", what);
  abort();
}

/* ---- A fabric that does what it is told, and nothing else ---- */

static bool connected[NNODES];

static void fabric_connect(sfd_fabric_t *fabric, int32_t node)
{
  (void)fabric, (void)node;
  require(false, "a channel was opened");
}

static void fabric_send(sfd_fabric_t *fabric, int32_t node, const struct iovec iov[], int niov)
{
  (void)fabric, (void)iov, (void)niov;
  require(connected[node], "sent to a node without a stream");
}

static void fabric_disconnect(sfd_fabric_t *fabric, int32_t node)
{
  (void)fabric;
  require(connected[node], "disconnected twice");
  connected[node] = false;
}

static void fabric_ignore(sfd_fabric_t *fabric)
{
  (void)fabric;
}

static void fabric_describe(const sfd_fabric_t *fabric, int32_t node, char *text, size_t text_size)
{
  (void)fabric;
  snprintf(text, text_size, "node %d", node);
}

static const sfd_fabric_functions_t functions = {.name = "fuzz",
                                                 .connect = fabric_connect,
                                                 .send = fabric_send,
                                                 .disconnect = fabric_disconnect,
                                                 .close = fabric_ignore,
                                                 .destroy = fabric_ignore,
                                                 .describe = fabric_describe};

/* ---- A user that treats messages in every possible way, depending on what they say ---- */

typedef struct user {
  bool deferred;
  uint8_t *placed;
  int arrived[NNODES];
  int downs[NNODES];
} user_t;

/* A place only for payloads that can be expected to come: others would take the fuzzer's memory. */
static sfd_placing_t place(void *owner, int32_t node, const sfd_message_head_t *head, void **buffer_p)
{
  user_t *user = owner;
  require(node == 1 && user->placed == NULL && head->payload_bytes > 0, "place was called out of turn");
  require(head->kind < SFD_MESSAGE_KINDS, "unknown kind");
  switch (head->kind % 4) {
  case 0:
    if (head->payload_bytes > 2 * INPUT_MAX)
      return SFD_PLACE_NOWHERE;
    user->placed = malloc(head->payload_bytes);
    *buffer_p = user->placed;
    return SFD_PLACE_HERE;
  case 1:
    return SFD_PLACE_CHANNEL;
  case 2:
    return SFD_PLACE_NOWHERE;
  default:
    sfshm_error(SF_ERR_PROTO, "refused");
    return head->kind == 15 ? SFD_PLACE_REFUSE : SFD_PLACE_CHANNEL;
  }
}

static sf_status_t arrived(void *owner, int32_t node, const sfd_message_head_t *head, void *payload)
{
  user_t *user = owner;
  uint32_t sum = 0;
  for (size_t i = 0; i < head->payload_bytes; i++)
    sum += ((const uint8_t *)payload)[i];
  require(payload != NULL || head->payload_bytes == 0, "a payload is missing");
  if (node == 1) {
    require(user->placed == NULL || payload == user->placed, "a payload is elsewhere");
    free(user->placed);
    user->placed = NULL;
  }
  user->arrived[node]++;
  return head->flags == 0xffff && sum != 1 ? SF_ERR_STATE : SF_OK;
}

static void lost(void *owner, int32_t node, const sfd_message_head_t *head)
{
  user_t *user = owner;
  (void)head;
  require(node == 1 && user->placed != NULL, "lost was called out of turn");
  free(user->placed);
  user->placed = NULL;
}

static void down(void *owner, int32_t node, sf_status_t status, const char *detail)
{
  user_t *user = owner;
  require(status < 0 && strncmp(detail, "node 1", 6) == 0, "an end without a reason");
  require(user->placed == NULL, "a payload was forgotten");
  user->downs[node]++;
}

static void closed(void *owner)
{
  (void)owner;
}

static void deferred(void *owner)
{
  ((user_t *)owner)->deferred = true;
}

static const sfd_channel_handlers_t handlers = {
    .place = place, .arrived = arrived, .lost = lost, .down = down, .closed = closed, .deferred = deferred};

/* ---- Feeding ---- */

/* Hands bytes over in pieces of at most that many; a piece of 0: as many as are wanted. */
static void feed(sfd_fabric_t *fabric, int32_t node, const uint8_t *bytes, size_t size, size_t piece)
{
  while (size > 0 && connected[node]) {
    void *buffer = NULL;
    size_t nbytes = fabric->events->want(fabric->owner, node, &buffer);
    if (buffer == NULL)
      return;
    require(nbytes > 0, "nothing is wanted");
    nbytes = nbytes < size ? nbytes : size;
    nbytes = piece == 0 || nbytes < piece ? nbytes : piece;
    memcpy(buffer, bytes, nbytes);
    fabric->events->got(fabric->owner, node, nbytes);
    bytes += nbytes;
    size -= nbytes;
  }
}

static size_t put_hello(uint8_t *to, int32_t node)
{
  sfd_hello_t hello = {.node = node, .nnodes = NNODES};
  sfd_frame_header_t header = {.type = SFD_FRAME_HELLO, .table_bytes = sizeof hello};
  sfd_frame_seal(&header, &hello);
  memcpy(to, &header, sizeof header);
  memcpy(to + sizeof header, &hello, sizeof hello);
  return sizeof header + sizeof hello;
}

/* A message of node 2, which arrives whatever node 1 does. */
static void feed_witness(sfd_fabric_t *fabric, user_t *user, uint32_t number)
{
  uint8_t bytes[SFD_FRAME_HEADER_BYTES + sizeof(sfd_message_head_t)];
  sfd_message_head_t head = {.kind = 1};
  sfd_frame_header_t header = {.type = SFD_FRAME_MESSAGES, .number = number, .messages = 1, .table_bytes = sizeof head};
  sfd_frame_seal(&header, &head);
  memcpy(bytes, &header, sizeof header);
  memcpy(bytes + sizeof header, &head, sizeof head);
  feed(fabric, 2, bytes, sizeof bytes, 0);
  require(user->arrived[2] == (int)number && user->downs[2] == 0, "another channel was disturbed");
}

/* Puts magic, version, number, type and checksums right as long as the lengths lead from frame to frame. */
static void repair(uint8_t *bytes, size_t size, uint32_t number)
{
  uint64_t at = 0;
  sfd_frame_header_t header;
  for (; at <= size && size - at >= sizeof header; number++) {
    uint64_t table[SFD_FRAME_TABLE_MAX / sizeof(uint64_t)];
    memcpy(&header, bytes + at, sizeof header);
    header.number = number;
    header.type = number == 0 ? SFD_FRAME_HELLO : SFD_FRAME_MESSAGES;
    if (header.table_bytes > SFD_FRAME_TABLE_MAX || header.table_bytes > size - at - sizeof header)
      return;
    header.table_bytes = (uint16_t)(header.table_bytes & ~7u);
    memcpy(table, bytes + at + sizeof header, header.table_bytes);
    sfd_frame_seal(&header, table);
    memcpy(bytes + at, &header, sizeof header);
    if (header.payload_bytes > size)
      return;
    at += sizeof header + header.table_bytes + header.payload_bytes;
  }
}

static void connect_node(sfd_fabric_t *fabric, int32_t node)
{
  connected[node] = true;
  fabric->events->up(fabric->owner, node);
}

static void run_deferred(sfd_channels_t *channels, user_t *user)
{
  require(connected[1] != user->deferred, "an end that is not told");
  if (user->deferred)
    sfd_channels_run_deferred(channels);
  require(user->downs[1] == (user->deferred ? 1 : 0), "one end is told once");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const size_t pieces[] = {0, 1, 3, 8, 31, 100, 5000, 17000};
  static uint8_t bytes[INPUT_MAX];
  user_t user = {.deferred = false};
  sfd_fabric_t fabric = {.functions = &functions, .node = 0, .nnodes = NNODES};
  sfd_channels_t *channels;
  if (size == 0 || size > INPUT_MAX)
    return 0;
  memcpy(bytes, data + 1, size - 1);
  if (data[0] & REPAIRED)
    repair(bytes, size - 1, data[0] & GREETED ? 1 : 0);
  require(sfd_channels_create(&fabric, &handlers, &user, &channels) == SF_OK, "no channels");
  connect_node(&fabric, 1);
  connect_node(&fabric, 2);
  uint8_t hello[SFD_FRAME_HEADER_BYTES + sizeof(sfd_hello_t)];
  feed(&fabric, 2, hello, put_hello(hello, 2), 0);
  feed_witness(&fabric, &user, 1);
  if (data[0] & GREETED)
    feed(&fabric, 1, hello, put_hello(hello, 1), 0);
  feed(&fabric, 1, bytes, size - 1, pieces[data[0] % 8]);
  feed_witness(&fabric, &user, 2);
  run_deferred(channels, &user);
  feed_witness(&fabric, &user, 3);
  sfd_channels_close(channels);
  fabric.events->closed(fabric.owner);
  require(user.placed == NULL, "a payload was forgotten at the end");
  sfd_channels_destroy(channels);
  return 0;
}

#ifdef SFTEST_STANDALONE

#include "tests/fuzz/made.h"

#define ROUNDS 10000u

/* A frame of several messages, behind the input's last. */
static void append_frame(sftest_made_t *input, uint32_t number)
{
  static const unsigned limits[] = {1, 9, SFD_FRAME_INLINE_MAX, SFD_FRAME_INLINE_MAX + 20, 20000};
  static uint64_t table[SFD_FRAME_TABLE_MAX / 8];
  sfd_frame_header_t header = {.type = SFD_FRAME_MESSAGES, .number = number, .messages = (uint16_t)(1 + below(5))};
  for (unsigned i = 0; i < header.messages; i++) {
    sfd_message_head_t head = {.kind = (uint16_t)below(15), .payload_bytes = below(limits[below(5)])};
    memcpy((uint8_t *)table + header.table_bytes, &head, sizeof head);
    header.table_bytes = (uint16_t)(header.table_bytes + sfd_frame_table_bytes(&head));
    header.payload_bytes += sfd_frame_is_inline(&head) ? 0 : sfd_frame_padded(head.payload_bytes);
  }
  sfd_frame_seal(&header, table);
  memcpy(input->bytes + input->size, &header, sizeof header);
  input->size += sizeof header;
  memcpy(input->bytes + input->size, table, header.table_bytes);
  input->size += header.table_bytes;
  memset(input->bytes + input->size, (int)number, header.payload_bytes);
  input->size += header.payload_bytes;
}

static void spoil(sftest_made_t *input)
{
  size_t behind = input->size - 1;
  spoil_bytes(input->bytes + 1, &behind, below(2) || behind < 400 ? behind : 400); /* what comes first matters most */
  input->size = 1 + behind;
}

static void make_input(sftest_made_t *input)
{
  input->size = 1;
  input->bytes[0] = (uint8_t)below(256);
  bool greeted = (input->bytes[0] & GREETED) != 0;
  input->size += greeted ? 0 : put_hello(input->bytes + 1, 1);
  unsigned nframes = greeted + below(3);
  for (uint32_t number = 1; number <= nframes; number++)
    append_frame(input, number);
  if (below(5) != 0)
    spoil(input);
}

int main(void)
{
  return run_rounds("fuzz_peer_frames", ROUNDS, make_input);
}

#endif
