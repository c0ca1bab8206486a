/* The window of this rank: see window.h. */
#include "client/onesided/window.h"

#include <stdlib.h>
#include <string.h>

#include "client/engine.h"
#include "shm/base/error.h"
#include "shm/region/wait.h"

/* ---- Creation ---------------------------------------------------------------------------------------------------- */

static sf_status_t make_window(sf_context_t *context, sfc_window_t **window_p)
{
  Sfproto__WindowOpen open = SFPROTO__WINDOW_OPEN__INIT;
  Sfproto__Message message = SFPROTO_MESSAGE(WINDOW_OPEN, window_open, &open);
  sf_status_t status = sfc_submit_ring_open(&context->submit_ring, context->board);
  if (status != SF_OK)
    return status;
  sfc_window_t *window = calloc(1, sizeof *window);
  if (window == NULL)
    return sfshm_error(SF_ERR_NOMEM, "window for arrays");
  status = sfshm_region_create("sf-window", SFSHM_REGION_WINDOW, sizeof(sfshm_window_t), SFSHM_SEAL_SIZE,
                               SFSHM_COMMIT_ALL, &window->region);
  if (status == SF_OK)
    status = sfc_daemon_tell(&context->control, &message, &window->region.fd, 1);
  if (status != SF_OK) {
    sfshm_region_destroy(&window->region);
    free(window);
    return status;
  }
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&window->lock, &recursive);
  pthread_mutexattr_destroy(&recursive);
  TAILQ_INIT(&window->begun);
  window->context = context;
  window->shared = window->region.base;
  *window_p = window;
  return SF_OK;
}

/* Several threads may create arrays at the same time, on different groups. */
sf_status_t sfc_window_open(sf_context_t *context)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  sf_status_t status = context->window != NULL ? SF_OK : make_window(context, &context->window);
  pthread_mutex_unlock(&lock);
  return status;
}

void sfc_window_free(sfc_window_t *window)
{
  if (window == NULL)
    return;
  sfshm_region_destroy(&window->region);
  pthread_mutex_destroy(&window->lock);
  free(window);
}

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

bool sfc_window_is_done(const sfc_window_t *window, int32_t slot)
{
  return atomic_load_explicit(&window->shared->slots[slot].done, memory_order_acquire) ==
         atomic_load_explicit(&window->tickets[slot].number, memory_order_relaxed);
}

sf_status_t sfc_window_status(const sfc_window_t *window, int32_t slot)
{
  const sfshm_window_slot_t *shared = &window->shared->slots[slot];
  if (shared->status == SF_OK)
    return SF_OK;
  return sfshm_error((sf_status_t)shared->status, "node %d, with rank %d: %.*s", window->tickets[slot].node,
                     window->tickets[slot].rank, (int)sizeof shared->text - 1, shared->text);
}

void sfc_window_release(sfc_window_t *window, int32_t slot)
{
  const sfc_ticket_t *ticket = &window->tickets[slot];
  uint64_t run = ((UINT64_C(1) << ticket->nchunks) - 1) << ticket->chunk;
  /* The next owner's accesses come after those to this request's data. And a thread that waits for room either finds
   * this one, or is seen to wait. */
  if (ticket->nchunks > 0)
    atomic_fetch_and_explicit(&window->chunks, ~run, memory_order_release);
  atomic_fetch_and_explicit(&window->taken[slot / 64], ~(UINT64_C(1) << slot % 64), memory_order_seq_cst);
  if (atomic_load_explicit(&window->awaited, memory_order_seq_cst)) {
    atomic_store_explicit(&window->awaited, false, memory_order_seq_cst);
    sfshm_publish_barrier();
    sfshm_wake(window->context->wake);
  }
}

static bool free_posted(sfc_window_t *window)
{
  bool moved = false;
  for (int32_t word = 0; word < SFC_WINDOW_WORDS; word++) {
    uint64_t left = atomic_load_explicit(&window->posted[word], memory_order_acquire);
    for (; left != 0; left &= left - 1) {
      int32_t slot = word * 64 + __builtin_ctzll(left);
      if (!sfc_window_is_done(window, slot))
        continue;
      sf_status_t status = sfc_window_status(window, slot);
      if (status != SF_OK && window->error == SF_OK) {
        strncpy(window->detail, sfshm_error_detail(), sizeof window->detail - 1);
        window->error = status;
      }
      atomic_fetch_and_explicit(&window->posted[word], ~(left & -left), memory_order_relaxed);
      sfc_window_release(window, slot);
      moved = true;
    }
  }
  return moved;
}

/* One thread at a time: no other thread can free a posted slot, and thus start another request in it, between the check
 * and the release. An operation that advances looks for room, and comes here again. */
bool sfc_window_collect(sfc_window_t *window)
{
  bool moved = false;
  pthread_mutex_lock(&window->lock);
  if (!window->collecting) {
    window->collecting = true;
    moved = free_posted(window);
    sfc_begun_t *begun = TAILQ_FIRST(&window->begun), *next;
    for (bool room = true; begun != NULL && room; begun = next) {
      next = TAILQ_NEXT(begun, entry);
      room = begun->advance(begun, &moved);
    }
    window->collecting = false;
  }
  pthread_mutex_unlock(&window->lock);
  return moved;
}

static int32_t take_slot(sfc_window_t *window)
{
  for (int32_t word = 0; word < SFC_WINDOW_WORDS; word++) {
    uint64_t taken = atomic_load_explicit(&window->taken[word], memory_order_relaxed);
    while (~taken != 0) {
      uint64_t bit = ~taken & -~taken;
      if (atomic_compare_exchange_weak_explicit(&window->taken[word], &taken, taken | bit, memory_order_acquire,
                                                memory_order_relaxed))
        return word * 64 + __builtin_ctzll(bit);
    }
  }
  return -1;
}

/* Takes n consecutive chunks and returns the first; -1: none are free. */
static int32_t take_chunks(sfc_window_t *window, int32_t n)
{
  uint64_t taken = atomic_load_explicit(&window->chunks, memory_order_relaxed), run = (UINT64_C(1) << n) - 1;
  for (int32_t first = 0; first + n <= SFSHM_WINDOW_CHUNKS;) {
    if ((taken & run << first) != 0)
      first++;
    else if (atomic_compare_exchange_weak_explicit(&window->chunks, &taken, taken | run << first, memory_order_acquire,
                                                   memory_order_relaxed))
      return first;
  }
  return -1;
}

int32_t sfc_window_take(sfc_window_t *window, size_t bytes)
{
  int32_t nchunks = bytes <= SFSHM_WINDOW_INLINE ? 0 : (int32_t)((bytes + SFSHM_WINDOW_CHUNK - 1) / SFSHM_WINDOW_CHUNK);
  for (int attempt = 0; attempt < 3; attempt++) {
    int32_t chunk = nchunks > 0 ? take_chunks(window, nchunks) : 0;
    int32_t slot = chunk >= 0 ? take_slot(window) : -1;
    if (slot >= 0) {
      window->tickets[slot].chunk = chunk;
      window->tickets[slot].nchunks = nchunks;
      memset(&window->shared->slots[slot].request, 0, sizeof window->shared->slots[slot].request);
      return slot;
    }
    if (chunk >= 0 && nchunks > 0)
      atomic_fetch_and_explicit(&window->chunks, ~(((UINT64_C(1) << nchunks) - 1) << chunk), memory_order_relaxed);
    if (attempt == 0)
      (void)sfc_window_collect(window);
    else
      atomic_store_explicit(&window->awaited, true, memory_order_seq_cst);
  }
  return -1;
}

char *sfc_window_data(sfc_window_t *window, int32_t slot)
{
  const sfc_ticket_t *ticket = &window->tickets[slot];
  return ticket->nchunks > 0 ? window->shared->chunks[ticket->chunk] : window->shared->slots[slot].data;
}

void sfc_window_submit(sfc_window_t *window, const sf_array_t *array, int32_t slot, const sfc_array_node_t *target,
                       size_t sent_bytes, size_t returned_bytes)
{
  sfc_ticket_t *ticket = &window->tickets[slot];
  uint64_t number = atomic_fetch_add_explicit(&window->last_number, 1, memory_order_relaxed) + 1;
  atomic_store_explicit(&ticket->number, number, memory_order_relaxed);
  atomic_store_explicit(&ticket->node, target->node, memory_order_relaxed);
  ticket->target = target;
  ticket->rank = array->by_node[target->first];
  sfshm_ring_entry_t entry = {
      .kind = SFSHM_SUBMIT_ARRAY, .graph = array->graph->number, .message = number, .size = sent_bytes};
  entry.a = (uint32_t)slot;
  entry.b = (uint32_t)target->node;
  entry.more[0] = (uint64_t)(sfc_window_data(window, slot) - (char *)window->shared);
  entry.more[1] = returned_bytes;
  sfc_submit_ring_write(&window->context->submit_ring, &entry, false);
}

void sfc_window_post(sfc_window_t *window, int32_t slot)
{
  /* Release: pairs with the acquire load of posted in free_posted and is_flushed, which then read the ticket. */
  atomic_fetch_or_explicit(&window->posted[slot / 64], UINT64_C(1) << slot % 64, memory_order_release);
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

sf_status_t sfc_window_wait(const sf_array_t *array, bool (*is_over)(void *argument), void *argument)
{
  sfc_thread_t *thread = sfc_thread_self();
  const sf_context_t *context = array->context;
  sfc_idle_t idle = {0}; /* the daemon may need this core */
  for (;;) {
    bool moved = sfc_thread_progress(thread);
    if (is_over(argument))
      return SF_OK;
    if (sfc_graph_is_failed(array->graph))
      return sfc_graph_failure(array->graph);
    if (moved || sfc_idle_step(&idle))
      continue;
    uint32_t ticket = sfshm_wake_arm(context->wake);
    if (!sfc_thread_progress(thread) && !is_over(argument) && !sfc_graph_is_failed(array->graph))
      sfshm_wake_sleep(context->wake, ticket, -1);
  }
}

typedef struct flush {
  sfc_window_t *window;
  int32_t node;
  uint64_t last; /* number of the last request to wait for */
} flush_t;

static bool is_flushed(void *argument)
{
  const flush_t *flush = argument;
  const sfc_window_t *window = flush->window;
  (void)sfc_window_collect(flush->window);
  for (int32_t word = 0; word < SFC_WINDOW_WORDS; word++) {
    uint64_t left = atomic_load_explicit(&window->posted[word], memory_order_acquire);
    for (; left != 0; left &= left - 1) {
      const sfc_ticket_t *ticket = &window->tickets[word * 64 + __builtin_ctzll(left)];
      int32_t node = atomic_load_explicit(&ticket->node, memory_order_relaxed);
      if ((flush->node < 0 || node == flush->node) &&
          atomic_load_explicit(&ticket->number, memory_order_relaxed) <= flush->last)
        return false;
    }
  }
  return true;
}

sf_status_t sfc_window_flush(sf_array_t *array, int32_t node)
{
  sfc_window_t *window = array->context->window;
  if (window == NULL)
    return SF_OK;
  flush_t flush = {window, node, atomic_load_explicit(&window->last_number, memory_order_relaxed)};
  sf_status_t status = is_flushed(&flush) ? SF_OK : sfc_window_wait(array, is_flushed, &flush);
  if (status != SF_OK || atomic_load_explicit(&window->error, memory_order_relaxed) == SF_OK)
    return status;
  pthread_mutex_lock(&window->lock);
  if (window->error != SF_OK)
    status = sfshm_error((sf_status_t)window->error, "%s", window->detail);
  window->error = SF_OK;
  pthread_mutex_unlock(&window->lock);
  return status;
}
