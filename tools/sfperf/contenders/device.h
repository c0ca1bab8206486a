/* Vectors in a device's memory, and what the device itself needs for moving data. For --memory device: memory that
 * sfd's library allocates, so that no other library is needed. Runs in each rank's only thread. */
#ifndef SFPERF_CONTENDERS_DEVICE_H
#define SFPERF_CONTENDERS_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf.h>

#include "tools/sfperf/contenders/limits.h"

/* How many devices there are. Ends the program where there is none. */
int32_t sfperf_device_count(void);

/* Memory of this rank's device: ranks are dealt out over the devices there are. Zeroed. Ends the program where there is
 * no device. */
void *sfperf_device_alloc(sf_context_t *context, int rank, size_t len_bytes);

/* The driver's own copy, from any memory to any other; returns when it is done. */
void sfperf_device_copy(void *to, const void *from, size_t len_bytes);

/* What copies cost without the library, between the vectors of two ranks. */
typedef struct sfperf_device_copies {
  int rank;
  size_t len_bytes;
  void *here;              /* on this rank's device */
  void *beside;            /* the same */
  sfperf_limits_t *limits; /* of the host's memory, through which a copy goes */
} sfperf_device_copies_t;

/* For sfperf_contender_t; state: sfperf_device_copies_t. An iteration is a round trip. Through: each rank copies from
 * its device to memory that both share, the other one from there to its own. Within: both ranks copy once within their
 * device, one after the other: the limit. */
double sfperf_device_through_run(void *state, int64_t iterations);
double sfperf_device_within_run(void *state, int64_t iterations);

#endif
