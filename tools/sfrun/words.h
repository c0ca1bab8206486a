/* Words of a command, collected one by one. */
#ifndef SFRUN_WORDS_H
#define SFRUN_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include <sf/sf_status.h>

/* All zero: none. */
typedef struct sfrun_words {
  const char **words; /* owned, as each word; ended by NULL */
  size_t nwords;
  bool failed; /* no memory for a word */
} sfrun_words_t;

void sfrun_words_add(sfrun_words_t *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* SF_ERR_NOMEM: a word is missing. */
sf_status_t sfrun_words_check(const sfrun_words_t *words);

void sfrun_words_free(sfrun_words_t *words);

#endif
