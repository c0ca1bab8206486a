/* Records to JSON and back. Names are made of letters, digits and "._-x" only, so strings need no escapes. No state. */
#include "tools/sfperf/results/record.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "tools/sfperf/results/stats.h"

void sfperf_record_write(const sfperf_record_t *record, FILE *file)
{
  const char *unit = record->unit;
  sfperf_stats_t stats = sfperf_stats(record->samples, record->reps);
  fprintf(file, "{\"bench\":\"%s\",\"case\":\"%s\",\"op\":\"%s\",\"contender\":\"%s\"", record->bench,
          record->case_name, record->op, record->contender);
  if (record->bytes >= 0)
    fprintf(file, ",\"bytes\":%lld", (long long)record->bytes);
  fprintf(file, ",\"ranks\":%d,\"nodes\":%d", record->ranks, record->nodes);
  fprintf(file, ",\"median_%s\":%.5g,\"min_%s\":%.5g,\"q1_%s\":%.5g,\"q3_%s\":%.5g,\"max_%s\":%.5g", unit, stats.median,
          unit, stats.min, unit, stats.q1, unit, stats.q3, unit, stats.max);
  fprintf(file, ",\"rewrite_%s\":%.5g,\"net_median_%s\":%.5g", unit, record->rewrite, unit,
          stats.median - record->rewrite);
  fprintf(file, ",\"reps\":%d,\"samples_%s\":[", record->reps, unit);
  for (int i = 0; i < record->reps; i++)
    fprintf(file, "%s%.5g", i ? "," : "", record->samples[i]);
  fputs("]}\n", file);
}

/* A cursor over the line; the small readers below move it and return false when something else stands there. */
typedef struct cursor {
  const char *at;
} cursor_t;

static void skip_space(cursor_t *cursor)
{
  while (isspace((unsigned char)*cursor->at))
    cursor->at++;
}

static bool take(cursor_t *cursor, char wanted)
{
  skip_space(cursor);
  if (*cursor->at != wanted)
    return false;
  cursor->at++;
  return true;
}

static bool take_string(cursor_t *cursor, char text[SFPERF_NAME_LEN])
{
  if (!take(cursor, '"'))
    return false;
  size_t len = strcspn(cursor->at, "\"\\");
  if (cursor->at[len] != '"' || len >= SFPERF_NAME_LEN)
    return false;
  memcpy(text, cursor->at, len);
  text[len] = '\0';
  cursor->at += len + 1;
  return true;
}

static bool take_number(cursor_t *cursor, double *number_p)
{
  char *end;
  *number_p = strtod(cursor->at, &end);
  if (end == cursor->at || !isfinite(*number_p))
    return false;
  cursor->at = end;
  return true;
}

static bool take_numbers(cursor_t *cursor, double numbers[SFPERF_MAX_REPS], int *count_p)
{
  int count = 0;
  if (!take(cursor, '['))
    return false;
  if (take(cursor, ']')) {
    *count_p = 0;
    return true;
  }
  do {
    if (count == SFPERF_MAX_REPS || !take_number(cursor, &numbers[count++]))
      return false;
  } while (take(cursor, ','));
  *count_p = count;
  return take(cursor, ']');
}

static void set_string(sfperf_record_t *record, const char *name, const char *text)
{
  const struct {
    const char *name;
    char *field;
  } fields[] = {
      {"bench", record->bench},
      {"case", record->case_name},
      {"op", record->op},
      {"contender", record->contender},
  };
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
    if (strcmp(name, fields[i].name) == 0)
      strcpy(fields[i].field, text);
}

static void set_number(sfperf_record_t *record, const char *name, double number)
{
  if (strcmp(name, "bytes") == 0)
    record->bytes = (int64_t)number;
  else if (strcmp(name, "ranks") == 0)
    record->ranks = (int)number;
  else if (strcmp(name, "nodes") == 0)
    record->nodes = (int)number;
  else if (strncmp(name, "rewrite_", strlen("rewrite_")) == 0)
    record->rewrite = number;
}

static bool take_array(cursor_t *cursor, const char *name, sfperf_record_t *record)
{
  double numbers[SFPERF_MAX_REPS];
  int count;
  if (!take_numbers(cursor, numbers, &count))
    return false;
  if (strncmp(name, "samples_", strlen("samples_")) != 0)
    return true;
  strcpy(record->unit, name + strlen("samples_"));
  record->reps = count;
  memcpy(record->samples, numbers, (size_t)count * sizeof numbers[0]);
  return true;
}

static bool take_member(cursor_t *cursor, sfperf_record_t *record)
{
  char name[SFPERF_NAME_LEN];
  char text[SFPERF_NAME_LEN];
  double number;
  if (!take_string(cursor, name) || !take(cursor, ':'))
    return false;
  skip_space(cursor);
  if (*cursor->at == '[')
    return take_array(cursor, name, record);
  if (*cursor->at == '"') {
    if (!take_string(cursor, text))
      return false;
    set_string(record, name, text);
    return true;
  }
  if (!take_number(cursor, &number))
    return false;
  set_number(record, name, number);
  return true;
}

sf_status_t sfperf_record_parse(const char *line, sfperf_record_t *record_p)
{
  sfperf_record_t record = {.bytes = -1};
  cursor_t cursor = {line};
  bool good = take(&cursor, '{');
  do
    good = good && take_member(&cursor, &record);
  while (good && take(&cursor, ','));
  good = good && take(&cursor, '}') && take(&cursor, '\0');
  if (!good)
    return sfshm_error(SF_ERR_PROTO, "column %td: not a record of sfperf --json", cursor.at - line + 1);
  *record_p = record;
  return SF_OK;
}
