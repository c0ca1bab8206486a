/* Programs that do to a daemon what a client must not do, at full speed. Each is the function of a rank of a job; the
 * job's argument says when it is over. */
#ifndef SFTEST_HOSTILE_H
#define SFTEST_HOSTILE_H

#include "tests/system/harness.h"

typedef struct sftest_assault {
  _Atomic bool over;
  _Atomic int64_t attempts;
} sftest_assault_t;

/* Random bytes, also behind an acceptable header. */
void sftest_send_garbage(sftest_rank_t *self);

/* Frames that end in the middle, in pieces, one byte at a time, with and without the descriptors that they announce. */
void sftest_send_fragments(sftest_rank_t *self);

/* Hellos with descriptors of everything that is no shared memory, or is not sealed, or too small, or too many. */
void sftest_send_descriptors(sftest_rank_t *self);

/* As many connections as it can open, some with descriptors under way, held and dropped. */
void sftest_flood_connections(sftest_rank_t *self);

/* Comes as one rank of two of ever another job, and goes. */
void sftest_flood_joins(sftest_rank_t *self);

/* Joins a job of its own, then sends requests of all kinds and does not read the answers. */
void sftest_flood_requests(sftest_rank_t *self);

/* Joins a job of its own, provokes alerts and does not read them. */
void sftest_flood_alerts(sftest_rank_t *self);

/* Joins by the library, as one rank of a job with neighbours, and overwrites all shared memory that it can write to. */
void sftest_scribble(sftest_rank_t *self);

#endif
