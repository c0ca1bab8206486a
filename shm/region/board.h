/* The node board: what the daemon tells all its clients about the node. Written by the daemon, mapped read-only by the
 * clients. */
#ifndef SFSHM_BOARD_H
#define SFSHM_BOARD_H

#include <stdatomic.h>
#include <stdint.h>

#include "shm/region/region.h"

/* What copying costs on this node, in picoseconds so that integers are enough. Measured by the daemon when it starts;
 * the planner of the clients chooses methods with them. A line is 64 bytes. */
typedef struct sfshm_costs {
  uint32_t local_line_ps;     /* gathering one scattered line from memory that this core has written */
  uint32_t piece_stream_ps;   /* passing one line of a dense block through cells, one core packing, one unpacking */
  uint32_t remote_line_ps;    /* gathering one scattered line that another core has just written */
  uint32_t remote_stream_ps;  /* copying one line of a dense block of another core, which will write it again */
  uint32_t vm_read_call_ps;   /* process_vm_readv: per call */
  uint32_t vm_read_stream_ps; /* process_vm_readv: per line of a dense block */
  uint32_t handshake_ps;      /* one cache line bounced between two cores, one way */
  uint32_t measured;          /* 0: defaults, because there is one core only or measuring failed */
} sfshm_costs_t;
_Static_assert(sizeof(sfshm_costs_t) == 32, "layout version 1");

typedef struct sfshm_board {
  sfshm_region_header_t header;
  sfshm_costs_t costs; /* constant */
  uint8_t reserved1[96];
  _Atomic uint32_t cores;        /* that the node's ranks may run on */
  _Atomic uint32_t participants; /* ranks of all jobs on this node: those that may spin */
  _Atomic uint32_t workers;      /* of the daemon for which the node has a core to spare: what may be offered them */
  _Atomic uint32_t tracing;      /* 1: ranks write traces */
  _Atomic uint32_t crowded;      /* 1: as many ranks as cores that the daemon may run on, or more */
  uint8_t reserved2[108];
} sfshm_board_t;
_Static_assert(sizeof(sfshm_board_t) == 384, "layout version 1");

#endif
