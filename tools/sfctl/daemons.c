/* Daemons of this user: see daemons.h. The one thread of sfctl. */
#include "tools/sfctl/daemons.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/address.h"
#include "proto/report/text.h"
#include "shm/base/error.h"
#include "shm/base/room.h"
#include "tools/sfctl/collect.h"
#include "tools/sfctl/connection.h"
#include "tools/sfctl/print/json.h"
#include "tools/sfctl/print/table.h"

#define PATIENCE_MS 2000 /* time for a daemon, which may be starting */
#define JOBS_NAMED 3
#define LISTENS 0x10000 /* flag in /proc/PID/net/unix */

/* ---- Finding --------------------------------------------------------------------------------------------------- */

/* Of one process. */
typedef struct process {
  char path[PATH_MAX]; /* in /proc */
  int32_t pid;
  uint64_t *inodes; /* of its sockets */
  size_t ninodes, capacity;
} process_t;

typedef struct finding {
  sfctl_daemon_t *daemons;
  size_t n, capacity;
} finding_t;

static bool is_own_sfd(const process_t *process)
{
  char path[PATH_MAX + 16], name[32] = "";
  struct stat info;
  snprintf(path, sizeof path, "%s/comm", process->path);
  FILE *file = stat(process->path, &info) == 0 && info.st_uid == geteuid() ? fopen(path, "re") : NULL;
  if (file == NULL)
    return false;
  bool read = fgets(name, sizeof name, file) != NULL;
  fclose(file);
  return read && strcmp(name, "sfd\n") == 0;
}

static sf_status_t add_inode(process_t *process, const char *name)
{
  char path[PATH_MAX + 300], link[64];
  uint64_t inode;
  snprintf(path, sizeof path, "%s/fd/%s", process->path, name);
  ssize_t length = readlink(path, link, sizeof link - 1);
  link[length > 0 ? length : 0] = '\0';
  if (sscanf(link, "socket:[%" SCNu64 "]", &inode) != 1)
    return SF_OK;
  if (!sfshm_make_room(&process->inodes, &process->capacity, process->ninodes + 1, sizeof *process->inodes))
    return sfshm_error(SF_ERR_NOMEM, "no memory for the sockets of process %d", process->pid);
  process->inodes[process->ninodes++] = inode;
  return SF_OK;
}

static sf_status_t list_inodes(process_t *process)
{
  char path[PATH_MAX + 16];
  struct dirent *entry;
  sf_status_t status = SF_OK;
  snprintf(path, sizeof path, "%s/fd", process->path);
  DIR *directory = opendir(path);
  while (directory != NULL && status == SF_OK && (entry = readdir(directory)) != NULL)
    if (isdigit((unsigned char)entry->d_name[0]))
      status = add_inode(process, entry->d_name);
  if (directory != NULL)
    closedir(directory);
  return status;
}

static bool has_inode(const process_t *process, uint64_t inode)
{
  for (size_t i = 0; i < process->ninodes; i++)
    if (process->inodes[i] == inode)
      return true;
  return false;
}

/* The path at which the process listens: "address: references protocol flags type state inode path". */
static bool find_socket(const process_t *process, char socket[sizeof((sfctl_daemon_t *)0)->socket])
{
  char path[PATH_MAX + 16], line[512];
  bool found = false;
  snprintf(path, sizeof path, "%s/net/unix", process->path);
  FILE *file = fopen(path, "re");
  while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
    unsigned flags = 0;
    uint64_t inode = 0;
    int at = 0;
    if (sscanf(line, "%*s %*s %*s %x %*s %*s %" SCNu64 " %n", &flags, &inode, &at) < 2 || at == 0 || line[at] != '/')
      continue;
    line[strcspn(line, "\n")] = '\0';
    found =
        (flags & LISTENS) != 0 && has_inode(process, inode) && strlen(line + at) < sizeof((sfctl_daemon_t *)0)->socket;
    if (found)
      strcpy(socket, line + at);
  }
  if (file != NULL)
    fclose(file);
  return found;
}

/* Whether the path leads there from here, too: a process in a container may have another file at it. */
static bool is_same_file_here(const process_t *process, const char *socket)
{
  char path[sizeof process->path + sizeof((sfctl_daemon_t *)0)->socket + 8];
  struct stat theirs, ours;
  snprintf(path, sizeof path, "%s/root%s", process->path, socket);
  if (stat(path, &theirs) != 0)
    return true; /* unknown */
  return stat(socket, &ours) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

static sf_status_t look_at(const char *name, finding_t *finding)
{
  process_t process = {.pid = (int32_t)strtol(name, NULL, 10)};
  sfctl_daemon_t daemon = {.pid = process.pid};
  snprintf(process.path, sizeof process.path, "/proc/%.20s", name);
  if (!is_own_sfd(&process))
    return SF_OK;
  sf_status_t status = list_inodes(&process);
  if (status == SF_OK && find_socket(&process, daemon.socket) && is_same_file_here(&process, daemon.socket)) {
    if (sfshm_make_room(&finding->daemons, &finding->capacity, finding->n + 1, sizeof daemon))
      finding->daemons[finding->n++] = daemon;
    else
      status = sfshm_error(SF_ERR_NOMEM, "no memory for %zu daemons", finding->n + 1);
  }
  free(process.inodes);
  return status;
}

static int compare(const void *a, const void *b)
{
  const sfctl_daemon_t *x = a, *y = b;
  return strverscmp(x->socket, y->socket);
}

/* Processes of this user named sfd that listen at a path, sorted by that; free *daemons_p. SF_ERR_NOMEM; SF_ERR_SYS:
 * /proc can't be read. */
static sf_status_t find_daemons(sfctl_daemon_t **daemons_p, size_t *n_p)
{
  finding_t finding = {0};
  struct dirent *entry;
  sf_status_t status = SF_OK;
  DIR *directory = opendir("/proc");
  if (directory == NULL)
    return sfshm_error_errno(SF_ERR_SYS, "looking for daemons: /proc can't be read");
  while (status == SF_OK && (entry = readdir(directory)) != NULL)
    if (isdigit((unsigned char)entry->d_name[0]))
      status = look_at(entry->d_name, &finding);
  closedir(directory);
  if (status != SF_OK) {
    free(finding.daemons);
    return status;
  }
  if (finding.n > 0)
    qsort(finding.daemons, finding.n, sizeof *finding.daemons, compare);
  *daemons_p = finding.daemons;
  *n_p = finding.n;
  return SF_OK;
}

/* ---- What they serve --------------------------------------------------------------------------------------------- */

typedef struct described {
  bool answers;
  int32_t node, nodes, ranks;
  char jobs[512]; /* their names */
} described_t;

static void name_jobs(const sfreport_list_t *list, described_t *described)
{
  size_t used = 0;
  for (size_t i = 0; i < list->count && i < JOBS_NAMED; i++) {
    const Sfproto__JobInfo *info = list->items[i].message->job_info;
    used += (size_t)snprintf(described->jobs + used, sizeof described->jobs - used, "%s%.100s", i > 0 ? ", " : "",
                             info->name);
  }
  if (list->count > JOBS_NAMED)
    snprintf(described->jobs + used, sizeof described->jobs - used, " and %zu more", list->count - JOBS_NAMED);
}

static void describe(const sfctl_daemon_t *daemon, described_t *described)
{
  sfctl_connection_t connection;
  sfreport_list_t about = {0}, jobs = {0};
  *described = (described_t){0};
  if (sfctl_connect(daemon->socket, PATIENCE_MS, &connection) != SF_OK)
    return;
  sf_status_t status = sfctl_collect(&connection, SFPROTO__QUERY__WHAT__STATUS, NULL, &about);
  if (status == SF_OK)
    status = sfctl_collect(&connection, SFPROTO__QUERY__WHAT__JOBS, NULL, &jobs);
  if (status == SF_OK && about.count == 1) {
    const Sfproto__StatusInfo *info = about.items[0].message->status_info;
    described->answers = true;
    described->node = info->node;
    described->nodes = info->nodes;
    described->ranks = info->ranks;
    name_jobs(&jobs, described);
  }
  sfreport_list_clear(&about);
  sfreport_list_clear(&jobs);
  sfctl_disconnect(&connection);
}

/* ---- Choosing ---------------------------------------------------------------------------------------------------- */

/* Whether the daemons are all nodes of one cluster, as of sfrun --nodes, according to those that answer; one may be
 * stopped. *first_p: the lowest node that answers. */
static bool are_one_cluster(const sfctl_daemon_t *daemons, size_t n, size_t *first_p)
{
  int32_t lowest = INT32_MAX;
  bool *seen = calloc(n, sizeof *seen), one = seen != NULL;
  for (size_t i = 0; i < n && one; i++) {
    described_t described;
    describe(&daemons[i], &described);
    if (!described.answers)
      continue;
    one = described.nodes == (int32_t)n && described.node >= 0 && described.node < (int32_t)n && !seen[described.node];
    if (!one)
      break;
    seen[described.node] = true;
    if (described.node < lowest) {
      lowest = described.node;
      *first_p = i;
    }
  }
  free(seen);
  return one && lowest != INT32_MAX;
}

static sf_status_t several(const sfctl_daemon_t *daemons, size_t n)
{
  char list[1024] = "";
  size_t used = 0;
  for (size_t i = 0; i < n && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", daemons[i].socket);
  return sfshm_error(
      SF_ERR_ARG,
      "%zu daemons of this user run here, at %s: choose one by --socket or SF_SOCKET; sfctl daemons says "
      "what they serve",
      n, list);
}

static bool is_named_by_variable(void)
{
  const char *variable = getenv("SF_SOCKET");
  return variable != NULL && *variable != '\0';
}

sf_status_t sfctl_daemons_choose(const char *given, const char **socket_p)
{
  static char chosen[sizeof((sfctl_daemon_t *)0)->socket];
  sfctl_daemon_t *daemons;
  size_t n, first = 0;
  int fd = -1;
  *socket_p = given;
  if (given != NULL || is_named_by_variable())
    return SF_OK;
  sf_status_t status = sfproto_connect(NULL, &fd);
  if (status == SF_OK)
    close(fd);
  if (status != SF_ERR_NO_DAEMON || find_daemons(&daemons, &n) != SF_OK)
    return SF_OK; /* errors are reported where the socket is used */
  status = SF_OK;
  if (n > 1 && !are_one_cluster(daemons, n, &first))
    status = several(daemons, n);
  else if (n > 0)
    *socket_p = strcpy(chosen, daemons[first].socket);
  free(daemons);
  return status;
}

/* ---- Listing ----------------------------------------------------------------------------------------------------- */

static void print_json(const sfctl_daemon_t *daemons, size_t n, FILE *file)
{
  sfctl_json_t json = {.file = file};
  sfctl_json_begin_array(&json, NULL);
  for (size_t i = 0; i < n; i++) {
    described_t described;
    describe(&daemons[i], &described);
    sfctl_json_object(&json, NULL, SFCTL_MEMBER("pid", daemons[i].pid), SFCTL_MEMBER("socket", daemons[i].socket),
                      SFCTL_MEMBER("answers", described.answers));
  }
  sfctl_json_end_array(&json);
}

static sf_status_t print_text(const sfctl_daemon_t *daemons, size_t n, FILE *file)
{
  static const sfctl_column_t columns[] = {
      {"SOCKET", SFCTL_LEFT}, {"PID", SFCTL_RIGHT}, {"NODE", SFCTL_LEFT}, {"RANKS", SFCTL_RIGHT}, {"JOBS", SFCTL_LEFT}};
  sfctl_table_t table = {SFCTL_COLUMNS(columns)};
  for (size_t i = 0; i < n; i++) {
    described_t described;
    describe(&daemons[i], &described);
    sfctl_table_add(&table, SFCTL_VALUE(daemons[i].socket), SFCTL_VALUE(daemons[i].pid));
    sfctl_table_cell(&table, described.answers ? "%d of %d" : "-", described.node, described.nodes);
    sfctl_table_add(&table, sfctl_if(described.answers, SFCTL_VALUE(described.ranks)),
                    SFCTL_VALUE(described.answers ? described.jobs : "does not answer"));
  }
  sf_status_t status = sfctl_table_print(&table, 0, file); /* paths are for copying */
  bool alone = n == 1 && (!is_named_by_variable() || strcmp(getenv("SF_SOCKET"), daemons[0].socket) == 0);
  if (status == SF_OK)
    fprintf(file, "%s; see sfctl --help\n",
            alone ? "sfctl COMMAND asks it" : "choose one: sfctl --socket PATH COMMAND, or export SF_SOCKET=PATH");
  return status;
}

sf_status_t sfctl_daemons(const sfctl_options_t *options, FILE *file)
{
  sfctl_daemon_t *daemons;
  size_t n;
  sf_status_t status = find_daemons(&daemons, &n);
  if (status != SF_OK)
    return status;
  if (options->json)
    print_json(daemons, n, file);
  else if (n > 0)
    status = print_text(daemons, n, file);
  else
    status = sfshm_error(SF_ERR_NO_DAEMON, "no sfd of this user runs here: sfrun brings one, or start sfd; "
                                           "see sfctl --help");
  free(daemons);
  return status;
}
