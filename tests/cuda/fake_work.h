/* What streams of the stand-in for the CUDA driver are told: see fake_driver.h. With the lock held, but for what is
 * said.
 */
#ifndef SFTEST_CUDA_FAKE_WORK_H
#define SFTEST_CUDA_FAKE_WORK_H

#include <stdatomic.h>

#include "tests/cuda/fake_internal.h"

/* A place in a stream, for whoever waits for it: an event, or other streams. */
typedef struct mark {
  int holders;
  bool done;
  double done_ms;
} sftest_mark_t;

typedef enum kind { KERNEL, CALL, COPY, WORDS, MARK, AWAIT } sftest_kind_t;

/* Work that a stream has been told to do. */
typedef struct work {
  struct work *next;
  sftest_kind_t kind;
  sftest_kernel_t kernel;
  uintptr_t element_bytes;
  union {
    sfshm_cuda_one_t one;
    sfshm_cuda_several_t several;
    cg_args_t cg;
  };
  CUhostFn call;
  void *argument;
  CUstreamBatchMemOpParams *operations; /* of memory */
  unsigned noperations;
  sftest_mark_t *mark;
  void *to;
  const void *from;
  void *staged; /* what the host's memory held when it was told; else NULL */
  size_t bytes;
  struct line *line;
} sftest_work_t;

/* A queue of a device, which streams share. */
typedef struct queue {
  int nstreams;
  uint64_t npending;
  pthread_cond_t news;
  sftest_work_t *first;
  sftest_work_t **last; /* NULL: nobody has used it yet */
} sftest_queue_t;

/* What a stream has been told, which is there as long as some of it is to be done. */
typedef struct line {
  struct line *next;
  sftest_queue_t *queue;
  uint64_t id;
  bool blocking; /* the default stream waits for it */
  bool gone;     /* the stream has been destroyed */
  int holders;   /* calls that look at it */
  uint64_t told;
  uint64_t synchronized; /* of those, before the last synchronisation */
  uint64_t done;
} sftest_line_t;

struct CUstream_st {
  CUstream next; /* of those not in use */
  CUcontext context;
  bool captured; /* into a graph, of which nothing else is there: nothing may be given to it */
  CUstreamCaptureMode capture_mode;
  sftest_line_t *line;
};

struct CUevent_st {
  CUcontext context;
  sftest_mark_t *mark; /* NULL: never recorded */
  bool timed;
};

extern pthread_cond_t sftest_cuda_progress; /* some stream has done something */

/* Ends the process unless it is true. */
void sftest_cuda_require(bool condition);

void sftest_mark_drop(sftest_mark_t *mark);

/* What a stream is told. urgent: its queues are others. */
sftest_line_t *sftest_make_line(int device, bool blocking, bool urgent);
void sftest_end_line(sftest_line_t *line);
void sftest_finish_line(sftest_line_t *line);

/* What the application calls a stream; a default one is that of the current context. */
CUstream sftest_find_stream(CUstream stream);

/* What a call meets that gives a stream work, or waits for it. */
CUresult sftest_check_stream(CUstream stream);

/* What waits for room in a stream holds up others: until nothing does. */
void sftest_cuda_pass(void);

/* The queue of a stream takes some 1,000 pieces of work, behind which telling waits. */
sftest_work_t *sftest_make_work(sftest_kind_t kind); /* without the lock */
void sftest_tell(CUstream stream, sftest_work_t *work);

/* Hands the work over, or drops it if its result is a failure; releases the lock. */
CUresult sftest_tell_if(CUresult result, CUstream stream, sftest_work_t *work);

#endif
