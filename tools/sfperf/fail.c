/* Ends the program with a text. Runs in each rank's only thread. */
#include "tools/sfperf/fail.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <sf/sf.h>

#include "proto/report/text.h"

static int my_rank(void)
{
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void sfperf_fail(const char *format, ...)
{
  char text[768];
  int begin = snprintf(text, sizeof text, "rank %d: ", my_rank());
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + begin, sizeof text - (size_t)begin, format, arguments);
  va_end(arguments);
  sfreport_text_complain("sfperf", text);
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  abort(); /* MPI_Abort is not declared to stay away */
}

void sfperf_fail_all(int exit_code, const char *format, ...)
{
  if (my_rank() == 0) {
    char text[768];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sfreport_text_complain("sfperf", text);
  }
  MPI_Finalize();
  exit(exit_code);
}

void sfperf_fail_status(sf_status_t status, const char *what)
{
  sfperf_fail("%s: %s (%s)", what, sf_strerror(status), sf_error_detail());
}

void *sfperf_malloc(size_t len_bytes)
{
  void *memory = malloc(len_bytes ? len_bytes : 1);
  if (!memory)
    sfperf_fail("out of memory (%zu bytes)", len_bytes);
  return memory;
}
