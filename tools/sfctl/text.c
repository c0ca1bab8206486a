/* Figures and foreign text for people. Pure functions. */
#include "tools/sfctl/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_DURATION_S 1e12 /* what exceeds it is no duration that anybody measured */

const char *sfctl_text_bytes(uint64_t bytes, char buffer[SFCTL_TEXT_SIZE])
{
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    snprintf(buffer, SFCTL_TEXT_SIZE, "%" PRIu64 " B", bytes);
    return buffer;
  }
  double value = (double)bytes / 1024;
  size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]; unit++) /* would print as 1024.0 */
    value /= 1024;
  snprintf(buffer, SFCTL_TEXT_SIZE, "%.1f %s", value, units[unit]);
  return buffer;
}

const char *sfctl_text_duration(double seconds, char buffer[SFCTL_TEXT_SIZE])
{
  if (!(seconds >= 0 && seconds <= MAX_DURATION_S)) {
    snprintf(buffer, SFCTL_TEXT_SIZE, "-");
    return buffer;
  }
  uint64_t s = (uint64_t)seconds;
  if (seconds < 9.95)
    snprintf(buffer, SFCTL_TEXT_SIZE, "%.1f s", seconds);
  else if (s < 60)
    snprintf(buffer, SFCTL_TEXT_SIZE, "%" PRIu64 " s", s);
  else if (s < 3600)
    snprintf(buffer, SFCTL_TEXT_SIZE, "%" PRIu64 " min %02" PRIu64 " s", s / 60, s % 60);
  else if (s < 86400)
    snprintf(buffer, SFCTL_TEXT_SIZE, "%" PRIu64 " h %02" PRIu64 " min", s / 3600, s / 60 % 60);
  else
    snprintf(buffer, SFCTL_TEXT_SIZE, "%" PRIu64 " d %02" PRIu64 " h", s / 86400, s / 3600 % 24);
  return buffer;
}

const char *sfctl_text_printable(const char *text, char *buffer, size_t size_bytes)
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
