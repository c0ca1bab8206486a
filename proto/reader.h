/* The input side of a control connection: bytes and descriptors as the socket delivers them, put together to messages.
 * Used by the thread that uses the connection. */
#ifndef SFPROTO_READER_H
#define SFPROTO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/conn.h"

/* What the kernel lets a sender attach to one sendmsg (SCM_MAX_FD). Room for all of it makes a truncated control
 * message mean one thing only: this process is out of descriptors. */
#define SFPROTO_BATCH_FDS 253

/* Descriptors that came with one recvmsg. The kernel delivers those of at most one sendmsg at a time, but with bytes of
 * earlier ones in front, so they belong to a frame that starts somewhere in [start, end). */
typedef struct sfproto_batch {
  uint64_t start; /* positions in the stream */
  uint64_t end;
  bool truncated; /* some could not be received */
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
 * Between calls data holds less than one frame; complete ones are in the list. Its size is what that frame needs, with
 * a header more, but not below a minimum. */
typedef struct sfproto_reader {
  uint8_t *data;
  size_t size_bytes;
  size_t used_bytes;
  uint64_t position;          /* in the stream, of data[0]: the start of a frame */
  sfproto_batch_t batches[2]; /* in the order of the stream; see add_batch for why two are enough */
  int nbatches;
  int max_fds;            /* that a frame may have; 0: SFPROTO_MAX_FDS */
  bool look_first;        /* see sfproto_conn_look_first */
  sfproto_ready_t *first; /* complete messages that nobody has taken */
  sfproto_ready_t *last;
  size_t ready_bytes;
  sf_status_t status; /* of the first error, which is final */
  char detail[256];
} sfproto_reader_t;

void sfproto_reader_release(sfproto_reader_t *reader);

/* As sfproto_conn_read and sfproto_conn_next. wait: if nothing is there and the socket blocks, until something is. */
sf_status_t sfproto_reader_read(sfproto_reader_t *reader, int fd, bool wait);
bool sfproto_reader_next(sfproto_reader_t *reader, sfproto_incoming_t *incoming);

#endif
