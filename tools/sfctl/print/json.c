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
