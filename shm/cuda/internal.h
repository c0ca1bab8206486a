/* What the files of the CUDA plugin share. One lock for all: kernels of one process run one after the other anyway. */
#ifndef SFSHM_CUDA_INTERNAL_H
#define SFSHM_CUDA_INTERNAL_H

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/cuda/host_calls.h"
#include "shm/cuda/kernels.h"
#include "shm/device/device.h"

#define SFSHM_CUDA_MAX_DEVICES 64
#define SFSHM_CUDA_HALVES 2                         /* of the pinned memory */
#define SFSHM_CUDA_BOUNCE_BYTES ((size_t)256 << 10) /* of a half */

/* From so many bytes on the driver copies between places that kernels reach: before a copy between devices begins there
 * is more to be done than before a kernel. Not measured. */
#define SFSHM_CUDA_COPY_BYTES ((size_t)64 << 10)

/* Kernels by number: one for each type of element. */
typedef enum sfshm_cuda_element {
#define SFSHM_CUDA_ENUM(suffix, ...) SFSHM_CUDA_##suffix,
  SFSHM_CUDA_MOVES(SFSHM_CUDA_ENUM) SFSHM_CUDA_INTEGERS(SFSHM_CUDA_ENUM) SFSHM_CUDA_REALS(SFSHM_CUDA_ENUM)
      SFSHM_CUDA_COMPLEXES(SFSHM_CUDA_ENUM) SFSHM_PAIR_TABLE(SFSHM_CUDA_ENUM)
#undef SFSHM_CUDA_ENUM
          SFSHM_CUDA_ELEMENT_COUNT
} sfshm_cuda_element_t;

/* The order of contributions to vertices that occur several times: see sfshm_cuda_work_t. */
typedef struct sfshm_cuda_order {
  CUdeviceptr order; /* 0: all are distinct */
  CUdeviceptr begin;
  int64_t nvertices;
} sfshm_cuda_order_t;

/* A copy of an index array on a device. */
typedef struct sfshm_cuda_plan {
  struct sfshm_cuda_plan *next;
  const void *index; /* the host's: key, with n */
  int64_t n;
  CUdeviceptr copy;
  bool surveyed; /* then: */
  sfshm_cuda_order_t order;
} sfshm_cuda_plan_t;

/* By array and length. */
typedef struct sfshm_cuda_plans {
  sfshm_cuda_plan_t **buckets;
  size_t nbuckets; /* 0, or a power of two */
  size_t n;
} sfshm_cuda_plans_t;

/* See watch.c. */
typedef struct sfshm_cuda_watch sfshm_cuda_watch_t;
typedef struct sfshm_cuda_piece sfshm_cuda_piece_t;

typedef struct sfshm_cuda_device {
  bool is_open;
  int32_t number;
  CUcontext context; /* the primary one, which the application's runtime uses, too */
  CUstream stream;
  CUstream own_stream; /* the plugin's; stream is the application's where this is a view, then: */
  CUmodule module;
  CUfunction one[SFSHM_CUDA_ELEMENT_COUNT];
  CUfunction several[SFSHM_CUDA_ELEMENT_COUNT];
  CUfunction await;
  _Atomic uint32_t *done; /* pinned: a word for each queue of streams, that it raises behind its work */
  CUdeviceptr seen_done;
  unsigned flush;  /* flag of memory operations that wait for words behind other devices' stores, if there is one */
  bool has_memops; /* streams raise and await words by themselves */
  char *bounce[SFSHM_CUDA_HALVES];    /* pinned, mapped */
  CUevent bounced[SFSHM_CUDA_HALVES]; /* all kernels that use the half are done */
  CUevent fetched[SFSHM_CUDA_HALVES]; /* a chunk for the host is complete */
  bool is_used[SFSHM_CUDA_HALVES];    /* bounced has been recorded */
  int half;                           /* that is being filled */
  size_t used_bytes;                  /* of it */
  bool is_busy;                       /* told something that nobody has waited for */
  sfshm_cuda_plans_t plans;
  _Atomic(sfshm_cuda_watch_t *) watch; /* NULL: nothing of it has been watched */
} sfshm_cuda_device_t;

/* SF_OK or what the driver's result means, with `what` in the detail. */
sf_status_t sfshm_cuda_status(CUresult result, const char *what);

/* Initialises the driver. The count of devices is 0 before. */
sf_status_t sfshm_cuda_open_driver(void);
int32_t sfshm_cuda_count(void);
sfshm_cuda_device_t *sfshm_cuda_device(int32_t number);

/* With the lock held: the device, opened at first use, its context made current; leave takes it off again. */
sf_status_t sfshm_cuda_enter(int32_t device, sfshm_cuda_device_t **device_p);
void sfshm_cuda_leave(void);

/* Around calls that a driver forbids while some thread of the application captures a stream into a graph, though they
 * have nothing to do with that: in a pair, which may have others within. enter and leave, below and above, are such. */
void sfshm_cuda_relax(void);
void sfshm_cuda_unrelax(void);

/* The same for who launches no kernels there: nothing is made on the device but its context. */
sf_status_t sfshm_cuda_enter_context(int32_t device);

/* With the device's context current: makes all that it needs, or nothing. */
sf_status_t sfshm_cuda_make_ready(sfshm_cuda_device_t *device);

/* With the lock held: the device of an attached address; -1: none. */
int32_t sfshm_cuda_device_of(const void *address);

/* The same for memory that this process has allocated; -1: it has not. */
int32_t sfshm_cuda_owner_of(const void *address);

/* With the lock held: the device on which the process first had memory; -1: none yet. */
int32_t sfshm_cuda_home(void);

/* With the lock held: whether kernels of the one device may read the other's memory: its own, or that of a
 * peer (SF_DEVICE_PEER=off: never). */
bool sfshm_cuda_reaches(int32_t from, int32_t to);

/* With the lock held: waits for what kernels have been told to bring to another device than the one that has been
 * entered. */
sf_status_t sfshm_cuda_settle_other(int32_t other, CUcontext *context_p);

/* With the lock held: lets the device that has been entered read the other one's memory, when all is there. */
sf_status_t sfshm_cuda_join(int32_t other);

/* See sfshm_device_ops_t; imported: another process has allocated it. */
sf_status_t sfshm_cuda_attach_as(const sfshm_device_range_t *range, bool imported);

void sfshm_cuda_lock(void);
void sfshm_cuda_unlock(void);

/* With the lock held, which is released meanwhile. */
void sfshm_cuda_unlock_until(pthread_cond_t *condition);

/* With the lock held: has the driver copy from one device's memory to another's, or within one, behind all that the
 * target's has been told; it need not reach the other one. Nobody waits for it. */
sf_status_t sfshm_cuda_copy_over(int32_t from_device, const void *from, int32_t to_device, void *to, size_t bytes);

/* ---- Jobs: scatters between memory of any kind ---- */

/* The arguments of a kernel of the host (shm/kernels/kernels.h). */
typedef struct sfshm_cuda_job {
  sfshm_unit_t unit;
  sfshm_op_t op;
  const sfshm_pattern_t *from_pattern;
  int64_t from_bias;
  const char *from;
  const sfshm_pattern_t *to_pattern;
  char *to;
  int64_t first;
  int64_t n;
  bool unordered; /* contributions to a vertex may be combined in any order */
  sfshm_trace_work_t work;
} sfshm_cuda_job_t;

/* The pattern of n units that stand one behind the other, beginning with unit number first. */
static inline sfshm_pattern_t sfshm_cuda_packed_from(int64_t first, int64_t n)
{
  return sfshm_pattern_contiguous(-first, first + n);
}

/* Runs the job. A failure is kept for the caller that asks the device next. */
void sfshm_cuda_run(const sfshm_cuda_job_t *job);

/* What a job that changes nothing but the place moves from one piece of memory to another; 0 bytes: it is another one,
 * or the two overlap, where a kernel may do what a copy must not. */
typedef struct sfshm_cuda_block {
  const char *from;
  char *to;
  size_t bytes;
} sfshm_cuda_block_t;
sfshm_cuda_block_t sfshm_cuda_block_of(const sfshm_cuda_job_t *job);

/* Jobs for one kernel, at most SFSHM_CUDA_SETS_MAX, of one unit and op, in memory that the device reaches. `first` of
 * jobs with an order is that of the only one. */
typedef struct sfshm_cuda_launch {
  const sfshm_cuda_job_t *jobs;
  int32_t njobs;
  int32_t flags; /* of sfshm_cuda_work_t, as: */
  sfshm_cuda_order_t order;
  const sfshm_cuda_word_t *words;
  int32_t nwords;
  int32_t queue;
} sfshm_cuda_launch_t;

/* With the device entered: launches the kernel on its stream. The work that traces show is that of the first job. */
sf_status_t sfshm_cuda_launch(sfshm_cuda_device_t *device, const sfshm_cuda_launch_t *launch);

/* The same for one job, whose order is found out at first use. */
sf_status_t sfshm_cuda_launch_job(sfshm_cuda_device_t *device, const sfshm_cuda_job_t *job);

/* ---- Streams ---- */

/* The application's: whether the handle is that of a default stream; SF_ERR_UNSUPPORTED: the stream is being captured
 * into a graph of the driver's; its context, NULL: a default stream of nothing that is current; and that one's device.
 */
bool sfshm_cuda_is_default(CUstream stream);
sf_status_t sfshm_cuda_refuse_captured(CUstream stream);
sf_status_t sfshm_cuda_context_of(CUstream stream, CUcontext *context_p);
sf_status_t sfshm_cuda_device_of_context(CUcontext context, int32_t *device_p);

/* Flag of memory operations on that device that wait for words behind other devices' stores; 0: there is none. */
unsigned sfshm_cuda_flush_flag(int32_t device);

#define SFSHM_CUDA_BATCH 64 /* words that the driver is given at once */

/* On a view's stream, which has been entered: as raise and await of sfshm_streams_ops_t. */
sf_status_t sfshm_cuda_words_raise(const sfshm_cuda_device_t *view, sfshm_cuda_calls_t *calls,
                                   const sfshm_stream_word_t words[], int32_t nwords);
sf_status_t sfshm_cuda_words_await(const sfshm_cuda_device_t *view, const sfshm_stream_word_t words[], int32_t nwords);

/* ---- Failures ---- */

/* With the lock held: counts a failure, and keeps it, with this thread's error detail, if there is none that nobody has
 * been told of. Drivers themselves keep failing where nothing more can be done: nothing need be held back here. */
void sfshm_cuda_fail(sf_status_t status);

/* See sfshm_device_ops_t; without the lock. */
uint64_t sfshm_cuda_failures(void);
sf_status_t sfshm_cuda_failure(uint64_t since);

/* ---- Plans ---- */

/* The pattern for kernels of the device that has been entered. */
sf_status_t sfshm_cuda_plan(sfshm_cuda_device_t *device, const sfshm_pattern_t *pattern,
                            sfshm_cuda_pattern_t *device_pattern_p);

/* The order of contributions to the pattern's vertices, found out at first use. */
sf_status_t sfshm_cuda_plan_order(sfshm_cuda_device_t *device, const sfshm_pattern_t *pattern,
                                  sfshm_cuda_order_t *order_p);

/* Frees the plans of the device that has been entered whose arrays begin in that memory. in_use: kernels may be looking
 * at the copies, which stay on the device, for good. */
void sfshm_cuda_plans_drop(sfshm_cuda_plans_t *plans, const void *base, size_t length_bytes, bool in_use);

/* Copies to memory of the device that is allocated for that. */
sf_status_t sfshm_cuda_upload(const sfshm_cuda_device_t *device, const void *from, size_t bytes, CUdeviceptr *to_p);

/* The order of contributions, which occur in any order. Free it with the device entered. */
typedef struct sfshm_cuda_occurrence {
  uintptr_t array;
  int64_t vertex;
  int64_t number;
} sfshm_cuda_occurrence_t;
sf_status_t sfshm_cuda_order(const sfshm_cuda_device_t *device, sfshm_cuda_occurrence_t occurrences[], int64_t n,
                             sfshm_cuda_order_t *order_p);
void sfshm_cuda_order_free(sfshm_cuda_order_t *order);

/* Moves that have been prepared together: see sfshm_streams_ops_t. */
typedef struct sfshm_cuda_moves sfshm_cuda_moves_t;
sf_status_t sfshm_cuda_moves_make(sfshm_cuda_device_t *device, const sfshm_move_t moves[], int32_t nmoves,
                                  sfshm_cuda_moves_t **moves_p);
void sfshm_cuda_moves_free(sfshm_cuda_moves_t *moves); /* NULL is accepted */

/* Launches kernels for them, of which the last one sets the words of `launch`. Its jobs and order are not used. */
sf_status_t sfshm_cuda_moves_launch(sfshm_cuda_device_t *device, const sfshm_cuda_moves_t *prepared, sfshm_unit_t unit,
                                    sfshm_op_t op, const sfshm_move_t moves[], int32_t nmoves,
                                    const sfshm_cuda_launch_t *launch);

/* Room in pinned memory for that many bytes, not more than a half has, for what is told to the device next. */
sf_status_t sfshm_cuda_reserve(sfshm_cuda_device_t *device, size_t bytes, char **room_p);

/* Waits for all that the device that has been entered was told. */
sf_status_t sfshm_cuda_settle(sfshm_cuda_device_t *device);

/* ---- Watching ---- */

/* Around a piece of work that is given to the device's stream, which has been entered: begin returns NULL if nobody
 * watches the thread, or too much is being watched, and end accepts that. A piece that fails in between needs no end.
 */
sfshm_cuda_piece_t *sfshm_cuda_watch_begin(sfshm_cuda_device_t *device, sfshm_trace_work_t work, uint64_t bytes);
void sfshm_cuda_watch_end(sfshm_cuda_device_t *device, sfshm_cuda_piece_t *piece);

/* A piece without work: what the thread's record is about ends here. */
void sfshm_cuda_watch_note(sfshm_cuda_device_t *device);

/* Writes down what has been done. The device has been entered; any thread. */
void sfshm_cuda_watch_tell(sfshm_cuda_device_t *device);

/* What was to be written there is not wanted any more. */
void sfshm_cuda_watch_drop(sfshm_cuda_device_t *device, const sfshm_trace_t *trace);

/* The device has been entered; all that was given has been done, or never will be. */
void sfshm_cuda_watch_close(sfshm_cuda_device_t *device);

/* See sfshm_device_ops_t. */
void sfshm_cuda_watch(sfshm_trace_t *trace, const sfshm_trace_record_t *record);
sf_status_t sfshm_cuda_describe(int32_t device, sfshm_device_info_t *info_p);
sf_status_t sfshm_cuda_link(int32_t from, int32_t to, sfshm_device_link_t *link_p);
sf_status_t sfshm_cuda_identify(int32_t device, sfshm_device_identity_t *identity_p);
sf_status_t sfshm_cuda_allocate(int32_t device, size_t length_bytes, sfshm_device_range_t *range_p);
void sfshm_cuda_release(void *address);
sf_status_t sfshm_cuda_copy(void *to, const void *from, size_t length_bytes);
sf_status_t sfshm_cuda_find(const void *address, sfshm_device_range_t *range_p);
sf_status_t sfshm_cuda_attach(const sfshm_device_range_t *range);
void sfshm_cuda_detach(const void *address, uint64_t serial);
sf_status_t sfshm_cuda_share(const void *address, sfshm_device_handle_t *handle_p, int *fd_p);
sf_status_t sfshm_cuda_open_shared(const sfshm_device_handle_t *handle, int fd, int32_t device,
                                   sfshm_device_range_t *range_p);

/* See virtual.c. number: the device whose kernels may use the memory. */
sf_status_t sfshm_cuda_virtual_export(const void *base, int *fd_p);
CUresult sfshm_cuda_virtual_allocate(int32_t number, size_t wanted_bytes, CUdeviceptr *base_p, size_t *length_p);
CUresult sfshm_cuda_virtual_open(int fd, size_t length_bytes, int32_t number, CUdeviceptr *base_p);
void sfshm_cuda_virtual_close(CUdeviceptr base, size_t length_bytes);
sf_status_t sfshm_cuda_pool_export(const void *base, CUmemoryPool pool, CUmemPoolPtrExportData *data_p, int *fd_p);
CUresult sfshm_cuda_pool_open(int fd, CUmemPoolPtrExportData data, int32_t number, CUmemoryPool *pool_p,
                              CUdeviceptr *base_p);
void sfshm_cuda_pool_close(CUmemoryPool pool, CUdeviceptr base);
void sfshm_cuda_close_shared(const void *base);
const sfshm_kernels_t *sfshm_cuda_kernels(sfshm_unit_t unit, sfshm_op_t op);
const sfshm_kernels_t *sfshm_cuda_unordered(sfshm_unit_t unit, sfshm_op_t op);
void sfshm_cuda_gather(sfshm_unit_t unit, const sfshm_pattern_t *const patterns[], int32_t npatterns, const void *array,
                       void *packed);

extern const sfshm_streams_ops_t sfshm_cuda_streams;

#endif
