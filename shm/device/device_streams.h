/* Work on device streams, enqueued by operations that the host does not wait for: see sf/sf_streams.h. No function
 * waits, except prepare, pin, unpin and close, for which drivers may wait until all streams of the process are idle,
 * and the first open of a device. Results are bitwise those of the host's kernels, NaNs
 * excepted (see device.h). */
#ifndef SFSHM_DEVICE_DEVICE_STREAMS_H
#define SFSHM_DEVICE_DEVICE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/edges/pattern.h"
#include "shm/kernels/unit.h"

/* A queue over the streams of one device: its work is done in the order in which it was enqueued, even on different
 * streams. One thread at a time, except for is_idle. */
typedef struct sfshm_streams sfshm_streams_t;

/* One of several scatters that are enqueued together. */
typedef struct sfshm_move {
  sfshm_pattern_t from_pattern;
  const char *from;
  sfshm_pattern_t to_pattern;
  char *to;
  int64_t n; /* number of vertices, from the start of both patterns */
} sfshm_move_t;

/* A word in pinned memory, for the host and for devices, and a value: to be raised to that, or awaited. */
typedef struct sfshm_stream_word {
  _Atomic uint32_t *word;
  char *seen_at;
  uint32_t value;
  bool flush; /* awaited: other devices have written to this device's memory before the word was set */
} sfshm_stream_word_t;

typedef struct sfshm_streams_ops {
  /* Creates a queue for the device of the stream. NULL is the driver's default stream: of the current context or,
   * without one, of the first device. use_memops: memory operations set and await words, if the driver supports them;
   * else host functions and kernels do. */
  sf_status_t (*open)(void *stream, bool use_memops, sfshm_streams_t **streams_p);
  /* Destroys the queue. All its work must be complete. */
  void (*close)(sfshm_streams_t *streams);

  int32_t (*device)(const sfshm_streams_t *streams);
  /* Whether work after await sees all that other devices stored in this device's memory before the word was set. */
  bool (*sees_peers)(const sfshm_streams_t *streams);

  /* Pins shared memory, whole pages, until unpin. *seen_at_p: its address on the device. */
  sf_status_t (*pin)(sfshm_streams_t *streams, void *address, size_t len_bytes, char **seen_at_p);
  void (*unpin)(sfshm_streams_t *streams, void *address);

  /* Copies what kernels need of the pattern, which must not move until close, so that scatter allocates nothing. */
  sf_status_t (*prepare)(sfshm_streams_t *streams, const sfshm_pattern_t *pattern, bool is_target);

  /* Directs later work to that stream. SF_ERR_ARG: the stream belongs to another device. SF_ERR_UNSUPPORTED, also of
   * open: the stream is in capture for a graph of the driver. */
  sf_status_t (*choose)(sfshm_streams_t *streams, void *stream);

  /* Enqueues one move. Both buffers are on the device, or pinned and given by their device addresses. */
  sf_status_t (*scatter)(sfshm_streams_t *streams, sfshm_unit_t unit, sfshm_op_t op, const sfshm_move_t *move);

  /* Prepares moves that will be enqueued together, so that scatter_all allocates nothing, and finds the vertices that
   * are written several times, by moves with equal `to`. *number_p identifies them for scatter_all. Addresses are not
   * used otherwise. */
  sf_status_t (*prepare_all)(sfshm_streams_t *streams, const sfshm_move_t moves[], int32_t nmoves, int32_t *number_p);

  /* Enqueues all these moves as if one after the other: one kernel for as many as fit into its arguments. fetches: each
   * source value becomes what was there before it was combined. Then raises the words, by the last of these kernels if
   * they are few. */
  sf_status_t (*scatter_all)(sfshm_streams_t *streams, int32_t number, sfshm_unit_t unit, sfshm_op_t op, bool fetches,
                             const sfshm_move_t moves[], int32_t nmoves, const sfshm_stream_word_t words[],
                             int32_t nwords);

  /* raise sets the words after all previous work; await holds later work until (int32_t)(word - value) >= 0 for all.
   * One command for all of them, if the driver has memory operations. */
  sf_status_t (*raise)(sfshm_streams_t *streams, const sfshm_stream_word_t words[], int32_t nwords);
  sf_status_t (*await)(sfshm_streams_t *streams, const sfshm_stream_word_t words[], int32_t nwords);

  /* Calls a host function with a copy of the argument, between previous and later work. It must neither wait nor call
   * the driver. It is not called if the device has failed. */
  sf_status_t (*call)(sfshm_streams_t *streams, void (*function)(void *argument), const void *argument,
                      size_t argument_bytes);

  /* If the calling thread is traced (see sfshm_device_ops_t) its record ends here. */
  void (*note)(sfshm_streams_t *streams);

  /* Ends what has been enqueued so far, for is_idle and for other streams: by a word of the queue's own, which is
   * raised behind all work. Does nothing if the last work was to raise words, which raised that, too. */
  sf_status_t (*mark)(sfshm_streams_t *streams);

  /* *idle_p: whether all work is complete. Returns the failure of the device, after which no work will be done. The
   * driver is asked only if work is not complete. Any thread. */
  sf_status_t (*is_idle)(sfshm_streams_t *streams, bool *idle_p);
} sfshm_streams_ops_t;

#endif
