/* Child processes: start and end. */
#ifndef SFRUN_PROCESS_PROCESS_H
#define SFRUN_PROCESS_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <sf/sf_status.h>

#define SFRUN_KEPT_FDS 2

/* A command. Descriptors of -1 are inherited; all others of sfrun are close-on-exec. */
typedef struct sfrun_command {
  const char *path;        /* with a slash */
  const char *const *argv; /* ended by NULL */
  char *const *variables;  /* "NAME=VALUE" to set in the child, "NAME" to unset, ended by NULL; NULL: none */
  int death_signal;        /* for the child if sfrun dies */
  bool own_group;          /* makes a process group of its own */
  int stdin_fd, stdout_fd, stderr_fd;
  int kept_fds[SFRUN_KEPT_FDS]; /* stay open with their numbers; 0 or -1: none */
} sfrun_command_t;

/* Finds an executable as the shell does. SF_ERR_NOT_FOUND or SF_ERR_PERM (not executable). */
sf_status_t sfrun_find_program(const char *name, char path_p[PATH_MAX]);

/* Starts the command; the errors include that of execve. SF_ERR_NOT_FOUND, SF_ERR_PERM, SF_ERR_SYS. */
sf_status_t sfrun_spawn(const sfrun_command_t *command, pid_t *pid_p);

/* Waits at most timeout_ms for a child to end, and reaps it: true, with *wait_status_p. SIGCHLD must be blocked. */
bool sfrun_wait_for(pid_t pid, int64_t timeout_ms, int *wait_status_p);

/* Ends a child: SIGTERM, after timeout_ms SIGKILL (*killed_p). Returns the wait status. */
int sfrun_end_child(pid_t pid, int64_t timeout_ms, bool *killed_p);

/* Ends the children of pids that are not 0: by the signal, repeated if it is not SIGTERM; after timeout_ms by SIGTERM,
 * at last SIGKILL. Reaps them and sets pids to 0. Returns how many needed SIGKILL. */
int sfrun_end_children(pid_t pids[], int32_t nchildren, int signal, int64_t timeout_ms);

/* 0..255 as a shell gives it: the exit status, or 128 + signal. */
int sfrun_exit_code(int wait_status);

/* "exit status 3" or "signal 9 (Killed)". Static storage. */
const char *sfrun_describe_end(int wait_status);

#endif
