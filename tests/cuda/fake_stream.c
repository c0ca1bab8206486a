/* Work of streams of the stand-in for the CUDA driver: see fake_driver.h. A device has few queues, each of them a
 * thread that does what it is told, one after the other, some of it a little late. Streams share them: what one of them
 * waits for holds up all in its queue. */
#include "tests/cuda/fake_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/cuda/fake_kernel.h"
#include "tests/cuda/fake_work.h"

#define MAX_LANES 7      /* threads that a launch is run as */
#define LATE_ONE_IN 8    /* pieces of work */
#define LATE_US 60       /* at most */
#define LOOK_AGAIN_US 20 /* at a value that is waited for */
#define MAX_QUEUES 32

_Thread_local int64_t sftest_cuda_first;
_Thread_local int64_t sftest_cuda_step;

pthread_cond_t sftest_cuda_progress = PTHREAD_COND_INITIALIZER; /* some stream has done something */
static sftest_line_t *lines;
static sftest_queue_t queues[SFTEST_MAX_DEVICES][2][MAX_QUEUES]; /* of streams without priority, and with one */
static bool is_calling; /* functions of the host are called one after the other, whatever their streams */
static bool is_full;    /* a call waits for room in a stream */

void sftest_cuda_require(bool condition)
{
  if (!condition)
    abort();
}

/* ---- Doing the work ---------------------------------------------------------------------------------------------- */

static void sleep_us(uint64_t us)
{
  struct timespec time = {0, (long)us * 1000};
  nanosleep(&time, NULL);
}

/* The devices' clock, which has nothing to do with the host's. */
static double device_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec % 1000 + 5000) * 1e3 + (double)now.tv_nsec / 1e6;
}

void sftest_mark_drop(sftest_mark_t *mark)
{
  if (mark != NULL && --mark->holders == 0)
    free(mark);
}

/* A queue's thread keeps the memory of devices open from one piece of work to the next, until it waits for anything:
 * changing the protection for each piece would take longer than the work. */
static _Thread_local bool has_open;

static void open_memory(void)
{
  if (!has_open)
    sftest_cuda_open_memory();
  has_open = true;
}

static void close_memory(void)
{
  if (has_open)
    sftest_cuda_close_memory();
  has_open = false;
}

/* As a few threads, one after the other, in any order. */
static void run_kernel(const sftest_work_t *work)
{
  int64_t n = 1 + (int64_t)(sftest_cuda_chance() % MAX_LANES), shift = (int64_t)(sftest_cuda_chance() % (uint64_t)n);
  open_memory();
  pthread_mutex_unlock(&sftest_cuda_lock);
  sftest_cuda_step = n;
  for (int64_t i = 0; i < n; i++) {
    sftest_cuda_first = (i + shift) % n;
    if (work->kernel.one != NULL)
      work->kernel.one(work->one);
    else if (work->kernel.several != NULL)
      work->kernel.several(work->several);
    else
      work->kernel.cg(work->cg);
  }
  pthread_mutex_lock(&sftest_cuda_lock);
}

static void wait_for_value(const _Atomic uint32_t *word, uint32_t value)
{
  while (sftest_cuda_sticky == CUDA_SUCCESS &&
         (int32_t)(atomic_load_explicit(word, memory_order_acquire) - value) < 0) {
    close_memory();
    pthread_mutex_unlock(&sftest_cuda_lock);
    sleep_us(LOOK_AGAIN_US);
    pthread_mutex_lock(&sftest_cuda_lock);
  }
}

static void operate(const sftest_work_t *work)
{
  for (unsigned i = 0; i < work->noperations; i++) {
    const CUstreamBatchMemOpParams *operation = &work->operations[i];
    _Atomic uint32_t *word = (_Atomic uint32_t *)(uintptr_t)operation->waitValue.address;
    if (operation->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32)
      wait_for_value(word, operation->waitValue.value);
    else
      atomic_store_explicit(word, operation->writeValue.value, memory_order_release);
  }
}

static void call(const sftest_work_t *work)
{
  close_memory();
  while (is_calling)
    pthread_cond_wait(&sftest_cuda_progress, &sftest_cuda_lock);
  is_calling = true;
  pthread_mutex_unlock(&sftest_cuda_lock);
  sftest_cuda_begin_call();
  work->call(work->argument);
  sftest_cuda_end_call();
  pthread_mutex_lock(&sftest_cuda_lock);
  is_calling = false;
  pthread_cond_broadcast(&sftest_cuda_progress);
}

static void copy_now(const sftest_work_t *work)
{
  open_memory();
  memcpy(work->to, work->from, work->bytes);
}

/* A context in which a launch has failed does nothing any more. */
static void do_work(const sftest_work_t *work)
{
  if (work->kind == MARK) {
    work->mark->done_ms = device_ms();
    work->mark->done = true;
  }
  if (sftest_cuda_sticky != CUDA_SUCCESS)
    return;
  switch (work->kind) {
  case KERNEL:
    run_kernel(work);
    break;
  case CALL:
    call(work);
    break;
  case COPY:
    copy_now(work);
    break;
  case WORDS:
    operate(work);
    break;
  case AWAIT:
    while (!work->mark->done) {
      close_memory();
      pthread_cond_wait(&sftest_cuda_progress, &sftest_cuda_lock);
    }
    break;
  case MARK:
    break;
  }
}

static void drop_line(sftest_line_t *line)
{
  if (!line->gone || line->done < line->told || line->holders > 0)
    return;
  sftest_line_t **link = &lines;
  while (*link != line)
    link = &(*link)->next;
  *link = line->next;
  free(line);
}

static void *run_queue(void *argument)
{
  sftest_queue_t *queue = argument;
  pthread_mutex_lock(&sftest_cuda_lock);
  for (;;) {
    while (queue->first == NULL) {
      close_memory();
      pthread_cond_wait(&queue->news, &sftest_cuda_lock);
    }
    sftest_work_t *work = queue->first;
    if (work->staged != NULL || sftest_cuda_chance() % LATE_ONE_IN == 0) {
      uint64_t us = sftest_cuda_chance() % LATE_US;
      close_memory();
      pthread_mutex_unlock(&sftest_cuda_lock);
      sleep_us(us);
      pthread_mutex_lock(&sftest_cuda_lock);
    }
    do_work(work);
    sftest_mark_drop(work->mark);
    queue->first = work->next;
    if (queue->first == NULL)
      queue->last = &queue->first;
    queue->npending--;
    work->line->done++;
    drop_line(work->line);
    free(work->staged);
    free(work->operations);
    free(work);
    pthread_cond_broadcast(&sftest_cuda_progress);
  }
  return NULL;
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

/* As many as the driver is told to use, or 8; streams of another priority have their own. */
static int count_queues(void)
{
  const char *wanted = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  int n = wanted != NULL ? atoi(wanted) : 8;
  return n < 1 ? 1 : n < MAX_QUEUES ? n : MAX_QUEUES;
}

/* The one with the fewest streams, from another one on each time. */
static sftest_queue_t *choose_queue(int device, bool urgent)
{
  static int last;
  int n = count_queues(), first = ++last;
  sftest_queue_t *all = queues[device][urgent], *queue = &all[first % n];
  pthread_t thread;
  for (int i = 1; i < n; i++)
    if (all[(first + i) % n].nstreams < queue->nstreams)
      queue = &all[(first + i) % n];
  queue->nstreams++;
  if (queue->last == NULL) {
    queue->last = &queue->first;
    pthread_cond_init(&queue->news, NULL);
    sftest_cuda_require(pthread_create(&thread, NULL, run_queue, queue) == 0 && pthread_detach(thread) == 0);
  }
  return queue;
}

sftest_line_t *sftest_make_line(int device, bool blocking, bool urgent)
{
  static uint64_t last_id;
  sftest_line_t *line = calloc(1, sizeof *line);
  sftest_cuda_require(line != NULL);
  line->id = ++last_id;
  line->blocking = blocking;
  line->queue = choose_queue(device, urgent);
  line->next = lines;
  return lines = line;
}

void sftest_end_line(sftest_line_t *line)
{
  line->gone = true;
  line->queue->nstreams--;
  drop_line(line);
}

sftest_work_t *sftest_make_work(sftest_kind_t kind)
{
  sftest_work_t *work = calloc(1, sizeof *work);
  sftest_cuda_require(work != NULL);
  work->kind = kind;
  return work;
}

static uint64_t depth(void)
{
  const char *wanted = getenv("SFTEST_CUDA_DEPTH");
  return wanted != NULL ? strtoull(wanted, NULL, 10) : 1000;
}

void sftest_cuda_pass(void)
{
  while (is_full)
    pthread_cond_wait(&sftest_cuda_progress, &sftest_cuda_lock);
}

/* The whole context is held up while a call waits for room. */
static void wait_for_room(const sftest_queue_t *queue)
{
  sftest_cuda_pass();
  while (queue->npending >= depth()) {
    is_full = true;
    pthread_cond_wait(&sftest_cuda_progress, &sftest_cuda_lock);
  }
  if (is_full)
    pthread_cond_broadcast(&sftest_cuda_progress);
  is_full = false;
}

/* What an example gives a stream is counted where it ends. */
static uint64_t most_told; /* to one stream, without its being waited for */

__attribute__((destructor)) static void report(void)
{
  if (getenv("SFTEST_CUDA_REPORT") != NULL)
    fprintf(stderr, "%llu pieces of work without waiting\n", (unsigned long long)most_told);
}

void sftest_tell(CUstream stream, sftest_work_t *work)
{
  sftest_queue_t *queue = stream->line->queue;
  work->line = stream->line;
  work->line->holders++;
  wait_for_room(queue);
  work->line->holders--;
  *queue->last = work;
  queue->last = &work->next;
  queue->npending++;
  work->line->told++;
  if (most_told < work->line->told - work->line->synchronized)
    most_told = work->line->told - work->line->synchronized;
  pthread_cond_signal(&queue->news);
}

void sftest_finish_line(sftest_line_t *line)
{
  uint64_t told = line->told;
  line->holders++;
  while (line->done < told)
    pthread_cond_wait(&sftest_cuda_progress, &sftest_cuda_lock);
  line->holders--;
  line->synchronized = told;
  drop_line(line);
}

/* From the beginning after each wait: streams may have gone. */
void sftest_cuda_finish(bool all)
{
  const sftest_line_t *line = lines;
  while (line != NULL)
    if ((all || line->blocking) && line->done < line->told) {
      pthread_cond_wait(&sftest_cuda_progress, &sftest_cuda_lock);
      line = lines;
    } else {
      line = line->next;
    }
}
