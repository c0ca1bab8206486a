/* The node board: the daemon's region that tells all clients how many processors and participants the node has. */
#ifndef SFD_BASE_NODE_BOARD_H
#define SFD_BASE_NODE_BOARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <sf/sf_status.h>

#include "shm/region/board.h"

#define SFD_MAX_CPUS 8192

/* The processors that one participant may run on. */
typedef struct sfd_cpus {
  unsigned long bits[SFD_MAX_CPUS / (8 * sizeof(unsigned long))];
} sfd_cpus_t;

/* The processors that a process may run on; 0: the calling thread. False if they can't be found out. */
bool sfd_cpus_of(pid_t pid, sfd_cpus_t *cpus);

void sfd_cpus_add(sfd_cpus_t *cpus, int cpu); /* a number that no processor has is left out */

typedef struct sfd_node_board {
  sfshm_region_t region;
  uint32_t users[SFD_MAX_CPUS]; /* participants that may run on the processor */
  int32_t cores;                /* processors with users */
  int32_t own_cores;            /* that the daemon may run on: what the board says while there is no participant */
  int32_t participants;
  int32_t workers; /* the option; -1: as many as there are cores to spare */
} sfd_node_board_t;

/* At most, if their number depends on the cores: more hands than these would only share the memory's bandwidth. */
#define SFD_MAX_SPARE_WORKERS 4

sf_status_t sfd_node_board_create(const sfshm_costs_t *costs, sfd_node_board_t **board_p);
void sfd_node_board_destroy(sfd_node_board_t *board); /* NULL is accepted */

/* A participant comes: fills *cpus, which it brings back when it leaves. A pid of which the processors can't be found
 * out counts as running where the daemon does. */
void sfd_node_board_enter(sfd_node_board_t *board, pid_t pid, sfd_cpus_t *cpus);
void sfd_node_board_leave(sfd_node_board_t *board, const sfd_cpus_t *cpus);

/* How many workers the daemon has, or -1: as many as cores that it may run on and no participant needs. */
void sfd_node_board_set_workers(sfd_node_board_t *board, int32_t workers);

/* The largest number that can come to with any participants; 0: no workers at all. */
int32_t sfd_node_board_max_workers(const sfd_node_board_t *board);

/* What the board says. */
int32_t sfd_node_board_cores(const sfd_node_board_t *board);

/* Whether the daemon may have a core to itself while all participants run. */
bool sfd_node_board_has_spare_core(const sfd_node_board_t *board);
/* Whether ranks are to write traces. */
void sfd_node_board_set_tracing(sfd_node_board_t *board, bool on);

bool sfd_node_board_costs_measured(const sfd_node_board_t *board);

#endif
