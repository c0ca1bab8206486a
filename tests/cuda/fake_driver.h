/* A stand-in for the CUDA driver: what tests ask of it beside cuda.h. Loaded before the plugin, as libcuda.so.1.
 *
 * It shows that protocol, lifetimes, order of stream operations and arithmetic are right. It shows nothing about speed,
 * the memory order of a real device, or access between devices. */
#ifndef SFTEST_CUDA_FAKE_DRIVER_H
#define SFTEST_CUDA_FAKE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

/* Where tests find it, or what does the same with a real driver: SFTEST_CUDA=real. */
#define SFTEST_CUDA_FAKE "tests/cuda/libcuda.so.1"
#define SFTEST_CUDA_REAL "tests/cuda/libsftest_cuda.so"

/* Environment: SFTEST_CUDA_DEVICES, the number of devices (2), but not more than SFTEST_CUDA_MOST; SFTEST_CUDA_SEED, of
 * the moments at which streams do their work; SFTEST_CUDA_FAIL="FUNCTION:N", whose call number N, counted from 1,
 * fails, and all after it if it was a launch; SFTEST_CUDA_MEMOPS=off, streams know no memory operations;
 * SFTEST_CUDA_BLOCK, the bytes of blocks of memory that the driver tells of (65536). */

/* SFTEST_CUDA_VERSION, the version of CUDA that the driver is for (13000).
 * CUDA_DEVICE_MAX_CONNECTIONS, the number of a device's queues, which streams share (8); SFTEST_CUDA_DEPTH, how much a
 * queue takes before telling it more waits (1000), which holds up other calls, too. */

/* SFTEST_CUDA_REPORT: at its end a process says how many pieces of work it has given a stream at most without waiting
 * for the stream. SFTEST_CUDA_LENIENT: freeing memory that others have open ends no process. */

/* Found by dlsym. Memory of a device, or NULL; and copying between any memory. */
typedef void *sftest_cuda_alloc_fn_t(int device, size_t len_bytes);
typedef void sftest_cuda_free_fn_t(void *address);
typedef void sftest_cuda_copy_fn_t(void *to, const void *from, size_t len_bytes);

/* Memory of a context that is not the device's primary one. Not with a real driver. */
typedef void *sftest_cuda_alloc_elsewhere_fn_t(int device, size_t len_bytes);

/* Memory at reserved addresses, for other processes or not; its whole length is that of sftest_cuda_length_fn_t. */
/* The same (sftest_cuda_alloc_pooled) of a pool of its own, to be freed as others are. */
typedef void *sftest_cuda_alloc_virtual_fn_t(int device, size_t len_bytes, int shareable);

/* How many devices there are. */
typedef int sftest_cuda_count_fn_t(void);

/* How much is allocated, or open, where the address is. */
typedef size_t sftest_cuda_length_fn_t(const void *address);

/* Number of allocations that live, pinned memory included. */
typedef int64_t sftest_cuda_live_fn_t(void);

/* Number of kernels that have been launched in this process. Not with a real driver. */
typedef int64_t sftest_cuda_launched_fn_t(void);

/* Number of copies without the host that streams have been told. Not with a real driver. */
typedef int64_t sftest_cuda_copied_fn_t(void);

/* A stream of the device that the default stream does not wait for; copying in it. Host memory stays as it is until the
 * stream has come to it. */
typedef void *sftest_cuda_stream_create_fn_t(int device);
typedef void sftest_cuda_stream_fn_t(void *stream);
typedef void sftest_cuda_stream_capture_fn_t(void *stream, int begin); /* into a graph; or ends that, and drops it */
typedef void sftest_cuda_stream_copy_fn_t(void *to, const void *from, size_t len_bytes, void *stream);

#endif
