/* Texts: see text.h. Pure functions. */
#include "daemon/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_NAME_LENGTH 255
#define MAX_RANGES 16

static bool printable(char c)
{
  return c >= ' ' && c <= '~';
}

void sfd_text_printable(char *to, size_t to_size, const char *from)
{
  size_t i = 0;
  for (; from != NULL && from[i] != '\0' && i + 1 < to_size; i++)
    to[i] = printable(from[i]) ? from[i] : '?';
  to[i] = '\0';
}

bool sfd_text_is_name(const char *text)
{
  size_t i = 0;
  while (text != NULL && i <= MAX_NAME_LENGTH && printable(text[i]))
    i++;
  return i > 0 && i <= MAX_NAME_LENGTH && text[i] == '\0';
}

void sfd_text_append(char *text, size_t text_size, const char *format, ...)
{
  size_t length = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + length, text_size - length, format, args);
  va_end(args);
}

void sfd_text_ranges(char *text, size_t text_size, int32_t n, bool (*chosen)(const void *context, int32_t i),
                     const void *context)
{
  int nranges = 0;
  text[0] = '\0';
  for (int32_t first = 0, next; first < n; first = next) {
    next = first + 1;
    if (!chosen(context, first))
      continue;
    while (next < n && chosen(context, next))
      next++;
    if (nranges == MAX_RANGES) {
      sfd_text_append(text, text_size, ", ...");
      return;
    }
    sfd_text_append(text, text_size, nranges++ > 0 ? ", %d" : "%d", first);
    if (next - first > 1)
      sfd_text_append(text, text_size, "-%d", next - 1);
  }
}
