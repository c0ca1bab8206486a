/* Memory for root and leaf data: shared memory, CUDA device memory, and registration of application memory. Part of
 * sf.h, which is what to include.
 *
 * Operations accept any host memory. Memory from sf_alloc can be read in place by the other ranks of the node, so that
 * large dense payloads are copied once. Memory of CUDA devices must come from sf_alloc_on_device or be registered.
 *
 * Device memory. Root data and leaf data may be on different devices, or one of them on the host. Kernels pack, combine
 * and unpack values on the device; results are the same as on the host. Arithmetic requires data aligned to the base
 * type. Operations of sf.h do not know streams (those of sf_streams.h do): work that writes the data must be complete
 * before begin; after the end any stream may use the data.
 *  - Between ranks of a node the reader's kernels read the other rank's device memory, also on a peer device, if the
 *    driver allows it. The driver copies payloads that are contiguous and replace the present values: from 64 KiB on,
 *    or if kernels cannot reach the memory. Otherwise values are staged in pinned host memory. Memory from cuMemAlloc
 *    and cudaMalloc can be shared; memory mapped by cuMemMap, and memory of pools (cudaMallocAsync), if it or the pool
 * was created with a POSIX file descriptor as handle type.
 *  - To other nodes values are staged in pinned host memory.
 *  - If the driver lets processes share an allocation, registering a part of it opens the whole allocation to the other
 *    ranks of the job.
 * The environment variables SF_DEVICE_* (sfrun(1)) switch single ways off, for measurements. */
#ifndef SF_MEMORY_H
#define SF_MEMORY_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kind of memory. */
typedef enum sf_memory_kind {
  SF_MEMORY_HOST = 0,   /* ordinary host memory */
  SF_MEMORY_CUDA = 1,   /* memory of a CUDA device, from the driver or the runtime */
  SF_MEMORY_DETECT = 2, /* either: in a process that uses CUDA the library asks the driver */
} sf_memory_kind_t;

/* Allocates len_bytes > 0 of host memory that the other ranks of the node can read in place. The memory is zeroed and
 * aligned to 128 bytes. The caller frees it with sf_free; sf_finalize frees the rest. Local. If the node has a spare
 * core, the daemon's workers copy between such memory while both ranks compute, in operations with separate calls of
 * begin and end.
 * SF_ERR_NOMEM: not enough memory. All pages are allocated now, so later accesses cannot fail. Allocations of 4 MiB and
 * more are first compared with the free memory of the machine and of the process's memory control groups; if other
 * processes take that memory at the same moment, the kernel may kill a process of the control group instead. */
SF_CHECK_RESULT sf_status_t sf_alloc(sf_context_t *context, size_t len_bytes, void **address_p);

/* Allocates len_bytes > 0 on the CUDA device with this process's number device. The memory is zeroed, registered (see
 * sf_register), aligned as the driver aligns, and valid in all contexts of the device. The caller frees it with
 * sf_free; sf_finalize frees the rest. It takes whole blocks of the driver (2 MiB), and lives until no process has it
 * open: other ranks can finish with it after this rank has died. Local; may wait for all streams of the process, as
 * drivers do. SF_ERR_NOMEM: the device is full. SF_ERR_UNSUPPORTED: this process has no driver, device or plugin, or
 * the device has no memory that processes can share; the detail says which. SF_ERR_ARG: no such device. SF_ERR_LIMIT:
 * the daemon's options max-regions or max-device-memory. */
SF_CHECK_RESULT sf_status_t sf_alloc_on_device(sf_context_t *context, int32_t device, size_t len_bytes,
                                               void **address_p);

/* Frees memory from sf_alloc or sf_alloc_on_device. No operation may be using it. Local; for device memory it waits
 * until the other ranks have closed it. address == NULL is accepted. SF_ERR_ARG: the address is not from these
 * functions. */
sf_status_t sf_free(sf_context_t *context, void *address);

/* Registers len_bytes > 0 at address for use in operations. The memory stays the caller's, and must remain valid until
 * sf_unregister. The caller owns the region handle. Local. Operations that would access bytes beyond the end of a
 * region return SF_ERR_RANGE. Other ranks read registered host memory directly (process_vm_readv) if a probe at joining
 * showed that this is permitted and faster; otherwise registering host memory only enables the range check.
 * SF_ERR_EXISTS: the range overlaps another region. SF_ERR_UNSUPPORTED: no driver, no device, or the plugin
 * libsf_cuda.so (path in SF_CUDA_PLUGIN, else beside the library) is missing; or the memory was allocated in a context
 * that is not the primary one of its device. SF_ERR_ARG: the address is not device
 * memory, or the allocation ends before address + len_bytes. */
SF_CHECK_RESULT sf_status_t sf_register(sf_context_t *context, void *address, size_t len_bytes, sf_memory_kind_t kind,
                                        sf_region_t **region_p);

/* Ends a registration and frees the handle. No operation may be using the memory. region == NULL is accepted. Local,
 * but for device memory it returns only when no other rank has the memory open, so that the caller may free it. Other
 * ranks close memory when their streams have finished their work; therefore call first whatever those streams wait for.
 * SF_ERR_STATE: the device memory has been freed already (operations on it fail as well); the registration has ended.
 */
sf_status_t sf_unregister(sf_region_t *region);

#ifdef __cplusplus
}
#endif
#endif
