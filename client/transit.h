/* Composite operations whose contributions travel combined: a fetch_op, or a reduce with an op of the application that
 * may be combined on the way. See runs.h for the graphs.
 *
 *   part      graph     direction  before it may go here
 *   COLLECT   members   reduce     -
 *   FORWARD   values    reduce     the heads have combined the members of their runs
 *   BACK      values    bcast      the roots have met the runs                                  (fetch_op)
 *   SPREAD    members   bcast      the heads have found what was there before each member        (fetch_op)
 *
 * All are begun at once; what may not go yet is held. On the multi-graph, where other operations of the same kind take
 * place, this one takes its number, and sends nothing: so calls that do not match are found there as ever, and who
 * waits is seen to wait there. The thread that uses the graph. */
#ifndef SFC_TRANSIT_H
#define SFC_TRANSIT_H

#include "client/composite.h"
#include "client/runs.h"

/* Whether contributions may travel combined with this op: it changes no bit, or the application allows it. */
bool sfc_transit_allows(const sfc_composite_call_t *call);

/* Which contributions travel combined with the op: NULL, or the graph's runs. The graph has its multi-graph. */
sfc_runs_t *sfc_transit_runs(const sfc_composite_call_t *call);

/* Bytes of memory that it takes beside the units at the roots. */
size_t sfc_transit_bytes(const sfc_runs_t *runs, size_t unit_bytes);

/* Makes the requests; memory has been made room for. */
sf_status_t sfc_transit_make(sfc_composite_t *composite, const sfc_composite_call_t *call, sf_graph_t *multi);

/* Checks whether all can begin, and begins them. */
sf_status_t sfc_transit_begin(sfc_composite_t *composite, sfc_thread_t *thread);

/* Goes on as far as it can; *moved_p is set if something could be done. True when all is done. */
bool sfc_transit_advance(sfc_composite_t *composite, bool *moved_p);

/* Ends the parts, or gives them back. */
void sfc_transit_end(const sfc_composite_t *composite);

#endif
