/* Output of short commands. */
#ifndef SFRUN_PROCESS_CAPTURE_H
#define SFRUN_PROCESS_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#include <sf/sf_status.h>

/* Runs the command (argv[0]: path) without input, and reads its output to the end, or for 30 s; then kills it. Free
 * *text_p, at most limit_bytes. errors: reads standard error, too. *ok_p: exit status 0. SF_ERR_NOT_FOUND, SF_ERR_PERM,
 * SF_ERR_SYS, SF_ERR_NOMEM. */
sf_status_t sfrun_capture(const char *const argv[], bool errors, size_t limit_bytes, char **text_p, bool *ok_p);

#endif
