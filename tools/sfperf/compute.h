/* Work that keeps a core busy for a known time and leaves memory and network alone. */
#ifndef SFPERF_COMPUTE_H
#define SFPERF_COMPUTE_H

#include <stdint.h>

/* So many steps of work, each as long as the one before. */
void sfperf_compute(int64_t steps);

/* Steps in a microsecond on an undisturbed core. Takes some milliseconds. */
double sfperf_compute_calibrate(void);

#endif
