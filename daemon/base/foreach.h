/* Loops over tail queues of sys/queue.h. */
#ifndef SFD_BASE_FOREACH_H
#define SFD_BASE_FOREACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

/* TAILQ_FOREACH for a body that may remove var, declared here as type *var. */
#define SFD_FOREACH_SAFE(type, var, head, field)                                                                       \
  for (type *var = TAILQ_FIRST(head), *next_ = NULL; var != NULL && (next_ = TAILQ_NEXT(var, field), true); var = next_)

#endif
