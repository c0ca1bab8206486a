/* The mpi fabric under mpirun, without anything above it: streams of random pieces between all nodes, that idle nodes
 * sleep, and what 8 bytes take from node 0 to node 1. At least two nodes. */
#include <stdio.h>
#include <sys/resource.h>

#include "tests/mpi/common/peers.h"

#define PIECES_MAX 8
#define STREAM_BYTES (64ull << 20)

/* ---- Streams ---- */

/* Random pieces, until so many bytes are sent. */
static void send_some(int32_t node, uint64_t until)
{
  struct iovec iov[PIECES_MAX];
  int niov = 1 + (int)peers_random_below(PIECES_MAX);
  uint64_t offset = peers_nodes[node].sent;
  for (int i = 0; i < niov; i++) {
    size_t len = peers_random_size(PEERS_PIECE_MAX);
    if (len > until - offset)
      len = (size_t)(until - offset);
    iov[i] = (struct iovec){.iov_base = (void *)peers_bytes_at(peers_fabric->node, node, offset), .iov_len = len};
    offset += len;
  }
  peers_send_pieces(node, iov, niov);
}

static bool has_streamed(void)
{
  bool done = true;
  for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
    peers_node_t *peer = &peers_nodes[node];
    if (!peers_is_peer(node))
      continue;
    if (!peer->sending && peer->sent < STREAM_BYTES)
      send_some(node, STREAM_BYTES);
    done = done && !peer->sending && peer->sent >= STREAM_BYTES && peer->received >= STREAM_BYTES;
  }
  return done;
}

static void check_streams(void)
{
  for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
    if (peers_is_peer(node))
      peers_connect_to(node); /* as the others do at the same time */
  }
  peers_run_until(peers_all_up);
  uint64_t began = uv_hrtime();
  peers_run_until(has_streamed);
  peers_say("streams: %llu MiB from each node to each other one in %.2f s\n", STREAM_BYTES >> 20,
            (double)(uv_hrtime() - began) / 1e9);
  peers_any_room = false;
  peers_barrier();
}

/* ---- Idling ---- */

static uint64_t cpu_ns(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
         (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

static void check_idle(void)
{
  peers_pause_ms(300);
  uint64_t started = cpu_ns(), began = uv_hrtime();
  peers_pause_ms(2000);
  double share = 100 * (double)(cpu_ns() - started) / (double)(uv_hrtime() - began);
  printf("node %d: %.2f %% of a core while idle\n", peers_fabric->node, share);
  fflush(stdout);
  if (share >= 1)
    peers_fail("%.2f %% of a core while idle", share);
}

/* ---- Latency ---- */

static bool is_answered(void)
{
  peers_node_t *peer = &peers_nodes[1 - peers_fabric->node];
  return !peer->sending && peer->received >= peer->sent;
}

static bool is_asked(void)
{
  return !peers_nodes[0].sending && peers_nodes[0].received > peers_nodes[0].sent;
}

/* Microseconds one way, as half of the way there and back. */
static double ping_pong(int rounds, uint64_t pause)
{
  uint64_t sum = 0;
  for (int i = 0; i < rounds; i++) {
    if (pause != 0 && peers_fabric->node == 0)
      peers_pause_ms(pause);
    uint64_t began = uv_hrtime();
    if (peers_fabric->node == 0)
      peers_send_bytes(1, PEERS_TOKEN);
    peers_run_until(peers_fabric->node == 0 ? is_answered : is_asked);
    if (peers_fabric->node == 1)
      peers_send_bytes(0, PEERS_TOKEN);
    sum += uv_hrtime() - began;
  }
  peers_run_until(is_answered);
  return (double)sum / rounds / 2000;
}

static void measure(void)
{
  if (peers_fabric->node > 1)
    return;
  double busy = ping_pong(2000, 0), idle = ping_pong(50, 5);
  peers_say("8 bytes one way: %.1f us, %.1f us after 5 ms of silence\n", busy, idle);
}

int main(int argc, char *argv[])
{
  peers_prepare(&argc, &argv);
  check_streams();
  check_idle();
  peers_barrier();
  measure();
  peers_barrier();
  peers_finish();
  return 0;
}
