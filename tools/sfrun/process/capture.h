/* What a short command prints. */
#ifndef SFRUN_PROCESS_CAPTURE_H
#define SFRUN_PROCESS_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#include <sf/sf_status.h>

/* Runs the command (argv[0] is its path) with no input, and reads what it prints until its end, or 30 s; then it is
 * killed. *text_p, to be freed, has at most limit_bytes; errors: whether standard error is read too, or left as it is.
 * *ok_p: it ended by itself with status 0. SF_ERR_NOT_FOUND, SF_ERR_PERM, SF_ERR_SYS, SF_ERR_NOMEM. */
sf_status_t sfrun_capture(const char *const argv[], bool errors, size_t limit_bytes, char **text_p, bool *ok_p);

#endif
