/* Ranks of a graph that meet, at the daemon, before they make together what the graph needs for some of its operations:
 * set-ups would wait for ranks that have called something else. */
#ifndef SFC_MEETING_H
#define SFC_MEETING_H

#include "client/graph/graph.h"
#include "proto/sf_control.pb-c.h"

typedef Sfproto__GraphMeet__What sfc_meeting_t;

/* Waits until all ranks have come for the same. before: what is wrong with this rank's call, with the thread's text; it
 * comes all the same, as the others wait. SF_OK: all go on, and take part in what they make, whatever fails from now
 * on. Else none goes on: the graph has failed, and this is why; or ranks have come with an error, and this is that of
 * the lowest: the graph is as it was. */
sf_status_t sfc_graph_meet(sf_status_t before, sf_graph_t *graph, sfc_meeting_t what);

#endif
