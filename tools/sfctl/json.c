/* JSON (RFC 8259) as a stream of values. The one thread of sfctl. */
#include "tools/sfctl/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Length of the valid UTF-8 sequence (RFC 3629: shortest form, no surrogates, at most U+10FFFF) at text; 0 if there is
 * none. Stops at the terminating 0, which continues nothing. */
static size_t utf8_length(const unsigned char *text)
{
  unsigned char lead = text[0], low = 0x80, high = 0xbf; /* range of the second byte */
  if (lead < 0x80)
    return 1;
  if (lead < 0xc2 || lead > 0xf4)
    return 0;
  if (lead == 0xe0)
    low = 0xa0;
  else if (lead == 0xed)
    high = 0x9f;
  else if (lead == 0xf0)
    low = 0x90;
  else if (lead == 0xf4)
    high = 0x8f;
  size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text[1] < low || text[1] > high)
    return 0;
  for (size_t i = 2; i < length; i++)
    if ((text[i] & 0xc0) != 0x80)
      return 0;
  return length;
}

static void write_ascii(FILE *file, unsigned char c)
{
  static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
  const char *found = strchr(plain, c);
  if (found != NULL)
    fprintf(file, "\\%c", letters[found - plain]);
  else if (c < 0x20 || c == 0x7f)
    fprintf(file, "\\u%04x", (unsigned)c);
  else
    fputc(c, file);
}

static void write_string(FILE *file, const char *text)
{
  const unsigned char *at = (const unsigned char *)text;
  fputc('"', file);
  while (*at != 0) {
    size_t length = utf8_length(at);
    if (length == 0)
      fputs("\\ufffd", file);
    else if (length == 1)
      write_ascii(file, *at);
    else
      fwrite(at, 1, length, file);
    at += length > 0 ? length : 1;
  }
  fputc('"', file);
}

/* What stands between this value and what was written before. */
static void begin_value(sfctl_json_t *json, const char *name)
{
  if (json->follows)
    fputc(',', json->file);
  if (json->depth == 1 && name == NULL)
    fputc('\n', json->file);
  if (name != NULL) {
    write_string(json->file, name);
    fputc(':', json->file);
  }
}

static void end_value(sfctl_json_t *json)
{
  json->follows = true;
  if (json->depth == 0)
    fputc('\n', json->file);
}

static void open_value(sfctl_json_t *json, const char *name, char bracket)
{
  begin_value(json, name);
  fputc(bracket, json->file);
  json->depth++;
  json->follows = false;
}

static void close_value(sfctl_json_t *json, char bracket)
{
  json->depth--;
  fputc(bracket, json->file);
  end_value(json);
}

void sfctl_json_begin_object(sfctl_json_t *json, const char *name)
{
  open_value(json, name, '{');
}

void sfctl_json_end_object(sfctl_json_t *json)
{
  close_value(json, '}');
}

void sfctl_json_begin_array(sfctl_json_t *json, const char *name)
{
  open_value(json, name, '[');
}

void sfctl_json_end_array(sfctl_json_t *json)
{
  if (json->depth == 1 && json->follows)
    fputc('\n', json->file);
  close_value(json, ']');
}

void sfctl_json_string(sfctl_json_t *json, const char *name, const char *text)
{
  if (text == NULL) {
    sfctl_json_null(json, name);
    return;
  }
  begin_value(json, name);
  write_string(json->file, text);
  end_value(json);
}

void sfctl_json_int(sfctl_json_t *json, const char *name, int64_t value)
{
  begin_value(json, name);
  fprintf(json->file, "%" PRId64, value);
  end_value(json);
}

void sfctl_json_uint(sfctl_json_t *json, const char *name, uint64_t value)
{
  begin_value(json, name);
  fprintf(json->file, "%" PRIu64, value);
  end_value(json);
}

void sfctl_json_double(sfctl_json_t *json, const char *name, double value)
{
  if (!isfinite(value)) {
    sfctl_json_null(json, name);
    return;
  }
  begin_value(json, name);
  fprintf(json->file, "%.3f", value);
  end_value(json);
}

void sfctl_json_bool(sfctl_json_t *json, const char *name, bool value)
{
  begin_value(json, name);
  fputs(value ? "true" : "false", json->file);
  end_value(json);
}

void sfctl_json_null(sfctl_json_t *json, const char *name)
{
  begin_value(json, name);
  fputs("null", json->file);
  end_value(json);
}
