/* The window of this rank: how its operations on parts of other nodes reach the daemon (shm/array/window.h). A request
 * takes a slot, and room for its data. It is *kept* by its operation until the answer has been read, or *posted*: then
 * it is freed when the answer has come, by whichever thread finds that. Any thread. */
#ifndef SFC_ONESIDED_WINDOW_H
#define SFC_ONESIDED_WINDOW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/onesided/array.h"
#include "shm/array/window.h"

#define SFC_WINDOW_WORDS (SFSHM_WINDOW_SLOTS / 64)

/* What the rank knows of a request. Of the thread that has taken the slot, until it posts it. */
typedef struct sfc_ticket {
  _Atomic uint64_t number; /* others read these two of posted requests */
  _Atomic int32_t node;
  int32_t nchunks; /* 0: the data are in the slot */
  int32_t chunk;
  int32_t next; /* slot of the next request of the operation; -1: none */
  int64_t lo[SFSHM_ARRAY_DIMS];
  int64_t extent[SFSHM_ARRAY_DIMS];
} sfc_ticket_t;

typedef struct sfc_window {
  sf_context_t *context;
  sfshm_region_t region;
  sfshm_window_t *shared;
  _Atomic uint64_t taken[SFC_WINDOW_WORDS];  /* slots, as bits */
  _Atomic uint64_t posted[SFC_WINDOW_WORDS]; /* of these */
  _Atomic uint64_t chunks;                   /* taken, as bits */
  _Atomic uint64_t last_number;
  sfc_ticket_t tickets[SFSHM_WINDOW_SLOTS];
  pthread_mutex_t lock; /* of the thread that frees posted requests; and the fields below */
  _Atomic int error;    /* sf_status_t of a posted request, until it is reported; SF_OK: none */
  char detail[SFSHM_WINDOW_TEXT];
} sfc_window_t;

/* Makes the context's window, if there is none yet, and gives it to the daemon. */
sf_status_t sfc_window_open(sf_context_t *context);

/* NULL is accepted. */
void sfc_window_free(sfc_window_t *window);

/* A free slot with room for so many bytes, at most SFSHM_ARRAY_MAX_DATA; -1: there is none now. */
int32_t sfc_window_take(sfc_window_t *window, size_t bytes);

/* Where the data of the request are, sent or returned. */
char *sfc_window_data(sfc_window_t *window, int32_t slot);

/* The part of the slot that the rank fills in before it submits the request. */
static inline sfshm_array_request_t *sfc_window_request(sfc_window_t *window, int32_t slot)
{
  return &window->shared->slots[slot].request;
}

/* Hands the request to the daemon, for a node. */
void sfc_window_submit(sfc_window_t *window, const sf_array_t *array, int32_t slot, int32_t node, size_t sent_bytes,
                       size_t returned_bytes);

/* Whether the answer to a kept request is there; then what came of it. */
bool sfc_window_is_done(const sfc_window_t *window, int32_t slot);
sf_status_t sfc_window_status(const sfc_window_t *window, int32_t slot);

/* Frees the slot of a kept request, whose answer is there. */
void sfc_window_release(sfc_window_t *window, int32_t slot);

/* Leaves the request to itself. Its error is reported by sfc_window_flush. */
void sfc_window_post(sfc_window_t *window, int32_t slot);

/* Waits until the posted requests to the node (-1: to all) that have been submitted before are done. The first error of
 * posted requests that has not been reported. */
sf_status_t sfc_window_flush(sf_array_t *array, int32_t node);

/* Makes progress until the function returns true, or the array has failed, which is the status then. */
sf_status_t sfc_window_wait(const sf_array_t *array, bool (*is_over)(void *argument), void *argument);

#endif
