/* Reading counters without the daemon: see silent.h. The one thread of sfctl. */
#include "tools/sfctl/silent.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/address.h"
#include "proto/report/state.h"
#include "shm/base/error.h"

#define COUNTERS_LINK "/memfd:sf-counters"

/* The process that last listened at the socket; it need not answer. */
static sf_status_t find_process(const char *socket_path, int32_t *pid_p)
{
  struct ucred peer;
  socklen_t length = sizeof peer;
  int fd;
  sf_status_t status = sfproto_connect(socket_path, &fd);
  if (status != SF_OK)
    return status;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    status = sfshm_error_errno(SF_ERR_SYS, "looking for the process of sfd");
  else if (peer.pid <= 0)
    status = sfshm_error(SF_ERR_SYS, "sfd does not answer, and its process can't be seen from here");
  close(fd);
  if (status == SF_OK)
    *pid_p = peer.pid;
  return status;
}

static sf_status_t refused(int32_t pid, const char *what)
{
  if (errno == EACCES || errno == EPERM)
    return sfshm_error(
        SF_ERR_PERM, "sfd (pid %d) does not answer, and %s may not be read: only its own user and root may", pid, what);
  return sfshm_error_errno(SF_ERR_SYS, "sfd (pid %d) does not answer, and %s can't be read", pid, what);
}

static sf_status_t add_state(int fd, sfreport_list_t *list)
{
  Sfproto__Message *message;
  sfreport_item_t *item;
  if (sfreport_state_read(fd, 0, &message) != SF_OK)
    return SF_OK;
  sf_status_t status = sfreport_list_add(list, message, &item);
  if (status != SF_OK)
    sfproto__message__free_unpacked(message, NULL);
  return status;
}

/* Skips other descriptors, and those closed meanwhile. */
static sf_status_t add_if_counters(int32_t pid, const char *name, sfreport_list_t *list)
{
  char path[64], link[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%.20s", pid, name);
  ssize_t length = readlink(path, link, sizeof link - 1);
  if (length < 0)
    return errno == ENOENT ? SF_OK : refused(pid, path);
  link[length] = '\0';
  if (strncmp(link, COUNTERS_LINK, strlen(COUNTERS_LINK)) != 0)
    return SF_OK;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return errno == ENOENT ? SF_OK : refused(pid, path);
  sf_status_t status = add_state(fd, list);
  close(fd);
  return status;
}

static sf_status_t add_all(int32_t pid, sfreport_list_t *list)
{
  char path[32];
  sf_status_t status = SF_OK;
  snprintf(path, sizeof path, "/proc/%d/fd", pid);
  DIR *directory = opendir(path);
  if (directory == NULL)
    return errno == ENOENT ? sfshm_error(SF_ERR_DAEMON_LOST, "sfd (pid %d) has ended", pid) : refused(pid, path);
  struct dirent *entry;
  while (status == SF_OK && (entry = readdir(directory)) != NULL)
    if (isdigit((unsigned char)entry->d_name[0]))
      status = add_if_counters(pid, entry->d_name, list);
  closedir(directory);
  return status;
}

sf_status_t sfctl_silent_collect(const char *socket_path, sfreport_list_t *list)
{
  int32_t pid;
  sf_status_t status = find_process(socket_path, &pid);
  return status == SF_OK ? add_all(pid, list) : status;
}
