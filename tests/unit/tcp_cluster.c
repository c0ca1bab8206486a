/* The cluster of tcp fabrics that tests share. */
#include "tests/unit/tcp_cluster.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "shm/base/error.h"
#include "tests/unit/hang.h"
#include "tests/unit/machine_clock.h"
#include "tests/unit/seed.h"

#define MAX_CHUNK 300000
#define MAX_WANT 200000

sftest_tcp_cluster_t sftest_tcp;

double sftest_tcp_now_s(void)
{
  return 1e-9 * (double)sftest_machine_clock_ns();
}

uint64_t sftest_tcp_random(uint64_t below)
{
  sftest_tcp.random = sftest_tcp.random * 6364136223846793005u + 1442695040888963407u;
  return (sftest_tcp.random >> 33) % below;
}

sftest_tcp_end_t *sftest_tcp_end(int node, int peer)
{
  return &sftest_tcp.nodes[node].ends[peer];
}

uint8_t sftest_tcp_content(int from, int to, uint64_t position)
{
  uint64_t x = (position >> 3) * 0x9e3779b97f4a7c15u + (uint64_t)(from * TCP_NODES + to);
  x ^= x >> 29;
  return (uint8_t)((x * 0xbf58476d1ce4e5b9u) >> (8 * (position & 7)));
}

/* ---- Events ---- */

static int node_of(const void *owner)
{
  return (int)((const sftest_tcp_node_t *)owner - sftest_tcp.nodes);
}

/* Cuts the memory into pieces at random, empty ones among them. */
static int cut(struct iovec iov[TCP_PIECES], uint8_t *memory, size_t nbytes)
{
  int npieces = 0;
  size_t longest = sftest_tcp_random(8) == 0 ? 1 + nbytes / 64 : 1 + nbytes;
  for (size_t position = 0; position < nbytes;) {
    size_t length = npieces == TCP_PIECES - 1 ? nbytes - position : sftest_tcp_random(longest + 1);
    if (length > nbytes - position)
      length = nbytes - position;
    iov[npieces++] = (struct iovec){memory + position, length};
    position += length;
  }
  return npieces;
}

static void send_next(int node, int peer)
{
  sftest_tcp_end_t *end = sftest_tcp_end(node, peer);
  struct iovec iov[TCP_PIECES];
  if (!end->up || end->sending || end->to_send == 0)
    return;
  uint64_t nbytes = 1 + sftest_tcp_random(sftest_tcp_random(4) == 0 ? MAX_CHUNK : 100);
  if (nbytes > end->to_send)
    nbytes = end->to_send;
  end->out = malloc(nbytes); /* exactly: the sanitizer sees what is read beyond it, or later */
  for (uint64_t i = 0; i < nbytes; i++)
    end->out[i] = sftest_tcp_content(node, peer, end->sent + i);
  end->sent += nbytes;
  end->to_send -= nbytes;
  end->sending = true;
  int niov = cut(iov, end->out, nbytes);
  sftest_tcp.nodes[node].fabric->functions->send(sftest_tcp.nodes[node].fabric, peer, iov, niov);
}

static void reset(sftest_tcp_end_t *end)
{
  free(end->out);
  free(end->in);
  end->out = end->in = NULL;
  end->sending = end->up = false;
  end->sent = end->got = 0;
}

static void on_up(void *owner, int32_t peer)
{
  sftest_tcp_end_t *end = sftest_tcp_end(node_of(owner), peer);
  ck_assert_msg(!end->up, "node %d has node %d twice", node_of(owner), peer);
  end->up = true;
  end->nups++;
  send_next(node_of(owner), peer);
}

static void on_down(void *owner, int32_t peer, sf_status_t status, const char *detail)
{
  sftest_tcp_end_t *end = sftest_tcp_end(node_of(owner), peer);
  reset(end);
  end->ndowns++;
  end->down_s = sftest_tcp_now_s();
  end->status = status;
  snprintf(end->detail, sizeof end->detail, "%s", detail);
}

static void on_sent(void *owner, int32_t peer)
{
  sftest_tcp_end_t *end = sftest_tcp_end(node_of(owner), peer);
  ck_assert(end->up && end->sending);
  free(end->out);
  end->out = NULL;
  end->sending = false;
  end->nsents++;
  send_next(node_of(owner), peer);
}

static size_t on_want(void *owner, int32_t peer, void **buffer_p)
{
  sftest_tcp_end_t *end = sftest_tcp_end(node_of(owner), peer);
  ck_assert(end->up);
  *buffer_p = NULL;
  if (end->refuse)
    return 0;
  free(end->in);
  end->in_size = 1 + sftest_tcp_random(sftest_tcp_random(4) == 0 ? MAX_WANT : 100);
  end->in = malloc(end->in_size);
  *buffer_p = end->in;
  return end->in_size;
}

static void on_got(void *owner, int32_t peer, size_t nbytes)
{
  sftest_tcp_end_t *end = sftest_tcp_end(node_of(owner), peer);
  ck_assert(end->up && nbytes > 0 && nbytes <= end->in_size);
  for (size_t i = 0; i < nbytes; i++)
    if (end->in[i] != sftest_tcp_content(peer, node_of(owner), end->got + i))
      ck_abort_msg("node %d got a wrong byte from node %d at %llu", node_of(owner), peer,
                   (unsigned long long)(end->got + i));
  end->got += nbytes;
}

static size_t on_due(void *owner, int32_t peer)
{
  const sftest_tcp_end_t *end = sftest_tcp_end(node_of(owner), peer);
  return end->awaited > end->got ? end->awaited - end->got : 0;
}

static void on_closed(void *owner)
{
  ((sftest_tcp_node_t *)owner)->closed = true;
}

static const sfd_fabric_events_t events = {
    .up = on_up, .down = on_down, .sent = on_sent, .want = on_want, .got = on_got, .due = on_due, .closed = on_closed};

/* ---- The cluster ---- */

static void write_key(char path[96], const char *name, char fill)
{
  char bytes[64];
  memset(bytes, fill, sizeof bytes);
  snprintf(path, 96, "%s/%s", sftest_tcp.directory, name);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ck_assert_int_eq(write(fd, bytes, sizeof bytes), sizeof bytes);
  close(fd);
}

int sftest_tcp_reserve_port(uint32_t host, uint16_t *port_p)
{
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
  socklen_t size = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
  ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
  ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
  ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
  *port_p = ntohs(address.sin_port);
  return fd;
}

void sftest_tcp_setup(void)
{
  sftest_machine_clock_start();
  memset(&sftest_tcp, 0, sizeof sftest_tcp);
  sftest_tcp.random = sftest_seed(20240611);
  snprintf(sftest_tcp.directory, sizeof sftest_tcp.directory, "/tmp/sftest-tcp-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(sftest_tcp.directory));
  write_key(sftest_tcp.key_file, "key", 'k');
  write_key(sftest_tcp.other_key_file, "other", 'o');
  uv_loop_init(&sftest_tcp.loop);
  for (int i = 0; i < TCP_NODES; i++) {
    sftest_tcp.listen_fds[i] = sftest_tcp_reserve_port(INADDR_LOOPBACK, &sftest_tcp.ports[i]);
    sftest_tcp.nodes[i].loop = &sftest_tcp.loop;
  }
}

void sftest_tcp_teardown(void)
{
  sftest_tcp_close_all();
  ck_assert_int_eq(uv_loop_close(&sftest_tcp.loop), 0);
  for (int i = 0; i < TCP_NODES; i++)
    close(sftest_tcp.listen_fds[i]);
  unlink(sftest_tcp.key_file);
  unlink(sftest_tcp.other_key_file);
  rmdir(sftest_tcp.directory);
}

const char *sftest_tcp_peers(int nnodes)
{
  static char text[TCP_NODES * 32];
  text[0] = '\0';
  for (int i = 0; i < nnodes; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s127.0.0.1:%u", i ? "," : "", sftest_tcp.ports[i]);
  return text;
}

sfd_tcp_options_t sftest_tcp_options(int node, int nnodes)
{
  return (sfd_tcp_options_t){
      .peers = sftest_tcp_peers(nnodes), .node = node, .key_file = sftest_tcp.key_file, .listen_fd = -1};
}

void sftest_tcp_create(int node, const sfd_tcp_options_t *options)
{
  sftest_tcp_node_t *self = &sftest_tcp.nodes[node];
  sfd_tcp_options_t own = *options;
  self->closed = false;
  own.listen_fd = fcntl(sftest_tcp.listen_fds[node], F_DUPFD_CLOEXEC, 0);
  ck_assert_msg(sfd_tcp_create(self->loop, &own, &self->fabric) == SF_OK, "%s", sfshm_error_detail());
  self->fabric->events = &events;
  self->fabric->owner = self;
}

void sftest_tcp_create_all(int nnodes)
{
  sftest_tcp.nnodes = nnodes;
  for (int i = 0; i < nnodes; i++) {
    sfd_tcp_options_t options = sftest_tcp_options(i, nnodes);
    sftest_tcp_create(i, &options);
  }
}

void sftest_tcp_destroy(int number)
{
  sftest_tcp_node_t *node = &sftest_tcp.nodes[number];
  ck_assert(node->closed);
  node->fabric->functions->destroy(node->fabric);
  node->fabric = NULL;
  for (int i = 0; i < TCP_NODES; i++)
    reset(&node->ends[i]);
}

static int closing;

static bool is_closed(void)
{
  return sftest_tcp.nodes[closing].closed;
}

void sftest_tcp_close(int node)
{
  sftest_tcp_node_t *self = &sftest_tcp.nodes[node];
  closing = node;
  self->fabric->functions->close(self->fabric);
  ck_assert(!self->closed);
  sftest_tcp_run_until(is_closed);
  sftest_tcp_destroy(node);
}

void sftest_tcp_close_all(void)
{
  for (int i = 0; i < TCP_NODES; i++)
    if (sftest_tcp.nodes[i].fabric != NULL)
      sftest_tcp_close(i);
}

void sftest_tcp_connect(int node, int peer)
{
  sftest_tcp.nodes[node].fabric->functions->connect(sftest_tcp.nodes[node].fabric, peer);
}

void sftest_tcp_send(int node, int peer, uint64_t nbytes)
{
  sftest_tcp_end(node, peer)->to_send += nbytes;
  send_next(node, peer);
}

/* ---- Running ---- */

/* uv_run runs timers first, and would then wait for the next event, which may be seconds away. */
static void on_guard(uv_timer_t *timer)
{
  *(bool *)timer->data = true;
  uv_stop(timer->loop);
}

static bool run(bool (*reached)(void), double limit_s)
{
  uv_timer_t guard;
  bool expired = false;
  uv_timer_init(&sftest_tcp.loop, &guard);
  uv_update_time(&sftest_tcp.loop);
  guard.data = &expired;
  uv_timer_start(&guard, on_guard, (uint64_t)(limit_s * 1e3), 0);
  while (!expired && (reached == NULL || !reached()))
    uv_run(&sftest_tcp.loop, UV_RUN_ONCE);
  uv_close((uv_handle_t *)&guard, NULL);
  uv_run(&sftest_tcp.loop, UV_RUN_NOWAIT);
  return !expired || (reached != NULL && reached());
}

void sftest_tcp_run_until(bool (*reached)(void))
{
  if (run(reached, 1e-3 * SFTEST_HANG_MS))
    return;
  for (int i = 0; i < TCP_NODES; i++)
    for (int j = 0; j < TCP_NODES; j++)
      if (sftest_tcp_end(i, j)->ndowns > 0)
        printf("node %d: %s\n", i, sftest_tcp_end(i, j)->detail);
  ck_abort_msg("what is waited for does not come");
}

void sftest_tcp_run_for(double seconds)
{
  run(NULL, seconds);
}

void sftest_tcp_take_turns(int nturns)
{
  for (int i = 0; i < nturns; i++) {
    uv_run(&sftest_tcp.loop, UV_RUN_NOWAIT);
    if (sftest_tcp_random(4) == 0)
      usleep(50);
  }
}

bool sftest_tcp_all_up(void)
{
  for (int i = 0; i < sftest_tcp.nnodes; i++)
    for (int j = 0; j < sftest_tcp.nnodes; j++)
      if (i != j && !sftest_tcp_end(i, j)->up)
        return false;
  return true;
}

bool sftest_tcp_all_sent(void)
{
  for (int i = 0; i < sftest_tcp.nnodes; i++)
    for (int j = 0; j < sftest_tcp.nnodes; j++) {
      const sftest_tcp_end_t *end = sftest_tcp_end(i, j);
      if (i != j && (end->to_send > 0 || end->sending || sftest_tcp_end(j, i)->got != end->sent))
        return false;
    }
  return true;
}

/* ---- The outside ---- */

int sftest_tcp_stranger(int node)
{
  return sftest_tcp_stranger_from(INADDR_LOOPBACK, node);
}

int sftest_tcp_stranger_from(uint32_t host, int node)
{
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(sftest_tcp.ports[node])};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
  ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
  return fd;
}

/* Calls visit, if there is one, with each descriptor. */
static int each_fd(void (*visit)(int fd))
{
  int count = 0;
  DIR *directory = opendir("/proc/self/fd");
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
    if (entry->d_name[0] != '.') {
      count++;
      if (visit != NULL)
        visit(atoi(entry->d_name));
    }
  closedir(directory);
  return count;
}

/* A socket filter that lets nothing pass works below TCP: not even acknowledgements arrive. */
static int attach_filter(int fd)
{
  struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const struct sock_fprog filter = {.len = 1, .filter = &nothing};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

bool sftest_tcp_can_cut_links(void)
{
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  bool can = attach_filter(fd) == 0;
  close(fd);
  return can;
}

static bool is_tcp(int fd)
{
  struct sockaddr_in here;
  socklen_t size = sizeof here;
  return getsockname(fd, (struct sockaddr *)&here, &size) == 0 && here.sin_family == AF_INET;
}

static void deafen(int fd)
{
  ck_assert(!is_tcp(fd) || attach_filter(fd) == 0);
}

static void undeafen(int fd)
{
  int unused = 0;
  if (is_tcp(fd))
    setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
}

void sftest_tcp_cut_links(void)
{
  each_fd(deafen);
}

void sftest_tcp_mend_links(void)
{
  each_fd(undeafen);
}

int sftest_tcp_count_fds(void)
{
  return each_fd(NULL);
}
