/* Node board: a region of the daemon that tells clients how many processors and participants the node has. */
#ifndef SFD_BASE_NODE_BOARD_H
#define SFD_BASE_NODE_BOARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <sf/sf_status.h>

#include "shm/region/board.h"

#define SFD_MAX_CPUS 8192

/* Set of processors. */
typedef struct sfd_cpus {
  unsigned long bits[SFD_MAX_CPUS / (8 * sizeof(unsigned long))];
} sfd_cpus_t;

/* Processors on which a process may run; pid 0: the calling thread. False: not known. */
bool sfd_cpus_of(pid_t pid, sfd_cpus_t *cpus);

void sfd_cpus_add(sfd_cpus_t *cpus, int cpu); /* ignores invalid numbers */
bool sfd_cpus_have(const sfd_cpus_t *cpus, int cpu);

typedef struct sfd_node_board {
  sfshm_region_t region;
  uint32_t users[SFD_MAX_CPUS]; /* participants per processor */
  int32_t cores;                /* processors with participants */
  int32_t own_cores;            /* of the daemon; for the board while there is no participant */
  int32_t participants;
  int32_t workers; /* option; -1: as many as spare cores */
} sfd_node_board_t;

/* Limit of workers if their number depends on the cores: more would share the same memory bandwidth. */
#define SFD_MAX_SPARE_WORKERS 4

sf_status_t sfd_node_board_create(const sfshm_costs_t *costs, sfd_node_board_t **board_p);
void sfd_node_board_destroy(sfd_node_board_t *board); /* NULL is accepted */

/* A participant comes. *cpus, which leave takes, has its processors, or the daemon's if they are not known. */
void sfd_node_board_enter(sfd_node_board_t *board, pid_t pid, sfd_cpus_t *cpus);
void sfd_node_board_leave(sfd_node_board_t *board, const sfd_cpus_t *cpus);

/* Number of workers; -1: as many as cores that no participant needs. */
void sfd_node_board_set_workers(sfd_node_board_t *board, int32_t workers);

/* The most workers that there can be with any participants; 0: never any. */
int32_t sfd_node_board_max_workers(const sfd_node_board_t *board);

/* Number of cores on the board. */
int32_t sfd_node_board_cores(const sfd_node_board_t *board);

/* Whether the daemon can have its own core while all participants run. */
bool sfd_node_board_has_spare_core(const sfd_node_board_t *board);
/* Whether ranks write traces. */
void sfd_node_board_set_tracing(sfd_node_board_t *board, bool on);

const sfshm_costs_t *sfd_node_board_costs(const sfd_node_board_t *board);

#endif
