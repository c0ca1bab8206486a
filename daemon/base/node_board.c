/* Node board: see node_board.h. The daemon's thread. */
#include "daemon/base/node_board.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"

#define WORD_BITS (8 * (int)sizeof(unsigned long))
#define WORDS (SFD_MAX_CPUS / WORD_BITS)

bool sfd_cpus_of(pid_t pid, sfd_cpus_t *cpus)
{
  memset(cpus, 0, sizeof *cpus);
  return sched_getaffinity(pid, sizeof *cpus, (cpu_set_t *)cpus) == 0;
}

static void affinity(pid_t pid, sfd_cpus_t *cpus)
{
  if ((pid <= 0 || !sfd_cpus_of(pid, cpus)) && !sfd_cpus_of(0, cpus))
    cpus->bits[0] = 1;
}

void sfd_cpus_add(sfd_cpus_t *cpus, int cpu)
{
  if (cpu >= 0 && cpu < SFD_MAX_CPUS)
    cpus->bits[cpu / WORD_BITS] |= 1UL << (cpu % WORD_BITS);
}

bool sfd_cpus_have(const sfd_cpus_t *cpus, int cpu)
{
  return cpu >= 0 && cpu < SFD_MAX_CPUS && (cpus->bits[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1) != 0;
}

static int32_t count(const sfd_cpus_t *cpus)
{
  int32_t n = 0;
  for (int word = 0; word < WORDS; word++)
    n += __builtin_popcountl(cpus->bits[word]);
  return n;
}

static sfshm_board_t *memory(const sfd_node_board_t *board)
{
  return board->region.base;
}

static int32_t count_workers(const sfd_node_board_t *board, int32_t participants)
{
  int32_t spare = board->own_cores - participants;
  if (board->workers >= 0)
    return board->workers;
  return spare < 0 ? 0 : spare < SFD_MAX_SPARE_WORKERS ? spare : SFD_MAX_SPARE_WORKERS;
}

int32_t sfd_node_board_max_workers(const sfd_node_board_t *board)
{
  return count_workers(board, 1);
}

/* Hints for clients, in no particular order. */
static void publish(sfd_node_board_t *board)
{
  atomic_store_explicit(&memory(board)->cores, (uint32_t)sfd_node_board_cores(board), memory_order_relaxed);
  atomic_store_explicit(&memory(board)->participants, (uint32_t)board->participants, memory_order_relaxed);
  atomic_store_explicit(&memory(board)->workers, (uint32_t)count_workers(board, board->participants),
                        memory_order_relaxed);
  atomic_store_explicit(&memory(board)->crowded, !sfd_node_board_has_spare_core(board), memory_order_relaxed);
}

void sfd_node_board_set_workers(sfd_node_board_t *board, int32_t workers)
{
  board->workers = workers;
  publish(board);
}

sf_status_t sfd_node_board_create(const sfshm_costs_t *costs, sfd_node_board_t **board_p)
{
  sfd_node_board_t *board = calloc(1, sizeof *board);
  if (board == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the node board");
  sf_status_t status = sfshm_region_create("sfd-board", SFSHM_REGION_BOARD, sizeof(sfshm_board_t),
                                           SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_ALL, &board->region);
  if (status != SF_OK) {
    free(board);
    return status;
  }
  sfd_cpus_t own;
  affinity(0, &own);
  board->own_cores = count(&own);
  memory(board)->costs = *costs;
  publish(board);
  *board_p = board;
  return SF_OK;
}

void sfd_node_board_destroy(sfd_node_board_t *board)
{
  if (board == NULL)
    return;
  sfshm_region_destroy(&board->region);
  free(board);
}

/* Adds a participant with its processors, or removes it (by = -1). */
static void change(sfd_node_board_t *board, const sfd_cpus_t *cpus, int by)
{
  for (int word = 0; word < WORDS; word++)
    for (unsigned long rest = cpus->bits[word]; rest != 0; rest &= rest - 1) {
      uint32_t *users = &board->users[word * WORD_BITS + __builtin_ctzl(rest)];
      board->cores -= *users > 0;
      *users += (uint32_t)by;
      board->cores += *users > 0;
    }
  board->participants += by;
  publish(board);
}

void sfd_node_board_enter(sfd_node_board_t *board, pid_t pid, sfd_cpus_t *cpus)
{
  affinity(pid, cpus);
  change(board, cpus, 1);
}

void sfd_node_board_leave(sfd_node_board_t *board, const sfd_cpus_t *cpus)
{
  change(board, cpus, -1);
}

int32_t sfd_node_board_cores(const sfd_node_board_t *board)
{
  return board->participants > 0 ? board->cores : board->own_cores;
}

bool sfd_node_board_has_spare_core(const sfd_node_board_t *board)
{
  return board->own_cores > board->participants;
}

void sfd_node_board_set_tracing(sfd_node_board_t *board, bool on)
{
  atomic_store_explicit(&memory(board)->tracing, on, memory_order_relaxed);
}

const sfshm_costs_t *sfd_node_board_costs(const sfd_node_board_t *board)
{
  return &memory(board)->costs;
}
