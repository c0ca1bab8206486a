/* Memory of this rank that other ranks reach: blocks out of shared segments that the daemon hands to whoever asks. Two
 * of them: the inbox (slots, cells; peers write) and the memory of sf_alloc (peers read). A block goes where the first
 * gap holds it; else a segment is made, for it alone if it is larger than a quarter of an ordinary segment. Taking and
 * giving: any thread; the rest: one, while no other uses the heap. */
#ifndef SFC_CORE_SHARED_HEAP_H
#define SFC_CORE_SHARED_HEAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/core/daemon_conn.h"
#include "shm/region/region.h"

typedef struct sfc_segment sfc_segment_t;

typedef struct sfc_heap {
  sfshm_region_kind_t kind;
  sfc_daemon_conn_t *control;
  _Atomic uint64_t *last_segment; /* of the rank; segment numbers are never used again */
  size_t segment_bytes;           /* of an ordinary segment */
  bool sealed_by_daemon;          /* it sets the last seal of what is not an inbox, having mapped it for writing */
  pthread_mutex_t lock;
  sfc_segment_t *segments;
} sfc_heap_t;

typedef struct sfc_block {
  void *address;
  size_t length_bytes; /* what was asked for, rounded up to SFC_BLOCK_ALIGN */
  uint64_t segment;
  uint64_t offset;
} sfc_block_t;

#define SFC_BLOCK_ALIGN 128u /* of addresses, offsets and lengths */

void sfc_heap_init(sfc_heap_t *heap, sfshm_region_kind_t kind, sfc_daemon_conn_t *control,
                   _Atomic uint64_t *last_segment, size_t segment_bytes);
/* Unmaps everything. The daemon is not told: it drops a rank's segments when the rank leaves. */
void sfc_heap_destroy(sfc_heap_t *heap);

/* Adds the region as a segment that the daemon already knows, with its first used_bytes, rounded up to SFC_BLOCK_ALIGN,
 * taken for good. The heap unmaps it from now on; on failure it stays the caller's. */
sf_status_t sfc_heap_adopt(sfc_heap_t *heap, const sfshm_region_t *region, uint64_t segment, size_t used_bytes);

/* A zeroed block whose pages are there: no access to it can fail for want of memory. If it needs a new segment, waits
 * for the daemon to publish it, and whoever else uses the heap waits too. SF_ERR_ARG: no bytes, or more than a quarter
 * of the address space; SF_ERR_NOMEM, SF_ERR_LIMIT and what requests to the daemon return. */
sf_status_t sfc_heap_take(sfc_heap_t *heap, size_t length_bytes, sfc_block_t *block_p);

/* The same, but what is in the block is left as it is. */
sf_status_t sfc_heap_take_raw(sfc_heap_t *heap, size_t length_bytes, sfc_block_t *block_p);

/* Gives it back. A segment made for it alone is removed, and the daemon told; others stay for later blocks. */
void sfc_heap_give(sfc_heap_t *heap, const sfc_block_t *block);

#endif
