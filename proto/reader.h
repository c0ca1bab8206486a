/* Input side of a control connection: assembles bytes and descriptors from the socket into messages. Used by the
 * connection's thread. */
#ifndef SFPROTO_READER_H
#define SFPROTO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/conn.h"

/* Maximum number of descriptors of one sendmsg (SCM_MAX_FD). With room for all of them a truncated control message
 * means only that this process is out of descriptors. */
#define SFPROTO_BATCH_FDS 253

/* Descriptors of one recvmsg. The kernel delivers those of at most one sendmsg at a time, possibly after bytes of
 * earlier ones; so they belong to a frame that starts in [start, end). */
typedef struct sfproto_batch {
  uint64_t start; /* positions in the stream */
  uint64_t end;
  bool truncated; /* some descriptors could not be received */
  int nfds;
  int fds[SFPROTO_BATCH_FDS];
} sfproto_batch_t;

typedef struct sfproto_ready sfproto_ready_t;

/* All zero: at the start of a stream.
 *
 *   position                     end of what was received
 *   |<-------- used_bytes ------->|
 *   |header|message ... (incomplete)
 *
 * Between calls data holds less than one frame; complete frames are in the list. data has the size of that frame plus a
 * header, at least a minimum. */
typedef struct sfproto_reader {
  uint8_t *data;
  size_t size_bytes;
  size_t used_bytes;
  uint64_t position;          /* in the stream, of data[0]: the start of a frame */
  sfproto_batch_t batches[2]; /* in the order of the stream; see add_batch for why two are enough */
  int nbatches;
  int max_fds;            /* maximum per frame; 0: SFPROTO_MAX_FDS */
  bool look_first;        /* see sfproto_conn_look_first */
  sfproto_ready_t *first; /* complete messages that have not been taken */
  sfproto_ready_t *last;
  size_t ready_bytes;
  sf_status_t status; /* the first error, which is final */
  char detail[256];
} sfproto_reader_t;

void sfproto_reader_release(sfproto_reader_t *reader);

/* As sfproto_conn_read and sfproto_conn_next. wait: if nothing has arrived and the socket blocks, wait. */
sf_status_t sfproto_reader_read(sfproto_reader_t *reader, int fd, bool wait);
bool sfproto_reader_next(sfproto_reader_t *reader, sfproto_incoming_t *incoming);

#endif
