/* See peers.h. */
#include "tests/mpi/common/peers.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/net/fabric/plugin.h"
#include "shm/base/error.h"

#define PERIOD ((1u << 20) + 7) /* of the bytes that are sent */
#define CANARY 0x5a
#define LIMIT_S 120

uv_loop_t peers_loop;
sfd_fabric_t *peers_fabric;
peers_node_t *peers_nodes;
bool peers_any_room = true;
static uv_timer_t timer;
static uint8_t *pattern;
static bool closed, timer_fired;
static uint64_t seed;

/* ---- Random numbers, the bytes of the streams ---- */

void peers_fail(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  fprintf(stderr, "FAILED on node %d (SF_TEST_SEED=%llu): ", peers_fabric != NULL ? peers_fabric->node : -1,
          (unsigned long long)seed);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  _exit(1);
}

static void on_alarm(int signal)
{
  (void)signal;
  static const char text[] = "FAILED: not finished in time\n";
  ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
  _exit(n > 0 ? 1 : 2);
}

uint64_t peers_random_below(uint64_t n)
{
  static uint64_t state;
  state = (state == 0 ? seed * 2654435769u + (uint64_t)peers_fabric->node + 1 : state) * 6364136223846793005u +
          1442695040888963407u;
  return (state >> 33) % n;
}

size_t peers_random_size(size_t max)
{
  static const size_t limits[] = {64, 20000, 300000};
  size_t limit = limits[peers_random_below(3)];
  if (peers_random_below(200) == 0)
    limit = max;
  return (size_t)peers_random_below((limit < max ? limit : max) + 1);
}

const uint8_t *peers_bytes_at(int32_t from, int32_t to, uint64_t offset)
{
  return pattern + (offset + 7919u * (uint64_t)(from * peers_fabric->nnodes + to)) % PERIOD;
}

static void make_pattern(void)
{
  uint64_t state = 42;
  pattern = malloc(PERIOD + PEERS_PIECE_MAX);
  if (pattern == NULL)
    peers_fail("no memory");
  for (size_t i = 0; i < PERIOD + PEERS_PIECE_MAX; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    pattern[i] = i < PERIOD ? (uint8_t)(state >> 40) : pattern[i - PERIOD];
  }
}

/* ---- Events ---- */

static void on_up(void *owner, int32_t node)
{
  peers_node_t *peer = &peers_nodes[node];
  (void)owner;
  if (peer->up)
    peers_fail("node %d is up twice", node);
  peer->up = true;
  peer->connecting = false;
  peer->sent = peer->received = 0;
  peer->ups++;
}

void peers_forget(peers_node_t *peer)
{
  peer->up = peer->sending = peer->connecting = false;
  if (peer->staging != NULL)
    memset(peer->staging, 0xee, PEERS_GUARDED);
  memset(peer->buffer, CANARY, PEERS_GUARDED);
  peer->guarded = true;
}

static void on_down(void *owner, int32_t node, sf_status_t status, const char *detail)
{
  char expected[32];
  (void)owner;
  snprintf(expected, sizeof expected, "node %d ", node);
  if (status == SF_OK || strstr(detail, expected) == NULL)
    peers_fail("node %d is down with status %d and text '%s'", node, status, detail);
  if (!peers_nodes[node].up && !peers_nodes[node].connecting)
    peers_fail("node %d is down though it was not up: %s", node, detail);
  peers_nodes[node].downs++;
  peers_forget(&peers_nodes[node]);
}

static void on_failing(void *owner, int32_t node, const char *detail)
{
  (void)owner;
  (void)detail;
  if (!peers_nodes[node].up)
    peers_fail("node %d is failing though it is not up", node);
  peers_nodes[node].failings++;
}

static void on_sent(void *owner, int32_t node)
{
  (void)owner;
  if (!peers_nodes[node].sending)
    peers_fail("sent to node %d what was not", node);
  peers_nodes[node].sending = false;
}

static void check_canary(int32_t node)
{
  peers_node_t *peer = &peers_nodes[node];
  for (size_t i = 0; peer->guarded && i < PEERS_GUARDED; i++) {
    if (peer->buffer[i] != CANARY)
      peers_fail("the buffer for node %d was written to behind the end of the stream", node);
  }
  peer->guarded = false;
}

static size_t on_want(void *owner, int32_t node, void **buffer_p)
{
  peers_node_t *peer = &peers_nodes[node];
  (void)owner;
  if (!peer->up)
    peers_fail("bytes of node %d, which is not up", node);
  check_canary(node);
  peer->room = peers_any_room ? 1 + peers_random_size(PEERS_PIECE_MAX - 1) : PEERS_PIECE_MAX;
  *buffer_p = peer->buffer;
  return peer->room;
}

static void on_got(void *owner, int32_t node, size_t nbytes)
{
  peers_node_t *peer = &peers_nodes[node];
  (void)owner;
  if (nbytes == 0 || nbytes > peer->room)
    peers_fail("%zu bytes from node %d where %zu were wanted", nbytes, node, peer->room);
  if (memcmp(peer->buffer, peers_bytes_at(node, peers_fabric->node, peer->received), nbytes) != 0)
    peers_fail("other bytes than expected from node %d in the %zu from %llu on", node, nbytes,
               (unsigned long long)peer->received);
  peer->received += nbytes;
}

static void on_closed(void *owner)
{
  (void)owner;
  closed = true;
}

static const sfd_fabric_events_t events = {.up = on_up,
                                           .down = on_down,
                                           .failing = on_failing,
                                           .sent = on_sent,
                                           .want = on_want,
                                           .got = on_got,
                                           .closed = on_closed};

/* uv_run runs timers first, and would then wait for the next event, which may never come. */
static void on_timer(uv_timer_t *handle)
{
  timer_fired = true;
  uv_stop(handle->loop);
}

/* ---- Steps ---- */

void peers_run_until(peers_condition_t *condition)
{
  while (!condition())
    uv_run(&peers_loop, UV_RUN_ONCE);
}

bool peers_has_fired(void)
{
  return timer_fired;
}

void peers_set_timer(uint64_t ms)
{
  timer_fired = false;
  uv_timer_start(&timer, on_timer, ms, 0);
}

void peers_pause_ms(uint64_t ms)
{
  peers_set_timer(ms);
  peers_run_until(peers_has_fired);
}

bool peers_is_peer(int32_t node)
{
  return node != peers_fabric->node;
}

bool peers_all_up(void)
{
  for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
    if (peers_is_peer(node) && !peers_nodes[node].up)
      return false;
  }
  return true;
}

void peers_connect_to(int32_t node)
{
  peers_nodes[node].connecting = true;
  peers_fabric->functions->connect(peers_fabric, node);
}

void peers_send_pieces(int32_t node, const struct iovec iov[], int niov)
{
  for (int i = 0; i < niov; i++)
    peers_nodes[node].sent += iov[i].iov_len;
  peers_nodes[node].sending = true;
  peers_fabric->functions->send(peers_fabric, node, iov, niov);
}

void peers_send_bytes(int32_t node, size_t len)
{
  void *bytes = (void *)peers_bytes_at(peers_fabric->node, node, peers_nodes[node].sent);
  peers_send_pieces(node, &(struct iovec){.iov_base = bytes, .iov_len = len}, 1);
}

static bool tokens_are_there(void)
{
  for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
    if (peers_is_peer(node) && (peers_nodes[node].sending || peers_nodes[node].received < peers_nodes[node].sent))
      return false;
  }
  return true;
}

void peers_barrier(void)
{
  for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
    if (peers_is_peer(node))
      peers_send_bytes(node, PEERS_TOKEN);
  }
  peers_run_until(tokens_are_there);
}

void peers_say(const char *format, ...)
{
  va_list args;
  if (peers_fabric->node != 0)
    return;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  fflush(stdout);
}

/* ---- Beginning and end ---- */

static bool is_closed(void)
{
  return closed;
}

void peers_prepare(int *argc, char ***argv)
{
  const char *text = getenv("SF_TEST_SEED");
  signal(SIGALRM, on_alarm);
  alarm(LIMIT_S);
  seed = text != NULL ? (uint64_t)strtoul(text, NULL, 0) : (uint64_t)getppid(); /* mpirun's: mostly the same for all */
  uv_loop_init(&peers_loop);
  uv_timer_init(&peers_loop, &timer);
  if (sfd_plugin_mpi_fabric(getenv("SFTEST_PLUGIN_DIR"), &peers_loop, argc, argv, &peers_fabric) != SF_OK)
    peers_fail("%s", sfshm_error_detail());
  peers_fabric->events = &events;
  peers_nodes = calloc((size_t)peers_fabric->nnodes, sizeof *peers_nodes);
  make_pattern();
  for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
    peers_nodes[node].buffer = malloc(PEERS_PIECE_MAX);
    if (peers_nodes[node].buffer == NULL)
      peers_fail("no memory");
  }
  peers_say("%d nodes, SF_TEST_SEED=%llu\n", peers_fabric->nnodes, (unsigned long long)seed);
}

void peers_finish(void)
{
  peers_fabric->functions->close(peers_fabric);
  peers_run_until(is_closed);
  for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
    free(peers_nodes[node].buffer);
    free(peers_nodes[node].staging);
  }
  peers_fabric->functions->destroy(peers_fabric);
  free(peers_nodes);
  free(pattern);
  uv_close((uv_handle_t *)&timer, NULL);
  uv_run(&peers_loop, UV_RUN_DEFAULT);
  if (uv_loop_close(&peers_loop) != 0)
    peers_fail("handles are left in the loop");
}
