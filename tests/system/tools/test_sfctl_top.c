/* sfctl top and matrix with real jobs: plain lines, JSON, a terminal; exact counts of who sends what to whom. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>

#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

#define RANKS 4

static const char *const out = sftest_sfctl_out;
static const char *const err = sftest_sfctl_err;

static void start(sftest_show_t *show, const sftest_cluster_t *cluster)
{
  int32_t places[RANKS];
  sftest_places_block(places, RANKS, cluster->nnodes);
  sftest_show_start(show, cluster->nodes, places, RANKS);
}

/* ---- Matrix ------------------------------------------------------------------------------------------------------ */

/* The larger the payload, the more messages a lane may take: of ranks only the bytes are certain. */
static void expect_flow(const char *from, const char *to, int messages, int bytes)
{
  char begin[64], end[64];
  snprintf(begin, sizeof begin, "\n%s,%s,", from, to);
  const char *line = strstr(out, begin);
  ck_assert_msg(line != NULL, "no%s in: %s", begin, out);
  snprintf(end, sizeof end, messages > 0 ? "%d,%d\n" : ",%.0d%d\n", messages, bytes);
  ck_assert_msg(strstr(line, end) != NULL, "no %s behind%s in: %s", end, begin, out);
}

static void look_at_matrix(const sftest_cluster_t *cluster)
{
  const int bytes = SFTEST_SHOW_BCASTS * SFTEST_SHOW_UNITS * (int)sizeof(double);
  const char *socket = cluster->nodes[0].socket;
  char graph[32];
  sftest_sfctl(socket, WORDS("matrix", "--all-nodes", "--format", "csv"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 1 + RANKS);
  expect_flow("rank 0", "node 1", SFTEST_SHOW_BCASTS, bytes);
  expect_flow("rank 1", "rank 0", 0, bytes);
  expect_flow("rank 2", "node 0", SFTEST_SHOW_BCASTS, bytes);
  expect_flow("rank 3", "rank 2", 0, bytes);
  sftest_sfctl(socket, WORDS("matrix", "--all-nodes", "--by", "nodes", "--format", "csv"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 3);
  expect_flow("node 0", "node 1", SFTEST_SHOW_BCASTS, bytes);
  expect_flow("node 1", "node 0", SFTEST_SHOW_BCASTS, bytes);
  sftest_sfctl(socket, WORDS("graphs", "--json"), 0);
  snprintf(graph, sizeof graph, "%llu", (unsigned long long)sftest_sfctl_number("\"graph\"", "graph"));
  sftest_sfctl(socket, WORDS("matrix", "--graph", graph), 0);
  sftest_expect_in(out, "rank 1|@ |\n"); /* alike, and so both the most */
  sftest_sfctl(socket, WORDS("matrix", "--graph", "1"), 1);
  sftest_expect_in(err, "no rank here counts for a graph 1");
  sftest_sfctl(socket, WORDS("matrix", "--interval", "0.01"), 0);
  ck_assert_str_eq(out, "nothing has been sent\n");
  sftest_sfctl(socket, WORDS("matrix", "--format", "svg", "--count", "messages"), 0);
  ck_assert_ptr_eq(strstr(out, "<svg xmlns="), out);
  sftest_expect_in(out, "<title>rank 0 to node 1: 5 messages</title>");
  ck_assert_str_eq(out + strlen(out) - 7, "</svg>\n");
  sftest_sfctl(socket, WORDS("matrix", "--json"), 0);
  sftest_expect_in(out, "{\"from\":\"rank 0\",\"to\":\"node 1\",\"messages\":5,\"bytes\":4000}");
}

/* ---- Plain lines ------------------------------------------------------------------------------------------------- */

static void look_at_lines(const sftest_cluster_t *cluster)
{
  const char *socket = cluster->nodes[0].socket;
  sftest_sfctl(socket, WORDS("top", "-b", "-n", "2", "-d", "0.05"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 2 * (4 + RANKS / 2) + 1);
  sftest_expect_in(out, "sfctl top: 1 job, 2 ranks, 1 graph; node 0 of 2, sfd up ");
  sftest_expect_in(out, "\n2 ranks:  0 OPS/s");
  sftest_expect_in(out, " RANK JOB ");
  sftest_sfctl(socket, WORDS("top", "--iterations", "1", "--delay", "0.02", "graphs", "--all-nodes"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 4 + 2);
  sftest_expect_in(out, "\nAT  ");
  sftest_sfctl(socket, WORDS("top", "-n", "1", "-d", "0.02", "channels"), 0);
  sftest_expect_in(out, " open ");
  sftest_sfctl(socket, WORDS("top", "-n", "3", "-d", "0.02", "--json", "jobs"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 3);
  sftest_expect_in(out, "\"view\":\"jobs\",\"rows\":[{\"told_by\":0,\"job_id\":");
  sftest_expect_in(out, "\"state\":\"running\",\"ops_per_s\":0.000,");
  sftest_sfctl(socket, WORDS("top", "cores"), 2);
  sftest_expect_in(err, "expected jobs, ranks, graphs, arrays or channels");
  sftest_sfctl(socket, WORDS("top", "ranks", "nobody"), 1);
  sftest_expect_in(err, "no job \"nobody\"");
  sftest_sfctl(socket, WORDS("top", "-b", "--sort", "beauty"), 2);
  sftest_expect_in(err, "ranks have no such column; expected one of OPS/s WAIT WAITED ");
  sftest_sfctl("/nowhere/s", WORDS("top", "-b"), 3);
}

SFTEST(a_job_over_two_nodes)
{
  sftest_cluster_t cluster;
  sftest_show_t show;
  sftest_cluster_start(&cluster, 2);
  start(&show, &cluster);
  look_at_matrix(&cluster);
  look_at_lines(&cluster);
  sftest_show_end(&show);
  sftest_sfctl(cluster.nodes[0].socket, WORDS("matrix"), 0);
  ck_assert_str_eq(out, "nothing has been sent\n");
  sftest_cluster_stop(&cluster);
}

/* ---- A terminal -------------------------------------------------------------------------------------------------- */

typedef struct terminal {
  pid_t pid;
  int fd;
  char seen[1 << 18];
  size_t length, looked;
} terminal_t;

/* option: NULL or one more. */
static void open_terminal_with(terminal_t *terminal, const char *socket, const char *type, unsigned short columns,
                               const char *option)
{
  const struct winsize size = {.ws_row = 30, .ws_col = columns};
  char path[512];
  const char *build = getenv("BUILD");
  snprintf(path, sizeof path, "%.400s/sfctl", build != NULL ? build : "build");
  fflush(NULL);
  *terminal = (terminal_t){0};
  terminal->pid = forkpty(&terminal->fd, NULL, NULL, &size);
  ck_assert_int_ge(terminal->pid, 0);
  if (terminal->pid > 0)
    return;
  setenv("SF_SOCKET", socket, 1);
  setenv("TERM", type, 1);
  setenv("LC_ALL", "C.UTF-8", 1);
  execl(path, path, "top", "--delay", "0.05", option, (char *)NULL);
  _exit(127);
}

static void open_terminal(terminal_t *terminal, const char *socket, const char *type, unsigned short columns)
{
  open_terminal_with(terminal, socket, type, columns, NULL);
}

/* Reads on; whether there is more to come. */
static bool read_terminal(terminal_t *terminal)
{
  struct pollfd poll_fd = {.fd = terminal->fd, .events = POLLIN};
  if (poll(&poll_fd, 1, 20) <= 0)
    return true;
  size_t room = sizeof terminal->seen - 1 - terminal->length;
  ssize_t n = read(terminal->fd, terminal->seen + terminal->length, room);
  if (n <= 0)
    return n < 0 && errno == EINTR;
  terminal->length += (size_t)n;
  return room > (size_t)n;
}

/* Waits until the text comes, after what has been waited for before. */
static void await_text(terminal_t *terminal, const char *text)
{
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  const char *found = NULL;
  while ((found = strstr(terminal->seen + terminal->looked, text)) == NULL && sftest_now_ms() < until)
    if (!read_terminal(terminal))
      break;
  found = strstr(terminal->seen + terminal->looked, text);
  ck_assert_msg(found != NULL, "\"%s\" does not come: %s", text, terminal->seen + terminal->looked);
  terminal->looked = (size_t)(found - terminal->seen) + strlen(text);
}

static void press(terminal_t *terminal, const char *keys)
{
  terminal->looked = terminal->length;
  ck_assert_int_eq(write(terminal->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

static void expect_end(terminal_t *terminal, int code)
{
  int status = 0;
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  while (waitpid(terminal->pid, &status, WNOHANG) == 0) {
    if (sftest_now_ms() > until)
      kill(terminal->pid, SIGKILL);
    (void)read_terminal(terminal);
  }
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == code, "sfctl top ended with 0x%x: %s", (unsigned)status,
                terminal->seen);
  close(terminal->fd);
}

#define RIGHT "\033OC" /* the key, of an xterm */

/* The first columns; arrows and sorting come to the others. */
static void expect_narrow(terminal_t *terminal, const char *socket)
{
  open_terminal(terminal, socket, "xterm", 60);
  await_text(terminal, "columns 1 to ");
  await_text(terminal, "[OPS/s]");
  ck_assert_ptr_null(strstr(terminal->seen, "PID"));
  ck_assert_ptr_null(strstr(terminal->seen, "NODES"));
  for (int i = 0; i < 12; i++)
    press(terminal, RIGHT);
  await_text(terminal, "NODES");
  press(terminal, "<");
  await_text(terminal, "[PID]");
  press(terminal, "q");
  expect_end(terminal, 0);
}

static void expect_no_columns(terminal_t *terminal, const char *socket)
{
  open_terminal(terminal, socket, "xterm", 20);
  await_text(terminal, "no column fits");
  press(terminal, "q");
  expect_end(terminal, 0);
  ck_assert_ptr_null(strstr(terminal->seen, "columns 1 to 0"));
}

/* Where the cursor can't be moved, refreshes follow each other. */
static void expect_lines_on(terminal_t *terminal, const char *socket, const char *type)
{
  int status;
  open_terminal(terminal, socket, type, 60);
  await_text(terminal, "\n RANK JOB ");
  await_text(terminal, "\n RANK JOB ");
  ck_assert_ptr_null(strchr(terminal->seen, '\033'));
  kill(terminal->pid, SIGKILL);
  waitpid(terminal->pid, &status, 0);
  close(terminal->fd);
}

SFTEST(on_a_terminal)
{
  static terminal_t terminal;
  sftest_cluster_t cluster;
  sftest_show_t show;
  sftest_cluster_start(&cluster, 1);
  start(&show, &cluster);
  open_terminal(&terminal, cluster.nodes[0].socket, "xterm", 150);
  await_text(&terminal, "1 job, 4 ranks, 1 graph");
  await_text(&terminal, "[OPS/s]");
  await_text(&terminal, "running");
  press(&terminal, ">");
  await_text(&terminal, "[WAIT]");
  press(&terminal, "g");
  await_text(&terminal, "GRAPH");
  press(&terminal, "h");
  await_text(&terminal, "seconds between refreshes");
  press(&terminal, "j");
  await_text(&terminal, "1 job:");
  press(&terminal, "d7\n");
  press(&terminal, "c");
  await_text(&terminal, "FRAMES/s");
  press(&terminal, "q");
  expect_end(&terminal, 0);
  open_terminal(&terminal, cluster.nodes[0].socket, "xterm", 150);
  await_text(&terminal, "running");
  kill(terminal.pid, SIGTERM);
  expect_end(&terminal, 0);
  expect_narrow(&terminal, cluster.nodes[0].socket);
  expect_no_columns(&terminal, cluster.nodes[0].socket);
  expect_lines_on(&terminal, cluster.nodes[0].socket, "no-such-terminal");
  expect_lines_on(&terminal, cluster.nodes[0].socket, "dumb");
  sftest_show_end(&show);
  sftest_cluster_stop(&cluster);
}

/* It says so, and goes on when there is one again. */
SFTEST(a_daemon_that_dies)
{
  static terminal_t terminal;
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  open_terminal(&terminal, node.socket, "xterm", 150);
  await_text(&terminal, "0 ranks:");
  sftest_node_kill(&node);
  await_text(&terminal, "sfd at");
  sftest_node_restart(&node, NULL);
  press(&terminal, "r");
  await_text(&terminal, "0 ranks:");
  press(&terminal, "q");
  expect_end(&terminal, 0);
  sftest_node_stop(&node);
}

/* The screen names the node, and goes on with the others. */
SFTEST(a_daemon_that_is_stopped)
{
  static terminal_t terminal;
  sftest_cluster_t cluster;
  sftest_cluster_start(&cluster, 2);
  kill(cluster.nodes[1].pid, SIGSTOP);
  open_terminal_with(&terminal, cluster.nodes[0].socket, "xterm", 150, "--all-nodes");
  await_text(&terminal, "all 2 nodes, seen from node 0");
  await_text(&terminal, "node 1: it has not answered within 3.75 s");
  kill(cluster.nodes[1].pid, SIGCONT);
  press(&terminal, "c");
  await_text(&terminal, "2 channels:");
  press(&terminal, "q");
  expect_end(&terminal, 0);
  sftest_cluster_stop(&cluster);
}

/* ---- At full speed ----------------------------------------------------------------------------------------------- */

static uint64_t sum_of(const char *member)
{
  char name[48];
  uint64_t sum = 0;
  int n = snprintf(name, sizeof name, "\"%s\":", member);
  for (const char *at = out; (at = strstr(at, name)) != NULL; at += n)
    sum += strtoull(at + n, NULL, 10);
  return sum;
}

static uint64_t expect_growing(const char *member, uint64_t before)
{
  uint64_t now = sum_of(member);
  ck_assert_msg(now >= before, "%s: %llu after %llu", member, (unsigned long long)now, (unsigned long long)before);
  return now;
}

/* Whatever is read while counters are written, they only grow, and by what can be. */
SFTEST(counters_at_full_speed)
{
  sftest_node_t node;
  sftest_bystander_t bystander;
  uint64_t begun = 0, received = 0, bytes = 0, first = 0;
  sftest_node_start(&node, NULL);
  sftest_bystander_start(&bystander, &node);
  sftest_sfctl_await(node.socket, WORDS("graphs", "--json"), "\"state\":\"ready\"");
  for (int i = 0; i < 40; i++) {
    sftest_sfctl(node.socket, WORDS("ranks", "--json"), 0);
    begun = expect_growing("bcasts", begun);
    received = expect_growing("bytes_received", received);
    first = i == 0 ? begun : first;
    sftest_sfctl(node.socket, WORDS("matrix", "--json"), 0);
    bytes = expect_growing("bytes", bytes);
  }
  ck_assert_uint_gt(begun, first);
  ck_assert_uint_le(begun, 4 * ((uint64_t)bystander.shared->rounds + 2)); /* two ranks, a bcast a round */
  sftest_sfctl(node.socket, WORDS("top", "-b", "-n", "20", "-d", "0.01", "--json"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 20);
  sftest_sfctl(node.socket, WORDS("top", "-b", "-n", "20", "-d", "0.01", "--json", "graphs"), 0);
  ck_assert_int_eq(sftest_count_lines(out), 20);
  sftest_expect_in(out, "\"state\":\"ready\",\"ops_per_s\":");
  sftest_bystander_stop(&bystander);
  sftest_node_stop(&node);
}
