/* Memory of devices that are not there: a stand-in for the CUDA driver (tests/cuda), loaded into a rank. */
#ifndef SFTEST_FAKE_DEVICE_H
#define SFTEST_FAKE_DEVICE_H

#include <stddef.h>
#include <sys/types.h>

#include "tests/system/harness.h"

#define SFTEST_DEVICES 2

/* Whether it can be told to fail: not if SFTEST_CUDA=real has a real driver in its place. */
bool sftest_device_can_fail(void);

/* Loads it into this process at the first call. False where the CUDA plugin was not built. */
bool sftest_device_is_there(void);

/* sftest_main, where it was not built after a note, or, if all tests need it, instead of them; and a main that is this.
 */
int sftest_device_main(bool all);
#define SFTEST_DEVICE_MAIN(all)                                                                                        \
  int main(void)                                                                                                       \
  {                                                                                                                    \
    return sftest_device_main(all);                                                                                    \
  }                                                                                                                    \
  struct sftest_end_of_main

/* Has programs that this process starts find it, beside the plugin. False where the plugin was not built. */
bool sftest_device_for_programs(void);

/* How many there are: one real one may be all. And the one that takes the place of another: they are counted round. */
int sftest_device_count(void);
int sftest_device_instead(int device);

void *sftest_device_alloc(int device, size_t len_bytes);

/* At reserved addresses, for other processes or not. */
void *sftest_device_alloc_virtual(int device, size_t len_bytes, bool shareable);
void sftest_device_free_virtual(void *address);

/* Of a pool; freed by sftest_device_free. */
void *sftest_device_alloc_pooled(int device, size_t len_bytes, bool shareable);

/* In a context that is not the primary one; only where it can fail. */
void *sftest_device_alloc_elsewhere(int device, size_t len_bytes);
void sftest_device_free(void *address);

/* How much is allocated, or open here, where the address is. */
size_t sftest_device_length(const void *address);

/* Allocations of this process, and those of others that it has open. */
int64_t sftest_device_live(void);

/* Those of any process, that has not loaded a real driver. */
int sftest_device_held(pid_t pid);

/* Kernels that this process has launched; only where it can fail. */
int64_t sftest_device_launched(void);

void sftest_device_copy(void *to, const void *from, size_t len_bytes);

/* Streams, and copying between any memory when a stream comes to it. */
void *sftest_device_stream(int device);
void sftest_device_stream_free(void *stream);
void sftest_device_stream_finish(void *stream);
void sftest_device_stream_copy(void *to, const void *from, size_t len_bytes, void *stream);

#endif
