/* What a rank waits for, written where others can read it, and the time that waiting takes. The thread that uses the
 * graph. */
#ifndef SFC_WAITING_H
#define SFC_WAITING_H

#include "client/operation.h"

/* The thread waits for the request since then, or tests it in vain: says so, and from whom something is still to come.
 * To be called before every sleep: what has come meanwhile is no longer waited for. */
void sfc_waiting_show(sf_graph_t *graph, const sf_request_t *request, int64_t since_ns);

/* It no longer waits. Nothing to do if it has not been said. */
void sfc_waiting_hide(sf_graph_t *graph);

/* Counts a wait that ends now for the lane that ended its part last: that one was waited for. */
void sfc_waiting_count(const sf_graph_t *graph, int64_t since_ns);

#endif
