/* Short ids: see short_id.h. Any thread. */
#include "tools/sfctl/print/short_id.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"

#define DIGITS_MIN 4
#define DIGITS_MAX 20
#define FEW 8 /* so few digits are printed in full */

uint64_t *sfctl_id_list(const sfreport_list_t *list)
{
  uint64_t *ids = calloc(list->count + 1, sizeof *ids);
  for (size_t i = 0; ids != NULL && i < list->count; i++) {
    const Sfproto__Message *message = list->items[i].message;
    bool is_job = message->body_case == SFPROTO__MESSAGE__BODY_JOB_INFO;
    bool is_array = message->body_case == SFPROTO__MESSAGE__BODY_ARRAY_INFO;
    ids[i] = is_job ? message->job_info->job_id : is_array ? message->array_info->graph : message->graph_info->graph;
  }
  return ids;
}

static uint64_t last_digits(uint64_t id, int digits)
{
  uint64_t power = 1;
  for (int i = 0; i < digits; i++)
    power *= 10;
  return id % power;
}

static int compare(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static bool differ(const uint64_t *ids, uint64_t *ends, size_t n, int digits)
{
  for (size_t i = 0; i < n; i++)
    ends[i] = last_digits(ids[i], digits);
  qsort(ends, n, sizeof *ends, compare);
  for (size_t i = 1; i < n; i++)
    if (ends[i] == ends[i - 1])
      return false;
  return true;
}

int sfctl_id_digits(const uint64_t *ids, size_t n)
{
  uint64_t *sorted = calloc(2 * n + 1, sizeof *sorted), *ends = sorted + n;
  size_t distinct = 0;
  int digits = DIGITS_MIN;
  if (sorted == NULL)
    return 0;
  if (n > 0)
    memcpy(sorted, ids, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, compare);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || sorted[i] != sorted[i - 1])
      sorted[distinct++] = sorted[i];
  while (digits < DIGITS_MAX - 1 && !differ(sorted, ends, distinct, digits))
    digits++;
  free(sorted);
  return digits;
}

const char *sfctl_id_text(uint64_t id, int digits, char text[SFCTL_ID_SIZE])
{
  int length = snprintf(text, SFCTL_ID_SIZE, "%" PRIu64, id);
  if (digits > 0 && length > FEW && length > digits)
    memmove(text, text + length - digits, (size_t)digits + 1);
  return text;
}

sfctl_id_match_t sfctl_id_match(uint64_t id, const char *word)
{
  char text[SFCTL_ID_SIZE];
  size_t length = (size_t)snprintf(text, sizeof text, "%" PRIu64, id), given = strlen(word);
  if (strcmp(text, word) == 0)
    return SFCTL_ID_ALL;
  bool is_end = given >= DIGITS_MIN && given < length && strcmp(text + length - given, word) == 0;
  return is_end ? SFCTL_ID_END : SFCTL_ID_OTHER;
}

sf_status_t sfctl_id_find(const uint64_t *ids, size_t n, const char *word, uint64_t *id_p)
{
  uint64_t found = 0;
  for (size_t i = 0; i < n; i++) {
    sfctl_id_match_t match = sfctl_id_match(ids[i], word);
    if (match == SFCTL_ID_ALL) {
      *id_p = ids[i];
      return SF_OK;
    }
    if (match == SFCTL_ID_END && found != 0 && found != ids[i])
      return sfshm_error(SF_ERR_ARG,
                         "\"%.80s\" is the end of several numbers, %" PRIu64 " and %" PRIu64 ": give more of it", word,
                         found, ids[i]);
    if (match == SFCTL_ID_END)
      found = ids[i];
  }
  *id_p = found;
  return SF_OK;
}
