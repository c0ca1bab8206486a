/* Both ends of one lane, and all that the sending end needs around it. */
#ifndef SFTEST_SENDER_H
#define SFTEST_SENDER_H

#include "client/engine/lane_ops.h"
#include "client/engine/lane_send.h"

#include "client/core/context.h"
#include "client/engine/progress.h"
#include "client/engine/protocol.h"
#include "tests/unit/runner.h"

#define SFTEST_LARGE ((int64_t)1 << 16)

/* Both ends of one lane, and all that the sending end needs around it. */
typedef struct sftest_sender {
  sf_context_t context;
  sfshm_board_t board;
  sf_graph_t graph;
  sfc_thread_t thread;
  sfshm_graph_counters_t graph_counts;
  sfshm_lane_counters_t counts;
  sfc_peer_t peer;
  sfshm_wake_t wake;
  sfc_lane_t lane;
  sfshm_lane_rx_t reader;
  sfshm_slot_t slots[SFSHM_LANE_SLOTS];
  sfshm_slot_t own_slots[SFSHM_LANE_SLOTS];
  sfshm_lane_control_t control;
  sfshm_lane_control_t own_control;
} sftest_sender_t;

extern sftest_sender_t sftest_sender;
extern double sftest_sender_values[SFTEST_LARGE];

void sftest_sender_setup(void);

#define SFTEST_CELL_VALUES ((int64_t)(SFC_CELL_BYTES_FIRST / sizeof(double)))

extern double sftest_sender_cells[SFSHM_LANE_SLOTS * SFTEST_CELL_VALUES];

void sftest_sender_give_cells(void);

#endif
