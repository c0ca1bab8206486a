/* Memory of the stand-in for the CUDA driver, for the files that hand it out. All with the lock held. */
#ifndef SFTEST_CUDA_FAKE_MEMORY_H
#define SFTEST_CUDA_FAKE_MEMORY_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_BYTES ((size_t)1 << 36)

/* Memory of a device is a file, so that other processes can open it. */
typedef struct sftest_cuda_memory {
  struct sftest_cuda_memory *next;
  char *base; /* imported: of the whole block, as the real driver may tell of it */
  size_t length_bytes;
  size_t told_bytes; /* which drivers may round up */
  char *given;       /* what the caller got: imported: somewhere in the block */
  char *mapped;      /* in pages; the real driver gives no whole ones either */
  size_t mapped_bytes;
  int device; /* -1: pinned; -2: the host's, registered */
  int fd;
  bool imported;
  bool is_virtual; /* at reserved addresses, then: */
  bool is_shareable;
  unsigned access;   /* bits of devices whose kernels have it */
  CUmemoryPool pool; /* NULL: of none */
  bool elsewhere;    /* allocated in a context that is not the primary one */
  uint64_t serial;
  char *alias;           /* registered: where devices see it */
  CUipcMemHandle handle; /* imported: by which */
} sftest_cuda_memory_t;

extern sftest_cuda_memory_t *sftest_cuda_memories;

/* The link to the memory that the address is in; the last one, which is NULL, if it is in none. */
sftest_cuda_memory_t **sftest_cuda_find_memory(uintptr_t address);

sftest_cuda_memory_t *sftest_cuda_add_memory(int device, size_t bytes);

/* Maps its file, from the offset on. */
void sftest_cuda_map_memory(sftest_cuda_memory_t *memory, size_t offset);

/* The same at that address, instead of what is there. */
void sftest_cuda_map_at(sftest_cuda_memory_t *memory, void *address);

/* address: as the caller got it. */
CUresult sftest_cuda_free_memory(uintptr_t address, bool imported);

#endif
