/* Client side of the window (shm/array/window.h), through which operations on elements of other nodes reach the daemon.
 * A request takes a slot and memory for its data. A *kept* request belongs to its operation until the operation has
 * read the answer. A *posted* request belongs to no operation: after the answer any thread may free it. Any thread. */
#ifndef SFC_ONESIDED_WINDOW_H
#define SFC_ONESIDED_WINDOW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "client/onesided/array.h"
#include "shm/array/window.h"

#define SFC_WINDOW_WORDS (SFSHM_WINDOW_SLOTS / 64)

/* Private state of a request. Written by the thread that took the slot, until it posts the request. */
typedef struct sfc_ticket {
  _Atomic uint64_t number; /* number and node: other threads read them once the request is posted */
  _Atomic int32_t node;
  int32_t nchunks; /* 0: the data are in the slot */
  int32_t chunk;
  int32_t next;                   /* slot of the next request of the operation; -1: none */
  const sfc_array_node_t *target; /* of the array, while that exists */
  int32_t rank;                   /* the first of its ranks */
  int64_t lo[SFSHM_ARRAY_DIMS];   /* patches and lists: the tile of the request */
  int64_t extent[SFSHM_ARRAY_DIMS];
} sfc_ticket_t;

/* An operation that was begun. The lock of the window guards its state. */
typedef struct sfc_begun {
  TAILQ_ENTRY(sfc_begun) entry;
  /* Reads answers and submits requests. Removes the operation when it is complete. *moved_p: set if it made progress.
   * Returns false if the window has no room for its next request, and so for none of later operations. */
  bool (*advance)(struct sfc_begun *self, bool *moved_p);
} sfc_begun_t;
TAILQ_HEAD(sfc_begun_list, sfc_begun);

typedef struct sfc_window {
  sf_context_t *context;
  sfshm_region_t region;
  sfshm_window_t *shared;
  _Atomic uint64_t taken[SFC_WINDOW_WORDS];  /* slots, as bits */
  _Atomic uint64_t posted[SFC_WINDOW_WORDS]; /* of these */
  _Atomic uint64_t chunks;                   /* taken, as bits */
  _Atomic uint64_t last_number;
  sfc_ticket_t tickets[SFSHM_WINDOW_SLOTS];
  _Atomic bool awaited; /* a thread found no room: whoever frees some wakes it */
  pthread_mutex_t lock; /* recursive; guards the fields below, and taking back posted requests */
  bool collecting;
  struct sfc_begun_list begun; /* oldest first */
  _Atomic int error;           /* sf_status_t of a posted request, until it is reported; SF_OK: none */
  char detail[SFSHM_WINDOW_TEXT];
} sfc_window_t;

/* Creates the context's window unless it exists, and passes it to the daemon. */
sf_status_t sfc_window_open(sf_context_t *context);

/* NULL is accepted. */
void sfc_window_free(sfc_window_t *window);

/* Frees answered posted requests, and advances operations that were begun. Returns whether anything moved. */
bool sfc_window_collect(sfc_window_t *window);

/* Takes a slot with memory for so many bytes, at most SFSHM_ARRAY_MAX_DATA; -1: none is free. */
int32_t sfc_window_take(sfc_window_t *window, size_t bytes);

/* Data of the request, sent or returned. */
char *sfc_window_data(sfc_window_t *window, int32_t slot);

/* Fields that the rank sets before it submits the request. */
static inline sfshm_array_request_t *sfc_window_request(sfc_window_t *window, int32_t slot)
{
  return &window->shared->slots[slot].request;
}

/* Passes the request for the node to the daemon. */
void sfc_window_submit(sfc_window_t *window, const sf_array_t *array, int32_t slot, const sfc_array_node_t *target,
                       size_t sent_bytes, size_t returned_bytes);

/* Whether a request has been answered; its status after that. */
bool sfc_window_is_done(const sfc_window_t *window, int32_t slot);
sf_status_t sfc_window_status(const sfc_window_t *window, int32_t slot);

/* Frees the slot of an answered request. */
void sfc_window_release(sfc_window_t *window, int32_t slot);

/* Posts the request. sfc_window_flush reports its error. */
void sfc_window_post(sfc_window_t *window, int32_t slot);

/* Waits until all earlier posted requests to the node (-1: to all nodes) are answered. Returns the first error of a
 * posted request that has not been reported. */
sf_status_t sfc_window_flush(sf_array_t *array, int32_t node);

/* Makes progress until is_over returns true. Returns the error if the array fails first. */
sf_status_t sfc_window_wait(const sf_array_t *array, bool (*is_over)(void *argument), void *argument);

#endif
