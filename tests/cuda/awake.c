/* Keeps device 0 awake while measurements start and end processes: a device that no process uses goes to sleep, and
 * takes its time to wake. Holds a context until it is killed. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
  CUdevice device;
  CUcontext context;
  CUresult result = cuInit(0);
  if (result == CUDA_SUCCESS)
    result = cuDeviceGet(&device, 0);
  if (result == CUDA_SUCCESS)
    result = cuDevicePrimaryCtxRetain(&context, device);
  if (result != CUDA_SUCCESS) {
    fprintf(stderr, "awake: error %d of the CUDA driver\n", (int)result);
    return EXIT_FAILURE;
  }
  for (;;)
    pause();
}
