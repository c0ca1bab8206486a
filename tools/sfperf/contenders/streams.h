/* Operations on a stream of a device as a contender: given to the stream one behind the other, and waited for once. */
#ifndef SFPERF_CONTENDERS_STREAMS_H
#define SFPERF_CONTENDERS_STREAMS_H

#include "tools/sfperf/contenders/method.h"

/* "sf_stream": on the default stream of the only device; ranks of one node. Its bcast and reduce wait. */
extern const sfperf_method_t sfperf_sf_stream;

/* For sfperf_contender_t; state: that of the method. An iteration is a bcast and a reduce; the host waits only at the
 * end. */
double sfperf_streams_run(void *state, int64_t iterations);

#endif
