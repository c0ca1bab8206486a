/* Operations on arrays: see arrays.h. Pure functions. */
#include "proto/report/arrays.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const sfreport_array_ways[SFREPORT_ARRAY_WAYS] = {"own", "node", "daemon"};
const char *const sfreport_array_accesses[SFREPORT_ARRAY_ACCESSES] = {"put", "get", "acc", "atomic"};

static void append(char text[SFREPORT_ARRAY_TEXT_SIZE], const char *word)
{
  size_t end = strlen(text);
  snprintf(text + end, SFREPORT_ARRAY_TEXT_SIZE - end, "%s%s", end > 0 ? " x " : "", word);
}

static void append_number(char text[SFREPORT_ARRAY_TEXT_SIZE], const char *before, int64_t number)
{
  char word[32];
  snprintf(word, sizeof word, "%s%" PRId64, before, number);
  append(text, word);
}

const char *sfreport_array_shape(const Sfproto__ArrayInfo *info, char text[SFREPORT_ARRAY_TEXT_SIZE])
{
  text[0] = '\0';
  for (size_t d = 0; d < info->n_extents; d++)
    append_number(text, "", info->extents[d]);
  return text;
}

const char *sfreport_array_grid(const Sfproto__ArrayInfo *info, char text[SFREPORT_ARRAY_TEXT_SIZE])
{
  text[0] = '\0';
  for (size_t d = 0; d < info->n_grid; d++)
    append_number(text, "", info->grid[d]);
  return text;
}

const char *sfreport_array_blocks(const Sfproto__ArrayInfo *info, char text[SFREPORT_ARRAY_TEXT_SIZE])
{
  text[0] = '\0';
  for (size_t d = 0; d < info->n_blocks && d < info->n_extents && d < info->n_grid; d++) {
    int64_t procs = info->grid[d] > 0 ? info->grid[d] : 1;
    if (info->blocks[d] == 0)
      append(text, "irregular");
    else if (info->blocks[d] >= (info->extents[d] - 1) / procs + 1)
      append(text, "even");
    else if (info->blocks[d] == 1)
      append(text, "cyclic");
    else
      append_number(text, "by ", info->blocks[d]);
  }
  return text;
}
