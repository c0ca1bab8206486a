/* The bytes that are on their way in one direction of a stream of the loop fabric (loop.c, the only user). */
#ifndef SFTEST_FABRIC_PIPE_H
#define SFTEST_FABRIC_PIPE_H

#include <string.h>

#include "tests/common/fabric/loop.h"

/* Bytes that entered a pipe in one step. */
typedef struct sfd_pipe_mark {
  uint64_t due; /* the step in which they arrive */
  size_t nbytes;
} sfd_pipe_mark_t;

/* Bytes on their way, oldest first; a ring. */
typedef struct sfd_pipe {
  uint8_t *bytes;
  size_t first;
  size_t count;
  unsigned nmarks;
  sfd_pipe_mark_t marks[SFTEST_FABRIC_DELAY_MAX + 1]; /* oldest first */
} sfd_pipe_t;

static inline size_t sfd_smaller(size_t a, size_t b)
{
  return a < b ? a : b;
}

static inline void sfd_pipe_clear(sfd_pipe_t *pipe)
{
  pipe->first = 0;
  pipe->count = 0;
  pipe->nmarks = 0;
}

static inline void sfd_pipe_put(sfd_pipe_t *pipe, const uint8_t *from, size_t nbytes)
{
  size_t at = (pipe->first + pipe->count) % SFTEST_FABRIC_PIPE;
  size_t before_wrap = sfd_smaller(nbytes, SFTEST_FABRIC_PIPE - at);
  memcpy(pipe->bytes + at, from, before_wrap);
  memcpy(pipe->bytes, from + before_wrap, nbytes - before_wrap);
  pipe->count += nbytes;
}

static inline void sfd_pipe_get(sfd_pipe_t *pipe, uint8_t *to, size_t nbytes)
{
  size_t before_wrap = sfd_smaller(nbytes, SFTEST_FABRIC_PIPE - pipe->first);
  memcpy(to, pipe->bytes + pipe->first, before_wrap);
  memcpy(to + before_wrap, pipe->bytes, nbytes - before_wrap);
  pipe->first = (pipe->first + nbytes) % SFTEST_FABRIC_PIPE;
  pipe->count -= nbytes;
  unsigned emptied = 0;
  while (emptied < pipe->nmarks && nbytes >= pipe->marks[emptied].nbytes)
    nbytes -= pipe->marks[emptied++].nbytes;
  pipe->nmarks -= emptied;
  memmove(pipe->marks, pipe->marks + emptied, pipe->nmarks * sizeof pipe->marks[0]);
  if (pipe->nmarks > 0)
    pipe->marks[0].nbytes -= nbytes;
}

/* How many bytes have arrived. */
static inline size_t sfd_pipe_due(const sfd_pipe_t *pipe, uint64_t step)
{
  size_t nbytes = 0;
  for (unsigned i = 0; i < pipe->nmarks && pipe->marks[i].due <= step; i++)
    nbytes += pipe->marks[i].nbytes;
  return nbytes;
}

static inline bool sfd_pipe_takes(const sfd_pipe_t *pipe)
{
  return pipe->count < SFTEST_FABRIC_PIPE && pipe->nmarks <= SFTEST_FABRIC_DELAY_MAX;
}

/* Says when the bytes arrive that were put last. */
static inline void sfd_pipe_mark(sfd_pipe_t *pipe, size_t nbytes, uint64_t due)
{
  pipe->marks[pipe->nmarks++] = (sfd_pipe_mark_t){.due = due, .nbytes = nbytes};
}

#endif
