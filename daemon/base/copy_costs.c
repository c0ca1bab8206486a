/* Measurement of copy costs: see copy_costs.h. The main thread and a helper thread, each bound to its own core, take
 * turns or work side by side, like two ranks that exchange data. Each figure is the lowest of several, as other work on
 * the node only adds. */
#include "daemon/base/copy_costs.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "daemon/base/cpu_cache.h"
#include "shm/base/clock.h"
#include "shm/kernels/kernels_dense.h"
#include "shm/lane/lane.h"
#include "shm/region/wait.h"

#define LINE_BYTES 64u
#define SCATTERED 2048u    /* lines to gather from */
#define SPREAD_LINES 8192u /* 512 KiB, so that part of it is in a core's cache */
#define SPREAD_BYTES ((size_t)SPREAD_LINES * LINE_BYTES)
#define CELL_BYTES ((size_t)256 << 10) /* of a lane: see client/engine/protocol.h */
#define CELLS_BYTES (SFSHM_LANE_SLOTS * CELL_BYTES)
#define PIECES ((uint32_t)(SPREAD_BYTES / SFSHM_PIECE_BYTES_MAX))
#define REPETITIONS 7
#define BOUNCES 2000u
#define TURN_TIMEOUT_NS 20000000

const sfshm_costs_t sfd_copy_costs_default = {
    .local_line_ps = 1500,
    .piece_stream_ps = 6200,
    .remote_line_ps = 20000,
    .remote_stream_ps = 5000,
    .vm_read_call_ps = 600000,
    .vm_read_stream_ps = 5500,
    .handshake_ps = 80000,
};

typedef struct sfd_bench {
  _Alignas(128) _Atomic uint32_t turn;   /* even: the main thread's turn */
  _Alignas(128) _Atomic uint32_t posted; /* pieces posted by the helper */
  _Alignas(128) _Atomic uint32_t taken;  /* taken by the main thread */
  _Alignas(128) _Atomic bool stop;
  void (*task)(struct sfd_bench *bench); /* of the helper, in its turn */
  size_t cores[2];
  bool apart;  /* they share no cache */
  char *lines; /* SPREAD_LINES of the helper */
  char *copy;  /* as many of the main thread */
  char *cells;
  void (*write_piece)(char *restrict to, const char *restrict from, size_t size_bytes);
  uint32_t local_stream_ps; /* one line of a dense block, copied within one core */
  uint32_t order[SCATTERED];
} sfd_bench_t;

static cpu_set_t only(size_t core)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return set;
}

/* ---- Two threads ------------------------------------------------------------------------------------------------- */

static void *take_turns(void *argument)
{
  sfd_bench_t *bench = argument;
  while (!atomic_load_explicit(&bench->stop, memory_order_acquire)) {
    uint32_t turn = atomic_load_explicit(&bench->turn, memory_order_acquire);
    if (turn % 2 == 0) {
      sfshm_cpu_relax();
      continue;
    }
    bench->task(bench);
    atomic_store_explicit(&bench->turn, turn + 1, memory_order_release);
  }
  return NULL;
}

/* Waits until the helper changes the word from that value; false: it has not, as the cores are busy. */
static bool await_helper(const _Atomic uint32_t *word, uint32_t value)
{
  int64_t deadline = 0;
  for (uint32_t looks = 1; atomic_load_explicit(word, memory_order_acquire) == value; looks++) {
    if (looks % 4096 == 0) {
      if (deadline == 0)
        deadline = sfshm_now_ns() + TURN_TIMEOUT_NS;
      else if (sfshm_now_ns() > deadline)
        return false;
    }
    sfshm_cpu_relax();
  }
  return true;
}

/* Gives the helper the turn; returns its number. */
static uint32_t start_turn(sfd_bench_t *bench, void (*task)(sfd_bench_t *bench))
{
  uint32_t turn = atomic_load_explicit(&bench->turn, memory_order_relaxed) + 1;
  bench->task = task;
  atomic_store_explicit(&bench->turn, turn, memory_order_release);
  return turn;
}

/* Gives the turn and waits for the next. */
static bool give_turn(sfd_bench_t *bench, void (*task)(sfd_bench_t *bench))
{
  return await_helper(&bench->turn, start_turn(bench, task));
}

/* ---- What the helper does ---------------------------------------------------------------------------------------- */

static void only_pass_on(sfd_bench_t *bench)
{
  (void)bench;
}

static void write_lines(sfd_bench_t *bench)
{
  for (uint32_t i = 0; i < SPREAD_LINES; i++)
    bench->lines[(size_t)i * LINE_BYTES]++;
}

/* The main thread copies the helper's lines. */
static void copy_back(sfd_bench_t *bench)
{
  sfshm_dense_copy(bench->lines, bench->copy, SPREAD_BYTES);
}

static char *cell_of(const sfd_bench_t *bench, uint32_t piece)
{
  return bench->cells + sfshm_piece_at(piece, CELL_BYTES, SFSHM_PIECE_BYTES_MAX);
}

static void post_pieces(sfd_bench_t *bench)
{
  uint32_t first = atomic_load_explicit(&bench->posted, memory_order_relaxed);
  for (uint32_t i = 0; i < PIECES; i++) {
    while (first + i - atomic_load_explicit(&bench->taken, memory_order_acquire) >= SFSHM_LANE_SLOTS) {
      if (atomic_load_explicit(&bench->stop, memory_order_acquire))
        return;
      sfshm_cpu_relax();
    }
    bench->write_piece(cell_of(bench, first + i), bench->lines + i * SFSHM_PIECE_BYTES_MAX, SFSHM_PIECE_BYTES_MAX);
    atomic_store_explicit(&bench->posted, first + i + 1, memory_order_release);
  }
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

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
  int64_t start = sfshm_now_ns();
  sfshm_dense_copy(bench->copy, bench->lines, SPREAD_BYTES);
  keep_lowest(lowest, to_ps(sfshm_now_ns() - start, SPREAD_LINES));
}

static void time_gather(const sfd_bench_t *bench, uint32_t *lowest)
{
  int64_t start = sfshm_now_ns();
  uint32_t sum = gather(bench);
  __asm__ volatile("" : : "r"(sum) : "memory");
  keep_lowest(lowest, to_ps(sfshm_now_ns() - start, SCATTERED));
}

/* The helper packs, the main thread unpacks. */
static bool time_pieces(sfd_bench_t *bench, uint32_t *lowest)
{
  uint32_t first = atomic_load_explicit(&bench->taken, memory_order_relaxed);
  if (!give_turn(bench, write_lines))
    return false;
  int64_t start = sfshm_now_ns();
  uint32_t turn = start_turn(bench, post_pieces);
  for (uint32_t i = 0; i < PIECES; i++) {
    if (!await_helper(&bench->posted, first + i))
      return false;
    sfshm_dense_copy(bench->copy + i * SFSHM_PIECE_BYTES_MAX, cell_of(bench, first + i), SFSHM_PIECE_BYTES_MAX);
    atomic_store_explicit(&bench->taken, first + i + 1, memory_order_release);
  }
  keep_lowest(lowest, to_ps(sfshm_now_ns() - start, SPREAD_LINES));
  return await_helper(&bench->turn, turn);
}

/* Both ways of writing pieces. As in use, the reader has read all cells before. */
static bool measure_pieces(sfd_bench_t *bench, sfshm_costs_t *costs)
{
  uint32_t unused = UINT32_MAX, past_ps = UINT32_MAX;
  bench->write_piece = sfshm_dense_copy;
  for (size_t bytes = 0; bytes < CELLS_BYTES; bytes += SPREAD_BYTES)
    if (!time_pieces(bench, &unused))
      return false;
  for (int i = 0; i < REPETITIONS; i++) {
    bench->write_piece = sfshm_dense_copy;
    if (!time_pieces(bench, &costs->piece_stream_ps))
      return false;
    bench->write_piece = sfshm_dense_copy_nontemporal;
    if (!time_pieces(bench, &past_ps))
      return false;
  }
  if (past_ps < costs->piece_stream_ps)
    costs->nontemporal = bench->apart ? SFSHM_NONTEMPORAL_APART : SFSHM_NONTEMPORAL_ALL;
  keep_lowest(&costs->piece_stream_ps, past_ps);
  return true;
}

static bool measure_remote(sfd_bench_t *bench, sfshm_costs_t *costs)
{
  for (int i = 0; i < REPETITIONS; i++) {
    if (!give_turn(bench, write_lines))
      return false;
    time_gather(bench, &costs->remote_line_ps);
    if (!give_turn(bench, copy_back))
      return false;
    time_stream(bench, &costs->remote_stream_ps);
    int64_t start = sfshm_now_ns();
    for (uint32_t bounce = 0; bounce < BOUNCES; bounce++)
      if (!give_turn(bench, only_pass_on))
        return false;
    keep_lowest(&costs->handshake_ps, to_ps(sfshm_now_ns() - start, 2 * BOUNCES));
  }
  return measure_pieces(bench, costs);
}

static void measure_local(sfd_bench_t *bench, sfshm_costs_t *costs)
{
  for (int i = 0; i < REPETITIONS; i++) {
    write_lines(bench);
    time_gather(bench, &costs->local_line_ps);
    time_stream(bench, &bench->local_stream_ps);
  }
}

static bool measure_vm_read(const sfd_bench_t *bench, sfshm_costs_t *costs)
{
  struct iovec local = {bench->copy, 8}, remote = {bench->lines, 8};
  for (int i = 0; i < REPETITIONS; i++) {
    local.iov_len = remote.iov_len = 8;
    int64_t start = sfshm_now_ns();
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 8)
      return false;
    int64_t short_ns = sfshm_now_ns() - start;
    keep_lowest(&costs->vm_read_call_ps, to_ps(short_ns, 1));
    local.iov_len = remote.iov_len = SPREAD_BYTES;
    start = sfshm_now_ns();
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)SPREAD_BYTES)
      return false;
    keep_lowest(&costs->vm_read_stream_ps, to_ps(sfshm_now_ns() - start, SPREAD_LINES));
  }
  return true;
}

/* Two that share no cache, or else any: most ranks of a large node are as far apart. */
static bool choose_cores(sfd_bench_t *bench)
{
  sfd_cpus_t allowed, sharers;
  int found = 0;
  bool known = false;
  if (!sfd_cpus_of(0, &allowed))
    return false;
  for (int core = 0; core < CPU_SETSIZE && !bench->apart; core++) {
    if (!sfd_cpus_have(&allowed, core))
      continue;
    if (found == 0)
      known = sfd_cpu_cache_sharers(SFD_CPU_DIRECTORY, core, &sharers);
    bench->apart = found > 0 && known && !sfd_cpus_have(&sharers, core);
    if (found < 2 || bench->apart)
      bench->cores[found == 0 ? 0 : 1] = (size_t)core;
    found++;
  }
  return found >= 2;
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

/* The helper begins on its core, as it may get no time on this one. */
static bool start_helper(sfd_bench_t *bench, pthread_t *helper)
{
  pthread_attr_t attributes;
  cpu_set_t set = only(bench->cores[1]);
  if (pthread_attr_init(&attributes) != 0)
    return false;
  bool done = pthread_attr_setaffinity_np(&attributes, sizeof set, &set) == 0 &&
              pthread_create(helper, &attributes, take_turns, bench) == 0;
  pthread_attr_destroy(&attributes);
  return done;
}

static bool measure(sfd_bench_t *bench, sfshm_costs_t *costs)
{
  pthread_t helper;
  cpu_set_t set = only(bench->cores[0]);
  sfshm_costs_t lowest;
  memset(&lowest, 0xff, sizeof lowest);
  lowest.nontemporal = SFSHM_NONTEMPORAL_NONE;
  bench->local_stream_ps = UINT32_MAX;
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0)
    return false;
  measure_local(bench, &lowest);
  bool done = measure_vm_read(bench, &lowest);
  if (!done) /* forbidden; ranks find that out again */
    lowest.vm_read_call_ps = sfd_copy_costs_default.vm_read_call_ps,
    lowest.vm_read_stream_ps = sfd_copy_costs_default.vm_read_stream_ps;
  if (!start_helper(bench, &helper))
    return false;
  done = measure_remote(bench, &lowest);
  atomic_store_explicit(&bench->stop, true, memory_order_release);
  pthread_join(helper, NULL);
  if (!done)
    return false;
  /* within one process the data is in the cache already */
  lowest.vm_read_stream_ps +=
      lowest.remote_stream_ps > bench->local_stream_ps ? lowest.remote_stream_ps - bench->local_stream_ps : 0;
  lowest.measured = 1;
  *costs = lowest;
  return true;
}

void sfd_copy_costs_measure(sfshm_costs_t *costs_p)
{
  cpu_set_t allowed;
  size_t length = 2 * SPREAD_BYTES + CELLS_BYTES;
  sfd_bench_t bench = {0};
  *costs_p = sfd_copy_costs_default;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || !choose_cores(&bench))
    return;
  bench.lines = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bench.lines == MAP_FAILED)
    return;
  bench.copy = bench.lines + SPREAD_BYTES;
  bench.cells = bench.copy + SPREAD_BYTES;
  memset(bench.lines, 0, length);
  fill_order(&bench);
  (void)measure(&bench, costs_p);
  munmap(bench.lines, length);
  (void)pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
}
