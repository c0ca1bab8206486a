/* Clipping: see clip.h. Any thread. */
#include "tools/sfctl/print/clip.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "proto/report/text.h"

#define DOTS ".."

const char *sfctl_clip_middle(const char *text, int width, char *clipped, size_t size)
{
  int length = (int)strlen(text), dots = (int)strlen(DOTS);
  int kept = width > dots ? width - dots : 0;
  int tail = kept / 2;
  if (length <= width)
    snprintf(clipped, size, "%s", text);
  else
    snprintf(clipped, size, "%.*s%s%s", kept - tail, text, DOTS, text + length - tail);
  return clipped;
}

int sfctl_clip_bytes(const char *text, int width)
{
  size_t bytes = 0;
  for (int i = 0; i < width && text[bytes] != '\0'; i++) {
    size_t length = sfreport_text_utf8_length(text + bytes);
    bytes += length > 0 ? length : 1;
  }
  return (int)bytes;
}

int sfctl_clip_terminal_width(void)
{
  struct winsize size;
  return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
