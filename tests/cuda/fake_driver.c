/* The stand-in for the CUDA driver: see fake_driver.h. Memory of devices is out of the host's reach but while the
 * driver itself works on it, so that touching it faults as it does on a real device. Streams do their work at a random
 * moment between being told and being waited for. One lock for all. */
#include "tests/cuda/fake_driver.h"

#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shm/cuda/kernels.h"
#include "tests/cuda/fake_kernel.h"

#define MAX_DEVICES 8
#define MAX_DEPTH 16
#define MAX_LANES 7 /* threads that a launch is run as */

_Thread_local int64_t sftest_cuda_first;
_Thread_local int64_t sftest_cuda_step;

typedef void kernel_t(sfshm_cuda_scatter_t args);
typedef void gathers_t(sfshm_cuda_gathers_t args);

struct CUctx_st {
  int device;
  int retained;
};

/* One of both. */
typedef struct either {
  kernel_t *run;
  gathers_t *gather;
} either_t;

struct CUfunc_st {
  struct CUfunc_st *next;
  either_t kernel;
};

struct CUmod_st {
  CUfunction functions;
};

/* Work that a stream has been told to do. */
typedef struct work {
  struct work *next;
  uint64_t number;
  either_t kernel;
  union {
    sfshm_cuda_scatter_t args;
    sfshm_cuda_gathers_t gathers;
  };
} work_t;

struct CUstream_st {
  work_t *first;
  work_t **last;
  uint64_t told;
};

struct CUevent_st {
  CUstream stream;
  uint64_t number; /* of the last work before it */
};

/* Memory of a device is a file, so that other processes can open it, with a page behind it that counts them. */
typedef struct memory {
  struct memory *next;
  char *base;
  size_t length_bytes;
  size_t mapped_bytes;
  int device; /* -1: pinned */
  int fd;
  bool imported;
  _Atomic int32_t *users; /* other processes; NULL: pinned */
} memory_t;

/* What a handle holds. */
typedef struct ticket {
  int32_t pid;
  int32_t fd;
  uint64_t length_bytes;
} ticket_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUctx_st contexts[MAX_DEVICES];
static int ndevices = -1;
static memory_t *memories;
static uint64_t seed;
static CUresult sticky;
static int64_t nlaunched;

static _Thread_local CUcontext stack[MAX_DEPTH];
static _Thread_local int depth;

/* ---- Faults and chance ------------------------------------------------------------------------------------------- */

static uint64_t chance(void)
{
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return seed >> 33;
}

/* Whether this call is the one that is to fail. */
static bool is_to_fail(const char *function)
{
  static char wanted[64];
  static int left = -1;
  if (left < 0) {
    const char *text = getenv("SFTEST_CUDA_FAIL"), *colon = text != NULL ? strchr(text, ':') : NULL;
    left = 0;
    if (colon != NULL && (size_t)(colon - text) < sizeof wanted) {
      memcpy(wanted, text, (size_t)(colon - text));
      left = atoi(colon + 1);
    }
  }
  return left > 0 && strcmp(wanted, function) == 0 && --left == 0;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static void open_memory(bool open)
{
  for (memory_t *memory = memories; memory != NULL; memory = memory->next)
    if (memory->device >= 0)
      mprotect(memory->base, memory->mapped_bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
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

/* Maps the file, and its last page by itself. */
static void map_memory(memory_t *memory)
{
  size_t page = page_bytes();
  memory->mapped_bytes = (memory->length_bytes + page - 1) & ~(page - 1);
  memory->base = mmap(NULL, memory->mapped_bytes, PROT_NONE, MAP_SHARED, memory->fd, 0);
  memory->users = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, (off_t)memory->mapped_bytes);
  if (memory->base == MAP_FAILED || memory->users == MAP_FAILED)
    abort();
}

static memory_t *add_memory(int device, size_t bytes)
{
  memory_t *memory = calloc(1, sizeof *memory);
  if (memory == NULL)
    abort();
  *memory = (memory_t){.next = memories, .length_bytes = bytes, .device = device, .fd = -1};
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
    if (memory->fd < 0 || ftruncate(memory->fd, (off_t)(((bytes + page - 1) & ~(page - 1)) + page)) != 0)
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
  if (memory->users != NULL && !imported && *memory->users != 0) {
    fprintf(stderr, "fake CUDA driver: memory is freed that %d other processes have open\n", (int)*memory->users);
    abort();
  }
  if (memory->users == NULL) {
    free(memory->base);
  } else {
    munmap(memory->base, memory->mapped_bytes);
    munmap((void *)memory->users, page_bytes());
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
  pthread_mutex_lock(&lock);
  for (const memory_t *memory = memories; memory != NULL; memory = memory->next)
    n++;
  pthread_mutex_unlock(&lock);
  return n;
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

/* As a few threads, one after the other, in any order. */
static void run_work(const work_t *work)
{
  int64_t n = 1 + (int64_t)(chance() % MAX_LANES), shift = (int64_t)(chance() % (uint64_t)n);
  sftest_cuda_step = n;
  for (int64_t i = 0; i < n; i++) {
    sftest_cuda_first = (i + shift) % n;
    if (work->kernel.run != NULL)
      work->kernel.run(work->args);
    else
      work->kernel.gather(work->gathers);
  }
}

/* All that the stream was told up to that number. */
static void catch_up(CUstream stream, uint64_t number)
{
  open_memory(true);
  while (stream->first != NULL && stream->first->number <= number) {
    work_t *work = stream->first;
    run_work(work);
    stream->first = work->next;
    if (stream->first == NULL)
      stream->last = &stream->first;
    free(work);
  }
  open_memory(false);
}

CUresult cuLaunchKernel(CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ, unsigned blockDimX,
                        unsigned blockDimY, unsigned blockDimZ, unsigned sharedMemBytes, CUstream stream,
                        void **kernelParams, void **extra)
{
  work_t *work = calloc(1, sizeof *work);
  (void)sharedMemBytes;
  if (work == NULL)
    abort();
  pthread_mutex_lock(&lock);
  if (is_to_fail("cuLaunchKernel"))
    sticky = CUDA_ERROR_LAUNCH_FAILED;
  CUresult result = sticky;
  if (depth == 0)
    result = CUDA_ERROR_INVALID_CONTEXT;
  if (gridDimX == 0 || gridDimY * gridDimZ != 1 || blockDimX == 0 || blockDimX > 1024 || blockDimY * blockDimZ != 1 ||
      extra != NULL)
    result = CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS) {
    work->number = ++stream->told;
    work->kernel = f->kernel;
    if (f->kernel.run != NULL)
      memcpy(&work->args, kernelParams[0], sizeof work->args);
    else
      memcpy(&work->gathers, kernelParams[0], sizeof work->gathers);
    nlaunched++;
    *stream->last = work;
    stream->last = &work->next;
    if (chance() % 2 == 0)
      catch_up(stream, chance() % (stream->told + 1));
  } else {
    free(work);
  }
  pthread_mutex_unlock(&lock);
  return result;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
  (void)flags;
  if (depth == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  *stream = calloc(1, sizeof **stream);
  (*stream)->last = &(*stream)->first;
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
  pthread_mutex_lock(&lock);
  catch_up(stream, stream->told);
  CUresult result = sticky;
  pthread_mutex_unlock(&lock);
  return result;
}

CUresult cuStreamDestroy(CUstream stream)
{
  cuStreamSynchronize(stream);
  free(stream);
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
  (void)flags;
  *event = calloc(1, sizeof **event);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
  pthread_mutex_lock(&lock);
  event->stream = stream;
  event->number = stream->told;
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
  pthread_mutex_lock(&lock);
  if (event->stream != NULL)
    catch_up(event->stream, event->number);
  CUresult result = sticky;
  pthread_mutex_unlock(&lock);
  return result;
}

CUresult cuEventDestroy(CUevent event)
{
  free(event);
  return CUDA_SUCCESS;
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

CUresult cuInit(unsigned flags)
{
  const char *devices = getenv("SFTEST_CUDA_DEVICES"), *text = getenv("SFTEST_CUDA_SEED");
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (is_to_fail("cuInit"))
    return CUDA_ERROR_NO_DEVICE;
  seed = text != NULL ? strtoull(text, NULL, 0) : 1;
  ndevices = devices != NULL ? atoi(devices) : 2;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
  if (ndevices < 0)
    return CUDA_ERROR_NOT_INITIALIZED;
  *count = ndevices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
  if (ordinal < 0 || ordinal >= ndevices)
    return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
  contexts[device].device = device;
  contexts[device].retained++;
  *context = &contexts[device];
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
  return contexts[device].retained-- > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPushCurrent(CUcontext context)
{
  if (depth == MAX_DEPTH)
    return CUDA_ERROR_INVALID_CONTEXT;
  stack[depth++] = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context)
{
  if (depth == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  *context = stack[--depth];
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
  uint32_t magic;
  memcpy(&magic, image, sizeof magic);
  if (magic != 0xBA55ED50u) /* of a fat binary */
    return CUDA_ERROR_INVALID_IMAGE;
  *module = calloc(1, sizeof **module);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
  Dl_info info;
  if (!dladdr((void *)cuInit, &info))
    return CUDA_ERROR_UNKNOWN;
  void *library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  void *run = library != NULL ? dlsym(library, name) : NULL;
  if (run == NULL)
    return CUDA_ERROR_NOT_FOUND;
  *function = calloc(1, sizeof **function);
  (*function)->next = module->functions;
  if (strncmp(name, "sf_gathers_", sizeof "sf_gathers_" - 1) == 0)
    memcpy(&(*function)->kernel.gather, &run, sizeof run);
  else
    memcpy(&(*function)->kernel.run, &run, sizeof run);
  module->functions = *function;
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
  for (CUfunction function = module->functions, next; function != NULL; function = next) {
    next = function->next;
    free(function);
  }
  free(module);
  return CUDA_SUCCESS;
}

/* ---- Allocating and copying -------------------------------------------------------------------------------------- */

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
  void *base = NULL;
  if (depth == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  pthread_mutex_lock(&lock);
  CUresult result =
      is_to_fail("cuMemAlloc") ? CUDA_ERROR_OUT_OF_MEMORY : make_memory(stack[depth - 1]->device, bytes, &base);
  pthread_mutex_unlock(&lock);
  if (result == CUDA_SUCCESS)
    *pointer = (CUdeviceptr)(uintptr_t)base;
  return result;
}

CUresult cuMemFree(CUdeviceptr pointer)
{
  pthread_mutex_lock(&lock);
  CUresult result = free_memory((uintptr_t)pointer, false);
  pthread_mutex_unlock(&lock);
  return result;
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
  (void)flags;
  pthread_mutex_lock(&lock);
  CUresult result = is_to_fail("cuMemHostAlloc") ? CUDA_ERROR_OUT_OF_MEMORY : make_memory(-1, bytes, pointer);
  pthread_mutex_unlock(&lock);
  return result;
}

CUresult cuMemFreeHost(void *pointer)
{
  return cuMemFree((CUdeviceptr)(uintptr_t)pointer);
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
  pthread_mutex_lock(&lock);
  const memory_t *memory = *find_memory((uintptr_t)pointer);
  CUresult result = memory != NULL && memory->fd >= 0 && !memory->imported ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (is_to_fail("cuIpcGetMemHandle"))
    result = CUDA_ERROR_NOT_SUPPORTED;
  if (result == CUDA_SUCCESS) {
    ticket_t ticket = {getpid(), memory->fd, memory->length_bytes};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &ticket, sizeof ticket);
  }
  pthread_mutex_unlock(&lock);
  return result;
}

/* As a process can't open its own handles, nor one twice. */
CUresult cuIpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned flags)
{
  char path[64];
  ticket_t ticket;
  (void)flags;
  memcpy(&ticket, &handle, sizeof ticket);
  if (depth == 0 || ticket.pid == getpid())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (is_to_fail("cuIpcOpenMemHandle"))
    return CUDA_ERROR_NOT_SUPPORTED;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)ticket.pid, (int)ticket.fd);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  pthread_mutex_lock(&lock);
  memory_t *memory = add_memory(stack[depth - 1]->device, ticket.length_bytes);
  memory->fd = fd;
  memory->imported = true;
  map_memory(memory);
  ++*memory->users;
  *pointer = (CUdeviceptr)(uintptr_t)memory->base;
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer)
{
  pthread_mutex_lock(&lock);
  const memory_t *memory = *find_memory((uintptr_t)pointer);
  if (memory != NULL && memory->imported)
    --*memory->users;
  CUresult result = free_memory((uintptr_t)pointer, true);
  pthread_mutex_unlock(&lock);
  return result;
}

static CUresult copy(void *to, const void *from, size_t bytes)
{
  pthread_mutex_lock(&lock);
  open_memory(true);
  memcpy(to, from, bytes);
  open_memory(false);
  CUresult result = sticky;
  pthread_mutex_unlock(&lock);
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
  pthread_mutex_lock(&lock);
  const memory_t *memory = *find_memory((uintptr_t)pointer);
  for (unsigned i = 0; i < n; i++) {
    if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
      *(CUmemorytype *)values[i] = memory == NULL ? 0 : memory->device < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
      *(int *)values[i] = memory != NULL && memory->device >= 0 ? memory->device : -2;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
      *(CUdeviceptr *)values[i] = memory != NULL ? (CUdeviceptr)(uintptr_t)memory->base : 0;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
      *(size_t *)values[i] = memory != NULL ? memory->length_bytes : 0;
    else
      abort();
  }
  pthread_mutex_unlock(&lock);
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

CUresult cuGetErrorName(CUresult error, const char **text)
{
  *text = error == CUDA_ERROR_OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == CUDA_ERROR_NO_DEVICE     ? "CUDA_ERROR_NO_DEVICE"
          : error == CUDA_ERROR_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
                                              : "CUDA_ERROR_OTHER";
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
  *text = error == CUDA_ERROR_OUT_OF_MEMORY   ? "out of memory"
          : error == CUDA_ERROR_NO_DEVICE     ? "no CUDA-capable device is detected"
          : error == CUDA_ERROR_LAUNCH_FAILED ? "unspecified launch failure"
                                              : "other error";
  return CUDA_SUCCESS;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
  return copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
}

CUresult cuCtxSynchronize(void)
{
  return sticky;
}

/* ---- For tests --------------------------------------------------------------------------------------------------- */

sftest_cuda_alloc_fn_t sftest_cuda_alloc;
sftest_cuda_free_fn_t sftest_cuda_free;
sftest_cuda_copy_fn_t sftest_cuda_copy;

sftest_cuda_launched_fn_t sftest_cuda_launched;

int64_t sftest_cuda_launched(void)
{
  pthread_mutex_lock(&lock);
  int64_t n = nlaunched;
  pthread_mutex_unlock(&lock);
  return n;
}

void *sftest_cuda_alloc(int device, size_t len_bytes)
{
  void *base = NULL;
  pthread_mutex_lock(&lock);
  CUresult result = make_memory(device, len_bytes, &base);
  pthread_mutex_unlock(&lock);
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
