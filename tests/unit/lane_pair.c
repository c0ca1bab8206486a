/* Pairs of lanes for tests: see lane_pair.h. */
#include "tests/unit/lane_pair.h"

sftest_lane_inbox_t sftest_inbox[2];
sftest_lane_ends_t sftest_end[2];

void sftest_lanes_start_at(uint64_t sent0, uint64_t sent1)
{
  const uint64_t sent[2] = {sent0, sent1};
  memset(sftest_inbox, 0, sizeof sftest_inbox);
  memset(sftest_end, 0, sizeof sftest_end);
  for (int r = 0; r < 2; r++) {
    sftest_end[r].tx = (sfshm_lane_tx_t){.slots = sftest_inbox[1 - r].slots,
                                         .control = &sftest_inbox[r].control,
                                         .posted = sent[r],
                                         .consumed = sent[r]};
    sftest_end[r].rx = (sfshm_lane_rx_t){.slots = sftest_inbox[r].slots,
                                         .control = &sftest_inbox[1 - r].control,
                                         .received = sent[1 - r],
                                         .told = sent[1 - r]};
    atomic_store(&sftest_inbox[r].control.consumed, sent[r]);
    for (uint64_t i = 0; i < SFTEST_LANE_SLOTS && i < sent[r]; i++)
      atomic_store(&sftest_inbox[1 - r].slots[(sent[r] - i - 1) % SFTEST_LANE_SLOTS].stamp,
                   (sent[r] - i) & SFSHM_STAMP_MASK);
  }
}
