/* Slots of trunks on devices: see device_slots.h. */
#include "daemon/data/device_slots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base.h"
#include "daemon/data/data.h"
#include "daemon/data/device_slots_internal.h"
#include "daemon/jobs.h"
#include "daemon/memory.h"
#include "daemon/net.h"
#include "shm/base/error.h"
#include "shm/device/device_load.h"

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static void answer(const sfd_trunks_t *trunks, sfd_slots_user_t *user, sfd_session_t *session)
{
  sfd_trunk_devices_t *devices = trunks->devices;
  user->was_told = devices->state == SFD_SLOTS_MADE && user->uses_some && !user->has_closed;
  Sfproto__Message reply = SFPROTO_MESSAGE_OF(
      TRUNK_SLOTS, trunk_slots, .has_handle = user->was_told,
      .handle = (ProtobufCBinaryData){sizeof devices->handle.bytes, devices->handle.bytes},
      .where = (ProtobufCBinaryData){trunks->nsides, devices->where}, .class_bytes = devices->class_bytes);
  reply.request = user->request;
  sfd_session_send(session, &reply, &devices->fd, user->was_told);
}

static void answer_all(const sfd_trunks_t *trunks)
{
  const sfd_group_t *group = trunks->graph->group;
  for (int32_t i = 0; i < group->nlocals; i++) {
    sfd_slots_user_t *user = &trunks->devices->users[i];
    const sfd_rank_t *rank = sfd_group_member(group, group->locals[i]);
    if (user->waits && sfd_rank_connected(rank))
      answer(trunks, user, rank->session);
    user->waits = false;
  }
}

static void give_back(const sfd_trunks_t *trunks)
{
  sfd_trunk_devices_t *devices = trunks->devices;
  trunks->graph->group->job->device_bytes -= devices->taken_bytes;
  devices->taken_bytes = 0;
  sfd_job_close_fd(trunks->graph->group->job, devices->fd);
  devices->fd = -1;
}

/* More may have been allocated than was wanted. */
static sf_status_t take(const sfd_trunks_t *trunks, uint64_t bytes)
{
  sfd_job_t *job = trunks->graph->group->job;
  give_back(trunks);
  sf_status_t status = sfd_device_check_quota(job, bytes);
  if (status != SF_OK)
    return status;
  trunks->devices->taken_bytes = bytes;
  job->device_bytes += bytes;
  return SF_OK;
}

/* Nobody has the memory open. */
static void do_without(const sfd_trunks_t *trunks, const char *why)
{
  sfd_trunk_devices_t *devices = trunks->devices;
  sfd_log(SFD_LOG_MEMORY, SFD_INFO, "graph %" PRIu64 ": what is on devices goes to other nodes from pinned memory: %s",
          trunks->graph->id, why);
  devices->state = SFD_SLOTS_NONE;
  give_back(trunks);
  if (devices->memory != NULL)
    sfd_device_free(trunks->server, devices->memory);
  devices->memory = NULL;
}

static void on_allocated(void *context, sf_status_t status, const char *detail, const sfshm_device_handle_t *handle,
                         int fd, uint64_t taken_bytes)
{
  sfd_trunks_t *trunks = context;
  sfd_trunk_devices_t *devices = trunks->devices;
  if (status != SF_OK) {
    devices->memory = NULL;
  } else {
    status = take(trunks, taken_bytes);
    if (status == SF_OK)
      status = sfd_job_hold_fd(trunks->graph->group->job);
    if (status != SF_OK) {
      detail = sfshm_error_detail();
      close(fd);
    }
  }
  if (status == SF_OK) {
    devices->handle = *handle;
    devices->fd = fd;
    devices->state = SFD_SLOTS_MADE;
  } else {
    do_without(trunks, detail);
  }
  answer_all(trunks);
}

static void make(sfd_trunks_t *trunks)
{
  sfd_trunk_devices_t *devices = trunks->devices;
  uint64_t length = sfd_device_slots_lay_out(trunks);
  if (length == 0 || sfd_network_device_fabric(trunks->server) == NULL) {
    devices->state = SFD_SLOTS_NONE;
    return;
  }
  sf_status_t status = take(trunks, length);
  if (status == SF_OK)
    status = sfd_device_alloc(trunks->server, &sfd_device_slots_owner(trunks)->device, length, on_allocated, trunks,
                              &devices->memory);
  if (status == SF_OK)
    devices->state = SFD_SLOTS_MAKING;
  else
    do_without(trunks, sfshm_error_detail());
}

/* ---- Using ------------------------------------------------------------------------------------------------------- */

/* Streams send nothing before all slots are open; a client may send when it should not. */
static bool may_use(const sfd_trunks_t *trunks)
{
  bool quiet = trunks->nunder_way == 0 && !trunks->letting_go;
  for (uint32_t i = 0; i < trunks->nsides; i++)
    quiet = quiet && trunks->sides[i].sent == 0 && trunks->sides[i].arrived == 0;
  return quiet;
}

static void use(const sfd_trunks_t *trunks)
{
  sfd_trunk_devices_t *devices = trunks->devices;
  sfd_fabric_t *fabric = sfd_network_device_fabric(trunks->server);
  sfshm_device_range_t range = sfd_device_range(devices->memory);
  devices->told = (sfd_fabric_memory_t){.base = range.base,
                                        .length_bytes = range.length_bytes,
                                        .device = range.device,
                                        .enter = sfshm_device_loaded()->enter};
  fabric->functions->add_memory(fabric, &devices->told);
  devices->state = SFD_SLOTS_USED;
  sfshm_trunk_board_t *board = trunks->board.base;
  atomic_store(&board->on_device, 1);
}

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

static void free_devices(sfd_trunk_devices_t *devices)
{
  free(devices->where);
  free(devices->slots);
  free(devices);
}

static sf_status_t begin(sfd_trunks_t *trunks)
{
  int32_t nlocals = trunks->graph->group->nlocals;
  sfd_trunk_devices_t *devices = calloc(1, sizeof *devices + (size_t)nlocals * sizeof devices->users[0]);
  if (devices == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for slots on a device");
  devices->fd = -1;
  devices->where = calloc(trunks->nsides, sizeof *devices->where);
  devices->slots = calloc(trunks->nsides, sizeof *devices->slots);
  if (devices->where == NULL || devices->slots == NULL) {
    free_devices(devices);
    return sfshm_error(SF_ERR_NOMEM, "no memory for slots on a device");
  }
  for (uint32_t i = 0; i < trunks->nsides; i++)
    for (int32_t k = 0; k < trunks->sides[i].told.nmembers; k++)
      devices->users[sfd_group_local(trunks->graph->group, trunks->sides[i].members[k])].takes_part = true;
  trunks->devices = devices;
  return SF_OK;
}

/* What is made nobody will use; what has been made ranks may have open. */
void sfd_trunk_devices_let_go(sfd_trunks_t *trunks)
{
  if (trunks->devices == NULL || trunks->devices->state != SFD_SLOTS_MAKING)
    return;
  do_without(trunks, "the graph has failed");
  answer_all(trunks);
}

void sfd_trunk_devices_retire(sfd_trunks_t *trunks)
{
  sfd_trunk_devices_t *devices = trunks->devices;
  if (devices == NULL)
    return;
  give_back(trunks);
  if (devices->state != SFD_SLOTS_MAKING)
    return;
  sfd_device_free(trunks->server, devices->memory);
  devices->memory = NULL;
  devices->state = SFD_SLOTS_NONE;
}

void sfd_trunk_devices_free(sfd_trunks_t *trunks)
{
  sfd_trunk_devices_t *devices = trunks->devices;
  sfd_fabric_t *fabric = sfd_network_device_fabric(trunks->server);
  if (devices == NULL)
    return;
  if (devices->state == SFD_SLOTS_USED)
    fabric->functions->remove_memory(fabric, &devices->told);
  if (devices->memory != NULL)
    sfd_device_free(trunks->server, devices->memory);
  free_devices(devices);
  trunks->devices = NULL;
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* NULL, having answered. */
static sfd_trunks_t *find_trunks(sfd_session_t *session, uint64_t request, uint64_t id, int32_t *local_p)
{
  const sfd_graph_t *graph = sfd_graph_find_ready(session, request, id, local_p);
  if (graph != NULL && graph->trunks == NULL)
    sfd_session_send_errorf(session, request, SF_ERR_NOT_FOUND, "graph %" PRIu64 " has no edges to other nodes", id);
  return graph != NULL ? graph->trunks : NULL;
}

/* The same for what comes behind TrunkAsk. */
static sfd_slots_user_t *find_user(sfd_session_t *session, uint64_t request, uint64_t id, sfd_trunks_t **trunks_p)
{
  int32_t local;
  sfd_trunks_t *trunks = *trunks_p = find_trunks(session, request, id, &local);
  if (trunks == NULL)
    return NULL;
  if (trunks->devices != NULL && trunks->devices->users[local].has_asked)
    return &trunks->devices->users[local];
  sfd_session_send_errorf(session, request, SF_ERR_STATE, "rank %d has not asked for slots of graph %" PRIu64,
                          session->rank->number, id);
  return NULL;
}

typedef bool (*user_is_fn_t)(const sfd_slots_user_t *user);

static bool has_asked(const sfd_slots_user_t *user)
{
  return user->has_asked;
}

static bool has_opened(const sfd_slots_user_t *user)
{
  return !user->uses_some || (user->has_opened && !user->has_closed);
}

static bool all_have(const sfd_trunks_t *trunks, user_is_fn_t is)
{
  for (int32_t i = 0; i < trunks->graph->group->nlocals; i++)
    if (trunks->devices->users[i].takes_part && !is(&trunks->devices->users[i]))
      return false;
  return true;
}

/* Some rank could not open them: then nobody uses them, and who has opened them closes them. */
static void close_for(const sfd_trunks_t *trunks, sfd_slots_user_t *user)
{
  const sfd_group_t *group = trunks->graph->group;
  bool is_open = false;
  user->has_closed = true;
  if (trunks->devices->state != SFD_SLOTS_MADE)
    return;
  for (int32_t i = 0; i < group->nlocals; i++) {
    const sfd_slots_user_t *other = &trunks->devices->users[i];
    is_open |= other->was_told && !other->has_closed && sfd_rank_connected(sfd_group_member(group, group->locals[i]));
  }
  if (!is_open)
    do_without(trunks, "a rank could not open the slots on a device");
}

static sf_status_t ask(sfd_trunks_t *trunks, int32_t local, const Sfproto__TrunkAsk *ask)
{
  sf_status_t status = trunks->devices == NULL ? begin(trunks) : SF_OK;
  if (status != SF_OK)
    return status;
  sfd_trunk_devices_t *devices = trunks->devices;
  sfd_slots_user_t *user = &devices->users[local];
  if (!user->takes_part || user->has_asked)
    return sfshm_error(SF_ERR_STATE, "graph %" PRIu64 ": %s", ask->graph,
                       user->takes_part ? "asked for slots twice" : "no messages to other nodes are this rank's");
  *user = (sfd_slots_user_t){.takes_part = true,
                             .has_asked = true,
                             .roots = ask->roots,
                             .leaves = ask->leaves,
                             .sees_adapters = ask->sees_adapters};
  memcpy(user->device.bytes, ask->device.data, sizeof user->device.bytes);
  if (devices->class_bytes < ask->class_bytes)
    devices->class_bytes = ask->class_bytes;
  if (devices->state == SFD_SLOTS_ASKING && all_have(trunks, has_asked))
    make(trunks);
  return SF_OK;
}

void sfd_trunk_devices_handle_ask(sfd_session_t *session, const Sfproto__Message *message)
{
  const Sfproto__TrunkAsk *asked = message->trunk_ask;
  int32_t local;
  if (asked->device.len != sizeof(sfshm_device_identity_t) || asked->class_bytes > INT64_MAX ||
      sfshm_exchange_class((size_t)asked->class_bytes) != asked->class_bytes) {
    sfd_session_refuse(session, message->request, SF_ERR_PROTO,
                       "TrunkAsk for units of %" PRIu64 " bytes on a device whose identity has %zu bytes, %zu expected",
                       asked->class_bytes, asked->device.len, sizeof(sfshm_device_identity_t));
    return;
  }
  sfd_trunks_t *trunks = find_trunks(session, message->request, asked->graph, &local);
  if (trunks == NULL)
    return;
  sf_status_t status = trunks->letting_go ? sfshm_error(SF_ERR_STATE, "graph %" PRIu64 " has failed", asked->graph)
                                          : ask(trunks, local, asked);
  if (status != SF_OK)
    sfd_session_send_error(session, message->request, status, sfshm_error_detail());
  else
    sfd_session_send_done(session, message->request);
}

/* All ranks that will ask have asked by now. */
void sfd_trunk_devices_handle_get(sfd_session_t *session, const Sfproto__Message *message)
{
  sfd_trunks_t *trunks;
  sfd_slots_user_t *user = find_user(session, message->request, message->trunk_get->graph, &trunks);
  if (user == NULL)
    return;
  sfd_trunk_devices_t *devices = trunks->devices;
  if (devices->state == SFD_SLOTS_ASKING)
    devices->state = SFD_SLOTS_NONE;
  user->waits = devices->state == SFD_SLOTS_MAKING;
  user->request = message->request;
  if (!user->waits)
    answer(trunks, user, session);
}

void sfd_trunk_devices_handle_have(sfd_session_t *session, const Sfproto__Message *message)
{
  const Sfproto__TrunkHave *have = message->trunk_have;
  sfd_trunks_t *trunks;
  sfd_slots_user_t *user = find_user(session, message->request, have->graph, &trunks);
  if (user == NULL)
    return;
  user->has_opened = true;
  if (have->closed)
    close_for(trunks, user);
  else if (trunks->devices->state == SFD_SLOTS_MADE && all_have(trunks, has_opened) && may_use(trunks))
    use(trunks);
  sfd_session_send_done(session, message->request);
}
