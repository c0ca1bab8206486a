/* A stand-in for a device-aware MPI: loaded before the real one into daemons, it says that it takes memory of CUDA
 * devices, and moves what lies there through the driver's copies and memory of its own. Like such libraries it wants a
 * context for that. All other messages, and everything else, are the real one's. One thread, as in the mpi fabric.
 *
 * SFTEST_DEVICE_MPI names a file that it writes what it was given to: sftest_device_mpi_t. */
#include "tests/cuda/device_mpi.h"

#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PENDING_MAX 4096

/* A message from or to a device. */
typedef struct pending {
  MPI_Request request;
  void *bounce;
  void *device; /* to be copied to; NULL: it is sent */
  size_t bytes;
} pending_t;

static pending_t pending[PENDING_MAX];
static int npending;
static sftest_device_mpi_t *counts;

static struct {
  void *library; /* NULL: not loaded, by whoever has memory of devices */
  CUresult (*get_attribute)(void *data, CUpointer_attribute attribute, CUdeviceptr pointer);
  CUresult (*from_device)(void *to, CUdeviceptr from, size_t bytes);
  CUresult (*to_device)(CUdeviceptr to, const void *from, size_t bytes);
} driver;

int MPIX_Query_cuda_support(void)
{
  return 1;
}

static void require(bool good, const char *what)
{
  if (good)
    return;
  fprintf(stderr, "stand-in for a device-aware MPI: %s\n", what);
  abort();
}

static void open_counts(void)
{
  const char *path = getenv("SFTEST_DEVICE_MPI");
  int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
  require(fd >= 0, "SFTEST_DEVICE_MPI is no file");
  counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  require(counts != MAP_FAILED, "mmap failed");
  close(fd);
}

static bool is_on_device(const void *address)
{
  CUmemorytype type = 0;
  if (driver.library == NULL) {
    driver.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver.library == NULL)
      return false;
    driver.get_attribute =
        (CUresult(*)(void *, CUpointer_attribute, CUdeviceptr))dlsym(driver.library, "cuPointerGetAttribute");
    driver.from_device = (CUresult(*)(void *, CUdeviceptr, size_t))dlsym(driver.library, "cuMemcpyDtoH_v2");
    driver.to_device = (CUresult(*)(CUdeviceptr, const void *, size_t))dlsym(driver.library, "cuMemcpyHtoD_v2");
    require(driver.get_attribute != NULL && driver.from_device != NULL && driver.to_device != NULL,
            "the driver lacks functions");
  }
  return driver.get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)address) ==
             CUDA_SUCCESS &&
         type == CU_MEMORYTYPE_DEVICE;
}

static pending_t *begin(int bytes)
{
  require(npending < PENDING_MAX, "too many messages under way");
  if (counts == NULL)
    open_counts();
  pending_t *message = &pending[npending++];
  *message = (pending_t){.bounce = malloc((size_t)bytes + 1), .bytes = (size_t)bytes};
  require(message->bounce != NULL, "no memory");
  return message;
}

int MPI_Isend(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
  if (type != MPI_BYTE || !is_on_device(buffer))
    return PMPI_Isend(buffer, n, type, to, tag, comm, request);
  pending_t *message = begin(n);
  require(driver.from_device(message->bounce, (CUdeviceptr)(uintptr_t)buffer, message->bytes) == CUDA_SUCCESS,
          "the driver does not copy from the device");
  atomic_fetch_add(&counts->sent, 1);
  atomic_fetch_add(&counts->sent_bytes, message->bytes);
  int status = PMPI_Isend(message->bounce, n, type, to, tag, comm, request);
  message->request = *request;
  return status;
}

int MPI_Imrecv(void *buffer, int n, MPI_Datatype type, MPI_Message *from, MPI_Request *request)
{
  if (type != MPI_BYTE || !is_on_device(buffer))
    return PMPI_Imrecv(buffer, n, type, from, request);
  pending_t *message = begin(n);
  message->device = buffer;
  atomic_fetch_add(&counts->received, 1);
  atomic_fetch_add(&counts->received_bytes, message->bytes);
  int status = PMPI_Imrecv(message->bounce, n, type, from, request);
  message->request = *request;
  return status;
}

static void finish(pending_t *message)
{
  require(message->device == NULL || driver.to_device((CUdeviceptr)(uintptr_t)message->device, message->bounce,
                                                      message->bytes) == CUDA_SUCCESS,
          "the driver does not copy to the device");
  free(message->bounce);
  *message = pending[--npending];
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *result)
{
  int i = 0;
  while (i < npending && pending[i].request != *request)
    i++;
  int status = PMPI_Test(request, done, result);
  if (*done && i < npending)
    finish(&pending[i]);
  return status;
}
