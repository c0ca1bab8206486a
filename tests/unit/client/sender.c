/* The sending end of a lane, for tests: see sender.h. */
#include "tests/unit/client/sender.h"

sftest_sender_t sftest_sender;
double sftest_sender_values[SFTEST_LARGE];

void sftest_sender_setup(void)
{
  memset(&sftest_sender, 0, sizeof sftest_sender);
  sftest_sender.board.costs.piece_stream_ps = 1000000; /* so that large data are read in place */
  sftest_sender.context.board = &sftest_sender.board;
  sftest_sender.graph = (sf_graph_t){
      .context = &sftest_sender.context, .user.thread = &sftest_sender.thread, .counts = &sftest_sender.graph_counts};
  sftest_sender.peer.wake = &sftest_sender.wake;
  sftest_sender.lane = (sfc_lane_t){.ops = &sfc_shared_lane_ops,
                                    .graph = &sftest_sender.graph,
                                    .peer = &sftest_sender.peer,
                                    .counts = &sftest_sender.counts};
  sftest_sender.lane.as_leaf.nvalues = 1;
  sftest_sender.lane.as_root.root_runs = 1;
  sftest_sender.lane.tx = (sfshm_lane_tx_t){.slots = sftest_sender.slots, .control = &sftest_sender.control};
  sftest_sender.lane.rx = (sfshm_lane_rx_t){.slots = sftest_sender.own_slots, .control = &sftest_sender.own_control};
  sftest_sender.reader = (sfshm_lane_rx_t){.slots = sftest_sender.slots, .control = &sftest_sender.control};
}

double sftest_sender_cells[SFSHM_LANE_SLOTS * SFTEST_CELL_VALUES];

void sftest_sender_give_cells(void)
{
  sftest_sender.lane.tx.cells = (uint8_t *)sftest_sender_cells;
  sftest_sender.lane.tx.cell_bytes = sftest_sender.lane.tx_cells_tried = SFC_CELL_BYTES_FIRST;
}
