/* Words that streams raise and await. The device has been entered. */
#include <stdatomic.h>
#include <string.h>

#include "shm/cuda/internal.h"

typedef enum operation { RAISE, AWAIT } operation_t;

static sf_status_t operate(const sfshm_cuda_device_t *view, operation_t operation, const sfshm_stream_word_t words[],
                           int32_t nwords)
{
  CUstreamBatchMemOpParams all[SFSHM_CUDA_BATCH];
  memset(all, 0, (size_t)nwords * sizeof all[0]);
  for (int32_t i = 0; i < nwords; i++) {
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)words[i].seen_at;
    if (operation == RAISE) {
      all[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
      all[i].writeValue.address = address;
      all[i].writeValue.value = words[i].value;
      all[i].writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
    } else {
      all[i].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
      all[i].waitValue.address = address;
      all[i].waitValue.value = words[i].value;
      all[i].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ | (words[i].flush ? view->flush : 0);
    }
  }
  return sfshm_cuda_status(cuStreamBatchMemOp(view->stream, (unsigned)nwords, all, 0), "cuStreamBatchMemOp");
}

/* Without memory operations of streams: a function of the host raises, which must not wait, and a kernel waits. */
typedef struct bells {
  int32_t n;
  sfshm_stream_word_t words[];
} bells_t;

static void ring(void *argument)
{
  const bells_t *bells = argument;
  for (int32_t i = 0; i < bells->n; i++)
    atomic_store_explicit(bells->words[i].word, bells->words[i].value, memory_order_release);
}

static sf_status_t call_ring(const sfshm_cuda_device_t *view, sfshm_cuda_calls_t *calls,
                             const sfshm_stream_word_t words[], int32_t nwords)
{
  struct {
    bells_t bells;
    sfshm_stream_word_t words[SFSHM_CUDA_BATCH];
  } all = {.bells.n = nwords};
  memcpy(all.words, words, (size_t)nwords * sizeof words[0]);
  return sfshm_cuda_call(calls, view->stream, ring, &all, sizeof all);
}

static sf_status_t launch_await(const sfshm_cuda_device_t *view, const sfshm_stream_word_t words[], int32_t nwords)
{
  sf_status_t status = SF_OK;
  for (int32_t i = 0; i < nwords && status == SF_OK;) {
    sfshm_cuda_one_t args = {0};
    void *parameters[] = {&args};
    for (; i < nwords && args.work.nwords < SFSHM_CUDA_WORDS_MAX; i++)
      args.work.words[args.work.nwords++] =
          (sfshm_cuda_word_t){(uint32_t *)(uintptr_t)words[i].seen_at, words[i].value};
    status = sfshm_cuda_status(cuLaunchKernel(view->await, 1, 1, 1, 1, 1, 1, 0, view->stream, parameters, NULL),
                               "launching a kernel that waits");
  }
  return status;
}

sf_status_t sfshm_cuda_words_await(const sfshm_cuda_device_t *view, const sfshm_stream_word_t words[], int32_t nwords)
{
  sf_status_t status = SF_OK;
  for (int32_t i = 0, n; i < nwords && status == SF_OK; i += n) {
    n = nwords - i < SFSHM_CUDA_BATCH ? nwords - i : SFSHM_CUDA_BATCH;
    status = view->has_memops ? operate(view, AWAIT, &words[i], n) : launch_await(view, &words[i], n);
  }
  return status;
}

sf_status_t sfshm_cuda_words_raise(const sfshm_cuda_device_t *view, sfshm_cuda_calls_t *calls,
                                   const sfshm_stream_word_t words[], int32_t nwords)
{
  sf_status_t status = SF_OK;
  for (int32_t i = 0, n; i < nwords && status == SF_OK; i += n) {
    n = nwords - i < SFSHM_CUDA_BATCH ? nwords - i : SFSHM_CUDA_BATCH;
    status = view->has_memops ? operate(view, RAISE, &words[i], n) : call_ring(view, calls, &words[i], n);
  }
  return status;
}
