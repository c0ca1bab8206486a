/* Private directory: see directory.h. Single-threaded. */
#include "tools/sfrun/hosts/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/base/error.h"

#define DIRECTORY_TEMPLATE "sfrun-XXXXXX"

static bool make_in(const char *base, char path_p[SFRUN_SOCKET_BYTES])
{
  char path[SFRUN_SOCKET_BYTES];
  if (!base || *base != '/' ||
      strlen(base) + sizeof "/" DIRECTORY_TEMPLATE "/" SFRUN_LONGEST_SOCKET > SFRUN_SOCKET_BYTES)
    return false;
  stpcpy(stpcpy(path, base), "/" DIRECTORY_TEMPLATE);
  if (!mkdtemp(path))
    return false;
  strcpy(path_p, path);
  return true;
}

sf_status_t sfrun_directory_make(char path_p[SFRUN_SOCKET_BYTES])
{
  const char *const bases[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
    if (make_in(bases[i], path_p))
      return SF_OK;
  return sfshm_error_errno(SF_ERR_SYS, "no directory for the daemon's socket can be made: XDG_RUNTIME_DIR, TMPDIR "
                                       "and /tmp are unset, too long or not writable");
}

void sfrun_directory_remove(const char *path)
{
  DIR *directory = opendir(path);
  for (struct dirent *entry; directory && (entry = readdir(directory));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      unlinkat(dirfd(directory), entry->d_name, 0);
  if (directory)
    closedir(directory);
  if (rmdir(path) != 0 && errno != ENOENT)
    fprintf(stderr, "sfrun: %s can't be removed: %s\n", path, strerror(errno));
}

sf_status_t sfrun_directory_write(const char *directory, const char *name, const void *bytes, size_t len_bytes)
{
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
    return sfshm_error(SF_ERR_SYS, "a path of more than %zu bytes", sizeof path);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return sfshm_error_errno(SF_ERR_SYS, "%s can't be made", path);
  bool written = write(fd, bytes, len_bytes) == (ssize_t)len_bytes;
  sf_status_t status = written ? SF_OK : sfshm_error_errno(SF_ERR_SYS, "%s can't be written", path);
  close(fd);
  return status;
}
