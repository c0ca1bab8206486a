/* Ends of streams of the mpi fabric, under mpirun: strangers at the door, links that break, also while MPI keeps the
 * progress thread, streams that are ended while everything is under way; and with the argument "wait", a program to be
 * killed. Other arguments: the name of a file that is not there yet. At least two nodes. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/mpi/common/peers.h"

/* ---- Links: strangers, and a connection that breaks ---- */

static struct sockaddr_in link_address(int32_t node)
{
  char text[256], host[64] = "";
  unsigned port = 0;
  peers_fabric->functions->describe(peers_fabric, node, text, sizeof text);
  const char *comma = strrchr(text, ',');
  if (comma == NULL || sscanf(comma, ", %63s port %u", host, &port) != 2)
    peers_fail("no address in '%s'", text);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

/* What connects without the token, or does not speak the protocol, is shown out. */
static void be_stranger(void)
{
  struct {
    uint32_t magic, version, from, to, crossed, zero;
    uint64_t posted;
    uint8_t token[32];
  } hello = {.magic = 0x4d444653, .version = 1, .from = 0, .to = 1};
  struct sockaddr_in address = link_address(1);
  struct timeval limit = {.tv_sec = 2};
  for (int i = 0; i < 2; i++) {
    char byte;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
      peers_fail("cannot connect to node 1: %s", strerror(errno));
    if (i == 1)
      hello.magic = 0;
    if (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
      peers_fail("cannot send to node 1: %s", strerror(errno));
    ssize_t n = recv(fd, &byte, 1, 0);
    if (n > 0)
      peers_fail("node 1 answers a stranger");
    if (n < 0 && errno == EAGAIN)
      peers_fail("node 1 lets a stranger stay");
    close(fd);
  }
}

static uint16_t port_of(int fd, int (*get)(int, struct sockaddr *, socklen_t *))
{
  struct sockaddr_storage address;
  socklen_t len = sizeof address;
  if (get(fd, (struct sockaddr *)&address, &len) != 0)
    return 0;
  return address.ss_family == AF_INET    ? ((struct sockaddr_in *)&address)->sin_port
         : address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                         : 0;
}

/* Breaks all links of this node: the connections with somebody's link port at one end. */
static void cut_links(void)
{
  for (int fd = 3; fd < 1024; fd++) {
    for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
      uint16_t port = link_address(node).sin_port;
      bool mine = port_of(fd, getpeername) == port || (!peers_is_peer(node) && port_of(fd, getsockname) == port);
      if (mine && port_of(fd, getpeername) != 0)
        shutdown(fd, SHUT_RDWR);
    }
  }
}

static int32_t cutter; /* the node that breaks its links */

static bool is_cut(void)
{
  bool cut = true;
  for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
    bool affected = peers_is_peer(node) && (peers_fabric->node == cutter || node == cutter);
    cut = cut && (!affected || peers_nodes[node].downs == 1);
  }
  return cut;
}

/* Both sides learn of it, and can connect anew. */
static void check_end_of_cut(void)
{
  peers_run_until(is_cut);
  for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
    if (peers_is_peer(node) && !peers_nodes[node].up)
      peers_connect_to(node);
  }
  peers_run_until(peers_all_up);
  for (int32_t node = 0; node < peers_fabric->nnodes; node++)
    peers_nodes[node].downs = peers_nodes[node].failings = 0;
  peers_barrier();
}

static void check_cut(void)
{
  cutter = 0;
  if (peers_fabric->node == 0) {
    be_stranger();
    cut_links();
  }
  check_end_of_cut();
}

/* ---- The same while something keeps the progress thread ---- */

static pthread_t loop_thread;
static _Atomic bool hold, is_held;
static const char *flag_file;

/* In place of libc's for all libraries. The progress thread calls it when it finds nothing to do. */
int sched_yield(void)
{
  while (hold && !pthread_equal(pthread_self(), loop_thread)) {
    is_held = true;
    usleep(1000);
  }
  return (int)syscall(SYS_sched_yield);
}

/* The thread may have come too late to yield after the last message. */
static bool has_been_held(void)
{
  if (!is_held && !peers_nodes[1].sending)
    peers_send_bytes(1, PEERS_TOKEN);
  return is_held;
}

/* It has sent one token more than this node. */
static bool is_node_1_here(void)
{
  return peers_nodes[1].received > peers_nodes[1].sent;
}

static bool is_flagged(void)
{
  return access(flag_file, F_OK) == 0;
}

static bool is_failing(void)
{
  return peers_nodes[1].failings > 0;
}

/* The user is told before the progress thread knows. Node 1 has left the barrier before: it may need this thread to
 * receive its token. */
static void see_failing(void)
{
  peers_run_until(is_node_1_here);
  hold = true;
  peers_run_until(has_been_held);
  int fd = open(flag_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0)
    peers_fail("%s: %s", flag_file, strerror(errno));
  close(fd);
  peers_run_until(is_failing);
  if (peers_nodes[1].downs != 0)
    peers_fail("node 1 is down while the progress thread sleeps");
  hold = false;
}

static void check_cut_while_held(void)
{
  cutter = 1;
  if (peers_fabric->node == 0) {
    see_failing();
  } else if (peers_fabric->node == 1) {
    peers_send_bytes(0, PEERS_TOKEN);
    peers_run_until(is_flagged);
    cut_links();
  }
  check_end_of_cut();
}

/* ---- Unrest: streams that are ended in the midst of everything ---- */

static void disturb(int32_t node)
{
  peers_node_t *peer = &peers_nodes[node];
  if (peer->up && peers_random_below(300) == 0) {
    peers_fabric->functions->disconnect(peers_fabric, node);
    peers_forget(peer);
  } else if (peer->connecting && peers_random_below(50) == 0) {
    peers_fabric->functions->disconnect(peers_fabric, node);
    peers_forget(peer);
  } else if (!peer->up && !peer->connecting) {
    peers_connect_to(node);
  }
}

static void stage_and_send(int32_t node)
{
  peers_node_t *peer = &peers_nodes[node];
  size_t len = peers_random_size(PEERS_GUARDED), half = len / 2;
  memcpy(peer->staging, peers_bytes_at(peers_fabric->node, node, peer->sent), len);
  peers_send_pieces(node,
                    (struct iovec[]){{.iov_base = peer->staging, .iov_len = half},
                                     {.iov_base = peer->staging + half, .iov_len = len - half}},
                    2);
}

static bool unrest_is_over(void)
{
  for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
    if (!peers_is_peer(node))
      continue;
    if (peers_nodes[node].up && !peers_nodes[node].sending)
      stage_and_send(node);
    else
      disturb(node);
  }
  return peers_has_fired();
}

static void check_unrest(void)
{
  unsigned ups = 0, downs = 0;
  for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
    peers_nodes[node].staging = malloc(PEERS_GUARDED);
    if (peers_nodes[node].staging == NULL)
      peers_fail("no memory");
  }
  peers_set_timer(3000);
  peers_run_until(unrest_is_over);
  for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
    ups += peers_nodes[node].ups;
    downs += peers_nodes[node].downs;
  }
  peers_say("unrest: %u streams made, %u ended by others\n", ups, downs);
}

static void connect_all(void)
{
  for (int32_t node = 0; node < peers_fabric->nnodes; node++) {
    if (peers_is_peer(node))
      peers_connect_to(node);
  }
  peers_run_until(peers_all_up);
  peers_barrier();
}

static void tick(uv_timer_t *handle)
{
  (void)handle; /* lets the loop go round */
}

int main(int argc, char *argv[])
{
  loop_thread = pthread_self();
  peers_prepare(&argc, &argv);
  flag_file = argc > 1 ? argv[1] : NULL;
  connect_all();
  if (argc > 1 && strcmp(argv[1], "wait") == 0) {
    printf("node %d waits, process %d\n", peers_fabric->node, (int)getpid());
    fflush(stdout);
    peers_pause_ms(60000);
  }
  static uv_timer_t ticks;
  uv_timer_init(&peers_loop, &ticks);
  uv_timer_start(&ticks, tick, 1, 1);
  check_cut();
  if (argc > 1)
    check_cut_while_held();
  check_unrest();
  uv_close((uv_handle_t *)&ticks, NULL);
  peers_finish();
  return 0;
}
