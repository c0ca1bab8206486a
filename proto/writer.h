/* The output side of a control connection: frames that wait until the socket takes them, with duplicates of their
 * descriptors. Used by the thread that uses the connection. */
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

/* SF_ERR_LIMIT: the message or the number of descriptors is too large, or this process is out of descriptors;
 * SF_ERR_ARG: an entry of fds is no open descriptor. */
sf_status_t sfproto_writer_queue(sfproto_writer_t *writer, const Sfproto__Message *message, const int fds[], int nfds);

/* Writes what the socket takes without blocking. SF_ERR_DAEMON_LOST when the other end is gone. When more descriptors
 * of this user are under way than the system permits (others of its processes may have sent them), the writer is
 * crowded until a later flush goes through; nothing tells when it would. */
sf_status_t sfproto_writer_flush(sfproto_writer_t *writer, int fd);

/* Takes back the message that was queued last, if nothing of it has left. */
void sfproto_writer_withdraw(sfproto_writer_t *writer);

#endif
