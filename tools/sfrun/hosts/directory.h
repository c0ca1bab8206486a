/* The private directory of one sfrun: sockets, key, lists. */
#ifndef SFRUN_HOSTS_DIRECTORY_H
#define SFRUN_HOSTS_DIRECTORY_H

#include <stddef.h>

#include <sf/sf_status.h>

#include "tools/sfrun/mpi/place.h"

/* Makes a directory that only this user can look into, below XDG_RUNTIME_DIR, TMPDIR or /tmp: the first in which the
 * path of a socket is short enough and that can be written. SF_ERR_SYS. */
sf_status_t sfrun_directory_make(char path_p[SFRUN_SOCKET_BYTES]);

/* Removes it with the files in it, and says on standard error if that can't be done. */
void sfrun_directory_remove(const char *path);

/* Writes a new file that only this user can read. SF_ERR_SYS. */
sf_status_t sfrun_directory_write(const char *directory, const char *name, const void *bytes, size_t len_bytes);

#endif
