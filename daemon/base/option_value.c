/* Values of options: see option_value.h. The daemon's thread, at start. */
#include "daemon/base/option_value.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/log.h"
#include "shm/base/error.h"

#define MAX_WHOLE_DIGITS 12 /* seconds, so that milliseconds fit in 64 bits */

static void *field_of(sfd_options_t *options, const sfd_option_t *option)
{
  return (char *)options + option->offset;
}

static const void *const_field_of(const sfd_options_t *options, const sfd_option_t *option)
{
  return (const char *)options + option->offset;
}

static bool parse_integer(const char *text, int64_t *value_p)
{
  if (!isdigit((unsigned char)text[text[0] == '-']))
    return false; /* strtoll would accept blanks and a plus sign */
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (*end || errno)
    return false;
  *value_p = value;
  return true;
}

/* Decimal seconds with at most three decimals, in any locale. */
static bool parse_seconds(const char *text, int64_t *ms_p)
{
  static const char digits[] = "0123456789";
  size_t whole = strspn(text, digits), decimals = 0;
  const char *fraction = text + whole;
  if (*fraction == '.')
    decimals = strspn(++fraction, digits);
  if (whole + decimals == 0 || whole > MAX_WHOLE_DIGITS || decimals > 3 || fraction[decimals])
    return false;
  int64_t ms = 0;
  for (size_t i = 0; i < whole; i++)
    ms = 10 * ms + (text[i] - '0');
  for (size_t i = 0; i < 3; i++)
    ms = 10 * ms + (i < decimals ? fraction[i] - '0' : 0);
  *ms_p = ms;
  return true;
}

static bool parse_bool(const char *text, bool *value_p)
{
  static const char *const words[][2] = {{"no", "yes"}, {"false", "true"}, {"off", "on"}, {"0", "1"}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    for (int value = 0; value < 2; value++) {
      if (strcmp(text, words[i][value]) == 0) {
        *value_p = value;
        return true;
      }
    }
  }
  return false;
}

static bool has_control(const char *text)
{
  while (*text && !iscntrl((unsigned char)*text))
    text++;
  return *text;
}

static const char *format_seconds(int64_t ms, char out[SFD_OPTION_TEXT_SIZE])
{
  int length = snprintf(out, SFD_OPTION_TEXT_SIZE, "%lld.%03d", (long long)(ms / 1000), (int)(ms % 1000));
  while (out[length - 1] == '0')
    out[--length] = '\0';
  if (out[length - 1] == '.')
    out[length - 1] = '\0';
  return out;
}

static sf_status_t set_integer(const sfd_option_t *option, const char *label, const char *text, int64_t *field)
{
  int64_t value = 0;
  if (!parse_integer(text, &value) || value < option->min || value > option->max)
    return sfshm_error(SF_ERR_ARG, "%s: expected an integer from %lld to %lld, found '%.80s'", label,
                       (long long)option->min, (long long)option->max, text);
  if (field)
    *field = value;
  return SF_OK;
}

static sf_status_t set_seconds(const sfd_option_t *option, const char *label, const char *text, int64_t *field)
{
  int64_t value = 0;
  char low[SFD_OPTION_TEXT_SIZE], high[SFD_OPTION_TEXT_SIZE];
  if (!parse_seconds(text, &value) || value < option->min || value > option->max)
    return sfshm_error(SF_ERR_ARG, "%s: expected seconds from %s to %s with at most 3 decimals, found '%.80s'", label,
                       format_seconds(option->min, low), format_seconds(option->max, high), text);
  if (field)
    *field = value;
  return SF_OK;
}

static sf_status_t set_bool(const char *label, const char *text, bool *field)
{
  bool value = false;
  if (!parse_bool(text, &value))
    return sfshm_error(SF_ERR_ARG, "%s: expected yes or no (or true, false, on, off, 1, 0), found '%.80s'", label,
                       text);
  if (field)
    *field = value;
  return SF_OK;
}

static bool is_among(const char *words, const char *text)
{
  size_t length = strlen(text);
  for (const char *word = words; *word; word += strcspn(word, "|"), word += *word == '|')
    if (strcspn(word, "|") == length && strncmp(word, text, length) == 0)
      return true;
  return false;
}

/* Refuses control characters, which would break printed lines. */
static sf_status_t check_text(const sfd_option_t *option, const char *label, const char *text)
{
  sfd_log_levels_t levels;
  if (option->type == SFD_OPTION_LEVELS && sfd_log_parse(text, &levels) != SF_OK)
    return sfshm_error(SF_ERR_ARG, "%s: %s", label, sfshm_error_detail());
  if (option->type == SFD_OPTION_CHOICE && strcmp(text, option->default_text) != 0 && !is_among(option->unit, text))
    return sfshm_error(SF_ERR_ARG, "%s: expected %s, found '%.80s'", label, option->unit, text);
  if (has_control(text))
    return sfshm_error(SF_ERR_ARG, "%s: expected text without control characters, found '%.80s'", label, text);
  return SF_OK;
}

static sf_status_t set_text(const sfd_option_t *option, const char *label, const char *text, char **field)
{
  bool yes;
  if (strncmp(option->unit, "yes|no", 6) == 0 && parse_bool(text, &yes))
    text = yes ? "yes" : "no";
  sf_status_t status = check_text(option, label, text);
  if (status || !field)
    return status;
  char *copy = strdup(text);
  if (!copy)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the options");
  free(*field);
  *field = copy;
  return SF_OK;
}

sf_status_t sfd_option_set(const sfd_option_t *option, const char *label, const char *text, sfd_options_t *options)
{
  void *field = options ? field_of(options, option) : NULL;
  switch (option->type) {
  case SFD_OPTION_PATH:
  case SFD_OPTION_LEVELS:
  case SFD_OPTION_CHOICE:
    return set_text(option, label, text, field);
  case SFD_OPTION_INTEGER:
    return set_integer(option, label, text, field);
  case SFD_OPTION_SECONDS:
    return set_seconds(option, label, text, field);
  case SFD_OPTION_BOOL:
  case SFD_OPTION_ACTION:
    return set_bool(label, text, field);
  }
  return sfshm_error(SF_ERR_INTERNAL, "%s: option of unknown type %d", label, (int)option->type);
}

const char *sfd_option_text(const sfd_option_t *option, const sfd_options_t *options, char buffer[SFD_OPTION_TEXT_SIZE])
{
  const void *field = const_field_of(options, option);
  switch (option->type) {
  case SFD_OPTION_PATH:
  case SFD_OPTION_LEVELS:
  case SFD_OPTION_CHOICE:
    return *(char *const *)field;
  case SFD_OPTION_INTEGER:
    snprintf(buffer, SFD_OPTION_TEXT_SIZE, "%lld", (long long)*(const int64_t *)field);
    return buffer;
  case SFD_OPTION_SECONDS:
    return format_seconds(*(const int64_t *)field, buffer);
  case SFD_OPTION_BOOL:
  case SFD_OPTION_ACTION:
    return *(const bool *)field ? "yes" : "no";
  }
  return "";
}

void sfd_option_clear(const sfd_option_t *option, sfd_options_t *options)
{
  if (option->type != SFD_OPTION_PATH && option->type != SFD_OPTION_LEVELS && option->type != SFD_OPTION_CHOICE)
    return;
  char **field = field_of(options, option);
  free(*field);
  *field = NULL;
}
