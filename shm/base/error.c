/* Thread-local error details and the texts of status codes. Any thread. */
#include "shm/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char detail[SFSHM_DETAIL_BYTES];

static size_t format_detail(const char *format, va_list args)
{
  char text[sizeof detail]; /* the arguments may contain the old detail */
  int length = vsnprintf(text, sizeof text, format, args);
  memcpy(detail, text, sizeof text);
  return length < 0 ? 0 : (size_t)length < sizeof detail ? (size_t)length : sizeof detail - 1;
}

sf_status_t sfshm_error(sf_status_t status, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  format_detail(format, args);
  va_end(args);
  return status;
}

sf_status_t sfshm_error_errno(sf_status_t status, const char *format, ...)
{
  int code = errno;
  va_list args;
  va_start(args, format);
  size_t length = format_detail(format, args);
  va_end(args);
  snprintf(detail + length, sizeof detail - length, ": %s", strerror(code));
  return code == ENOMEM ? SF_ERR_NOMEM : status;
}

const char *sfshm_error_detail(void)
{
  return detail;
}

const char *sfshm_strerror(sf_status_t status)
{
  switch (status) {
#define STATUS_TEXT(name, value, text)                                                                                 \
  case name:                                                                                                           \
    return text;
    SF_STATUS_TABLE(STATUS_TEXT)
#undef STATUS_TEXT
  }
  return "unknown status";
}
