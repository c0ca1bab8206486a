/* sfctl doctor: socket, daemon, and the nodes that it knows. The one thread of sfctl. */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sf/sf.h>

#include "proto/address.h"
#include "proto/report/text.h"
#include "shm/base/error.h"
#include "tools/sfctl/collect.h"
#include "tools/sfctl/connection.h"
#include "tools/sfctl/doctor/doctor.h"

#define NODES_NAMED 4      /* limit of named nodes per problem */
#define OPEN_PEERS_SHARE 5 /* a fifth of the nodes' time is for opening channels */
#define OPENING_MS 500     /* a healthy peer answers sooner */

static const char *detail_of(sf_status_t status)
{
  const char *detail = sfshm_error_detail();
  return *detail != '\0' ? detail : sfshm_strerror(status);
}

/* ---- The socket ---- */

/* Source of the path, as in sfproto_address. */
static const char *source_of(const sfctl_doctor_t *doctor)
{
  const char *variable = getenv("SF_SOCKET"), *runtime = getenv("XDG_RUNTIME_DIR");
  if (doctor->found_socket)
    return "the daemon that runs";
  if (doctor->socket != NULL)
    return "--socket";
  if (variable != NULL && *variable != '\0')
    return "SF_SOCKET";
  return runtime != NULL && *runtime == '/' ? "XDG_RUNTIME_DIR" : "the default";
}

static const char *user_name(uid_t uid, char text[64])
{
  const struct passwd *entry = getpwuid(uid);
  if (entry != NULL)
    snprintf(text, 64, "%.50s", entry->pw_name);
  else
    snprintf(text, 64, "uid %u", (unsigned)uid);
  return text;
}

/* Other users who can write to a directory without sticky bit can replace the socket. */
static bool is_open_to_others(const char *path)
{
  struct stat stat_of_it;
  char directory[sizeof((struct sockaddr_un *)0)->sun_path + 1];
  snprintf(directory, sizeof directory, "%s", path);
  char *slash = strrchr(directory, '/');
  if (slash == NULL)
    snprintf(directory, sizeof directory, ".");
  else
    slash[slash == directory ? 1 : 0] = '\0';
  return stat(directory, &stat_of_it) == 0 && (stat_of_it.st_mode & (S_IWGRP | S_IWOTH)) != 0 &&
         (stat_of_it.st_mode & S_ISVTX) == 0;
}

/* Returns whether connecting makes sense. */
static bool judge_socket(const char *path, const char *source, const struct stat *info, sfctl_report_t *report)
{
  char user[64];
  unsigned mode = info->st_mode & 07777;
  user_name(info->st_uid, user);
  if (!S_ISSOCK(info->st_mode)) {
    sfctl_report_add(report, "socket", SFCTL_PROBLEM, "%s (from %s) is no socket", path, source);
    sfctl_report_advise(report, "remove it, or choose another path by SF_SOCKET");
    return false;
  }
  if (access(path, W_OK) != 0) {
    sfctl_report_add(report, "socket", SFCTL_PROBLEM, "%s (from %s) of %s, mode %04o, is closed to this user", path,
                     source, user, mode);
    sfctl_report_advise(report, "start an sfd of your own at another path, and name that by SF_SOCKET");
  } else if (is_open_to_others(path)) {
    sfctl_report_add(report, "socket", SFCTL_PROBLEM,
                     "%s (from %s): others can write to its directory, and answer as "
                     "sfd",
                     path, source);
    sfctl_report_advise(report, "chmod go-w the directory");
  } else if (info->st_uid != geteuid() && info->st_uid != 0) {
    sfctl_report_add(report, "socket", SFCTL_WARNING, "%s (from %s) belongs to %s, mode %04o", path, source, user,
                     mode);
    sfctl_report_advise(report, "use it only if you trust that user");
  } else {
    sfctl_report_add(report, "socket", SFCTL_FINE, "%s (from %s) of %s, mode %04o", path, source, user, mode);
  }
  return true;
}

/* Returns whether there may be a daemon. */
static bool examine_socket(const sfctl_doctor_t *doctor, sfctl_report_t *report)
{
  struct sockaddr_un address;
  struct stat info;
  const char *source = source_of(doctor);
  sf_status_t status = sfproto_address(doctor->socket, false, &address);
  if (status != SF_OK) {
    sfctl_report_add(report, "socket", SFCTL_PROBLEM, "%s", detail_of(status));
    sfctl_report_advise(report, "choose another path by SF_SOCKET");
    return false;
  }
  if (stat(address.sun_path, &info) == 0)
    return judge_socket(address.sun_path, source, &info, report);
  if (errno == ENOENT || errno == ENOTDIR)
    sfctl_report_add(report, "socket", SFCTL_FINE, "%s (from %s), not there", address.sun_path, source);
  else {
    sfctl_report_add(report, "socket", SFCTL_PROBLEM, "%s (from %s): %s", address.sun_path, source, strerror(errno));
    sfctl_report_advise(report, "choose a path that this user can reach by SF_SOCKET");
  }
  return true;
}

/* ---- The daemon ---- */

static void tell_of_no_answer(const sfctl_doctor_t *doctor, sf_status_t status, sfctl_report_t *report)
{
  bool absent = status == SF_ERR_NO_DAEMON;
  const char *detail = detail_of(status);
  int length = absent ? (int)strcspn(detail, ";") : (int)strlen(detail); /* advice for programs follows */
  sfctl_report_add(report, "daemon", absent ? SFCTL_WARNING : SFCTL_PROBLEM, "%.*s", length, detail);
  if (absent && doctor->socket != NULL)
    sfctl_report_advise(report, "sfd --socket %s & (sfrun brings a daemon of its own)", doctor->socket);
  else if (absent)
    sfctl_report_advise(report, "sfd & (sfrun brings a daemon of its own)");
  else if (status == SF_ERR_VERSION)
    sfctl_report_advise(report, "install sfd, libsfclient and sfctl of one version, and start sfd anew");
  else if (status == SF_ERR_PERM || status == SF_ERR_LIMIT)
    sfctl_report_advise(report, "ask who runs it, or start an sfd of your own and name its path by SF_SOCKET");
  else
    sfctl_report_advise(report, "see what it logs, whether it is stopped or the machine busy; start it anew");
}

/* "sfd 1.2.3" of this version? */
static bool is_own_version(const char *software)
{
  char own[32];
  const char *version = strrchr(software, ' ');
  snprintf(own, sizeof own, "%d.%d.%d", SF_VERSION_MAJOR, SF_VERSION_MINOR, SF_VERSION_PATCH);
  return version != NULL && strcmp(version + 1, own) == 0;
}

static void judge_daemon(const Sfproto__StatusInfo *info, sfctl_report_t *report)
{
  char user[64], uptime[SFREPORT_TEXT_SIZE];
  bool same = is_own_version(info->software);
  sfctl_report_add(report, "daemon", same ? SFCTL_FINE : SFCTL_WARNING,
                   "%s answers: process %d of %s, up %s; this is sfctl %d.%d.%d, protocol version %u", info->software,
                   info->pid, user_name(info->uid, user), sfreport_text_duration(info->uptime_s, uptime),
                   SF_VERSION_MAJOR, SF_VERSION_MINOR, SF_VERSION_PATCH, info->protocol);
  if (!same)
    sfctl_report_advise(report, "start the daemon anew after an update, or call the sfctl that belongs to it");
}

static void judge_ranks(const Sfproto__StatusInfo *info, sfctl_report_t *report)
{
  bool crowded = info->ranks > info->cores;
  sfctl_report_add(report, "ranks", crowded ? SFCTL_WARNING : SFCTL_FINE, "%d rank%s of %d job%s on %d core%s",
                   info->ranks, info->ranks == 1 ? "" : "s", info->jobs, info->jobs == 1 ? "" : "s", info->cores,
                   info->cores == 1 ? "" : "s");
  if (crowded)
    sfctl_report_advise(report, "run at most one rank for each core: ranks that share one wait for each other");
}

/* ---- Other nodes ---- */

/* Peers in one state: how many, and the first. */
typedef struct group {
  size_t count;
  const Sfproto__PeerInfo *first;
} group_t;

typedef struct peers {
  size_t open, unused;
  group_t unreachable, ended;
} peers_t;

static void count_in(group_t *group, const Sfproto__PeerInfo *info)
{
  if (group->count++ == 0)
    group->first = info;
}

/* Channels are opened when needed and stay open: a closed one was not needed, or is broken. */
static peers_t sort_peers(const sfreport_list_t *list)
{
  peers_t peers = {0};
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__PeerInfo *info = list->items[i].message->peer_info;
    if (strcmp(info->state, "open") == 0)
      peers.open++;
    else if (strcmp(info->state, "opening") == 0)
      count_in(&peers.unreachable, info);
    else if (info->frames_sent + info->frames_received > 0)
      count_in(&peers.ended, info);
    else
      peers.unused++;
  }
  return peers;
}

static const char *name_group(const group_t *group, char text[160])
{
  int length = snprintf(text, 160, "%.120s", group->first->description);
  if (group->count > 1)
    snprintf(text + length, 160 - (size_t)length, " and %zu more", group->count - 1);
  return text;
}

static void judge_peers(const Sfproto__StatusInfo *info, const sfreport_list_t *list, sfctl_report_t *report)
{
  char text[160];
  peers_t peers = sort_peers(list);
  if (peers.unreachable.count > 0) {
    sfctl_report_add(report, "fabric", SFCTL_PROBLEM, "%s, node %d of %d: no answer from %s", info->fabric, info->node,
                     info->nodes, name_group(&peers.unreachable, text));
    sfctl_report_advise(report, "see that sfd runs there with the same peers, cluster and key, and that no firewall is "
                                "between");
  } else if (peers.ended.count > 0) {
    sfctl_report_add(report, "fabric", SFCTL_WARNING, "%s, node %d of %d: the channel has ended to %s", info->fabric,
                     info->node, info->nodes, name_group(&peers.ended, text));
    sfctl_report_advise(report, "see that sfd runs there; the next job that needs it opens the channel anew");
  } else {
    sfctl_report_add(report, "fabric", SFCTL_FINE, "%s, node %d of %d: %zu channel%s open, %zu not needed yet",
                     info->fabric, info->node, info->nodes, peers.open, peers.open == 1 ? "" : "s", peers.unused);
  }
}

static bool any_is_opening(const sfreport_list_t *list)
{
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(list->items[i].message->peer_info->state, "opening") == 0)
      return true;
  return false;
}

static sf_status_t collect_peers(sfctl_connection_t *connection, sfreport_list_t *list_p)
{
  const struct timespec while_opening = {.tv_nsec = OPENING_MS * 1000000L};
  sf_status_t status = sfctl_collect(connection, SFPROTO__QUERY__WHAT__PEERS, NULL, list_p);
  if (status != SF_OK || !any_is_opening(list_p))
    return status;
  sfreport_list_clear(list_p);
  nanosleep(&while_opening, NULL);
  return sfctl_collect(connection, SFPROTO__QUERY__WHAT__PEERS, NULL, list_p);
}

/* A channel to a stopped daemon stays open for a while. Asks each of them, with a part of the time; returns whether one
 * did not answer. */
static bool finds_silent(const sfctl_connection_t *given, const sfreport_list_t *peers, sfctl_report_t *report)
{
  sfctl_connection_t connection = *given;
  sfctl_will_ask(&connection, OPEN_PEERS_SHARE);
  for (size_t i = 0; i < peers->count; i++) {
    const Sfproto__PeerInfo *info = peers->items[i].message->peer_info;
    sfreport_list_t about = {0};
    if (strcmp(info->state, "open") != 0)
      continue;
    connection.target = (sfctl_target_t){.named = true, .node = info->node};
    sf_status_t status = sfctl_collect(&connection, SFPROTO__QUERY__WHAT__STATUS, NULL, &about);
    sfreport_list_clear(&about);
    if (status == SF_OK)
      continue;
    sfctl_report_add(report, "fabric", SFCTL_PROBLEM, "%.120s: the channel is open, but %.200s", info->description,
                     detail_of(status));
    sfctl_report_advise(report, "see whether sfd is stopped there, or its machine busy or gone");
    return true;
  }
  return false;
}

static sf_status_t examine_fabric(sfctl_connection_t *connection, const Sfproto__StatusInfo *info,
                                  sfctl_report_t *report)
{
  sfreport_list_t list;
  if (info->fabric == NULL || info->nodes <= 1) {
    sfctl_report_add(report, "fabric", SFCTL_FINE, "%s: this sfd is alone, jobs have one node",
                     info->fabric != NULL ? info->fabric : "none");
    return SF_OK;
  }
  sf_status_t status = collect_peers(connection, &list);
  if (status != SF_OK)
    return status;
  if (!finds_silent(connection, &list, report))
    judge_peers(info, &list, report);
  sfreport_list_clear(&list);
  return SF_OK;
}

/* ---- All nodes ---- */

/* A node without answer: the daemons disagree, or there is none. */
static void tell_of_missing(const Sfproto__NodeMissing *missing, sfctl_report_t *report)
{
  sf_status_t status = missing->status < 0 ? (sf_status_t)missing->status : SF_ERR_PROTO;
  sfctl_report_add(report, "nodes", SFCTL_PROBLEM, "node %d: %s", missing->node,
                   missing->detail[0] != '\0' ? missing->detail : sfshm_strerror(status));
  if (status == SF_ERR_ARG || status == SF_ERR_PERM || status == SF_ERR_VERSION)
    sfctl_report_advise(report,
                        "give both daemons the same version, list of peers, cluster and key, and start them anew");
  else
    sfctl_report_advise(report, "see that sfd runs there and is not stopped, and that no firewall is between");
}

/* Daemons with different numbers of nodes have different lists of peers. */
static void judge_answers(const Sfproto__StatusInfo *own, const sfreport_list_t *list, sfctl_report_t *report)
{
  size_t same = 0;
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__StatusInfo *info = list->items[i].message->status_info;
    if (strcmp(info->software, own->software) == 0 && info->nodes == own->nodes) {
      same++;
      continue;
    }
    if (i - same >= NODES_NAMED)
      continue;
    sfctl_report_add(report, "nodes", SFCTL_PROBLEM, "node %d is %s of %d nodes, this one is %s of %d", info->node,
                     info->software, info->nodes, own->software, own->nodes);
    sfctl_report_advise(report, "give all daemons the same version and list of peers, and start them anew");
  }
  sfctl_report_add(report, "nodes", SFCTL_FINE, "%zu of %d daemons answer and agree", same, own->nodes);
}

static sf_status_t examine_nodes(sfctl_connection_t *connection, const Sfproto__StatusInfo *own, sfctl_report_t *report)
{
  sfreport_list_t list;
  connection->target.all = true;
  sf_status_t status = sfctl_collect(connection, SFPROTO__QUERY__WHAT__STATUS, NULL, &list);
  connection->target.all = false;
  if (status != SF_OK)
    return status;
  for (size_t i = 0; i < connection->missing.count && i < NODES_NAMED; i++)
    tell_of_missing(connection->missing.items[i].message->node_missing, report);
  judge_answers(own, &list, report);
  sfreport_list_clear(&list);
  return SF_OK;
}

/* ---- All ---- */

static sf_status_t ask(sfctl_connection_t *connection, bool all_nodes, sfctl_report_t *report)
{
  sfreport_list_t list;
  sf_status_t status = sfctl_collect(connection, SFPROTO__QUERY__WHAT__STATUS, NULL, &list);
  if (status != SF_OK)
    return status;
  if (list.count == 1) {
    const Sfproto__StatusInfo *info = list.items[0].message->status_info;
    judge_daemon(info, report);
    judge_ranks(info, report);
    if (all_nodes && info->nodes > 1)
      status = examine_nodes(connection, info, report);
    if (status == SF_OK)
      status = examine_fabric(connection, info, report);
  } else {
    status = sfshm_error(SF_ERR_PROTO, "sfd answers with %zu messages about its status, expected 1", list.count);
  }
  sfreport_list_clear(&list);
  return status;
}

void sfctl_doctor_examine_daemon(const sfctl_doctor_t *doctor, sfctl_report_t *report)
{
  sfctl_connection_t connection;
  if (!examine_socket(doctor, report))
    return;
  sf_status_t status = sfctl_connect(doctor->socket, doctor->timeout_ms, &connection);
  if (status == SF_OK) {
    status = ask(&connection, doctor->all_nodes, report);
    sfctl_disconnect(&connection);
  }
  if (status != SF_OK)
    tell_of_no_answer(doctor, status, report);
}
