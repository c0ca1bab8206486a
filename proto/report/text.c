/* Texts for people: see text.h. Pure functions. */
#include "proto/report/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COMPLAINT_BYTES 1024 /* longer than error details */
#define WRAP_COLUMNS 80
#define MAX_DURATION_S 1e12 /* more is no measured duration */

const char *sfreport_text_bytes(uint64_t bytes, char buffer[SFREPORT_TEXT_SIZE])
{
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    snprintf(buffer, SFREPORT_TEXT_SIZE, "%" PRIu64 " B", bytes);
    return buffer;
  }
  double value = (double)bytes / 1024;
  size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]; unit++) /* would print as 1024.0 */
    value /= 1024;
  snprintf(buffer, SFREPORT_TEXT_SIZE, "%.1f %s", value, units[unit]);
  return buffer;
}

const char *sfreport_text_duration(double seconds, char buffer[SFREPORT_TEXT_SIZE])
{
  if (!(seconds >= 0 && seconds <= MAX_DURATION_S)) {
    snprintf(buffer, SFREPORT_TEXT_SIZE, "-");
    return buffer;
  }
  uint64_t s = (uint64_t)seconds;
  if (seconds < 9.95)
    snprintf(buffer, SFREPORT_TEXT_SIZE, "%.1f s", seconds);
  else if (s < 60)
    snprintf(buffer, SFREPORT_TEXT_SIZE, "%" PRIu64 " s", s);
  else if (s < 3600)
    snprintf(buffer, SFREPORT_TEXT_SIZE, "%" PRIu64 " min %02" PRIu64 " s", s / 60, s % 60);
  else if (s < 86400)
    snprintf(buffer, SFREPORT_TEXT_SIZE, "%" PRIu64 " h %02" PRIu64 " min", s / 3600, s / 60 % 60);
  else
    snprintf(buffer, SFREPORT_TEXT_SIZE, "%" PRIu64 " d %02" PRIu64 " h", s / 86400, s / 3600 % 24);
  return buffer;
}

const char *sfreport_text_printable(const char *text, char *buffer, size_t size_bytes)
{
  size_t used = 0;
  buffer[0] = '\0';
  for (; *text != '\0'; text++) {
    unsigned char c = (unsigned char)*text;
    char piece[5];
    if (c == '\n' || c == '\t')
      snprintf(piece, sizeof piece, "\\%c", c == '\n' ? 'n' : 't');
    else
      snprintf(piece, sizeof piece, c >= 0x20 && c < 0x7f ? "%c" : "\\x%02x", c);
    size_t length = strlen(piece);
    if (used + length >= size_bytes)
      break;
    memcpy(buffer + used, piece, length + 1);
    used += length;
  }
  return buffer;
}

void sfreport_text_wrap(const char *text, int indent, FILE *file)
{
  int column = indent;
  while (*text != '\0') {
    int length = (int)strcspn(text, " ");
    if (column > indent && column + 1 + length > WRAP_COLUMNS) {
      fprintf(file, "\n%*s", indent, "");
      column = indent;
    }
    column += fprintf(file, "%s%.*s", column > indent ? " " : "", length, text);
    text += length + (text[length] == ' ');
  }
  fputc('\n', file);
}

void sfreport_text_complain(const char *program, const char *text)
{
  char printable[SFREPORT_PRINTABLE_SIZE(COMPLAINT_BYTES)];
  fprintf(stderr, "%s: %s\n", program, sfreport_text_printable(text, printable, sizeof printable));
}

size_t sfreport_text_utf8_length(const char *text)
{
  const unsigned char *at = (const unsigned char *)text;
  unsigned char lead = at[0], low = 0x80, high = 0xbf; /* range of the second byte */
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
  if (at[1] < low || at[1] > high)
    return 0;
  for (size_t i = 2; i < length; i++)
    if ((at[i] & 0xc0) != 0x80)
      return 0;
  return length;
}
