/* Lists of hosts: see hosts.h. Single-threaded. */
#include "tools/sfrun/hosts/hosts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shm/base/error.h"
#include "tools/sfrun/hosts/directory.h"
#include "tools/sfrun/process/capture.h"
#include "tools/sfrun/process/process.h"

#define MAX_HOSTS 65536
#define MAX_SLOTS 1000000
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
#define SLURM_LIMIT_BYTES (1 << 22)

/* ---- One line ---- */

static sf_status_t parse_slots(const char *text, int32_t *slots_p)
{
  size_t ndigits = strspn(text, "0123456789");
  long slots = ndigits > 0 && ndigits < 8 && !text[ndigits] ? strtol(text, NULL, 10) : 0;
  if (slots < 1 || slots > MAX_SLOTS)
    return sfshm_error(SF_ERR_ARG, "\"%.80s\" slots: expected a whole number from 1 to %d", text, MAX_SLOTS);
  *slots_p = (int32_t)slots;
  return SF_OK;
}

/* A word after the host's name. max_slots of Open MPI is ignored. */
static sf_status_t parse_word(const char *word, int32_t *slots_p)
{
  if (strncmp(word, "slots=", 6) == 0)
    return parse_slots(word + 6, slots_p);
  if (strncmp(word, "max_slots=", 10) == 0 || strncmp(word, "max-slots=", 10) == 0)
    return SF_OK;
  return sfshm_error(SF_ERR_ARG, "\"%.80s\": expected HOST, HOST slots=N, or HOST:N", word);
}

static sf_status_t parse_name(char *word, sfrun_host_t *host)
{
  size_t len_bytes = strspn(word, NAME_CHARACTERS);
  if (len_bytes == 0 || word[0] == '-' || len_bytes >= sizeof host->name || (word[len_bytes] && word[len_bytes] != ':'))
    return sfshm_error(SF_ERR_ARG, "\"%.80s\" is no host's name", word);
  memcpy(host->name, word, len_bytes);
  host->name[len_bytes] = '\0';
  return word[len_bytes] ? parse_slots(word + len_bytes + 1, &host->slots) : SF_OK;
}

/* *found_p: the line has a host. Overwrites the line. */
static sf_status_t parse_line(char *line, sfrun_host_t *host, bool *found_p)
{
  char *state = NULL;
  line[strcspn(line, "#")] = '\0';
  char *word = strtok_r(line, " \t\r", &state);
  *found_p = word != NULL;
  sf_status_t status = word ? parse_name(word, host) : SF_OK;
  while (!status && word && (word = strtok_r(NULL, " \t\r", &state)))
    status = parse_word(word, &host->slots);
  return status;
}

/* ---- Lists ---- */

static sf_status_t add(sfrun_hosts_t *hosts, const sfrun_host_t *host)
{
  for (int32_t i = 0; i < hosts->count; i++)
    if (strcasecmp(hosts->hosts[i].name, host->name) == 0) {
      /* Without number a host counts once per line. */
      hosts->hosts[i].slots = (hosts->hosts[i].slots ? hosts->hosts[i].slots : 1) + (host->slots ? host->slots : 1);
      return SF_OK;
    }
  if (hosts->count == MAX_HOSTS)
    return sfshm_error(SF_ERR_LIMIT, "more than %d hosts", MAX_HOSTS);
  sfrun_host_t *grown = reallocarray(hosts->hosts, (size_t)hosts->count + 1, sizeof *grown);
  if (!grown)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %d hosts", hosts->count + 1);
  hosts->hosts = grown;
  hosts->hosts[hosts->count++] = *host;
  return SF_OK;
}

/* Names of the loopback interface lead from each host to itself. */
static sf_status_t check_loopback(const sfrun_hosts_t *hosts)
{
  for (int32_t i = 0; i < hosts->count && hosts->count > 1; i++) {
    const char *name = hosts->hosts[i].name;
    if (strcasecmp(name, "localhost") == 0 || strncasecmp(name, "localhost.", 10) == 0 || strncmp(name, "127.", 4) == 0)
      return sfshm_error(SF_ERR_ARG, "%s is another host on each host: give its name, or an address that others reach",
                         name);
  }
  return SF_OK;
}

/* Overwrites the text. */
static sf_status_t parse(char *text, const char *source, sfrun_hosts_t *hosts_p)
{
  sfrun_hosts_t hosts = {.count = 0};
  sf_status_t status = SF_OK;
  int number = 0;
  for (char *next = text; next && !status;) {
    sfrun_host_t host = {.slots = 0};
    bool found = false;
    number++;
    status = parse_line(strsep(&next, "\n"), &host, &found);
    if (!status && found)
      status = add(&hosts, &host);
  }
  if (status)
    status = sfshm_error(status, "%s:%d: %s", source, number, sfshm_error_detail());
  else if (!hosts.count)
    status = sfshm_error(SF_ERR_ARG, "%s: no host", source);
  else if ((status = check_loopback(&hosts)))
    status = sfshm_error(status, "%s: %s", source, sfshm_error_detail());
  if (status)
    sfrun_hosts_free(&hosts);
  else
    *hosts_p = hosts;
  return status;
}

sf_status_t sfrun_hosts_read(const char *path, sfrun_hosts_t *hosts_p)
{
  FILE *file = fopen(path, "re");
  if (!file)
    return sfshm_error_errno(SF_ERR_SYS, "hostfile %s", path);
  char *text = NULL;
  size_t size = 0;
  ssize_t length = getdelim(&text, &size, '\0', file);
  sf_status_t status = SF_OK;
  if (length < 0 && ferror(file))
    status = sfshm_error_errno(SF_ERR_SYS, "hostfile %s", path);
  else if (length < 0)
    status = sfshm_error(SF_ERR_ARG, "%s: no host", path);
  else
    status = parse(text, path, hosts_p);
  free(text);
  fclose(file);
  return status;
}

bool sfrun_hosts_in_slurm(void)
{
  const char *list = getenv("SLURM_JOB_NODELIST"), *count = getenv("SLURM_JOB_NUM_NODES");
  return list && *list && count && strtol(count, NULL, 10) > 1;
}

sf_status_t sfrun_hosts_from_slurm(sfrun_hosts_t *hosts_p)
{
  char path[PATH_MAX], *text = NULL;
  bool ok = false;
  if (sfrun_find_program("scontrol", path) != SF_OK)
    return sfshm_error(SF_ERR_STATE, "this is a Slurm job over several hosts (SLURM_JOB_NODELIST), but there is no "
                                     "scontrol in PATH to tell their names: give --hostfile");
  const char *const argv[] = {path, "show", "hostnames", getenv("SLURM_JOB_NODELIST"), NULL};
  sf_status_t status = sfrun_capture(argv, false, SLURM_LIMIT_BYTES, &text, &ok);
  if (status)
    return status;
  status = ok ? parse(text, "scontrol show hostnames", hosts_p)
              : sfshm_error(SF_ERR_ARG, "\"scontrol show hostnames %s\" failed: give --hostfile", argv[3]);
  free(text);
  return status;
}

int32_t sfrun_hosts_find(const sfrun_hosts_t *hosts, const char *name)
{
  size_t len_bytes = strcspn(name, ".");
  for (int32_t i = 0; i < hosts->count; i++)
    if (strcspn(hosts->hosts[i].name, ".") == len_bytes && strncasecmp(hosts->hosts[i].name, name, len_bytes) == 0)
      return i;
  return -1;
}

void sfrun_hosts_free(sfrun_hosts_t *hosts)
{
  free(hosts->hosts);
  *hosts = (sfrun_hosts_t){.count = 0};
}

sf_status_t sfrun_hosts_write(const sfrun_hosts_t *hosts, sfrun_mpi_t mpi, const char *directory, const char *name)
{
  const char *separator = mpi == SFRUN_MPI_OPEN_MPI ? " slots=" : ":";
  size_t line_bytes = sizeof hosts->hosts->name + 32, length = 0;
  char *text = malloc((size_t)hosts->count * line_bytes);
  if (!text)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a list of %d hosts", hosts->count);
  for (int32_t i = 0; i < hosts->count; i++) {
    const sfrun_host_t *host = &hosts->hosts[i];
    int nbytes = host->slots ? snprintf(text + length, line_bytes, "%s%s%d\n", host->name, separator, host->slots)
                             : snprintf(text + length, line_bytes, "%s\n", host->name);
    length += (size_t)nbytes;
  }
  sf_status_t status = sfrun_directory_write(directory, name, text, length);
  free(text);
  return status;
}
