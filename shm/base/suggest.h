/* "Did you mean": the known name that is closest to an unknown word. */
#ifndef SFSHM_BASE_SUGGEST_H
#define SFSHM_BASE_SUGGEST_H

#include <stddef.h>

/* Initialise with {.word = word}, show every known name, then ask for the hint. */
typedef struct sfshm_suggest {
  const char *word;
  const char *best; /* closest name so far, NULL if none is close enough */
  size_t distance;  /* edit distance of best */
} sfshm_suggest_t;

/* Compares a known name. A name is close enough if its edit distance is at most 2 and less than the word's length. Of
 * equally close names the first one wins. */
void sfshm_suggest_show(sfshm_suggest_t *suggest, const char *name);

#define SFSHM_SUGGEST_HINT_SIZE 64

/* Writes " (did you mean NAME?)", or "" if nothing is close, and returns hint. */
const char *sfshm_suggest_hint(const sfshm_suggest_t *suggest, char hint[SFSHM_SUGGEST_HINT_SIZE]);

#endif
