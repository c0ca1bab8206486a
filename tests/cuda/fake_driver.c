/* The stand-in for the CUDA driver: see fake_driver.h. Faults, chance, devices, contexts and kernels. */
#include "tests/cuda/fake_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cuda/fake_internal.h"

#define MAX_DEPTH 16

struct CUmod_st {
  CUcontext context;
  CUfunction functions;
};

pthread_mutex_t sftest_cuda_lock = PTHREAD_MUTEX_INITIALIZER;
CUresult sftest_cuda_sticky;

static struct CUctx_st contexts[SFTEST_MAX_DEVICES];
static int ndevices = -1;
static uint64_t seed;

static pid_t initialized_by;
static bool enabled[SFTEST_MAX_DEVICES][SFTEST_MAX_DEVICES];

static _Thread_local CUcontext stack[MAX_DEPTH];
static _Thread_local int depth;
static _Thread_local bool is_calling;

/* ---- Faults and chance ------------------------------------------------------------------------------------------- */

uint64_t sftest_cuda_chance(void)
{
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return seed >> 33;
}

/* Whether this call is the one that is to fail. Or it never comes back. */
bool sftest_cuda_is_to_fail(const char *function)
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

/* ---- Who may call ------------------------------------------------------------------------------------------------ */

static void forbid_in_calls(void)
{
  if (!is_calling)
    return;
  fprintf(stderr, "fake CUDA driver: a function of the host on a stream calls the driver\n");
  abort();
}

static bool is_initialized(void)
{
  forbid_in_calls();
  return ndevices >= 0 && initialized_by == getpid();
}

CUresult sftest_cuda_enter(void)
{
  if (!is_initialized())
    return CUDA_ERROR_NOT_INITIALIZED;
  return depth > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

void sftest_cuda_begin_call(void)
{
  is_calling = true;
}

void sftest_cuda_end_call(void)
{
  is_calling = false;
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

CUresult cuInit(unsigned flags)
{
  const char *devices = getenv("SFTEST_CUDA_DEVICES"), *text = getenv("SFTEST_CUDA_SEED");
  const char *most = getenv("SFTEST_CUDA_MOST");
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  SFTEST_CUDA_LOCK();
  CUresult result = sftest_cuda_is_to_fail("cuInit") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
  if (result == CUDA_SUCCESS && ndevices < 0) { /* streams may be at work when somebody else calls */
    seed = text != NULL ? strtoull(text, NULL, 0) : 1;
    ndevices = devices != NULL ? atoi(devices) : 2;
    if (most != NULL && ndevices > atoi(most))
      ndevices = atoi(most);
    initialized_by = getpid();
  }
  if (result == CUDA_SUCCESS && initialized_by != getpid())
    result = CUDA_ERROR_NOT_INITIALIZED;
  return result;
}

CUresult cuDeviceGetCount(int *count)
{
  if (!is_initialized())
    return CUDA_ERROR_NOT_INITIALIZED;
  *count = ndevices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
  if (!is_initialized())
    return CUDA_ERROR_NOT_INITIALIZED;
  if (ordinal < 0 || ordinal >= ndevices)
    return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int room, CUdevice device)
{
  snprintf(name, (size_t)room, "Stand-in %d", (int)device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
  (void)device;
  *bytes = (size_t)1 << 30;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *text, int room, CUdevice device)
{
  snprintf(text, (size_t)room, "ffff:%02x:00.0", (unsigned)device);
  return CUDA_SUCCESS;
}

/* Every second device can flush, all others need not. */
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
  if (attribute == CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES)
    *value = device % 2;
  else if (attribute == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED)
    *value = 1;
  else
    abort();
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
  const char *wanted = getenv("SFTEST_CUDA_VERSION");
  *version = wanted != NULL ? atoi(wanted) : CUDA_VERSION;
  return CUDA_SUCCESS;
}

/* Devices 0 and 1 are joined by a fast link, 2 and 3, and so on; the third of each four has none to others. */
CUresult cuDeviceCanAccessPeer(int *access, CUdevice device, CUdevice peer)
{
  *access = device != peer && (device / 2 == peer / 2 || (device % 4 != 2 && peer % 4 != 2));
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
  int access = 0;
  CUcontext own = sftest_cuda_current();
  if (own == NULL || flags != 0 || cuDeviceCanAccessPeer(&access, own->device, peer->device) != CUDA_SUCCESS || !access)
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  if (enabled[own->device][peer->device])
    return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  enabled[own->device][peer->device] = true;
  return CUDA_SUCCESS;
}

bool sftest_cuda_has_access(int device, int peer)
{
  return device == peer || enabled[device][peer];
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice device, CUdevice peer)
{
  bool fast = device / 2 == peer / 2;
  *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ? !fast : fast;
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
  forbid_in_calls();
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

CUresult cuCtxSetCurrent(CUcontext context)
{
  forbid_in_calls();
  depth = depth > 0 ? depth : 1;
  stack[depth - 1] = context;
  return CUDA_SUCCESS;
}

CUcontext sftest_cuda_context(int32_t device, bool elsewhere)
{
  static struct CUctx_st others[SFTEST_MAX_DEVICES];
  return elsewhere ? &others[device] : &contexts[device];
}

CUcontext sftest_cuda_current(void)
{
  return depth > 0 ? stack[depth - 1] : NULL;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
  *context = sftest_cuda_current();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
  if (depth == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  *device = stack[depth - 1]->device;
  return CUDA_SUCCESS;
}

/* Made by a compiler that is newer than an older driver. */
static CUresult check_fat_binary(void)
{
  int version;
  (void)cuDriverGetVersion(&version);
  return version / 1000 >= CUDA_VERSION / 1000 ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* Versions of PTX: 8.0 came with CUDA 12.0, 8.3 with 12.3, 9.0 with 13.0. */
static CUresult check_text(const char *image)
{
  int version, major, minor;
  const char *text = strstr(image, ".version ");
  (void)cuDriverGetVersion(&version);
  if (text == NULL || sscanf(text, ".version %d.%d", &major, &minor) != 2 || strstr(image, ".target sm_75") == NULL)
    return CUDA_ERROR_INVALID_IMAGE;
  return major * 1000 + minor * 10 <= version - 4000 ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
  sftest_cuda_forbid_in_captures();
  uint32_t magic;
  memcpy(&magic, image, sizeof magic);
  CUresult result = sftest_cuda_enter();
  if (result != CUDA_SUCCESS)
    return result;
  result = magic == 0xBA55ED50u ? check_fat_binary() : check_text(image);
  if (result != CUDA_SUCCESS)
    return result;
  *module = calloc(1, sizeof **module);
  (*module)->context = sftest_cuda_current();
  return CUDA_SUCCESS;
}

/* Those of numbers are named by their bytes, or by a letter and their bits. */
static uintptr_t element_bytes(const char *name)
{
  const char *suffix = strrchr(name, '_') + 1;
  int bytes = atoi(suffix), bits = suffix[0] != '\0' ? atoi(suffix + 1) : 0;
  return bytes > 0 ? (uintptr_t)bytes : bits > 0 ? (uintptr_t)bits / 8 : 1;
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
  (*function)->context = module->context;
  (*function)->element_bytes = element_bytes(name);
  if (strncmp(name, "sf_several_", sizeof "sf_several_" - 1) == 0)
    memcpy(&(*function)->kernel.several, &run, sizeof run);
  else if (strncmp(name, "cg_", sizeof "cg_" - 1) == 0)
    memcpy(&(*function)->kernel.cg, &run, sizeof run);
  else
    memcpy(&(*function)->kernel.one, &run, sizeof run);
  module->functions = *function;
  return CUDA_SUCCESS;
}

/* Waits for all that the device has been told, as the real one may: at the first launch, if not before. */
void sftest_cuda_load(CUfunction function)
{
  if (!function->loaded)
    sftest_cuda_finish(true);
  function->loaded = true;
}

CUresult cuFuncLoad(CUfunction function)
{
  sftest_cuda_forbid_in_captures();
  SFTEST_CUDA_ENTER();
  SFTEST_CUDA_LOCK();
  sftest_cuda_load(function);
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
  sftest_cuda_forbid_in_captures();
  SFTEST_CUDA_ENTER();
  for (CUfunction function = module->functions, next; function != NULL; function = next) {
    next = function->next;
    free(function);
  }
  free(module);
  return CUDA_SUCCESS;
}

/* ---- For tests --------------------------------------------------------------------------------------------------- */

sftest_cuda_count_fn_t sftest_cuda_count;

int sftest_cuda_count(void)
{
  return cuInit(0) == CUDA_SUCCESS ? ndevices : 0;
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

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
