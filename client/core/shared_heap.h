/* Shared heap: memory of this rank that other ranks access, in shared segments that the daemon hands out. A context has
 * three: the inbox (slots and cells, written by peers), sf_alloc memory (read by peers), and slots on devices. First
 * fit; a block larger than a quarter of an ordinary segment gets a segment of its own. Take and give: any thread; the
 * rest: one thread, while no other uses the heap. */
#ifndef SFC_CORE_SHARED_HEAP_H
#define SFC_CORE_SHARED_HEAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <sf/sf.h>

#include "client/core/daemon_conn.h"
#include "shm/region/region.h"

typedef struct sfc_segment sfc_segment_t;

typedef struct sfc_heap {
  sfshm_region_kind_t kind;
  sfc_daemon_conn_t *control;
  _Atomic uint64_t *last_segment; /* of the rank; segment numbers are not reused */
  size_t segment_bytes;
  bool sealed_by_daemon; /* the daemon maps sf_alloc segments for writing, then seals them */
  pthread_mutex_t lock;
  sfc_segment_t *segments;
} sfc_heap_t;

typedef struct sfc_block {
  sfc_heap_t *heap;
  void *address;
  size_t length_bytes; /* as requested, rounded up to SFC_BLOCK_ALIGN */
  uint64_t segment;
  uint64_t offset;
} sfc_block_t;

#define SFC_BLOCK_ALIGN 128u /* of addresses, offsets and lengths */

void sfc_heap_init(sfc_heap_t *heap, sfshm_region_kind_t kind, sfc_daemon_conn_t *control,
                   _Atomic uint64_t *last_segment, size_t segment_bytes);
/* Unmaps everything. The daemon drops a rank's segments when the rank leaves. */
void sfc_heap_destroy(sfc_heap_t *heap);

/* Adds a region that the daemon already knows as a segment; its first used_bytes, rounded up to SFC_BLOCK_ALIGN, stay
 * taken. The heap owns the region on success. */
sf_status_t sfc_heap_adopt(sfc_heap_t *heap, const sfshm_region_t *region, uint64_t segment, size_t used_bytes);

/* Takes a block, zeroed or as it is, whose pages are allocated: no access to it can fail. If a new segment is needed,
 * waits for the daemon with the heap locked. SF_ERR_ARG: 0 bytes, or more than a quarter of the address space;
 * SF_ERR_NOMEM, SF_ERR_LIMIT and errors of requests to the daemon. */
sf_status_t sfc_heap_take(sfc_heap_t *heap, size_t length_bytes, bool zeroed, sfc_block_t *block_p);

/* Takes a block of memory of that device, of the heap for devices, for kernels of that device and of other ranks. The
 * segments last until nobody has them open; other ranks open each one once. A new one may wait for all streams of the
 * process; before, segments without blocks are removed. */
sf_status_t sfc_heap_take_on_device(sf_context_t *context, int32_t device, size_t length_bytes, sfc_block_t *block_p);

/* Closes all memory of that heap, which other ranks may still have open. At the end of the context. */
void sfc_heap_leave_devices(sf_context_t *context);

/* Gives a block back. A segment of its own is removed, and the daemon told; other segments stay. Closes no memory of
 * devices, so that it never waits for streams. */
void sfc_heap_give(sfc_heap_t *heap, const sfc_block_t *block);

#endif
