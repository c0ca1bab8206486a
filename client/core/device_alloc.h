/* Memory of devices that the daemon allocates for this rank, so that nobody's death takes it from those who have it
 * open: a region of the rank, which others open as any other. Any thread. */
#ifndef SFC_CORE_DEVICE_ALLOC_H
#define SFC_CORE_DEVICE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf.h>

typedef struct sfc_device_block {
  uint64_t region; /* 0: there is none */
  char *base;      /* here */
} sfc_device_block_t;

/* Zeroed memory on that device, opened here for kernels of `reader`: a device or SFSHM_DEVICE_ANY. Waits for the
 * daemon's driver, which may never have been used before. */
sf_status_t sfc_device_block_take(sf_context_t *context, int32_t device, int32_t reader, size_t len_bytes,
                                  sfc_device_block_t *block_p);

/* Closes it here, and tells the daemon to free it when nobody has it open any more, which is waited for or not. */
void sfc_device_block_give(sf_context_t *context, const sfc_device_block_t *block, bool wait);

#endif
