/* Command of sfd: see sfd_command.h. Single-threaded. */
#include "tools/sfrun/sfd_command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/base/error.h"
#include "tools/sfrun/process/process.h"

sf_status_t sfrun_sfd_find(const sfrun_options_t *options, char path_p[PATH_MAX])
{
  if (options->sfd)
    return sfrun_find_program(options->sfd, path_p);
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "sfd");
  if (length > 0) {
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "sfd");
    if (sfrun_find_program(path, path_p) == SF_OK)
      return SF_OK;
  }
  sf_status_t status = sfrun_find_program("sfd", path_p);
  return status ? sfshm_error(status, "no sfd beside sfrun or in PATH: name one by --sfd") : SF_OK;
}

/* Log level of the daemon; NULL: its default. Beside a program's output only problems are printed, unless requested. */
static const char *choose_log_level(const sfrun_options_t *options)
{
  static const char key[] = "log-level=";
  for (int i = 0; i < options->nsfd_options; i++)
    if (strncmp(options->sfd_options[i], key, strlen(key)) == 0)
      return NULL;
  if (options->log_level || options->daemon_log || getenv("SFD_LOG_LEVEL"))
    return options->log_level;
  return "warn";
}

/* Pointers, then the texts of --KEY=VALUE. */
sf_status_t sfrun_sfd_arguments(const sfrun_options_t *options, const char *const words[], const char ***args_p)
{
  size_t nwords = 0, text_bytes = 0;
  while (words[nwords])
    nwords++;
  size_t npointers = nwords + (size_t)options->nsfd_options + 4; /* sfd --log-level LEVEL, and the end */
  for (int i = 0; i < options->nsfd_options; i++)
    text_bytes += strlen(options->sfd_options[i]) + sizeof "--";
  const char **args = calloc(1, npointers * sizeof *args + text_bytes);
  if (!args)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the daemon's arguments");

  const char *log_level = choose_log_level(options);
  char *text = (char *)(args + npointers);
  size_t nargs = 0;
  args[nargs++] = "sfd";
  for (size_t i = 0; i < nwords; i++)
    args[nargs++] = words[i];
  if (log_level) {
    args[nargs++] = "--log-level";
    args[nargs++] = log_level;
  }
  for (int i = 0; i < options->nsfd_options; i++) {
    args[nargs++] = text;
    text = stpcpy(stpcpy(text, "--"), options->sfd_options[i]) + 1;
  }
  *args_p = args;
  return SF_OK;
}
