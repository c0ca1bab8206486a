/* A munged of a test's own, with a key of its own. */
#ifndef SFTEST_MUNGED_H
#define SFTEST_MUNGED_H

#include <sys/types.h>

typedef struct sftest_munged {
  pid_t pid;
  char directory[64];
  char socket[80];
} sftest_munged_t;

/* NULL, or why there can be none: munged is not installed, or does not start here. */
const char *sftest_munged_lacks(void);

/* Starts it with a key made of that byte; returns when its socket is there. */
void sftest_munged_start(sftest_munged_t *munged, char fill);

/* Ends it, and removes all that it has made. */
void sftest_munged_stop(sftest_munged_t *munged);

#endif
