/* The CUDA plugin while a stream waits for a word that only this process can raise: what has to go on meanwhile does,
 * or the test is at its limit of time. And streams that it refuses. On the stand-in for the driver, or on a real one.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "tests/unit/cuda_plugin.h"

static const sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, 1};

/* A page of words that streams can see. */
typedef struct page {
  _Atomic uint32_t *words;
  char *seen_at;
  size_t bytes;
} page_t;

static page_t pin_page(sfshm_streams_t *streams)
{
  page_t page = {.bytes = (size_t)sysconf(_SC_PAGESIZE)};
  page.words = mmap(NULL, page.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert(page.words != MAP_FAILED);
  ck_assert_int_eq(device->streams->pin(streams, page.words, page.bytes, &page.seen_at), SF_OK);
  return page;
}

static void unpin_page(sfshm_streams_t *streams, const page_t *page)
{
  device->streams->unpin(streams, page->words);
  munmap(page->words, page->bytes);
}

/* Until its first word is 1. */
static sf_status_t await_page(sfshm_streams_t *streams, const page_t *page)
{
  return device->streams->await(streams, &(sfshm_stream_word_t){page->words, page->seen_at, 1, false}, 1);
}

static sfshm_streams_t *open_on(void *stream)
{
  sfshm_streams_t *streams;
  ck_assert_int_eq(device->streams->open(stream, true, &streams), SF_OK);
  return streams;
}

static void check_idle(sfshm_streams_t *streams, bool expected)
{
  bool idle;
  ck_assert_int_eq(device->streams->is_idle(streams, &idle), SF_OK);
  ck_assert_int_eq(idle, expected);
}

/* Values go over by a kernel that nobody has used before. */
static void move_on(sfshm_streams_t *streams, const sftest_array_t *from, const sftest_array_t *to)
{
  sfshm_pattern_t all = sfshm_pattern_contiguous(0, (int64_t)(from->length_bytes / sizeof(double)));
  sfshm_move_t move = {all, from->actual, all, to->actual, all.n};
  ck_assert_int_eq(device->streams->scatter(streams, unit, SFSHM_OP_REPLACE, &move), SF_OK);
  ck_assert_int_eq(device->streams->mark(streams), SF_OK);
}

SFTEST_FIXTURE(sftest_cuda_open, NULL);

SFTEST(test_others_go_on)
{
  sftest_array_t from = sftest_array_make(800, 0), to = sftest_array_make(800, 0), third = sftest_array_make(800, 0);
  sfshm_pattern_t all = sfshm_pattern_contiguous(0, 100);
  void *waiting_stream = cuda.stream_create(0), *stream = cuda.stream_create(0);
  sfshm_streams_t *waiting = open_on(waiting_stream);
  page_t page = pin_page(waiting);
  ck_assert_int_eq(await_page(waiting, &page), SF_OK);
  ck_assert_int_eq(device->streams->mark(waiting), SF_OK);

  sfshm_streams_t *streams = open_on(stream);
  move_on(streams, &from, &to);
  cuda.stream_finish(stream);
  check_idle(streams, true);
  device->kernels(unit, SFSHM_OP_SUM)->scatter(unit, &all, 0, from.actual, &all, third.actual, 0, 100);
  ck_assert_int_eq(device->check(0), SF_OK);
  check_idle(waiting, false);

  atomic_store(page.words, 1);
  cuda.stream_finish(waiting_stream);
  check_idle(waiting, true);
  memcpy(to.host, from.host, from.length_bytes);
  sfshm_kernels_find(unit, SFSHM_OP_SUM)->scatter(unit, &all, 0, from.host, &all, third.host, 0, 100);
  device->streams->close(streams);
  unpin_page(waiting, &page);
  device->streams->close(waiting);
  cuda.stream_destroy(stream);
  cuda.stream_destroy(waiting_stream);
  sftest_array_check_and_free(&to);
  sftest_array_check_and_free(&third);
  sftest_array_free(&from);
}

/* The driver's graph stays as it was: the capture can be ended. */
SFTEST(test_captured)
{
  sfshm_streams_t *streams;
  void *stream = cuda.stream_create(0);
  cuda.stream_capture(stream, 1);
  ck_assert_int_eq(device->streams->open(stream, true, &streams), SF_ERR_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(device->detail(), "captured"));
  cuda.stream_capture(stream, 0);
  streams = open_on(stream);
  cuda.stream_capture(stream, 1);
  ck_assert_int_eq(device->streams->choose(streams, stream), SF_ERR_UNSUPPORTED);
  cuda.stream_capture(stream, 0);
  ck_assert_int_eq(device->streams->choose(streams, stream), SF_OK);
  device->streams->close(streams);
  cuda.stream_destroy(stream);
}

/* While the application captures a stream all else goes on, in any thread. */
typedef struct beside {
  sfshm_streams_t *streams;
  sftest_array_t from;
  sftest_array_t to;
} beside_t;

static void *go_on(void *argument)
{
  const beside_t *beside = argument;
  sfshm_streams_t *streams = beside->streams;
  sfshm_pattern_t all = sfshm_pattern_contiguous(0, 100);
  page_t page = pin_page(streams);
  ck_assert_int_eq(device->streams->raise(streams, &(sfshm_stream_word_t){page.words, page.seen_at, 1, false}, 1),
                   SF_OK);
  ck_assert_int_eq(device->streams->mark(streams), SF_OK);
  bool idle = false;
  while (!idle)
    ck_assert_int_eq(device->streams->is_idle(streams, &idle), SF_OK);
  device->kernels(unit, SFSHM_OP_SUM)->scatter(unit, &all, 0, beside->from.actual, &all, beside->to.actual, 0, 100);
  ck_assert_int_eq(device->check(0), SF_OK);
  unpin_page(streams, &page);
  return NULL;
}

SFTEST(test_beside_captured)
{
  void *captured = cuda.stream_create(0), *stream = cuda.stream_create(0);
  beside_t beside = {open_on(stream), sftest_array_make(800, 0), sftest_array_make(800, 0)};
  pthread_t thread;
  cuda.stream_capture(captured, 1);
  go_on(&beside);
  ck_assert_int_eq(pthread_create(&thread, NULL, go_on, &beside), 0);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  cuda.stream_capture(captured, 0);
  device->streams->close(beside.streams);
  sftest_array_free(&beside.from);
  sftest_array_free(&beside.to);
  cuda.stream_destroy(stream);
  cuda.stream_destroy(captured);
}

/* Streams with the handle of an earlier one, and yet others. */
static _Atomic int done;

static void note_done(void *unused)
{
  (void)unused;
  atomic_store(&done, 1);
}

static void note_order(void *found)
{
  **(int **)found = atomic_load(&done);
}

static void note_on(sfshm_streams_t *streams, void *stream, int *found)
{
  ck_assert_int_eq(device->streams->choose(streams, stream), SF_OK);
  ck_assert_int_eq(device->streams->call(streams, note_order, &found, sizeof found), SF_OK);
  ck_assert_int_eq(device->streams->mark(streams), SF_OK);
}

typedef struct elsewhere {
  sfshm_streams_t *streams;
  void *stream;
  int *found;
} elsewhere_t;

static void *note_elsewhere(void *argument)
{
  elsewhere_t *elsewhere = argument;
  note_on(elsewhere->streams, elsewhere->stream, elsewhere->found);
  return NULL;
}

SFTEST_FOR(test_same_handle, 2)
{
  bool by_thread = _i == 1;
  int found = -1;
  void *stream = by_thread ? (void *)2 /* CU_STREAM_PER_THREAD */ : cuda.stream_create(0);
  sfshm_streams_t *streams = open_on(stream);
  page_t page = pin_page(streams);
  ck_assert_int_eq(await_page(streams, &page), SF_OK);
  ck_assert_int_eq(device->streams->call(streams, note_done, "", 1), SF_OK);
  ck_assert_int_eq(device->streams->mark(streams), SF_OK);
  if (by_thread) {
    pthread_t thread;
    elsewhere_t elsewhere = {streams, stream, &found};
    ck_assert_int_eq(pthread_create(&thread, NULL, note_elsewhere, &elsewhere), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
  } else {
    cuda.stream_destroy(stream);
    stream = cuda.stream_create(0);
    note_on(streams, stream, &found);
  }
  usleep(20000); /* for what must not happen */
  atomic_store(page.words, 1);
  for (bool idle = false; !idle;)
    ck_assert_int_eq(device->streams->is_idle(streams, &idle), SF_OK);
  ck_assert_int_eq(found, 1);
  unpin_page(streams, &page);
  device->streams->close(streams);
  if (!by_thread)
    cuda.stream_destroy(stream);
}

int main(void)
{
  return sftest_cuda_load() ? sftest_main() : 77;
}
