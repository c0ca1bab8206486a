/* Memory of the stand-in for the CUDA driver: see fake_driver.h. That of devices is out of the host's reach but while
 * the driver itself works on it, so that touching it faults as it does on a real device. */
#include "tests/cuda/fake_driver.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda/fake_internal.h"
#include "tests/cuda/fake_memory.h"
#include "tests/cuda/virtual_memory.h"

#define PIECE_BYTES 512u              /* to which devices' memory is aligned */
#define BLOCK_BYTES ((size_t)2 << 20) /* of physical memory: several small allocations share one */

sftest_cuda_memory_t *sftest_cuda_memories;
static int nopen;

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static int protection(void)
{
  return nopen > 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
}

/* One call for what lies side by side: calls would take most of the time of many tests. */
static void protect(void)
{
  char *begin = NULL, *end = NULL;
  for (sftest_cuda_memory_t *memory = sftest_cuda_memories; memory != NULL; memory = memory->next) {
    if (memory->device < 0)
      continue;
    if (memory->mapped != end) {
      mprotect(begin, (size_t)(end - begin), protection());
      begin = memory->mapped;
    }
    end = memory->mapped + memory->mapped_bytes;
  }
  mprotect(begin, (size_t)(end - begin), protection());
}

void sftest_cuda_open_memory(void)
{
  if (nopen++ == 0)
    protect();
}

void sftest_cuda_close_memory(void)
{
  if (--nopen == 0)
    protect();
}

sftest_cuda_memory_t **sftest_cuda_find_memory(uintptr_t address)
{
  sftest_cuda_memory_t **link = &sftest_cuda_memories;
  while (*link != NULL && address - (uintptr_t)(*link)->base >= (*link)->length_bytes)
    link = &(*link)->next;
  return link;
}

static bool is_within(const void *address, const char *base, size_t bytes)
{
  return base != NULL && (uintptr_t)address - (uintptr_t)base < bytes;
}

bool sftest_cuda_is_known(const void *address)
{
  for (const sftest_cuda_memory_t *memory = sftest_cuda_memories; memory != NULL; memory = memory->next)
    if (is_within(address, memory->base, memory->length_bytes) ||
        is_within(address, memory->alias, memory->length_bytes))
      return true;
  return false;
}

bool sftest_cuda_can_touch(int device, const void *address)
{
  for (const sftest_cuda_memory_t *memory = sftest_cuda_memories; memory != NULL; memory = memory->next)
    if (memory->device >= 0
            ? !memory->elsewhere && is_within(address, memory->base, memory->length_bytes) &&
                  (memory->is_virtual ? (memory->access >> device & 1) != 0
                                      : sftest_cuda_has_access(device, memory->device))
            : is_within(address, memory->alias != NULL ? memory->alias : memory->base, memory->length_bytes))
      return true;
  return false;
}

static size_t page_bytes(void)
{
  return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t round_up(size_t bytes)
{
  return (bytes + page_bytes() - 1) & ~(page_bytes() - 1);
}

/* The list is in the order of addresses, as far as it is mapped by devices. */
static void put_in_order(sftest_cuda_memory_t *memory)
{
  sftest_cuda_memory_t **link = &sftest_cuda_memories;
  while (*link != memory)
    link = &(*link)->next;
  *link = memory->next;
  for (link = &sftest_cuda_memories; *link != NULL && (*link)->mapped < memory->mapped;)
    link = &(*link)->next;
  memory->next = *link;
  *link = memory;
}

void sftest_cuda_map_memory(sftest_cuda_memory_t *memory, size_t offset)
{
  memory->mapped_bytes = round_up(offset + memory->length_bytes);
  memory->mapped = mmap(NULL, memory->mapped_bytes, protection(), MAP_SHARED, memory->fd, 0);
  if (memory->mapped == MAP_FAILED)
    abort();
  memory->given = memory->base = memory->mapped + offset;
  if (memory->imported) {
    memory->base = memory->mapped;
    memory->length_bytes = memory->told_bytes = memory->mapped_bytes;
  }
  put_in_order(memory);
}

void sftest_cuda_map_at(sftest_cuda_memory_t *memory, void *address)
{
  memory->mapped_bytes = memory->length_bytes;
  memory->mapped = mmap(address, memory->mapped_bytes, protection(), MAP_SHARED | MAP_FIXED, memory->fd, 0);
  if (memory->mapped == MAP_FAILED)
    abort();
  memory->given = memory->base = memory->mapped;
  put_in_order(memory);
}

/* Processes that have others' memory open hold a lock on its file. */
static void check_unused(const sftest_cuda_memory_t *memory)
{
  struct flock use;
  for (int i = 0; i < 5000; i++) { /* who has just been killed still holds it for a moment */
    use = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    if (fcntl(memory->fd, F_GETLK, &use) == 0 && use.l_type == F_UNLCK)
      return;
    usleep(1000);
  }
  fprintf(stderr, "fake CUDA driver: memory is freed that process %d has open\n", (int)use.l_pid);
  abort();
}

sftest_cuda_memory_t *sftest_cuda_add_memory(int device, size_t bytes)
{
  sftest_cuda_memory_t *memory = calloc(1, sizeof *memory);
  if (memory == NULL)
    abort();
  static uint64_t last_serial;
  *memory = (sftest_cuda_memory_t){.next = sftest_cuda_memories,
                                   .length_bytes = bytes,
                                   .told_bytes = bytes,
                                   .device = device,
                                   .fd = -1,
                                   .serial = ++last_serial};
  sftest_cuda_memories = memory;
  return memory;
}

static CUresult make_memory(int device, size_t bytes, void **base_p)
{
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes > DEVICE_BYTES)
    return CUDA_ERROR_OUT_OF_MEMORY;
  sftest_cuda_memory_t *memory = sftest_cuda_add_memory(device, bytes);
  if (device < 0) {
    memory->mapped_bytes = bytes;
    memory->given = memory->base = aligned_alloc(page_bytes(), round_up(bytes));
  } else {
    size_t offset = bytes % BLOCK_BYTES == 0 ? 0 : memory->serial % 4 * PIECE_BYTES;
    memory->fd = memfd_create("fake-cuda", MFD_CLOEXEC);
    if (memory->fd < 0 || ftruncate(memory->fd, (off_t)round_up(offset + bytes)) != 0)
      abort();
    sftest_cuda_map_memory(memory, offset);
    memory->told_bytes = (bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
  }
  *base_p = memory->base;
  return CUDA_SUCCESS;
}

CUresult sftest_cuda_free_memory(uintptr_t address, bool imported)
{
  sftest_cuda_memory_t **link = sftest_cuda_find_memory(address), *memory = *link;
  if (memory == NULL || (uintptr_t)memory->given != address || memory->imported != imported || memory->is_virtual)
    return CUDA_ERROR_INVALID_VALUE;
  if (memory->fd >= 0 && !imported && getenv("SFTEST_CUDA_LENIENT") == NULL)
    check_unused(memory);
  if (memory->fd < 0) {
    free(memory->base);
  } else {
    munmap(memory->mapped, memory->mapped_bytes);
    close(memory->fd);
  }
  *link = memory->next;
  free(memory);
  return CUDA_SUCCESS;
}

sftest_cuda_live_fn_t sftest_cuda_live;

int64_t sftest_cuda_live(void)
{
  int64_t n = 0;
  SFTEST_CUDA_LOCK();
  for (const sftest_cuda_memory_t *memory = sftest_cuda_memories; memory != NULL; memory = memory->next)
    n++;
  return n;
}

/* ---- Allocating and copying -------------------------------------------------------------------------------------- */

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *property,
                                       CUmemAllocationGranularity_flags flags)
{
  const char *wanted = getenv("SFTEST_CUDA_BLOCK");
  if (property->type != CU_MEM_ALLOCATION_TYPE_PINNED || property->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      flags != CU_MEM_ALLOC_GRANULARITY_MINIMUM)
    return CUDA_ERROR_INVALID_VALUE;
  *bytes = wanted != NULL ? strtoul(wanted, NULL, 10) : BLOCK_BYTES;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
  sftest_cuda_forbid_in_captures();
  void *base = NULL;
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS)
    return result;
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_finish(true);
  result = sftest_cuda_is_to_fail("cuMemAlloc") ? CUDA_ERROR_OUT_OF_MEMORY
                                                : make_memory(sftest_cuda_current()->device, bytes, &base);
  pthread_mutex_unlock(&sftest_cuda_lock);
  if (result == CUDA_SUCCESS)
    *pointer = (CUdeviceptr)(uintptr_t)base;
  return result;
}

/* Waits for all that the device has been told, as the real one does; as it does where memory is freed, it may where
 * some is allocated or pinned. */
static CUresult finish_and_free(uintptr_t address)
{
  SFTEST_CUDA_LOCK();
  sftest_cuda_finish(true);
  const sftest_cuda_memory_t *memory = *sftest_cuda_find_memory(address);
  CUresult result = sftest_cuda_free_memory(address, memory != NULL && memory->imported && memory->pool != NULL);
  return result;
}

CUresult cuMemFree(CUdeviceptr pointer)
{
  sftest_cuda_forbid_in_captures();
  CUresult result = sftest_cuda_enter();
  return result == CUDA_SUCCESS ? finish_and_free((uintptr_t)pointer) : result;
}

CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char value, size_t bytes, CUstream stream)
{
  (void)stream; /* nothing else has the memory yet */
  CUresult result = sftest_cuda_enter();
  if (result == CUDA_SUCCESS && sftest_cuda_is_to_fail("cuMemsetD8Async")) /* without the lock: others don't hang */
    result = CUDA_ERROR_UNKNOWN;
  if (result != CUDA_SUCCESS)
    return result;
  SFTEST_CUDA_LOCK();
  sftest_cuda_open_memory();
  memset((void *)(uintptr_t)pointer, value, bytes);
  sftest_cuda_close_memory();
  result = sftest_cuda_sticky;
  return result;
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
  sftest_cuda_forbid_in_captures();
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS || (flags & CU_MEMHOSTALLOC_DEVICEMAP) == 0)
    return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
  SFTEST_CUDA_LOCK();
  sftest_cuda_finish(true);
  result = sftest_cuda_is_to_fail("cuMemHostAlloc") ? CUDA_ERROR_OUT_OF_MEMORY : make_memory(-1, bytes, pointer);
  return result;
}

CUresult cuMemFreeHost(void *pointer)
{
  return cuMemFree((CUdeviceptr)(uintptr_t)pointer);
}

/* Devices see it elsewhere than the host, so that the one address taken for the other faults or is not found. Memory
 * that processes share only: the pages are mapped a second time. */
CUresult cuMemHostRegister(void *pointer, size_t bytes, unsigned flags)
{
  sftest_cuda_forbid_in_captures();
  CUresult result = sftest_cuda_enter();
  size_t page = page_bytes();
  if (result != CUDA_SUCCESS)
    return result;
  if ((uintptr_t)pointer % page != 0 || bytes == 0 || bytes % page != 0 || (flags & CU_MEMHOSTREGISTER_DEVICEMAP) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  SFTEST_CUDA_LOCK();
  sftest_cuda_finish(true);
  for (const sftest_cuda_memory_t *memory = sftest_cuda_memories; memory != NULL; memory = memory->next)
    if (memory->device < 0 && memory->base < (char *)pointer + bytes &&
        (char *)pointer < memory->base + memory->length_bytes)
      result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  if (sftest_cuda_is_to_fail("cuMemHostRegister"))
    result = CUDA_ERROR_OUT_OF_MEMORY;
  if (result == CUDA_SUCCESS) {
    sftest_cuda_memory_t *memory = sftest_cuda_add_memory(-2, bytes);
    memory->base = pointer;
    memory->alias = mremap(pointer, 0, bytes, MREMAP_MAYMOVE);
    if (memory->alias == MAP_FAILED)
      abort();
  }
  return result;
}

CUresult cuMemHostUnregister(void *pointer)
{
  sftest_cuda_forbid_in_captures();
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS)
    return result;
  SFTEST_CUDA_LOCK();
  sftest_cuda_finish(true);
  sftest_cuda_memory_t **link = sftest_cuda_find_memory((uintptr_t)pointer), *memory = *link;
  result = memory != NULL && memory->device == -2 && memory->base == pointer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS) {
    munmap(memory->alias, memory->length_bytes);
    *link = memory->next;
    free(memory);
  }
  return result;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *device_pointer, void *pointer, unsigned flags)
{
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS)
    return result;
  SFTEST_CUDA_LOCK();
  const sftest_cuda_memory_t *memory = *sftest_cuda_find_memory((uintptr_t)pointer);
  result = flags == 0 && memory != NULL && memory->device < 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS)
    *device_pointer =
        (CUdeviceptr)(uintptr_t)(memory->alias == NULL ? pointer
                                                       : (void *)(memory->alias + ((char *)pointer - memory->base)));
  return result;
}

/* ---- For tests --------------------------------------------------------------------------------------------------- */

sftest_cuda_alloc_fn_t sftest_cuda_alloc;
sftest_cuda_alloc_elsewhere_fn_t sftest_cuda_alloc_elsewhere;
sftest_cuda_alloc_virtual_fn_t sftest_cuda_alloc_virtual;
sftest_cuda_alloc_virtual_fn_t sftest_cuda_alloc_pooled;
sftest_cuda_free_fn_t sftest_cuda_free_virtual;
sftest_cuda_free_fn_t sftest_cuda_free;
sftest_cuda_length_fn_t sftest_cuda_length;

size_t sftest_cuda_length(const void *address)
{
  SFTEST_CUDA_LOCK();
  const sftest_cuda_memory_t *memory = *sftest_cuda_find_memory((uintptr_t)address);
  size_t bytes = memory != NULL ? memory->told_bytes : 0;
  return bytes;
}

void *sftest_cuda_alloc(int device, size_t len_bytes)
{
  void *base = NULL;
  SFTEST_CUDA_LOCK();
  CUresult result = make_memory(device, len_bytes, &base);
  return result == CUDA_SUCCESS ? base : NULL;
}

void *sftest_cuda_alloc_virtual(int device, size_t len_bytes, int shareable)
{
  return sftest_virtual_alloc(device, len_bytes, shareable != 0);
}

void *sftest_cuda_alloc_pooled(int device, size_t len_bytes, int shareable)
{
  return sftest_pool_alloc(device, len_bytes, shareable != 0);
}

void *sftest_cuda_alloc_elsewhere(int device, size_t len_bytes)
{
  char *memory = sftest_cuda_alloc(device, len_bytes);
  SFTEST_CUDA_LOCK();
  (*sftest_cuda_find_memory((uintptr_t)memory))->elsewhere = true;
  return memory;
}

void sftest_cuda_free(void *address)
{
  if (address != NULL && finish_and_free((uintptr_t)address) != CUDA_SUCCESS)
    abort();
}

void sftest_cuda_free_virtual(void *address)
{
  if (!sftest_virtual_free(address, sftest_cuda_length(address)))
    abort();
}
