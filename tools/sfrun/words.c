/* Words of a command: see words.h. No state of its own. */
#include "tools/sfrun/words.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "shm/base/error.h"

void sfrun_words_add(sfrun_words_t *words, const char *format, ...)
{
  va_list args;
  char *word = NULL;
  va_start(args, format);
  bool made = vasprintf(&word, format, args) >= 0;
  va_end(args);
  const char **grown = made ? reallocarray(words->words, words->nwords + 2, sizeof *grown) : NULL;
  if (!grown) {
    if (made)
      free(word);
    words->failed = true;
    return;
  }
  words->words = grown;
  grown[words->nwords++] = word;
  grown[words->nwords] = NULL;
}

sf_status_t sfrun_words_check(const sfrun_words_t *words)
{
  return words->failed ? sfshm_error(SF_ERR_NOMEM, "no memory for a command") : SF_OK;
}

void sfrun_words_free(sfrun_words_t *words)
{
  for (size_t i = 0; i < words->nwords; i++)
    free((void *)(uintptr_t)words->words[i]);
  free(words->words);
  *words = (sfrun_words_t){.nwords = 0};
}
