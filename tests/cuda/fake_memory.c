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

#define PIECE_BYTES 512u /* to which devices' memory is aligned */
#define DEVICE_BYTES ((size_t)1 << 36)
#define BLOCK_BYTES ((size_t)2 << 20) /* of physical memory: several small allocations share one */

/* Memory of a device is a file, so that other processes can open it. */
typedef struct memory {
  struct memory *next;
  char *base; /* imported: of the whole block, as the real driver may tell of it */
  size_t length_bytes;
  char *given;  /* what the caller got: imported: somewhere in the block */
  char *mapped; /* in pages; the real driver gives no whole ones either */
  size_t mapped_bytes;
  int device; /* -1: pinned; -2: the host's, registered */
  int fd;
  bool imported;
  uint64_t serial;
  char *alias;           /* registered: where devices see it */
  CUipcMemHandle handle; /* imported: by which */
} memory_t;

/* What a handle holds. */
typedef struct ticket {
  int32_t pid;
  int32_t fd;
  uint64_t length_bytes;
  uint64_t offset;
  int32_t device;
} ticket_t;

static memory_t *memories;
static int nopen;

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static int protection(void)
{
  return nopen > 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
}

static void protect(void)
{
  for (memory_t *memory = memories; memory != NULL; memory = memory->next)
    if (memory->device >= 0)
      mprotect(memory->mapped, memory->mapped_bytes, protection());
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

static memory_t **find_memory(uintptr_t address)
{
  memory_t **link = &memories;
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
  for (const memory_t *memory = memories; memory != NULL; memory = memory->next)
    if (is_within(address, memory->base, memory->length_bytes) ||
        is_within(address, memory->alias, memory->length_bytes))
      return true;
  return false;
}

bool sftest_cuda_can_touch(int device, const void *address)
{
  for (const memory_t *memory = memories; memory != NULL; memory = memory->next)
    if (memory->device >= 0
            ? is_within(address, memory->base, memory->length_bytes) && sftest_cuda_has_access(device, memory->device)
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

static void map_memory(memory_t *memory, size_t offset)
{
  memory->mapped_bytes = round_up(offset + memory->length_bytes);
  memory->mapped = mmap(NULL, memory->mapped_bytes, protection(), MAP_SHARED, memory->fd, 0);
  if (memory->mapped == MAP_FAILED)
    abort();
  memory->given = memory->base = memory->mapped + offset;
  if (memory->imported) {
    memory->base = memory->mapped;
    memory->length_bytes = memory->mapped_bytes;
  }
}

/* Processes that have others' memory open hold a lock on its file, which goes when they die. */
static void note_use(const memory_t *memory)
{
  struct flock use = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
  if (fcntl(memory->fd, F_SETLK, &use) != 0)
    abort();
}

static void check_unused(const memory_t *memory)
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

static memory_t *add_memory(int device, size_t bytes)
{
  memory_t *memory = calloc(1, sizeof *memory);
  if (memory == NULL)
    abort();
  static uint64_t last_serial;
  *memory = (memory_t){.next = memories, .length_bytes = bytes, .device = device, .fd = -1, .serial = ++last_serial};
  memories = memory;
  return memory;
}

static CUresult make_memory(int device, size_t bytes, void **base_p)
{
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes > DEVICE_BYTES)
    return CUDA_ERROR_OUT_OF_MEMORY;
  memory_t *memory = add_memory(device, bytes);
  if (device < 0) {
    memory->mapped_bytes = bytes;
    memory->given = memory->base = aligned_alloc(page_bytes(), round_up(bytes));
  } else {
    size_t offset = bytes % BLOCK_BYTES == 0 ? 0 : memory->serial % 4 * PIECE_BYTES;
    memory->fd = memfd_create("fake-cuda", MFD_CLOEXEC);
    if (memory->fd < 0 || ftruncate(memory->fd, (off_t)round_up(offset + bytes)) != 0)
      abort();
    map_memory(memory, offset);
  }
  *base_p = memory->base;
  return CUDA_SUCCESS;
}

static CUresult free_memory(uintptr_t address, bool imported)
{
  memory_t **link = find_memory(address), *memory = *link;
  if (memory == NULL || (uintptr_t)memory->given != address || memory->imported != imported)
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
  pthread_mutex_lock(&sftest_cuda_lock);
  for (const memory_t *memory = memories; memory != NULL; memory = memory->next)
    n++;
  pthread_mutex_unlock(&sftest_cuda_lock);
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
  *bytes = wanted != NULL ? strtoul(wanted, NULL, 10) : 65536;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
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
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_finish(true);
  CUresult result = free_memory(address, false);
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuMemFree(CUdeviceptr pointer)
{
  CUresult result = sftest_cuda_enter();
  return result == CUDA_SUCCESS ? finish_and_free((uintptr_t)pointer) : result;
}

CUresult cuMemsetD8(CUdeviceptr pointer, unsigned char value, size_t bytes)
{
  CUresult result = sftest_cuda_enter();
  if (result == CUDA_SUCCESS && sftest_cuda_is_to_fail("cuMemsetD8")) /* without the lock: others need not hang, too */
    result = CUDA_ERROR_UNKNOWN;
  if (result != CUDA_SUCCESS)
    return result;
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_open_memory();
  memset((void *)(uintptr_t)pointer, value, bytes);
  sftest_cuda_close_memory();
  result = sftest_cuda_sticky;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS || (flags & CU_MEMHOSTALLOC_DEVICEMAP) == 0)
    return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_finish(true);
  result = sftest_cuda_is_to_fail("cuMemHostAlloc") ? CUDA_ERROR_OUT_OF_MEMORY : make_memory(-1, bytes, pointer);
  pthread_mutex_unlock(&sftest_cuda_lock);
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
  CUresult result = sftest_cuda_enter();
  size_t page = page_bytes();
  if (result != CUDA_SUCCESS)
    return result;
  if ((uintptr_t)pointer % page != 0 || bytes == 0 || bytes % page != 0 || (flags & CU_MEMHOSTREGISTER_DEVICEMAP) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_finish(true);
  for (const memory_t *memory = memories; memory != NULL; memory = memory->next)
    if (memory->device < 0 && memory->base < (char *)pointer + bytes &&
        (char *)pointer < memory->base + memory->length_bytes)
      result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  if (sftest_cuda_is_to_fail("cuMemHostRegister"))
    result = CUDA_ERROR_OUT_OF_MEMORY;
  if (result == CUDA_SUCCESS) {
    memory_t *memory = add_memory(-2, bytes);
    memory->base = pointer;
    memory->alias = mremap(pointer, 0, bytes, MREMAP_MAYMOVE);
    if (memory->alias == MAP_FAILED)
      abort();
  }
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuMemHostUnregister(void *pointer)
{
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS)
    return result;
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_finish(true);
  memory_t **link = find_memory((uintptr_t)pointer), *memory = *link;
  result = memory != NULL && memory->device == -2 && memory->base == pointer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS) {
    munmap(memory->alias, memory->length_bytes);
    *link = memory->next;
    free(memory);
  }
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *device_pointer, void *pointer, unsigned flags)
{
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS)
    return result;
  pthread_mutex_lock(&sftest_cuda_lock);
  const memory_t *memory = *find_memory((uintptr_t)pointer);
  result = flags == 0 && memory != NULL && memory->device < 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS)
    *device_pointer =
        (CUdeviceptr)(uintptr_t)(memory->alias == NULL ? pointer
                                                       : (void *)(memory->alias + ((char *)pointer - memory->base)));
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

/* ---- Other processes' memory ------------------------------------------------------------------------------------- */

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
  memset(uuid, 0, sizeof *uuid);
  uuid->bytes[0] = (char)device;
  return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr pointer)
{
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS)
    return result;
  pthread_mutex_lock(&sftest_cuda_lock);
  const memory_t *memory = *find_memory((uintptr_t)pointer);
  if (memory == NULL || memory->fd < 0 || memory->imported || (uintptr_t)memory->base != (uintptr_t)pointer)
    result = CUDA_ERROR_INVALID_VALUE;
  if (sftest_cuda_is_to_fail("cuIpcGetMemHandle"))
    result = CUDA_ERROR_NOT_SUPPORTED;
  if (result == CUDA_SUCCESS) {
    ticket_t ticket = {getpid(), memory->fd, memory->length_bytes, (uint64_t)(memory->base - memory->mapped),
                       memory->device};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &ticket, sizeof ticket);
  }
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

static bool is_open(const CUipcMemHandle *handle)
{
  const memory_t *memory = memories;
  while (memory != NULL && (!memory->imported || memcmp(&memory->handle, handle, sizeof *handle) != 0))
    memory = memory->next;
  return memory != NULL;
}

/* Memory of another device is opened only where kernels reach it. */
static bool reaches(int device)
{
  int access = 1, own = sftest_cuda_current()->device;
  return own == device || (cuDeviceCanAccessPeer(&access, own, device) == CUDA_SUCCESS && access);
}

/* A process can't open its own handles, nor one twice: some drivers count, others refuse. */
CUresult cuIpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned flags)
{
  char path[64];
  ticket_t ticket;
  CUresult result = sftest_cuda_enter();
  memcpy(&ticket, &handle, sizeof ticket);
  if (result == CUDA_SUCCESS && ticket.pid == getpid())
    result = CUDA_ERROR_INVALID_CONTEXT;
  if (result != CUDA_SUCCESS || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
    return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
  if (sftest_cuda_is_to_fail("cuIpcOpenMemHandle") || !reaches(ticket.device))
    return CUDA_ERROR_NOT_SUPPORTED;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)ticket.pid, (int)ticket.fd);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  pthread_mutex_lock(&sftest_cuda_lock);
  if (is_open(&handle)) {
    pthread_mutex_unlock(&sftest_cuda_lock);
    close(fd);
    return CUDA_ERROR_ALREADY_MAPPED;
  }
  memory_t *memory = add_memory(sftest_cuda_current()->device, ticket.length_bytes);
  memory->fd = fd;
  memory->imported = true;
  memory->handle = handle;
  map_memory(memory, (size_t)ticket.offset);
  note_use(memory);
  *pointer = (CUdeviceptr)(uintptr_t)memory->given;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer)
{
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS)
    return result;
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_finish(true);
  result = free_memory((uintptr_t)pointer, true);
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute *attributes, void **values, CUdeviceptr pointer)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  const memory_t *memory = *find_memory((uintptr_t)pointer);
  for (unsigned i = 0; i < n; i++) {
    if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
      *(CUmemorytype *)values[i] = memory == NULL ? 0 : memory->device < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
      *(int *)values[i] = memory != NULL && memory->device >= 0 ? memory->device : -2;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
      *(CUdeviceptr *)values[i] = memory != NULL ? (CUdeviceptr)(uintptr_t)memory->base : 0;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_BUFFER_ID)
      *(unsigned long long *)values[i] = memory != NULL ? memory->serial : 0;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
      *(size_t *)values[i] = memory != NULL ? memory->length_bytes : 0;
    else
      abort();
  }
  pthread_mutex_unlock(&sftest_cuda_lock);
  return CUDA_SUCCESS;
}

/* Unlike cuPointerGetAttributes, which accepts memory that it knows nothing of. */
static CUresult get_known(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  const memory_t *memory = *find_memory((uintptr_t)pointer);
  if (memory != NULL && attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    *(CUmemorytype *)data = memory->device < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  else if (memory != NULL)
    *(CUcontext *)data = memory->device < 0 ? NULL : sftest_cuda_context(memory->device);
  pthread_mutex_unlock(&sftest_cuda_lock);
  return memory != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE || attribute == CU_POINTER_ATTRIBUTE_CONTEXT)
    return get_known(data, attribute, pointer);
  if (attribute != CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
    abort();
  *(int *)data = 1;
  return CUDA_SUCCESS;
}

/* ---- For tests --------------------------------------------------------------------------------------------------- */

sftest_cuda_alloc_fn_t sftest_cuda_alloc;
sftest_cuda_free_fn_t sftest_cuda_free;
sftest_cuda_length_fn_t sftest_cuda_length;

size_t sftest_cuda_length(const void *address)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  const memory_t *memory = *find_memory((uintptr_t)address);
  size_t bytes = memory != NULL ? memory->length_bytes : 0;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return bytes;
}

void *sftest_cuda_alloc(int device, size_t len_bytes)
{
  void *base = NULL;
  pthread_mutex_lock(&sftest_cuda_lock);
  CUresult result = make_memory(device, len_bytes, &base);
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result == CUDA_SUCCESS ? base : NULL;
}

void sftest_cuda_free(void *address)
{
  if (address != NULL && finish_and_free((uintptr_t)address) != CUDA_SUCCESS)
    abort();
}
