/* Node board: copy costs, cores and load of the node. Written by the daemon, mapped read-only by clients. */
#ifndef SFSHM_REGION_BOARD_H
#define SFSHM_REGION_BOARD_H

#include <stdatomic.h>
#include <stdint.h>

#include "shm/region/region.h"

/* Between which ranks payloads are written past the caches. */
typedef enum sfshm_nontemporal {
  SFSHM_NONTEMPORAL_NONE = 0,
  SFSHM_NONTEMPORAL_APART = 1, /* those whose processors share no cache */
  SFSHM_NONTEMPORAL_ALL = 2,
} sfshm_nontemporal_t;

/* Copy costs on this node, in picoseconds so that integers suffice. The daemon measures them when it starts; the
 * clients' planner chooses protocols by them. A line is 64 bytes. */
typedef struct sfshm_costs {
  uint32_t local_line_ps;     /* gathering one scattered line from memory that this core has written */
  uint32_t piece_stream_ps;   /* one line of a dense block through cells: one core packs, another unpacks */
  uint32_t remote_line_ps;    /* gathering one scattered line that another core has just written */
  uint32_t remote_stream_ps;  /* copying one line of a dense block that another core has written and will write again */
  uint32_t vm_read_call_ps;   /* process_vm_readv: per call */
  uint32_t vm_read_stream_ps; /* process_vm_readv: per line of a dense block */
  uint32_t handshake_ps;      /* one cache line bounced between two cores, one way */
  uint32_t measured;          /* 0: defaults, because there is only one core or measuring failed */
  uint32_t nontemporal;       /* of sfshm_nontemporal_t: where piece_stream_ps is the time of pieces past the caches */
} sfshm_costs_t;
_Static_assert(sizeof(sfshm_costs_t) == 36, "layout version 1");

typedef struct sfshm_board {
  sfshm_region_header_t header;
  sfshm_costs_t costs; /* constant */
  uint8_t reserved1[92];
  _Atomic uint32_t cores;        /* cores that the node's ranks may use */
  _Atomic uint32_t participants; /* ranks of all jobs on this node: threads that may spin */
  _Atomic uint32_t workers;      /* daemon workers that have a spare core; 0: offer them nothing */
  _Atomic uint32_t tracing;      /* 1: ranks write traces */
  _Atomic uint32_t crowded;      /* 1: at least as many ranks as cores that the daemon may use */
  uint8_t reserved2[108];
} sfshm_board_t;
_Static_assert(sizeof(sfshm_board_t) == 384, "layout version 1");

#endif
