/* Edit distances for "did you mean". No state; any thread. */
#include "shm/base/suggest.h"

#include <stdio.h>
#include <string.h>

#define MAX_DISTANCE 2u
#define MAX_LENGTH 40u /* no known name is longer; longer words get no hint */

static size_t min3(size_t a, size_t b, size_t c)
{
  size_t least = a < b ? a : b;
  return least < c ? least : c;
}

/* Levenshtein's distance of two words of at most MAX_LENGTH, row by row. */
static size_t edit_distance(const char *a, const char *b)
{
  size_t columns = strlen(b), row[MAX_LENGTH + 1];
  for (size_t j = 0; j <= columns; j++)
    row[j] = j;
  for (size_t i = 1; a[i - 1]; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= columns; j++) {
      size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = min3(replace, row[j] + 1, row[j - 1] + 1);
    }
  }
  return row[columns];
}

void sfshm_suggest_show(sfshm_suggest_t *suggest, const char *name)
{
  size_t length = strlen(suggest->word);
  if (length > MAX_LENGTH || strlen(name) > MAX_LENGTH)
    return;
  size_t distance = edit_distance(suggest->word, name);
  if (distance > MAX_DISTANCE || distance >= length || (suggest->best && distance >= suggest->distance))
    return;
  suggest->best = name;
  suggest->distance = distance;
}

const char *sfshm_suggest_hint(const sfshm_suggest_t *suggest, char hint[SFSHM_SUGGEST_HINT_SIZE])
{
  hint[0] = '\0';
  if (suggest->best)
    snprintf(hint, SFSHM_SUGGEST_HINT_SIZE, " (did you mean %s?)", suggest->best);
  return hint;
}
