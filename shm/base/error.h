/* The thread-local detail text that accompanies an error status: who detects an error says once what was expected and
 * what was found; callers pass the status on. */
#ifndef SFSHM_ERROR_H
#define SFSHM_ERROR_H

#include <sf/sf_status.h>

#define SFSHM_DETAIL_BYTES 512 /* of the text at most, with the 0 at its end */

/* Stores the text for this thread and returns status. */
sf_status_t sfshm_error(sf_status_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As sfshm_error with ": " and the text of errno appended. ENOMEM gives SF_ERR_NOMEM instead of status. */
sf_status_t sfshm_error_errno(sf_status_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text stored last in this thread; "" if none. */
const char *sfshm_error_detail(void);

/* Fixed text of a status code, "unknown status" for others. */
const char *sfshm_strerror(sf_status_t status);

#endif
