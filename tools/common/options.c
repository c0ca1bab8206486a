/* Command-line options: see options.h. Single-threaded. */
#include "tools/common/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/base/error.h"
#include "shm/base/suggest.h"

_Static_assert(SFTOOL_HINT_SIZE == SFSHM_SUGGEST_HINT_SIZE, "a hint fits");

/* ---- Values ------------------------------------------------------------------------------------------------------ */

sf_status_t sftool_parse_integer(const char *name, const char *text, int64_t min, int64_t max, int64_t *value_p)
{
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < min || value > max)
    return sfshm_error(SF_ERR_ARG, "%s \"%.80s\": expected a whole number from %lld to %lld", name, text,
                       (long long)min, (long long)max);
  *value_p = value;
  return SF_OK;
}

static sf_status_t parse_seconds(const char *name, const char *text, const sftool_option_t *option, int64_t *ms_p)
{
  char *end = NULL;
  /* strtod accepts more than decimal numbers */
  double ms = *text != '\0' && text[strspn(text, "0123456789.")] == '\0' ? 1000 * strtod(text, &end) : NAN;
  if (end == NULL || *end != '\0' || !(ms >= (double)option->min && ms <= (double)option->max))
    return sfshm_error(SF_ERR_ARG, "%s \"%.80s\": expected seconds from %g to %.0f", name, text,
                       (double)option->min / 1000, (double)option->max / 1000);
  *ms_p = (int64_t)(ms + 0.5);
  return SF_OK;
}

static sf_status_t parse_choice(const char *name, const char *text, const char *words, int32_t *index_p)
{
  for (const char *word = words; word != NULL; word = strchr(word, '|')) {
    word += *word == '|';
    size_t length = strcspn(word, "|");
    if (strlen(text) == length && strncmp(word, text, length) == 0)
      return SF_OK;
    ++*index_p;
  }
  return sfshm_error(SF_ERR_ARG, "%s \"%.80s\": expected %s", name, text, words);
}

static sf_status_t apply(const sftool_option_t *option, void *options, const char *text)
{
  void *field = (char *)options + option->offset;
  char name[40];
  int64_t number = 0;
  int32_t index = 0;
  sf_status_t status = SF_OK;
  snprintf(name, sizeof name, "--%s", option->name);
  switch (option->kind) {
  case SFTOOL_FLAG:
  case SFTOOL_NO_FLAG:
    *(bool *)field = option->kind == SFTOOL_FLAG;
    return SF_OK;
  case SFTOOL_TEXT:
    if (*text == '\0')
      return sfshm_error(SF_ERR_ARG, "%s: expected %s, found an empty text", name, option->argument);
    *(const char **)field = text;
    return SF_OK;
  case SFTOOL_WORD:
  case SFTOOL_CHOICE:
    status = parse_choice(name, text, option->argument, &index);
    if (status == SF_OK && option->kind == SFTOOL_WORD)
      *(const char **)field = text;
    else if (status == SF_OK)
      *(int32_t *)field = index;
    return status;
  case SFTOOL_INTEGER:
    return sftool_parse_integer(name, text, option->min, option->max, field);
  case SFTOOL_INT:
    status = sftool_parse_integer(name, text, option->min, option->max, &number);
    if (status == SF_OK)
      *(int32_t *)field = (int32_t)number;
    return status;
  case SFTOOL_SECONDS:
    return parse_seconds(name, text, option, field);
  case SFTOOL_OWN:
    return option->parse(option, options, text);
  }
  return SF_ERR_INTERNAL;
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

const sftool_option_t *sftool_option_find(const sftool_option_t table[], size_t n, const char *word)
{
  size_t length = strcspn(word, "=");
  for (size_t i = 0; i < n && strncmp(word, "--", 2) == 0; i++)
    if (strlen(table[i].name) == length - 2 && strncmp(word + 2, table[i].name, length - 2) == 0)
      return &table[i];
  return NULL;
}

sf_status_t sftool_option_take(const sftool_option_t *option, int argc, char *const argv[], int *at_p, void *options)
{
  const char *equals = strchr(argv[(*at_p)++], '=');
  if (option->argument == NULL && equals != NULL)
    return sfshm_error(SF_ERR_ARG, "--%s takes no value, found \"%.80s\"", option->name, equals + 1);
  if (option->argument == NULL || equals != NULL)
    return apply(option, options, equals != NULL ? equals + 1 : NULL);
  if (*at_p == argc)
    return sfshm_error(SF_ERR_ARG, "--%s: %s is missing", option->name, option->argument);
  return apply(option, options, argv[(*at_p)++]);
}

bool sftool_option_suggest(const sftool_option_t table[], size_t n, const char *word, char spelled[SFTOOL_SPELLED_SIZE],
                           char hint[SFTOOL_HINT_SIZE])
{
  char known[n][40];
  sfshm_suggest_t suggest = {.word = spelled};
  snprintf(spelled, SFTOOL_SPELLED_SIZE, "%.*s", (int)strcspn(word, "="), word);
  for (size_t i = 0; i < n; i++) {
    snprintf(known[i], sizeof known[i], "--%s", table[i].name);
    sfshm_suggest_show(&suggest, known[i]);
  }
  sfshm_suggest_hint(&suggest, hint);
  return suggest.best != NULL;
}

bool sftool_option_goes_with(const sftool_option_t *option, const char *command)
{
  char name[32];
  snprintf(name, sizeof name, " %.20s ", command);
  return option->with == NULL || strstr(option->with, name) != NULL;
}

void sftool_print_help(FILE *file, int column, const char *prefix, const char *name, const char *argument,
                       const char *help)
{
  char usage[48];
  int length = snprintf(usage, sizeof usage, "%s%s %s", prefix, name, argument != NULL ? argument : "");
  fprintf(file, length > column - 3 ? "  %s\n%*s" : "  %s%*s", usage,
          length > column - 3 ? column : column - 2 - length, "");
  sfreport_text_wrap(help, column, file);
}
