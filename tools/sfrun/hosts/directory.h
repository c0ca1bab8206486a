/* Private directory of sfrun: sockets, key, lists. */
#ifndef SFRUN_HOSTS_DIRECTORY_H
#define SFRUN_HOSTS_DIRECTORY_H

#include <stddef.h>

#include <sf/sf_status.h>

#include "tools/sfrun/mpi/place.h"

/* Creates a directory for this user only, in the first of XDG_RUNTIME_DIR, TMPDIR and /tmp that is writable, and short
 * enough for the path of a socket. SF_ERR_SYS. */
sf_status_t sfrun_directory_make(char path_p[SFRUN_SOCKET_BYTES]);

/* Removes it with its files; prints errors. */
void sfrun_directory_remove(const char *path);

/* Writes a new file that only this user can read. SF_ERR_SYS. */
sf_status_t sfrun_directory_write(const char *directory, const char *name, const void *bytes, size_t len_bytes);

#endif
