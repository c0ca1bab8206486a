/* What a rank waits for, written where others can read it, and the time that waiting takes. The thread that uses the
 * graph.
 *
 * Time asleep is charged to the lanes on which something is missing, in equal parts: while the rank sleeps by whoever
 * reads its counters, and by the rank each time it wakes. What is waited without sleeping is charged to one lane. */
#ifndef SFC_ENGINE_WAIT_STATE_H
#define SFC_ENGINE_WAIT_STATE_H

#include "client/engine/operation.h"

/* The thread tests the request in vain, since then: says so, and from whom something is still to come. */
void sfc_wait_state_show(sf_graph_t *graph, const sf_request_t *request, int64_t since_ns);

/* The same for a thread that is about to sleep, and has waited since began_ns. To be called before every sleep: what
 * has come meanwhile is no longer waited for. */
void sfc_wait_state_sleep(sf_graph_t *graph, const sf_request_t *request, int64_t since_ns, int64_t began_ns);

/* It no longer waits. Nothing to do if it has not been said. */
void sfc_wait_state_hide(sf_graph_t *graph);

/* The lane whose contribution to an ordered reduce is to be combined next; NULL: there is no such turn. Contributions
 * behind it may have come. */
sfc_lane_t *sfc_wait_state_turn(const sf_request_t *request);

/* Counts a wait that ends now: for the lane that was missing at last. turn: whose turn was last waited for; NULL: no
 * turns, it is the lane that ended its part last. */
void sfc_wait_state_count(const sf_graph_t *graph, int64_t since_ns, sfc_lane_t *turn);

#endif
