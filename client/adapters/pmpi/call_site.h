/* Texts by which sfctl shows the graphs of a communicator: its name, its collectives, and where it was created. */
#ifndef SFC_ADAPTERS_PMPI_CALL_SITE_H
#define SFC_ADAPTERS_PMPI_CALL_SITE_H

#include <stddef.h>

#define SFPMPI_CALL_SITE_BYTES 256

/* Writes "MPI_X in FUNCTION" or "MPI_X in FILE+OFFSET", for an address in the code that called MPI_X. addr2line finds
 * the source line of the offset. */
void sfpmpi_call_site_find(char *text, size_t size, const char *called, const void *caller);

/* Writes to text, of SFPMPI_CALL_SITE_BYTES, and returns it. name: of the communicator, may be empty. */
const char *sfpmpi_call_site_text(char *text, const char *name, const char *what, const char *made);

#endif
