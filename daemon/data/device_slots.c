/* Slots of trunks on devices: see device_slots.h. */
#include "daemon/data/device_slots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/log.h"
#include "daemon/data/trunks_internal.h"
#include "daemon/jobs/job.h"
#include "daemon/memory/device_driver.h"
#include "daemon/net/network.h"
#include "shm/base/error.h"
#include "shm/device/device_load.h"

#define MAX_SLOTS_BYTES (UINT64_C(1) << 40)

typedef enum devices_state { ASKING, MAKING, MADE, USED, NONE } devices_state_t;

/* A rank here. */
typedef struct user {
  bool takes_part; /* in some side */
  bool has_asked;  /* then: */
  bool roots, leaves, sees_adapters;
  sfshm_device_identity_t device;
  bool uses_some; /* of the slots */
  bool was_told;  /* how to open them; then one of these: */
  bool has_opened, has_closed;
  bool waits; /* for the answer to: */
  uint64_t request;
} user_t;

/* The first messages of a side that are on the device. */
typedef struct first_messages {
  uint64_t sent, received;
} first_messages_t;

typedef struct sfd_trunk_devices {
  devices_state_t state;
  bool of_streams;
  uint64_t class_bytes;
  sfd_device_memory_t *memory; /* NULL: there is none */
  sfshm_device_handle_t handle;
  uint64_t taken_bytes; /* of the job's quota */
  sfd_fabric_memory_t told;
  uint8_t *where; /* by side */
  first_messages_t *first;
  sfshm_side_slots_t *slots;
  user_t users[]; /* by rank here */
} sfd_trunk_devices_t;

/* ---- What is where ----------------------------------------------------------------------------------------------- */

uint8_t sfd_trunk_devices_where(const sfd_trunks_t *trunks, uint32_t side)
{
  const sfd_trunk_devices_t *devices = trunks->devices;
  return devices != NULL && devices->state == USED ? devices->where[side] : 0;
}

char *sfd_trunk_devices_slot(const sfd_trunks_t *trunks, uint32_t side, uint8_t where, uint64_t unit_bytes,
                             uint64_t message)
{
  const sfd_trunk_devices_t *devices = trunks->devices;
  const sfshm_trunk_side_t *told = &trunks->sides[side].told;
  bool sends = where == SFSHM_SLOTS_SEND;
  if ((sfd_trunk_devices_where(trunks, side) & where) == 0 ||
      message < (sends ? devices->first[side].sent : devices->first[side].received) ||
      !sfshm_slots_take(sends ? told->send_values : told->receive_values, unit_bytes, devices->class_bytes))
    return NULL;
  const sfshm_side_slots_t *slots = &devices->slots[side];
  return (char *)(uintptr_t)devices->told.base +
         (sends ? sfshm_send_slot(slots, message) : sfshm_receive_slot(slots, message));
}

/* ---- Choosing ---------------------------------------------------------------------------------------------------- */

static const user_t *member_of(const sfd_trunks_t *trunks, const sfd_side_t *side, int32_t k)
{
  return &trunks->devices->users[sfd_group_local(trunks->graph->group, side->members[k])];
}

/* What other ranks contribute to the same roots is added up by the last of them: on streams that is the host. */
static bool has_staging(const sfd_trunks_t *trunks, const sfd_side_t *side)
{
  const sfshm_image_header_t *image = (const void *)((const char *)trunks->plan->map.base + side->told.image);
  return side->told.role == SFSHM_AS_LEAF && image->nlayers > 0;
}

/* On whose device they are; NULL: nobody has data on one. */
static const user_t *device_user(const sfd_trunks_t *trunks)
{
  for (int32_t i = 0; i < trunks->graph->group->nlocals; i++) {
    const user_t *user = &trunks->devices->users[i];
    if (user->roots || user->leaves)
      return user;
  }
  return NULL;
}

/* Kernels of other devices may write what is sent; but what comes is read only where it has come to. */
static uint8_t choose_side(const sfd_trunks_t *trunks, const sfd_side_t *side)
{
  const sfd_trunk_devices_t *devices = trunks->devices;
  const sfshm_device_identity_t *device = &device_user(trunks)->device;
  bool sends = !devices->of_streams || !has_staging(trunks, side), receives = true;
  for (int32_t k = 0; k < side->told.nmembers; k++) {
    const user_t *user = member_of(trunks, side, k);
    bool on_device = side->told.role == SFSHM_AS_ROOT ? user->roots : user->leaves;
    sends &= on_device;
    receives &= on_device && user->sees_adapters && memcmp(&user->device, device, sizeof *device) == 0;
  }
  sends &= sfshm_slots_take(side->told.send_values, devices->class_bytes, devices->class_bytes);
  receives &= sfshm_slots_take(side->told.receive_values, devices->class_bytes, devices->class_bytes);
  return (uint8_t)((sends ? SFSHM_SLOTS_SEND : 0) | (receives ? SFSHM_SLOTS_RECEIVE : 0));
}

static void note_users(const sfd_trunks_t *trunks, const sfd_side_t *side)
{
  for (int32_t k = 0; k < side->told.nmembers; k++)
    trunks->devices->users[sfd_group_local(trunks->graph->group, side->members[k])].uses_some = true;
}

/* The bytes that slots take; 0: nothing is worth it. */
static uint64_t lay_out(sfd_trunks_t *trunks)
{
  sfd_trunk_devices_t *devices = trunks->devices;
  const sfshm_trunk_map_t *map = trunks->plan->map.base;
  uint64_t length = 0;
  for (uint32_t i = 0; i < trunks->nsides && device_user(trunks) != NULL; i++) {
    devices->where[i] = choose_side(trunks, &trunks->sides[i]);
    if (devices->where[i] != 0)
      note_users(trunks, &trunks->sides[i]);
  }
  sf_status_t status = sfshm_slots_layout(map->sides, devices->where, trunks->nsides, devices->class_bytes,
                                          MAX_SLOTS_BYTES, devices->slots, &length);
  return status == SF_OK ? length : 0;
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static void answer(const sfd_trunks_t *trunks, user_t *user, sfd_session_t *session)
{
  sfd_trunk_devices_t *devices = trunks->devices;
  Sfproto__TrunkSlots slots = SFPROTO__TRUNK_SLOTS__INIT;
  Sfproto__Message reply = SFPROTO__MESSAGE__INIT;
  slots.has_handle = user->was_told = devices->state == MADE && user->uses_some && !user->has_closed;
  slots.handle = (ProtobufCBinaryData){sizeof devices->handle.bytes, devices->handle.bytes};
  slots.where = (ProtobufCBinaryData){trunks->nsides, devices->where};
  slots.class_bytes = devices->class_bytes;
  reply.request = user->request;
  reply.body_case = SFPROTO__MESSAGE__BODY_TRUNK_SLOTS;
  reply.trunk_slots = &slots;
  sfd_session_send(session, &reply, NULL, 0);
}

static void answer_all(const sfd_trunks_t *trunks)
{
  const sfd_group_t *group = trunks->graph->group;
  for (int32_t i = 0; i < group->nlocals; i++) {
    user_t *user = &trunks->devices->users[i];
    const sfd_rank_t *rank = sfd_group_member(group, group->locals[i]);
    if (user->waits && sfd_rank_connected(rank))
      answer(trunks, user, rank->session);
    user->waits = false;
  }
}

static void give_back(const sfd_trunks_t *trunks)
{
  trunks->graph->group->job->device_bytes -= trunks->devices->taken_bytes;
  trunks->devices->taken_bytes = 0;
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

static void tell_ranks(const sfd_trunks_t *trunks, sfshm_slots_state_t state)
{
  sfshm_trunk_board_t *board = trunks->board.base;
  atomic_store(&board->on_device, state);
}

static void give_up(const sfd_trunks_t *trunks)
{
  trunks->devices->state = NONE;
  tell_ranks(trunks, SFSHM_SLOTS_NONE);
}

/* Nobody has the memory open. */
static void do_without(const sfd_trunks_t *trunks, const char *why)
{
  sfd_trunk_devices_t *devices = trunks->devices;
  sfd_log(SFD_LOG_MEMORY, SFD_INFO, "graph %" PRIu64 ": what is on devices goes to other nodes from pinned memory: %s",
          trunks->graph->id, why);
  give_up(trunks);
  give_back(trunks);
  if (devices->memory != NULL)
    sfd_device_free(trunks->server, devices->memory);
  devices->memory = NULL;
}

static void on_allocated(void *context, sf_status_t status, const char *detail, const sfshm_device_handle_t *handle,
                         uint64_t taken_bytes)
{
  sfd_trunks_t *trunks = context;
  sfd_trunk_devices_t *devices = trunks->devices;
  if (status != SF_OK) {
    devices->memory = NULL;
  } else if ((status = take(trunks, taken_bytes)) != SF_OK) {
    detail = sfshm_error_detail();
  }
  if (status == SF_OK) {
    devices->handle = *handle;
    devices->state = MADE;
    tell_ranks(trunks, SFSHM_SLOTS_THERE);
  } else {
    do_without(trunks, detail);
  }
  answer_all(trunks);
}

static void make(sfd_trunks_t *trunks)
{
  sfd_trunk_devices_t *devices = trunks->devices;
  uint64_t length = lay_out(trunks);
  if (length == 0 || sfd_network_device_fabric(trunks->server) == NULL) {
    give_up(trunks);
    return;
  }
  sf_status_t status = take(trunks, length);
  if (status == SF_OK)
    status =
        sfd_device_alloc(trunks->server, &device_user(trunks)->device, length, on_allocated, trunks, &devices->memory);
  if (status == SF_OK)
    devices->state = MAKING;
  else
    do_without(trunks, sfshm_error_detail());
}

/* ---- Using ------------------------------------------------------------------------------------------------------- */

/* Streams count on silence; a client may come when it should not. */
static bool may_use(const sfd_trunks_t *trunks)
{
  bool quiet = trunks->nunder_way == 0;
  if (trunks->letting_go || !trunks->devices->of_streams)
    return !trunks->letting_go;
  for (uint32_t i = 0; i < trunks->nsides; i++)
    quiet = quiet && trunks->sides[i].sent == 0 && trunks->sides[i].arrived == 0;
  return quiet;
}

/* The first ones that nobody has begun to write. Streams know that all are. */
static void choose_first(const sfd_trunks_t *trunks, uint32_t number)
{
  const sfd_side_t *side = &trunks->sides[number];
  first_messages_t *first = &trunks->devices->first[number];
  bool is_arriving = trunks->server->arriving[side->told.node] == trunks;
  *first = (first_messages_t){1, 1};
  if (trunks->devices->of_streams)
    return;
  first->sent = sfd_side_granted(side) + 1;
  first->received = side->arrived + 1 + is_arriving;
  if ((trunks->devices->where[number] & SFSHM_SLOTS_SEND) != 0)
    atomic_store_explicit(&side->flow->send_from, first->sent, memory_order_relaxed);
  if ((trunks->devices->where[number] & SFSHM_SLOTS_RECEIVE) != 0)
    atomic_store_explicit(&side->flow->receive_from, first->received, memory_order_relaxed);
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
  for (uint32_t i = 0; i < trunks->nsides; i++)
    choose_first(trunks, i);
  devices->state = USED;
  tell_ranks(trunks, SFSHM_SLOTS_USED);
}

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

static void free_devices(sfd_trunk_devices_t *devices)
{
  free(devices->where);
  free(devices->first);
  free(devices->slots);
  free(devices);
}

static sf_status_t begin(sfd_trunks_t *trunks, bool of_streams)
{
  int32_t nlocals = trunks->graph->group->nlocals;
  sfd_trunk_devices_t *devices = calloc(1, sizeof *devices + (size_t)nlocals * sizeof devices->users[0]);
  if (devices == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for slots on a device");
  devices->of_streams = of_streams;
  devices->where = calloc(trunks->nsides, sizeof *devices->where);
  devices->first = calloc(trunks->nsides, sizeof *devices->first);
  devices->slots = calloc(trunks->nsides, sizeof *devices->slots);
  if (devices->where == NULL || devices->first == NULL || devices->slots == NULL) {
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
  if (trunks->devices == NULL || trunks->devices->state != MAKING)
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
  if (devices->state != MAKING)
    return;
  sfd_device_free(trunks->server, devices->memory);
  devices->memory = NULL;
  devices->state = NONE;
}

void sfd_trunk_devices_free(sfd_trunks_t *trunks)
{
  sfd_trunk_devices_t *devices = trunks->devices;
  sfd_fabric_t *fabric = sfd_network_device_fabric(trunks->server);
  if (devices == NULL)
    return;
  if (devices->state == USED)
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
    sfd_session_answer(session, request, SF_ERR_NOT_FOUND, "graph %" PRIu64 " has no edges to other nodes", id);
  return graph != NULL ? graph->trunks : NULL;
}

/* The same for what comes behind TrunkAsk. */
static user_t *find_user(sfd_session_t *session, uint64_t request, uint64_t id, sfd_trunks_t **trunks_p)
{
  int32_t local;
  sfd_trunks_t *trunks = *trunks_p = find_trunks(session, request, id, &local);
  if (trunks == NULL)
    return NULL;
  if (trunks->devices != NULL && trunks->devices->users[local].has_asked)
    return &trunks->devices->users[local];
  sfd_session_answer(session, request, SF_ERR_STATE, "rank %d has not asked for slots of graph %" PRIu64,
                     session->rank->number, id);
  return NULL;
}

typedef bool (*user_is_fn_t)(const user_t *user);

static bool has_asked(const user_t *user)
{
  return user->has_asked;
}

static bool has_opened(const user_t *user)
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
static void close_for(const sfd_trunks_t *trunks, user_t *user)
{
  const sfd_group_t *group = trunks->graph->group;
  bool is_open = false;
  user->has_closed = true;
  if (trunks->devices->state != MADE)
    return;
  tell_ranks(trunks, SFSHM_SLOTS_NONE);
  for (int32_t i = 0; i < group->nlocals; i++) {
    const user_t *other = &trunks->devices->users[i];
    is_open |= other->was_told && !other->has_closed && sfd_rank_connected(sfd_group_member(group, group->locals[i]));
  }
  if (!is_open)
    do_without(trunks, "a rank could not open the slots on a device");
}

static sf_status_t ask(sfd_trunks_t *trunks, int32_t local, const Sfproto__TrunkAsk *ask)
{
  sf_status_t status = trunks->devices == NULL ? begin(trunks, ask->streams) : SF_OK;
  if (status != SF_OK)
    return status;
  sfd_trunk_devices_t *devices = trunks->devices;
  user_t *user = &devices->users[local];
  if (!user->takes_part || user->has_asked)
    return sfshm_error(SF_ERR_STATE, "graph %" PRIu64 ": %s", ask->graph,
                       user->takes_part ? "asked for slots twice" : "no messages to other nodes are this rank's");
  *user = (user_t){.takes_part = true,
                   .has_asked = true,
                   .roots = ask->roots,
                   .leaves = ask->leaves,
                   .sees_adapters = ask->sees_adapters};
  if (ask->device.len > 0)
    memcpy(user->device.bytes, ask->device.data, sizeof user->device.bytes);
  if (devices->class_bytes < ask->class_bytes)
    devices->class_bytes = ask->class_bytes;
  if (devices->state != ASKING)
    return SF_OK;
  if (all_have(trunks, has_asked))
    make(trunks);
  else
    tell_ranks(trunks, SFSHM_SLOTS_WANTED);
  return SF_OK;
}

void sfd_trunk_devices_handle_ask(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  const Sfproto__TrunkAsk *asked = message->trunk_ask;
  int32_t local;
  (void)fds;
  (void)nfds;
  size_t identity_bytes = asked->roots || asked->leaves ? sizeof(sfshm_device_identity_t) : 0;
  if ((asked->device.len != sizeof(sfshm_device_identity_t) && asked->device.len != identity_bytes) ||
      asked->class_bytes > INT64_MAX || sfshm_exchange_class((size_t)asked->class_bytes) != asked->class_bytes) {
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

/* All have asked by now who will: of streams, and others ask when the memory is there. */
void sfd_trunk_devices_handle_get(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  sfd_trunks_t *trunks;
  user_t *user = find_user(session, message->request, message->trunk_get->graph, &trunks);
  (void)fds;
  (void)nfds;
  if (user == NULL)
    return;
  sfd_trunk_devices_t *devices = trunks->devices;
  if (devices->state == ASKING)
    give_up(trunks);
  user->waits = devices->state == MAKING;
  user->request = message->request;
  if (!user->waits)
    answer(trunks, user, session);
}

void sfd_trunk_devices_handle_have(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  const Sfproto__TrunkHave *have = message->trunk_have;
  sfd_trunks_t *trunks;
  user_t *user = find_user(session, message->request, have->graph, &trunks);
  (void)fds;
  (void)nfds;
  if (user == NULL)
    return;
  user->has_opened = true;
  if (have->closed)
    close_for(trunks, user);
  else if (trunks->devices->state == MADE && all_have(trunks, has_opened) && may_use(trunks))
    use(trunks);
  sfd_session_send_done(session, message->request);
}
