/* JSON (RFC 8259) as a stream of values. The one thread of sfctl. */
#include "tools/sfctl/print/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "proto/report/text.h"

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
  fputc('"', file);
  while (*text != '\0') {
    size_t length = sfreport_text_utf8_length(text);
    if (length == 0)
      fputs("\\ufffd", file);
    else if (length == 1)
      write_ascii(file, (unsigned char)*text);
    else
      fwrite(text, 1, length, file);
    text += length > 0 ? length : 1;
  }
  fputc('"', file);
}

/* Separator before the value. */
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

void sfctl_json_put(sfctl_json_t *json, const char *name, sfctl_value_t value)
{
  begin_value(json, name);
  if (value.kind == SFCTL_STRING)
    write_string(json->file, value.s);
  else if (value.kind == SFCTL_INT)
    fprintf(json->file, "%" PRId64, value.i);
  else if (value.kind == SFCTL_UINT)
    fprintf(json->file, "%" PRIu64, value.u);
  else if (value.kind == SFCTL_DOUBLE && isfinite(value.d))
    fprintf(json->file, "%.3f", value.d);
  else if (value.kind == SFCTL_BOOL)
    fputs(value.b ? "true" : "false", json->file);
  else
    fputs("null", json->file);
  end_value(json);
}

void sfctl_json_put_numbers(sfctl_json_t *json, const char *name, const int32_t numbers[], size_t n)
{
  sfctl_json_begin_array(json, name);
  for (size_t i = 0; i < n; i++)
    sfctl_json_put(json, NULL, sfctl_int(numbers[i]));
  sfctl_json_end_array(json);
}

void sfctl_json_put_members(sfctl_json_t *json, const sfctl_member_t members[], size_t n)
{
  for (size_t i = 0; i < n; i++)
    sfctl_json_put(json, members[i].name, members[i].value);
}

void sfctl_json_put_object(sfctl_json_t *json, const char *name, const sfctl_member_t members[], size_t n)
{
  sfctl_json_begin_object(json, name);
  sfctl_json_put_members(json, members, n);
  sfctl_json_end_object(json);
}
