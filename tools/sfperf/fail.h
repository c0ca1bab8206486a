/* How sfperf gives up: a measurement that went wrong has no result, so every failure ends all ranks. */
#ifndef SFPERF_FAIL_H
#define SFPERF_FAIL_H

#include <stddef.h>

#include <sf/sf_status.h>

/* Prints the text with this rank's number and ends all ranks. */
_Noreturn void sfperf_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For errors that every rank finds alike (options, files): rank 0 prints, all exit with exit_code. Collective. */
_Noreturn void sfperf_fail_all(int exit_code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fails with the library's texts. what: the call that returned the status. */
_Noreturn void sfperf_fail_status(sf_status_t status, const char *what);

/* The same unless status is SF_OK. Inline: it is part of what is timed. */
static inline void sfperf_check(sf_status_t status, const char *what)
{
  if (status != SF_OK)
    sfperf_fail_status(status, what);
}

/* Calls the function, and checks its status. */
#define sfperf_call(function, ...) sfperf_check(function(__VA_ARGS__), #function)

/* Memory or failure; len_bytes may be 0. */
void *sfperf_malloc(size_t len_bytes);

#endif
