/* Measuring what copying costs: see calibrate.h. Runs on the main thread and one helper thread, each bound to a core of
 * its own, which take turns: the helper writes a buffer, the main thread times reading it. Every figure is the lowest
 * of several, because whatever else runs on the node can only make it larger. */
#include "daemon/calibrate.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "shm/wait.h"

#define LINE_BYTES 64u
#define STREAM_LINES 512u  /* 32 KiB: a first cell */
#define SCATTERED 2048u    /* lines gathered from */
#define SPREAD_LINES 8192u /* 512 KiB: what a core has just written is in its own cache */
#define REPETITIONS 7
#define BOUNCES 2000u
#define TURN_TIMEOUT_NS 20000000

const sfshm_costs_t sfd_default_costs = {
    .local_line_ps = 1500,
    .local_stream_ps = 1200,
    .remote_line_ps = 20000,
    .remote_stream_ps = 5000,
    .vm_read_call_ps = 600000,
    .vm_read_stream_ps = 5500,
    .handshake_ps = 80000,
};

typedef struct sfd_bench {
  _Alignas(128) _Atomic uint32_t turn; /* even: the main thread's */
  _Alignas(128) _Atomic bool stop;
  size_t cores[2];
  bool failed;
  char *lines; /* SPREAD_LINES */
  char *copy;
  uint32_t order[SCATTERED];
} sfd_bench_t;

static int64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool bind_to(size_t core)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

static void write_lines(sfd_bench_t *bench)
{
  for (uint32_t i = 0; i < SPREAD_LINES; i++)
    bench->lines[(size_t)i * LINE_BYTES]++;
}

/* The helper: writes all lines when its turn is a multiple of four plus one, else only passes the turn back. */
static void *take_turns(void *argument)
{
  sfd_bench_t *bench = argument;
  if (!bind_to(bench->cores[1]))
    bench->failed = true; /* read after joining */
  while (!atomic_load_explicit(&bench->stop, memory_order_acquire)) {
    uint32_t turn = atomic_load_explicit(&bench->turn, memory_order_acquire);
    if (turn % 2 == 0) {
      sfshm_cpu_relax();
      continue;
    }
    if (turn % 4 == 1)
      write_lines(bench);
    atomic_store_explicit(&bench->turn, turn + 1, memory_order_release);
  }
  return NULL;
}

/* Gives the helper the turn and waits until it comes back; false if it does not, because the cores are busy. */
static bool give_turn(sfd_bench_t *bench, bool write)
{
  uint32_t turn = (atomic_load_explicit(&bench->turn, memory_order_relaxed) + 3) / 4 * 4 + (write ? 1 : 3);
  atomic_store_explicit(&bench->turn, turn, memory_order_release);
  int64_t deadline = 0;
  for (uint32_t looks = 1; atomic_load_explicit(&bench->turn, memory_order_acquire) == turn; looks++) {
    if (looks % 4096 == 0) {
      if (deadline == 0)
        deadline = now_ns() + TURN_TIMEOUT_NS;
      else if (now_ns() > deadline)
        return false;
    }
    sfshm_cpu_relax();
  }
  return true;
}

static uint32_t gather(const sfd_bench_t *bench)
{
  uint64_t sum = 0;
  for (uint32_t i = 0; i < SCATTERED; i++)
    sum += (uint64_t)bench->lines[(size_t)bench->order[i] * LINE_BYTES];
  return (uint32_t)sum;
}

static uint32_t to_ps(int64_t ns, uint32_t count)
{
  int64_t ps = ns * 1000 / (int64_t)count;
  return ps < 1 ? 1 : (uint32_t)ps;
}

static void keep_lowest(uint32_t *lowest, uint32_t value)
{
  if (value < *lowest)
    *lowest = value;
}

static void time_stream(const sfd_bench_t *bench, uint32_t *lowest)
{
  int64_t start = now_ns();
  memcpy(bench->copy, bench->lines, (size_t)STREAM_LINES * LINE_BYTES);
  __asm__ volatile("" : : "r"(bench->copy) : "memory");
  keep_lowest(lowest, to_ps(now_ns() - start, STREAM_LINES));
}

static void time_gather(const sfd_bench_t *bench, uint32_t *lowest)
{
  int64_t start = now_ns();
  uint32_t sum = gather(bench);
  __asm__ volatile("" : : "r"(sum) : "memory");
  keep_lowest(lowest, to_ps(now_ns() - start, SCATTERED));
}

static bool measure_remote(sfd_bench_t *bench, sfshm_costs_t *costs)
{
  for (int i = 0; i < REPETITIONS; i++) {
    if (!give_turn(bench, true))
      return false;
    time_stream(bench, &costs->remote_stream_ps);
    time_gather(bench, &costs->remote_line_ps);
    int64_t start = now_ns();
    for (uint32_t bounce = 0; bounce < BOUNCES; bounce++)
      if (!give_turn(bench, false))
        return false;
    keep_lowest(&costs->handshake_ps, to_ps(now_ns() - start, 2 * BOUNCES));
  }
  return true;
}

static void measure_local(sfd_bench_t *bench, sfshm_costs_t *costs)
{
  for (int i = 0; i < REPETITIONS; i++) {
    write_lines(bench);
    time_gather(bench, &costs->local_line_ps);
    time_stream(bench, &costs->local_stream_ps);
    time_stream(bench, &costs->local_stream_ps);
  }
}

static bool measure_vm_read(const sfd_bench_t *bench, sfshm_costs_t *costs)
{
  struct iovec local = {bench->copy, 8}, remote = {bench->lines, 8};
  size_t stream_bytes = (size_t)STREAM_LINES * LINE_BYTES;
  for (int i = 0; i < REPETITIONS; i++) {
    local.iov_len = remote.iov_len = 8;
    int64_t start = now_ns();
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 8)
      return false;
    int64_t short_ns = now_ns() - start;
    keep_lowest(&costs->vm_read_call_ps, to_ps(short_ns, 1));
    local.iov_len = remote.iov_len = stream_bytes;
    start = now_ns();
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)stream_bytes)
      return false;
    keep_lowest(&costs->vm_read_stream_ps, to_ps(now_ns() - start, STREAM_LINES));
  }
  return true;
}

static bool choose_cores(const cpu_set_t *allowed, size_t cores[2])
{
  int found = 0;
  for (size_t core = 0; core < CPU_SETSIZE && found < 2; core++)
    if (CPU_ISSET(core, allowed))
      cores[found++] = core;
  return found == 2;
}

/* A fixed scattered order of lines. */
static void fill_order(sfd_bench_t *bench)
{
  uint32_t state = 12345;
  for (uint32_t i = 0; i < SCATTERED; i++) {
    state = state * 1664525u + 1013904223u;
    bench->order[i] = (state >> 8) % SPREAD_LINES;
  }
}

static bool measure(sfd_bench_t *bench, sfshm_costs_t *costs)
{
  pthread_t helper;
  sfshm_costs_t lowest;
  memset(&lowest, 0xff, sizeof lowest);
  if (!bind_to(bench->cores[0]))
    return false;
  measure_local(bench, &lowest);
  bool done = measure_vm_read(bench, &lowest);
  if (!done) /* forbidden here, which is found out again where it matters */
    lowest.vm_read_call_ps = sfd_default_costs.vm_read_call_ps,
    lowest.vm_read_stream_ps = sfd_default_costs.vm_read_stream_ps;
  if (pthread_create(&helper, NULL, take_turns, bench) != 0)
    return false;
  done = measure_remote(bench, &lowest);
  atomic_store_explicit(&bench->stop, true, memory_order_release);
  pthread_join(helper, NULL);
  if (!done || bench->failed)
    return false;
  /* A process reading itself finds the data in its own cache; another one's have to come over first. */
  lowest.vm_read_stream_ps +=
      lowest.remote_stream_ps > lowest.local_stream_ps ? lowest.remote_stream_ps - lowest.local_stream_ps : 0;
  lowest.measured = 1;
  *costs = lowest;
  return true;
}

void sfd_calibrate(sfshm_costs_t *costs_p)
{
  cpu_set_t allowed;
  size_t spread_bytes = (size_t)SPREAD_LINES * LINE_BYTES;
  sfd_bench_t bench = {0};
  *costs_p = sfd_default_costs;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || !choose_cores(&allowed, bench.cores))
    return;
  bench.lines = mmap(NULL, 2 * spread_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bench.lines == MAP_FAILED)
    return;
  bench.copy = bench.lines + spread_bytes;
  memset(bench.lines, 0, 2 * spread_bytes);
  fill_order(&bench);
  (void)measure(&bench, costs_p);
  munmap(bench.lines, 2 * spread_bytes);
  (void)pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
}
