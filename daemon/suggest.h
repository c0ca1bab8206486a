/* "Did you mean": the known name that is closest to an unknown word. */
#ifndef SFD_SUGGEST_H
#define SFD_SUGGEST_H

#include <stddef.h>

/* Start with {.word = word}, show every known name, then ask for the hint. */
typedef struct sfd_suggest {
  const char *word;
  const char *best; /* closest name so far, NULL if none is close enough */
  size_t distance;  /* of best */
} sfd_suggest_t;

/* A name is close enough at an edit distance of at most 2 that is also less than the word's length. Of equally close
 * names the first one shown wins. */
void sfd_suggest_show(sfd_suggest_t *suggest, const char *name);

#define SFD_SUGGEST_HINT_SIZE 64

/* Writes " (did you mean NAME?)", or "" if nothing is close, and returns hint. */
const char *sfd_suggest_hint(const sfd_suggest_t *suggest, char hint[SFD_SUGGEST_HINT_SIZE]);

#endif
