/* The library itself as contenders. */
#ifndef SFPERF_CONTENDERS_LIBRARY_H
#define SFPERF_CONTENDERS_LIBRARY_H

#include "tools/sfperf/contenders/method.h"

/* "sf_alloc": blocking operations on memory of sf_alloc. "sf_plain": the same on memory of malloc. "sf_persistent":
 * persistent requests on memory of sf_alloc. */
extern const sfperf_method_t sfperf_sf_alloc;
extern const sfperf_method_t sfperf_sf_plain;
extern const sfperf_method_t sfperf_sf_persistent;

/* "sf_device": blocking operations on a device's memory. "sf_device_pers": persistent requests on it. "host":
 * vectors are copied to memory of sf_alloc, and the results back, by the driver. */
extern const sfperf_method_t sfperf_sf_device;
extern const sfperf_method_t sfperf_sf_device_persistent;
extern const sfperf_method_t sfperf_sf_by_host;

extern const sfperf_creator_t sfperf_sf_creator; /* "sf" */

#endif
