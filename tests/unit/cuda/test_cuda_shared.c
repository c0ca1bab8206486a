/* Memory of another process as the CUDA plugin opens it: where it begins and ends, whatever block the driver keeps it
 * in. On the stand-in for the driver, or on a real one. */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/unit/cuda_plugin.h"

enum { PIECES = 3, PIECE_BYTES = 1000 };

/* The owner: small allocations, which drivers put into one block. It stays until nobody listens any more. */
static void own_pieces(int to_other, int from_other)
{
  char values[PIECE_BYTES], end;
  sfshm_device_handle_t handle;
  int fd;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sftest_cuda_open();
  for (int i = 0; i < PIECES; i++) {
    void *piece = cuda.alloc(0, PIECE_BYTES);
    memset(values, 'a' + i, sizeof values);
    cuda.copy(piece, values, sizeof values);
    if (device->share(piece, &handle, &fd) != SF_OK || fd != -1 ||
        write(to_other, &handle, sizeof handle) != sizeof handle)
      _exit(1);
  }
  _exit(read(from_other, &end, 1) == 0 ? 0 : 1);
}

static void check_values(const sfshm_device_range_t *range, char expected)
{
  char values[PIECE_BYTES] = {0};
  cuda.copy(values, range->base, sizeof values);
  for (int i = 0; i < PIECE_BYTES; i++)
    ck_assert_int_eq(values[i], expected);
}

/* Nobody says how long it is. */
static void check_none(const sfshm_device_handle_t *handle, uint64_t length_bytes)
{
  sfshm_device_handle_t none = *handle;
  sfshm_device_range_t range;
  for (size_t i = 0; i + sizeof length_bytes <= sizeof none.bytes; i += sizeof length_bytes)
    if (memcmp(&none.bytes[i], &length_bytes, sizeof length_bytes) == 0)
      memset(&none.bytes[i], 0, sizeof length_bytes);
  ck_assert(memcmp(&none, handle, sizeof none) != 0);
  ck_assert_int_eq(device->open_shared(&none, -1, SFSHM_DEVICE_ANY, &range), SF_ERR_UNSUPPORTED);
}

SFTEST(test_pieces)
{
  int there[2], back[2], status;
  sfshm_device_handle_t handles[PIECES];
  sfshm_device_range_t ranges[PIECES];
  ck_assert(pipe(there) == 0 && pipe(back) == 0);
  pid_t owner = fork(); /* before the driver is used */
  if (owner == 0) {
    close(back[1]);
    own_pieces(there[1], back[0]);
  }
  sftest_cuda_open();
  for (int i = 0; i < PIECES; i++)
    ck_assert_int_eq(read(there[0], &handles[i], sizeof handles[i]), sizeof handles[i]);
  for (int i = 0; i < PIECES; i++) {
    ck_assert_int_eq(device->open_shared(&handles[i], -1, SFSHM_DEVICE_ANY, &ranges[i]), SF_OK);
    ck_assert_uint_ge(ranges[i].length_bytes, PIECE_BYTES);
  }
  for (int i = 0; i < PIECES; i++) {
    check_values(&ranges[i], (char)('a' + i));
    device->close_shared(ranges[i].base);
  }
  check_none(&handles[0], ranges[0].length_bytes);
  close(back[1]);
  ck_assert_int_eq(waitpid(owner, &status, 0), owner);
  ck_assert_int_eq(status, 0);
}

int main(void)
{
  return sftest_cuda_load() ? sftest_main() : 77;
}
