/* Lies between daemons: see loop_lies.h. */
#include "tests/system/loop/lies.h"

#include <sys/mman.h>

#include "daemon/jobs/graph.h"
#include "daemon/jobs/job.h"
#include "daemon/net/channel.h"
#include "daemon/net/network.h"
#include "daemon/onesided/messages.h"
#include "shm/observe/calls.h"
#include "shm/region/region.h"
#include "shm/trunk/trunk.h"
#include "tests/system/model/graph.h"

#define MESSAGES 300     /* of random contents */
#define MOST 5           /* elements of a random array */
#define RANDOM_BYTES 600 /* of a random payload, at most */

static sfd_job_t *find_job(const sfd_server_t *server)
{
  sfd_job_t *job;
  TAILQ_FOREACH (job, &server->jobs->list, entry)
    if (job->size == SFTEST_LIED_SIZE)
      break;
  return job;
}

/* ---- Of a graph -------------------------------------------------------------------------------------------------- */

static void send_meet(sfd_server_t *server, int32_t node, const sfd_graph_t *graph, sftest_lie_t lie)
{
  Sfpeer__SetupError error = SFPEER__SETUP_ERROR__INIT;
  Sfpeer__GraphMeet meet = SFPEER__GRAPH_MEET__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  error.detail = (char[]){"an error"};
  meet.job = graph->group->job->id;
  meet.graph = graph->id;
  meet.rank = lie == SFTEST_LIE_MEET_NO_RANK ? graph->group->size : graph->group->locals[0];
  meet.error = lie == SFTEST_LIE_MEET_NO_ERROR ? &error : NULL;
  message.body_case = SFPEER__MESSAGE__BODY_GRAPH_MEET;
  message.graph_meet = &meet;
  sfd_network_send(server, node, &message);
}

static void send_met(sfd_server_t *server, int32_t node, const sfd_graph_t *graph)
{
  Sfpeer__GraphMet met = SFPEER__GRAPH_MET__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  met.job = graph->group->job->id;
  met.graph = graph->id;
  met.detail = (char[]){""};
  message.body_case = SFPEER__MESSAGE__BODY_GRAPH_MET;
  message.graph_met = &met;
  sfd_network_send(server, node, &message);
}

static void send_calls(sfd_server_t *server, int32_t node, const sfd_graph_t *graph)
{
  static uint64_t numbers[SFSHM_CALLS];
  Sfpeer__GraphCalls calls = SFPEER__GRAPH_CALLS__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  calls.job = graph->group->job->id;
  calls.graph = graph->id;
  calls.rank = graph->group->size;
  calls.digests = calls.last = numbers;
  calls.n_digests = calls.n_last = SFSHM_CALLS;
  message.body_case = SFPEER__MESSAGE__BODY_GRAPH_CALLS;
  message.graph_calls = &calls;
  sfd_network_send(server, node, &message);
}

/* Of the graph's data, to a node with roots if it is about what that sends, else with leaves. */
static void send_head(sfd_server_t *server, int32_t node, const sfd_graph_t *graph, uint16_t kind, uint32_t number,
                      uint64_t bytes)
{
  static const char payload[64];
  sfd_message_head_t head = {.kind = kind,
                             .flags = kind == SFD_PEER_CREDIT ? SFSHM_AS_ROOT : SFSHM_AS_LEAF,
                             .number = number,
                             .payload_bytes = bytes,
                             .job = graph->group->job->id,
                             .object = graph->id};
  sfd_network_send_payload(server, node, &head, payload, NULL, NULL);
}

static void send_control(sfd_server_t *server, int32_t node, const void *payload, size_t bytes)
{
  sfd_message_head_t head = {.kind = SFD_PEER_CONTROL, .payload_bytes = bytes};
  sfd_network_send_payload(server, node, &head, payload, NULL, NULL);
}

static void send_start(sfd_server_t *server, int32_t node)
{
  Sfpeer__JobStart started = SFPEER__JOB_START__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  int32_t nodes[] = {node, 99};
  uint64_t incarnations[] = {1, 1};
  started.name = (char[]){"nobody"};
  started.job = sfd_network_new_id(server);
  started.nodes = nodes;
  started.incarnations = incarnations;
  started.n_nodes = started.n_incarnations = 2;
  message.body_case = SFPEER__MESSAGE__BODY_JOB_START;
  message.job_start = &started;
  sfd_network_send(server, node, &message);
}

static void send_runs(sfd_server_t *server, int32_t node)
{
  Sfpeer__JobRuns runs = SFPEER__JOB_RUNS__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  runs.name = (char[]){"nobody"}; /* and no job */
  message.body_case = SFPEER__MESSAGE__BODY_JOB_RUNS;
  message.job_runs = &runs;
  sfd_network_send(server, node, &message);
}

/* ---- Of an array ------------------------------------------------------------------------------------------------- */

/* Of a rank of the liar's node, but for one lie; from_rank: of which rank an answer is. */
static void send_array(sfd_server_t *server, int32_t node, const sfd_graph_t *graph, uint16_t kind, uint16_t flags,
                       int32_t rank, uint64_t bytes)
{
  static const char payload[256];
  sfd_message_head_t head = {.kind = kind,
                             .flags = flags,
                             .number = 1,
                             .payload_bytes = bytes,
                             .job = graph->group->job->id,
                             .object = graph->id,
                             .desc = sfd_array_origin(rank, 3)};
  sfd_network_send_payload(server, node, &head, payload, NULL, NULL);
}

static void lie_of_array(sfd_server_t *server, int32_t node, const sfd_job_t *job, sftest_lie_t lie)
{
  const sfd_graph_t *graph;
  int32_t here = sfd_network_node(server); /* as the job's ranks are placed: the rank, too */
  TAILQ_FOREACH (graph, &job->graphs, entry)
    if (graph->array != NULL)
      break;
  if (graph == NULL)
    return;
  switch (lie) {
  case SFTEST_LIE_ARRAY_RANK:
    send_array(server, node, graph, SFD_PEER_ARRAY, 0, node, sizeof(sfshm_array_request_t));
    break;
  case SFTEST_LIE_ARRAY_SHORT:
    send_array(server, node, graph, SFD_PEER_ARRAY, 0, here, 64);
    break;
  case SFTEST_LIE_ARRAY_TWICE:
    send_array(server, node, graph, SFD_PEER_ARRAY, SFD_ARRAY_DATA_FOLLOW, here, sizeof(sfshm_array_request_t));
    send_array(server, node, graph, SFD_PEER_ARRAY, SFD_ARRAY_DATA_FOLLOW, here, sizeof(sfshm_array_request_t));
    break;
  case SFTEST_LIE_ARRAY_DATA:
    send_array(server, node, graph, SFD_PEER_ARRAY_DATA, 0, here, 200);
    break;
  default:
    send_array(server, node, graph, SFD_PEER_ARRAY_DONE, 0, node, 8);
  }
}

/* ---- Anything ---------------------------------------------------------------------------------------------------- */

typedef struct liar {
  sfd_server_t *server;
  const sfd_job_t *job; /* NULL: it is over */
  uint64_t random;
} liar_t;

/* Of the job, its groups and graphs, or close to that. */
static uint64_t random_id(liar_t *liar)
{
  const sfd_job_t *job = liar->job;
  const sfd_graph_t *graph = job != NULL ? TAILQ_FIRST(&job->graphs) : NULL;
  switch (sftest_below(&liar->random, 6)) {
  case 0:
    return sftest_random(&liar->random);
  case 1:
    return (uint64_t)sftest_below(&liar->random, 4);
  case 2:
  case 3:
    return graph != NULL ? graph->id : 0;
  default:
    return job != NULL ? job->id : UINT64_MAX; /* that of its group of all ranks, too */
  }
}

static int64_t random_number(liar_t *liar)
{
  static const int64_t numbers[] = {INT64_MIN, INT32_MIN, -8, -1, 0, 1, 2, 3, 4, 100, INT32_MAX, INT64_MAX};
  return numbers[sftest_below(&liar->random, (int64_t)(sizeof numbers / sizeof numbers[0]))];
}

static char *random_text(liar_t *liar)
{
  size_t length = (size_t)sftest_below(&liar->random, 2 * SFD_TEXT_SIZE);
  if (liar->job != NULL && sftest_below(&liar->random, 2) == 0)
    return strdup(liar->job->name);
  char *text = malloc(length + 1);
  for (size_t i = 0; i < length; i++)
    text[i] = (char)(1 + sftest_below(&liar->random, 126));
  text[length] = '\0';
  return text;
}

static ProtobufCMessage *random_message(liar_t *liar, const ProtobufCMessageDescriptor *descriptor);

/* One element, of so many bytes: returned. */
static size_t set_random(liar_t *liar, const ProtobufCFieldDescriptor *field, void *to)
{
  const uint64_t id = random_id(liar);
  const int64_t number = random_number(liar);
  const int32_t small = (int32_t)number;
  const uint32_t uid = sftest_below(&liar->random, 2) == 0 && liar->job != NULL ? liar->job->uid : (uint32_t)number;
  ProtobufCBinaryData bytes;
  switch (field->type) {
  case PROTOBUF_C_TYPE_UINT64:
    memcpy(to, &id, sizeof id);
    return sizeof id;
  case PROTOBUF_C_TYPE_INT64:
    memcpy(to, &number, sizeof number);
    return sizeof number;
  case PROTOBUF_C_TYPE_UINT32:
    memcpy(to, &uid, sizeof uid);
    return sizeof uid;
  case PROTOBUF_C_TYPE_STRING:
    *(char **)to = random_text(liar);
    return sizeof(char *);
  case PROTOBUF_C_TYPE_BYTES:
    bytes.data = (uint8_t *)random_text(liar);
    bytes.len = strlen((char *)bytes.data);
    memcpy(to, &bytes, sizeof bytes);
    return sizeof bytes;
  case PROTOBUF_C_TYPE_MESSAGE:
    *(ProtobufCMessage **)to = random_message(liar, field->descriptor);
    return sizeof(ProtobufCMessage *);
  case PROTOBUF_C_TYPE_BOOL:
    *(protobuf_c_boolean *)to = sftest_below(&liar->random, 2) == 0;
    return sizeof(protobuf_c_boolean);
  default: /* int32, or an enum: also values that it does not have */
    memcpy(to, &small, sizeof small);
    return sizeof small;
  }
}

static void set_random_array(liar_t *liar, const ProtobufCFieldDescriptor *field, ProtobufCMessage *message)
{
  size_t n = (size_t)sftest_below(&liar->random, MOST), at = 0;
  char *elements = calloc(MOST, sizeof(ProtobufCBinaryData));
  for (size_t i = 0; i < n; i++)
    at += set_random(liar, field, elements + at);
  memcpy((char *)message + field->quantifier_offset, &n, sizeof n);
  memcpy((char *)message + field->offset, &elements, sizeof elements);
}

static ProtobufCMessage *random_message(liar_t *liar, const ProtobufCMessageDescriptor *descriptor)
{
  ProtobufCMessage *message = calloc(1, descriptor->sizeof_message);
  protobuf_c_message_init(descriptor, message);
  for (unsigned i = 0; i < descriptor->n_fields; i++) {
    const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
    bool is_pointer = field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
      set_random_array(liar, field, message);
      continue;
    }
    if (field->label == PROTOBUF_C_LABEL_OPTIONAL && sftest_below(&liar->random, 3) == 0)
      continue;
    if (field->label == PROTOBUF_C_LABEL_OPTIONAL && !is_pointer)
      *(protobuf_c_boolean *)((char *)message + field->quantifier_offset) = true;
    set_random(liar, field, (char *)message + field->offset);
  }
  return message;
}

/* With any body but a question of tools, who are told what they want: another daemon names the user. */
static void send_random_control(liar_t *liar, int32_t node)
{
  const ProtobufCMessageDescriptor *descriptor = &sfpeer__message__descriptor;
  const ProtobufCFieldDescriptor *field;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  do
    field = &descriptor->fields[sftest_below(&liar->random, descriptor->n_fields)];
  while (field->id == SFPEER__MESSAGE__BODY_ASK);
  message.body_case = (Sfpeer__Message__BodyCase)field->id;
  ProtobufCMessage *body = random_message(liar, field->descriptor);
  memcpy((char *)&message + field->offset, &body, sizeof body);
  size_t length = sfpeer__message__get_packed_size(&message);
  uint8_t *packed = malloc(length + 1);
  sfpeer__message__pack(&message, packed);
  if (sftest_below(&liar->random, 10) == 0)
    packed[sftest_below(&liar->random, (int64_t)length)] ^= (uint8_t)(1 << sftest_below(&liar->random, 8));
  send_control(liar->server, node, packed, length);
  free(packed);
  protobuf_c_message_free_unpacked(body, NULL);
}

static void send_random_head(liar_t *liar, int32_t node)
{
  uint8_t payload[RANDOM_BYTES];
  sfd_message_head_t head = {.kind = (uint16_t)(1 + sftest_below(&liar->random, SFD_PEER_KINDS)),
                             .flags = (uint16_t)sftest_below(&liar->random, 3),
                             .number = (uint32_t)random_number(liar),
                             .job = random_id(liar),
                             .object = random_id(liar),
                             .desc = (uint64_t)random_number(liar)};
  if (sftest_below(&liar->random, 2) == 0)
    head.payload_bytes = (uint64_t)sftest_below(&liar->random, RANDOM_BYTES);
  for (uint64_t i = 0; i < head.payload_bytes; i++)
    payload[i] = (uint8_t)sftest_random(&liar->random);
  sfd_network_send_payload(liar->server, node, &head, payload, NULL, NULL);
}

static void send_random(sfd_server_t *server, int32_t node, uint64_t seed)
{
  liar_t liar = {.server = server, .random = seed};
  for (int i = 0; i < MESSAGES; i++) {
    liar.job = find_job(server);
    if (sftest_below(&liar.random, 4) == 0)
      send_random_head(&liar, node);
    else
      send_random_control(&liar, node);
  }
}

static void on_sent(void *context, sf_status_t status)
{
  (void)context, (void)status;
}

static void send_large_wants(sfd_server_t *server, int32_t node)
{
  static void *reserved; /* in place of a list: addresses without memory */
  uint64_t bytes = sfshm_memory_bytes() + 1;
  sfd_message_head_t head = {.kind = SFD_PEER_WANTS, .payload_bytes = bytes};
  if (reserved == NULL)
    reserved = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved != MAP_FAILED)
    sfd_network_send_payload(server, node, &head, reserved, on_sent, NULL);
}

/* A head about a graph that does not fit to it; false: the lie is another one. */
static bool send_wrong_head(sfd_server_t *server, int32_t node, const sfd_graph_t *graph, sftest_lie_t lie)
{
  static const struct {
    sftest_lie_t lie;
    uint16_t kind;
    uint32_t number;
    uint64_t bytes;
  } heads[] = {{SFTEST_LIE_DATA_LENGTH, SFD_PEER_DATA, 1, 7},  {SFTEST_LIE_DATA_NUMBER, SFD_PEER_DATA, 77, 8},
               {SFTEST_LIE_DATA_NOTHING, SFD_PEER_DATA, 1, 0}, {SFTEST_LIE_CREDIT, SFD_PEER_CREDIT, 77, 0},
               {SFTEST_LIE_KIND, SFD_PEER_KINDS, 0, 0},        {SFTEST_LIE_PAYLOAD, SFD_PEER_CREDIT, 0, 8}};
  for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
    if (heads[i].lie == lie) {
      send_head(server, node, graph, heads[i].kind, heads[i].number, heads[i].bytes);
      return true;
    }
  return false;
}

void sftest_lie(sfd_server_t *server, int32_t node, sftest_lie_t lie)
{
  static const uint8_t garbage[100] = {0xff, 0xfe, 0xfd};
  const sfd_job_t *job = find_job(server);
  const sfd_graph_t *graph = job != NULL ? TAILQ_FIRST(&job->graphs) : NULL;
  if (lie >= SFTEST_LIE_RANDOM) {
    send_random(server, node, (uint64_t)lie);
    return;
  }
  if (graph == NULL || send_wrong_head(server, node, graph, lie))
    return;
  if (lie >= SFTEST_LIE_ARRAY_RANK) {
    lie_of_array(server, node, job, lie);
    return;
  }
  switch (lie) {
  case SFTEST_LIE_MEET_TWICE:
    send_meet(server, node, graph, lie);
    send_meet(server, node, graph, lie);
    break;
  case SFTEST_LIE_MEET:
  case SFTEST_LIE_MEET_NO_RANK:
  case SFTEST_LIE_MEET_NO_ERROR:
    send_meet(server, node, graph, lie);
    break;
  case SFTEST_LIE_MET:
    send_met(server, node, graph);
    break;
  case SFTEST_LIE_CALLS:
    send_calls(server, node, graph);
    break;
  case SFTEST_LIE_WANTS:
    send_large_wants(server, node);
    break;
  case SFTEST_LIE_START:
    send_start(server, node);
    break;
  case SFTEST_LIE_RUNS:
    send_runs(server, node);
    break;
  case SFTEST_LIE_GARBAGE:
    send_control(server, node, garbage, sizeof garbage);
    break;
  default:
    send_control(server, node, garbage, 0);
  }
}
