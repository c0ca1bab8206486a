/* Wait state: what a rank waits for, published for others, and waiting times. Time asleep is charged to the lanes with
 * missing messages in equal parts: by readers of the counters while the rank sleeps, by the rank when it wakes. Other
 * waiting time is charged to one lane. The thread that uses the graph. */
#ifndef SFC_ENGINE_WAIT_STATE_H
#define SFC_ENGINE_WAIT_STATE_H

#include "client/engine/operation.h"

/* Publishes that the thread tests the request in vain, since when, and which lanes are missing. */
void sfc_wait_state_show(sf_graph_t *graph, const sf_request_t *request, int64_t since_ns);

/* The same before every sleep of a thread that has waited since began_ns; lanes that have come meanwhile are no longer
 * missing. */
void sfc_wait_state_sleep(sf_graph_t *graph, const sf_request_t *request, int64_t since_ns, int64_t began_ns);

/* Ends the published wait, if any. */
void sfc_wait_state_hide(sf_graph_t *graph);

/* Lane of an ordered reduce's next turn; NULL: none. Later contributions may have arrived. */
sfc_lane_t *sfc_wait_state_turn(const sf_request_t *request);

/* Counts the time of a waiting call for the lane that was missing last, and a wait if that is over. turn: lane whose
 * turn was missing; NULL: the lane that moved last. */
void sfc_wait_state_count(const sf_graph_t *graph, int64_t since_ns, sfc_lane_t *turn, bool over);

#endif
