/* Output side of a control connection: queued frames with duplicates of their descriptors. Used by the connection's
 * thread. */
#ifndef SFPROTO_WRITER_H
#define SFPROTO_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/sf_control.pb-c.h"

typedef struct sfproto_output sfproto_output_t;

/* All zero: empty. */
typedef struct sfproto_writer {
  sfproto_output_t *first;
  sfproto_output_t *last;
  size_t queued_bytes;
  int64_t queued_fds;
  bool crowded; /* see sfproto_writer_flush */
} sfproto_writer_t;

void sfproto_writer_release(sfproto_writer_t *writer);

/* Queues a message. SF_ERR_LIMIT: the message or the number of descriptors is too large, or this process is out of
 * descriptors. SF_ERR_ARG: an entry of fds is not an open descriptor. */
sf_status_t sfproto_writer_queue(sfproto_writer_t *writer, const Sfproto__Message *message, const int fds[], int nfds);

/* Writes as much as the socket accepts without blocking. SF_ERR_DAEMON_LOST: the other end is closed. If this user has
 * more descriptors in flight than the system permits (other processes may have sent them) the writer is crowded until a
 * later flush succeeds; no event announces when that is possible. */
sf_status_t sfproto_writer_flush(sfproto_writer_t *writer, int fd);

/* Removes the message queued last, if no byte of it has been written. */
void sfproto_writer_withdraw(sfproto_writer_t *writer);

#endif
