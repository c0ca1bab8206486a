/* A pair of lanes between two ranks, in memory of the process. */
#ifndef SFTEST_LANE_PAIR_H
#define SFTEST_LANE_PAIR_H

#include "shm/lane/lane.h"

#include "tests/unit/runner.h"

#define SFTEST_LANE_SLOTS SFSHM_LANE_SLOTS
#define SFTEST_CELL_BYTES_MAX 1024

/* One rank's part of the shared memory. */
typedef struct sftest_inbox {
  sfshm_slot_t slots[SFTEST_LANE_SLOTS];
  sfshm_lane_control_t control;
  uint8_t cells[2][SFTEST_LANE_SLOTS * SFTEST_CELL_BYTES_MAX];
} sftest_lane_inbox_t;

/* One rank's ends of both lanes. */
typedef struct sftest_lane_ends {
  sfshm_lane_tx_t tx;
  sfshm_lane_rx_t rx;
} sftest_lane_ends_t;

extern sftest_lane_inbox_t sftest_inbox[2];
extern sftest_lane_ends_t sftest_end[2];

/* The lanes as they are when rank 0 has sent sent[0] messages, rank 1 sent[1], and all have been consumed. */
void sftest_lanes_start_at(uint64_t sent0, uint64_t sent1);

#endif
