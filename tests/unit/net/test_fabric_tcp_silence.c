/* Links of the tcp fabric that become silent, for a while or for good. */
#include "shm/base/error.h"
#include "tests/unit/machine_clock.h"
#include "tests/unit/tcp_cluster.h"

#define LONGEST_SURVIVED_S 2.5
#define TOLD_WITHIN_S 4.0
#define TOLD_QUIET_S 5.0
#define TOLERANCE_S 2 /* of a machine that has other things to do */
#define HELD_UP_S 0.5 /* a link that is mended so much later was cut for too long to say anything */

/* Whether the kernel repeats what is under way ever more rarely, as most do. */
static bool old_kernel;

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
  enum { THIN_LINEAR_TIMEOUTS = 16, RTO_MAX_MS = 44 };
  if (old_kernel && level == IPPROTO_TCP && (name == RTO_MAX_MS || name == THIN_LINEAR_TIMEOUTS)) {
    errno = ENOPROTOOPT;
    return -1;
  }
  return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}

static bool has_up(void)
{
  return sftest_tcp_end(0, 1)->up && sftest_tcp_end(1, 0)->up;
}

static const int pairs[][2] = {{0, 1}, {1, 0}, {2, 3}, {3, 2}, {0, 3}, {3, 0}};
#define NPAIRS (sizeof pairs / sizeof pairs[0])

static const sftest_tcp_end_t *pair_end(size_t i)
{
  return sftest_tcp_end(pairs[i][0], pairs[i][1]);
}

static bool all_up(void)
{
  bool up = true;
  for (size_t i = 0; i < NPAIRS; i++)
    up = up && pair_end(i)->up;
  return up;
}

static bool all_lost(void)
{
  bool lost = true;
  for (size_t i = 0; i < NPAIRS; i++)
    lost = lost && pair_end(i)->ndowns > 0;
  return lost;
}

static double real_s(void)
{
  return 1e-9 * (double)sftest_monotonic_ns();
}

/* Nodes 0 and 1 are idle, and 2 sends to 3 all the time; then the links are cut, and 0 begins to send to 3 when they
 * have been silent for a while. When that was. */
static double cut_links(void)
{
  sftest_tcp_create_all(TCP_NODES);
  sftest_tcp_connect(0, 1);
  sftest_tcp_connect(2, 3);
  sftest_tcp_connect(0, 3);
  sftest_tcp_send(2, 3, UINT64_C(1) << 50);
  sftest_tcp_run_for(1.3 + 1e-3 * (double)sftest_tcp_random(1000));
  ck_assert(all_up());
  double begin_s = real_s();
  sftest_tcp_cut_links();
  sftest_tcp_run_for(1);
  sftest_tcp_send(0, 3, 10);
  return begin_s;
}

static void expect_survival(size_t i)
{
  const sftest_tcp_end_t *end = pair_end(i);
  ck_assert_msg(end->ndowns == 0, "node %d: %s", pairs[i][0], end->detail);
}

static bool has_gone_on(void)
{
  static uint64_t got;
  const sftest_tcp_end_t *busy = sftest_tcp_end(3, 2);
  if (got == 0)
    got = busy->got;
  for (size_t i = 0; i < NPAIRS; i++)
    if (pair_end(i)->ndowns > 0)
      return true;
  return busy->got > got && sftest_tcp_end(3, 0)->got == 10;
}

/* The log tells of silences that were suspicious, and of no others. */
static void expect_told(FILE *log)
{
  char line[256];
  double silent_s;
  rewind(log);
  while (fgets(line, sizeof line, log) != NULL) {
    const char *at = strstr(line, "was silent for ");
    ck_assert_msg(at == NULL || (sscanf(at, "was silent for %lf s", &silent_s) == 1 && silent_s > 1), "%s", line);
  }
  fclose(log);
}

SFTEST_FIXTURE(sftest_tcp_setup, sftest_tcp_teardown);

/* What the kernel may repeat only seconds later is no reason to give up a stream whose link is back. */
SFTEST_IF(interruption_is_survived, sftest_tcp_can_cut_links())
{
  FILE *log = tmpfile();
  ck_assert_int_ge(dup2(fileno(log), STDERR_FILENO), 0);
  old_kernel = true;
  double begin_s = cut_links();
  sftest_tcp_run_for(begin_s + LONGEST_SURVIVED_S - real_s());
  sftest_tcp_mend_links();
  if (real_s() - begin_s < LONGEST_SURVIVED_S + HELD_UP_S) {
    sftest_tcp_run_until(has_gone_on);
    sftest_tcp_run_for(1);
    for (size_t i = 0; i < NPAIRS; i++)
      expect_survival(i);
  }
  sftest_tcp_end(2, 3)->to_send = 0;
  sftest_tcp_close_all();
  expect_told(log);
}

SFTEST_IF(silent_link_is_noticed, sftest_tcp_can_cut_links())
{
  cut_links();
  double begin = sftest_tcp_now_s() - 1; /* by the clock that stands still while the machine holds the test up */
  sftest_tcp_run_until(all_lost);
  sftest_tcp_end(2, 3)->to_send = 0;
  for (size_t i = 0; i < NPAIRS; i++) {
    const sftest_tcp_end_t *end = pair_end(i);
    printf("node %d after %.2f s: %s\n", pairs[i][0], end->down_s - begin, end->detail);
    ck_assert_int_eq(end->status, SF_ERR_DAEMON_LOST);
    ck_assert_double_le(end->down_s - begin, (i == 2 || i == 3 ? TOLD_WITHIN_S : TOLD_QUIET_S) + TOLERANCE_S);
  }
}

/* A daemon that is held up, so that its buffers are full, is not a silent one: its host still answers. */
SFTEST(stopped_peer_is_not_silent)
{
  uv_loop_t other;
  uv_loop_init(&other);
  sftest_tcp.nodes[1].loop = &other;
  sftest_tcp_create_all(2);
  sftest_tcp_connect(0, 1);
  while (!has_up()) {
    uv_run(&sftest_tcp.loop, UV_RUN_NOWAIT);
    uv_run(&other, UV_RUN_NOWAIT);
  }
  sftest_tcp_send(0, 1, 32 << 20);
  sftest_tcp_run_for(4.5);
  ck_assert(sftest_tcp_end(0, 1)->up && sftest_tcp_end(0, 1)->sending);
  while (!sftest_tcp_all_sent()) {
    uv_run(&sftest_tcp.loop, UV_RUN_NOWAIT);
    uv_run(&other, UV_RUN_NOWAIT);
  }
  for (int i = 0; i < 2; i++)
    sftest_tcp.nodes[i].fabric->functions->close(sftest_tcp.nodes[i].fabric);
  uv_run(&other, UV_RUN_DEFAULT);
  uv_run(&sftest_tcp.loop, UV_RUN_DEFAULT);
  ck_assert_int_eq(uv_loop_close(&other), 0);
  for (int i = 0; i < 2; i++)
    sftest_tcp_destroy(i);
}

int main(void)
{
  if (!sftest_tcp_can_cut_links())
    puts("part skipped: silent links: no socket filters for this user");
  return sftest_main();
}
