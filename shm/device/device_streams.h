/* Work on streams of devices, given to a plugin by operations that nobody waits for on the host: see
 * sf/sf_streams.h. Nothing here waits but prepare, pin, unpin and close, for which drivers may wait until all streams
 * of the process are done, and a device's first open. Results are those of the host's kernels bit by bit. */
#ifndef SFSHM_DEVICE_STREAMS_H
#define SFSHM_DEVICE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/edges/pattern.h"
#include "shm/kernels/unit.h"

/* One user of streams, which all are of one device: what is given to it is done in the order in which it was given,
 * also if the streams differ. One thread at a time, but for is_idle. */
typedef struct sfshm_streams sfshm_streams_t;

/* One of several scatters that are given together. */
typedef struct sfshm_move {
  sfshm_pattern_t from_pattern;
  const char *from;
  sfshm_pattern_t to_pattern;
  char *to;
  int64_t n; /* the first ones of either pattern */
} sfshm_move_t;

typedef struct sfshm_streams_ops {
  /* A user of streams of that stream's device. In the driver's terms: NULL is the default stream, of the current
   * context or, if there is none, of the first device. use_memops: memory operations raise and await words where the
   * driver has them; else host functions and kernels do. SF_STREAM_COPY=on in the environment: scatters of 64 KiB or
   * more between contiguous places are the driver's copies, but for a default stream. */
  sf_status_t (*open)(void *stream, bool use_memops, sfshm_streams_t **streams_p);
  /* All that was given must have been done. */
  void (*close)(sfshm_streams_t *streams);

  int32_t (*device)(const sfshm_streams_t *streams);
  /* Whether what is behind await sees all that other devices have stored in this one's memory before the word was set.
   */
  bool (*sees_peers)(const sfshm_streams_t *streams);
  /* The same of what network adapters have, in await with flush. */
  bool (*sees_adapters)(const sfshm_streams_t *streams);

  /* Memory that processes share, whole pages: where the device sees it, until it is unpinned. */
  sf_status_t (*pin)(sfshm_streams_t *streams, void *address, size_t len_bytes, char **seen_at_p);
  void (*unpin)(sfshm_streams_t *streams, void *address);

  /* Copies what kernels need of the pattern, which stays where it is until close, so that scatter allocates nothing. */
  sf_status_t (*prepare)(sfshm_streams_t *streams, const sfshm_pattern_t *pattern, bool is_target);

  /* What follows goes to that stream. SF_ERR_ARG: it is of another device. SF_ERR_UNSUPPORTED, also of open: it is
   * being captured into a graph of the driver's. */
  sf_status_t (*choose)(sfshm_streams_t *streams, void *stream);

  /* As sfshm_kernels_t's scatter, both on the device or in pinned memory as seen from there. */
  sf_status_t (*scatter)(sfshm_streams_t *streams, sfshm_unit_t unit, sfshm_op_t op,
                         const sfshm_pattern_t *from_pattern, int64_t from_bias, const void *from,
                         const sfshm_pattern_t *to_pattern, void *to, int64_t first, int64_t n);

  /* Prepares moves that will be given together, so that scatter_all allocates nothing, and finds out which of them meet
   * at a vertex: those whose `to` is the same then may, others don't. *number_p is what scatter_all is told. Addresses
   * are not used otherwise. */
  sf_status_t (*prepare_all)(sfshm_streams_t *streams, const sfshm_move_t moves[], int32_t nmoves, int32_t *number_p);

  /* All of these moves, as if one after the other, by one kernel as long as they fit into the arguments of one, but for
   * what is copied. */
  sf_status_t (*scatter_all)(sfshm_streams_t *streams, int32_t number, sfshm_unit_t unit, sfshm_op_t op,
                             const sfshm_move_t moves[], int32_t nmoves);

  /* Slots one behind the other, with the root of each, ascending: once. Then, in slots and roots on the device or in
   * pinned memory, each root meets its slots' values in their order, and they become what it was before each. */
  sf_status_t (*prepare_fetch)(sfshm_streams_t *streams, const sfshm_pattern_t *slot_root);
  sf_status_t (*fetch)(sfshm_streams_t *streams, sfshm_unit_t unit, sfshm_op_t op, char *slots, char *roots);

  /* A word in pinned memory, given as the host sees it and as the device does: sets it when all before is done; holds
   * back all behind until (int32_t)(word - value) >= 0. flush: other devices have written to this one's memory before
   * the word was set. */
  sf_status_t (*raise)(sfshm_streams_t *streams, _Atomic uint32_t *word, char *seen_at, uint32_t value);
  sf_status_t (*await)(sfshm_streams_t *streams, char *seen_at, uint32_t value, bool flush);

  /* Calls a function of the host with a copy of the argument, between what is before and behind; it must neither wait
   * nor call the driver. Not at all if the device has failed. */
  sf_status_t (*call)(sfshm_streams_t *streams, void (*function)(void *argument), const void *argument,
                      size_t argument_bytes);

  /* If the calling thread is watched (see sfshm_device_ops_t) what its record is about ends here. */
  void (*note)(sfshm_streams_t *streams);

  /* All that was given until now is one piece for is_idle, and for other streams. */
  sf_status_t (*mark)(sfshm_streams_t *streams);

  /* Whether all pieces are done. A failure of the device: nothing will be done any more. Any thread. */
  sf_status_t (*is_idle)(sfshm_streams_t *streams, bool *idle_p);
} sfshm_streams_ops_t;

#endif
