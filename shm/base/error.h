/* Thread-local detail text of an error. The function that detects an error stores the text once, with the expected
 * value and the value found; callers pass on the status. */
#ifndef SFSHM_BASE_ERROR_H
#define SFSHM_BASE_ERROR_H

#include <sf/sf_status.h>

#define SFSHM_DETAIL_BYTES 512 /* maximum length of the text, terminating 0 included */

/* Stores the text for this thread. Returns status. */
sf_status_t sfshm_error(sf_status_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As sfshm_error, with ": " and the text of errno appended. Returns SF_ERR_NOMEM instead of status if errno is ENOMEM.
 */
sf_status_t sfshm_error_errno(sf_status_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The last text of this thread; "" if there is none. */
const char *sfshm_error_detail(void);

/* Text of a status code; "unknown status" for unknown codes. Static. */
const char *sfshm_strerror(sf_status_t status);

#endif
