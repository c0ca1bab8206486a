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

/* Memory of a device is a file, so that other processes can open it, with a page behind it that counts them. */
typedef struct memory {
  struct memory *next;
  char *base;
  size_t length_bytes;
  size_t mapped_bytes;
  int device; /* -1: pinned; -2: the host's, registered */
  int fd;
  bool imported;
  uint64_t serial;
  char *alias; /* registered: where devices see it */
} memory_t;

/* What a handle holds. */
typedef struct ticket {
  int32_t pid;
  int32_t fd;
  uint64_t length_bytes;
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
      mprotect(memory->base, memory->mapped_bytes, protection());
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

static size_t page_bytes(void)
{
  return (size_t)sysconf(_SC_PAGESIZE);
}

static void map_memory(memory_t *memory)
{
  size_t page = page_bytes();
  memory->mapped_bytes = (memory->length_bytes + page - 1) & ~(page - 1);
  memory->base = mmap(NULL, memory->mapped_bytes, protection(), MAP_SHARED, memory->fd, 0);
  if (memory->base == MAP_FAILED)
    abort();
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
  memory_t *memory = add_memory(device, bytes);
  if (device < 0) {
    memory->mapped_bytes = bytes;
    memory->base = aligned_alloc(page_bytes(), (bytes + page_bytes() - 1) & ~(page_bytes() - 1));
  } else {
    size_t page = page_bytes();
    memory->fd = memfd_create("fake-cuda", MFD_CLOEXEC);
    if (memory->fd < 0 || ftruncate(memory->fd, (off_t)((bytes + page - 1) & ~(page - 1))) != 0)
      abort();
    map_memory(memory);
  }
  *base_p = memory->base;
  return CUDA_SUCCESS;
}

static CUresult free_memory(uintptr_t address, bool imported)
{
  memory_t **link = find_memory(address), *memory = *link;
  if (memory == NULL || (uintptr_t)memory->base != address || memory->imported != imported)
    return CUDA_ERROR_INVALID_VALUE;
  if (memory->fd >= 0 && !imported && getenv("SFTEST_CUDA_LENIENT") == NULL)
    check_unused(memory);
  if (memory->fd < 0) {
    free(memory->base);
  } else {
    munmap(memory->base, memory->mapped_bytes);
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

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
  void *base = NULL;
  if (sftest_cuda_current() == NULL)
    return CUDA_ERROR_INVALID_CONTEXT;
  pthread_mutex_lock(&sftest_cuda_lock);
  CUresult result = sftest_cuda_is_to_fail("cuMemAlloc") ? CUDA_ERROR_OUT_OF_MEMORY
                                                         : make_memory(sftest_cuda_current()->device, bytes, &base);
  pthread_mutex_unlock(&sftest_cuda_lock);
  if (result == CUDA_SUCCESS)
    *pointer = (CUdeviceptr)(uintptr_t)base;
  return result;
}

/* Waits for all that the device has been told, as the real one does. */
CUresult cuMemFree(CUdeviceptr pointer)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_finish(true);
  CUresult result = free_memory((uintptr_t)pointer, false);
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuMemsetD8(CUdeviceptr pointer, unsigned char value, size_t bytes)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_open_memory();
  memset((void *)(uintptr_t)pointer, value, bytes);
  sftest_cuda_close_memory();
  CUresult result = sftest_cuda_sticky;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
  (void)flags;
  pthread_mutex_lock(&sftest_cuda_lock);
  CUresult result =
      sftest_cuda_is_to_fail("cuMemHostAlloc") ? CUDA_ERROR_OUT_OF_MEMORY : make_memory(-1, bytes, pointer);
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
  CUresult result = CUDA_SUCCESS;
  size_t page = page_bytes();
  if ((uintptr_t)pointer % page != 0 || bytes == 0 || bytes % page != 0 || (flags & CU_MEMHOSTREGISTER_DEVICEMAP) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  pthread_mutex_lock(&sftest_cuda_lock);
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
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_finish(true);
  memory_t **link = find_memory((uintptr_t)pointer), *memory = *link;
  CUresult result =
      memory != NULL && memory->device == -2 && memory->base == pointer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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
  pthread_mutex_lock(&sftest_cuda_lock);
  const memory_t *memory = *find_memory((uintptr_t)pointer);
  CUresult result = flags == 0 && memory != NULL && memory->device < 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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
  pthread_mutex_lock(&sftest_cuda_lock);
  const memory_t *memory = *find_memory((uintptr_t)pointer);
  CUresult result = memory != NULL && memory->fd >= 0 && !memory->imported ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (sftest_cuda_current() == NULL)
    result = CUDA_ERROR_INVALID_CONTEXT;
  if (sftest_cuda_is_to_fail("cuIpcGetMemHandle"))
    result = CUDA_ERROR_NOT_SUPPORTED;
  if (result == CUDA_SUCCESS) {
    ticket_t ticket = {getpid(), memory->fd, memory->length_bytes};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &ticket, sizeof ticket);
  }
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

/* As a process can't open its own handles, nor one twice. */
CUresult cuIpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned flags)
{
  char path[64];
  ticket_t ticket;
  (void)flags;
  memcpy(&ticket, &handle, sizeof ticket);
  if (sftest_cuda_current() == NULL || ticket.pid == getpid())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (sftest_cuda_is_to_fail("cuIpcOpenMemHandle"))
    return CUDA_ERROR_NOT_SUPPORTED;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)ticket.pid, (int)ticket.fd);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  pthread_mutex_lock(&sftest_cuda_lock);
  memory_t *memory = add_memory(sftest_cuda_current()->device, ticket.length_bytes);
  memory->fd = fd;
  memory->imported = true;
  map_memory(memory);
  note_use(memory);
  *pointer = (CUdeviceptr)(uintptr_t)memory->base;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  CUresult result = free_memory((uintptr_t)pointer, true);
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

/* In the default stream. */
static CUresult copy(void *to, const void *from, size_t bytes)
{
  pthread_mutex_lock(&sftest_cuda_lock);
  sftest_cuda_finish(false);
  sftest_cuda_open_memory();
  memcpy(to, from, bytes);
  sftest_cuda_close_memory();
  CUresult result = sftest_cuda_sticky;
  pthread_mutex_unlock(&sftest_cuda_lock);
  return result;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
  return copy((void *)(uintptr_t)to, from, bytes);
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
  return copy(to, (const void *)(uintptr_t)from, bytes);
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

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
  (void)pointer;
  if (attribute != CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
    abort();
  *(int *)data = 1;
  return CUDA_SUCCESS;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
  return copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
}

/* ---- For tests --------------------------------------------------------------------------------------------------- */

sftest_cuda_alloc_fn_t sftest_cuda_alloc;
sftest_cuda_free_fn_t sftest_cuda_free;
sftest_cuda_copy_fn_t sftest_cuda_copy;

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
  if (address != NULL && cuMemFree((CUdeviceptr)(uintptr_t)address) != CUDA_SUCCESS)
    abort();
}

void sftest_cuda_copy(void *to, const void *from, size_t len_bytes)
{
  copy(to, from, len_bytes);
}
