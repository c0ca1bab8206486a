/* Plain values of messages as metrics: one table row per family. Names are documented in docs/man/sfctl.1: add, never
 * change. Pure functions. */
#include "proto/report/metrics_kinds.h"

#define FIELDS(array) .fields = (array), .nfields = sizeof(array) / sizeof(array)[0]

/* ---- The daemon ---- */

#define AT(name) offsetof(Sfproto__StatusInfo, name)
static const sfreport_metric_t status_fields[] = {
    {"uptime_seconds", SFREPORT_METRIC_GAUGE, "seconds", "Time since the daemon's start.", SFREPORT_METRIC_DOUBLE,
     AT(uptime_s), 0},
    {"cores", SFREPORT_METRIC_GAUGE, NULL, "Processor cores.", SFREPORT_METRIC_INT32, AT(cores), 0},
    {"costs_measured", SFREPORT_METRIC_GAUGE, NULL, "Whether the costs of copying were measured on this machine.",
     SFREPORT_METRIC_SWITCH, AT(costs_measured), 0},
    {"jobs", SFREPORT_METRIC_GAUGE, NULL, "Jobs at present.", SFREPORT_METRIC_INT32, AT(jobs), 0},
    {"ranks", SFREPORT_METRIC_GAUGE, NULL, "Ranks at present.", SFREPORT_METRIC_INT32, AT(ranks), 0},
    {"graphs", SFREPORT_METRIC_GAUGE, NULL, "Graphs at present.", SFREPORT_METRIC_INT32, AT(graphs), 0},
    {"jobs_started", SFREPORT_METRIC_COUNTER, NULL, "Jobs since the daemon's start.", SFREPORT_METRIC_UINT64,
     AT(jobs_total), 0},
    {"jobs_failed", SFREPORT_METRIC_COUNTER, NULL, "Jobs that failed.", SFREPORT_METRIC_UINT64, AT(jobs_failed), 0},
    {"jobs_stalled", SFREPORT_METRIC_GAUGE, NULL, "Jobs with a rank that waits for longer than stall-after.",
     SFREPORT_METRIC_INT32, AT(jobs_stalled), AT(has_jobs_stalled)},
    {"connections_refused", SFREPORT_METRIC_COUNTER, NULL, "Connections refused, or closed for what they sent.",
     SFREPORT_METRIC_UINT64, AT(refused), 0},
    {"node", SFREPORT_METRIC_GAUGE, NULL, "Number of this node.", SFREPORT_METRIC_INT32, AT(node), AT(has_node)},
    {"nodes", SFREPORT_METRIC_GAUGE, NULL, "Nodes that the daemon knows, this one included.", SFREPORT_METRIC_INT32,
     AT(nodes), AT(has_nodes)},
};
#undef AT

static const void *body_of_status(const Sfproto__Message *message)
{
  return message->status_info;
}

static void label_nothing(sfreport_openmetrics_t *out, const void *body)
{
  (void)out, (void)body;
}

const sfreport_metric_kind_t sfreport_metric_daemon = {
    .prefix = "sfd_", .body = body_of_status, .label = label_nothing, FIELDS(status_fields)};

/* ---- Jobs ---- */

#define AT(name) offsetof(Sfproto__JobInfo, name)
static const sfreport_metric_t job_fields[] = {
    {"ranks", SFREPORT_METRIC_GAUGE, NULL, "Ranks of the job.", SFREPORT_METRIC_INT32, AT(size), 0},
    {"ranks_joined", SFREPORT_METRIC_GAUGE, NULL, "Ranks that have joined.", SFREPORT_METRIC_INT32, AT(joined), 0},
    {"ranks_here", SFREPORT_METRIC_GAUGE, NULL, "Ranks that came to this node.", SFREPORT_METRIC_INT32, AT(here),
     AT(has_here)},
    {"nodes", SFREPORT_METRIC_GAUGE, NULL, "Nodes on which the job has ranks.", SFREPORT_METRIC_INT32, AT(nodes),
     AT(has_nodes)},
    {"groups", SFREPORT_METRIC_GAUGE, NULL, "Groups of the job.", SFREPORT_METRIC_INT32, AT(groups), 0},
    {"graphs", SFREPORT_METRIC_GAUGE, NULL, "Graphs of the job.", SFREPORT_METRIC_INT32, AT(graphs), 0},
    {"age_seconds", SFREPORT_METRIC_GAUGE, "seconds", "Time since the first rank came.", SFREPORT_METRIC_DOUBLE,
     AT(age_s), 0},
    {"stalled", SFREPORT_METRIC_GAUGE, NULL, "Whether a rank here waits for longer than stall-after.",
     SFREPORT_METRIC_SWITCH, AT(stalled), AT(has_stalled)},
};
#undef AT

static const char *const job_states[] = {"joining", "running", "failed", NULL};

static const void *body_of_job(const Sfproto__Message *message)
{
  return message->job_info;
}

/* "job" is Prometheus' own label for its target. */
static void label_job(sfreport_openmetrics_t *out, const void *body)
{
  const Sfproto__JobInfo *info = body;
  sfreport_openmetrics_label_uint(out, "job_id", info->job_id);
  sfreport_openmetrics_label(out, "job_name", info->name);
}

static const char *state_of_job(const void *body)
{
  return ((const Sfproto__JobInfo *)body)->state;
}

const sfreport_metric_kind_t sfreport_metric_job = {.prefix = "sfd_job_",
                                                    .body = body_of_job,
                                                    .label = label_job,
                                                    .state = state_of_job,
                                                    .states = job_states,
                                                    FIELDS(job_fields)};

/* ---- Ranks ---- */

#define AT(name) offsetof(Sfproto__RankInfo, name)
static const sfreport_metric_t rank_fields[] = {
    {"ring_depth", SFREPORT_METRIC_GAUGE, NULL, "Requests in the submission ring that the daemon has not taken yet.",
     SFREPORT_METRIC_UINT32, AT(ring_depth), AT(has_ring_depth)},
    {"offloaded_bytes", SFREPORT_METRIC_COUNTER, "bytes",
     "Bytes that the daemon's workers have copied into its memory.", SFREPORT_METRIC_UINT64, AT(offloaded_bytes),
     AT(has_offloaded_bytes)},
};
#undef AT

static const char *const rank_states[] = {"joining", "running", "left", "failed", NULL};

static const void *body_of_rank(const Sfproto__Message *message)
{
  return message->rank_info;
}

static void label_rank(sfreport_openmetrics_t *out, const void *body)
{
  const Sfproto__RankInfo *info = body;
  sfreport_openmetrics_label_uint(out, "job_id", info->job_id);
  sfreport_openmetrics_label(out, "job_name", info->job);
  sfreport_openmetrics_label_int(out, "rank", info->rank);
}

static const char *state_of_rank(const void *body)
{
  return ((const Sfproto__RankInfo *)body)->state;
}

const sfreport_metric_kind_t sfreport_metric_rank = {.prefix = "sfd_rank_",
                                                     .body = body_of_rank,
                                                     .label = label_rank,
                                                     .state = state_of_rank,
                                                     .states = rank_states,
                                                     FIELDS(rank_fields)};

/* ---- Graphs ---- */

#define AT(name) offsetof(Sfproto__GraphInfo, name)
static const sfreport_metric_t graph_fields[] = {
    {"ranks", SFREPORT_METRIC_GAUGE, NULL, "Ranks of the graph.", SFREPORT_METRIC_INT32, AT(size), 0},
    {"roots", SFREPORT_METRIC_GAUGE, NULL, "Roots of all ranks together.", SFREPORT_METRIC_INT64, AT(nroots), 0},
    {"leaves", SFREPORT_METRIC_GAUGE, NULL, "Leaves of all ranks together.", SFREPORT_METRIC_INT64, AT(nleaves), 0},
    {"pairs", SFREPORT_METRIC_GAUGE, NULL, "Ordered pairs of distinct ranks with edges.", SFREPORT_METRIC_INT32,
     AT(pairs), 0},
};
#undef AT

static const char *const graph_states[] = {"setup", "ready", "failed", "retiring", NULL};

static const void *body_of_graph(const Sfproto__Message *message)
{
  return message->graph_info;
}

static void label_graph(sfreport_openmetrics_t *out, const void *body)
{
  const Sfproto__GraphInfo *info = body;
  sfreport_openmetrics_label_uint(out, "job_id", info->job_id);
  sfreport_openmetrics_label(out, "job_name", info->job);
  sfreport_openmetrics_label_uint(out, "graph", info->graph);
}

static const char *state_of_graph(const void *body)
{
  return ((const Sfproto__GraphInfo *)body)->state;
}

const sfreport_metric_kind_t sfreport_metric_graph = {.prefix = "sfd_graph_",
                                                      .body = body_of_graph,
                                                      .label = label_graph,
                                                      .state = state_of_graph,
                                                      .states = graph_states,
                                                      FIELDS(graph_fields)};

/* ---- Arrays ---- */

#define AT(name) offsetof(Sfproto__ArrayInfo, name)
static const sfreport_metric_t array_fields[] = {
    {"part_bytes", SFREPORT_METRIC_GAUGE, "bytes", "Memory of the parts of the node's ranks.", SFREPORT_METRIC_UINT64,
     AT(length), 0},
    {"in_flight", SFREPORT_METRIC_GAUGE, NULL, "Requests of the node's ranks that other nodes have not answered.",
     SFREPORT_METRIC_UINT32, AT(in_flight), 0},
};
#undef AT

static const void *body_of_array(const Sfproto__Message *message)
{
  return message->array_info;
}

static void label_array(sfreport_openmetrics_t *out, const void *body)
{
  const Sfproto__ArrayInfo *info = body;
  sfreport_openmetrics_label_uint(out, "job_id", info->job_id);
  sfreport_openmetrics_label(out, "job_name", info->job);
  sfreport_openmetrics_label_uint(out, "graph", info->graph);
}

const sfreport_metric_kind_t sfreport_metric_array = {
    .prefix = "sfd_array_", .body = body_of_array, .label = label_array, FIELDS(array_fields)};

/* ---- Peers ---- */

#define AT(name) offsetof(Sfproto__PeerInfo, name)
static const sfreport_metric_t peer_fields[] = {
    {"frames_sent", SFREPORT_METRIC_COUNTER, NULL, "Frames sent to the node.", SFREPORT_METRIC_UINT64, AT(frames_sent),
     0},
    {"frames_received", SFREPORT_METRIC_COUNTER, NULL, "Frames received from the node.", SFREPORT_METRIC_UINT64,
     AT(frames_received), 0},
    {"wire_sent_bytes", SFREPORT_METRIC_COUNTER, "bytes", "Bytes sent to the node, with all headers.",
     SFREPORT_METRIC_UINT64, AT(wire_sent), 0},
    {"wire_received_bytes", SFREPORT_METRIC_COUNTER, "bytes", "Bytes received from the node, with all headers.",
     SFREPORT_METRIC_UINT64, AT(wire_received), 0},
    {"queued_messages", SFREPORT_METRIC_GAUGE, NULL, "Messages that wait to be sent.", SFREPORT_METRIC_UINT64,
     AT(queued_messages), 0},
    {"queued_bytes", SFREPORT_METRIC_GAUGE, "bytes", "Payload of the messages that wait to be sent.",
     SFREPORT_METRIC_UINT64, AT(queued_bytes), 0},
    {"send_queue_bytes", SFREPORT_METRIC_GAUGE, "bytes", "Bytes in the kernel's send queue, not acknowledged yet.",
     SFREPORT_METRIC_UINT64, AT(send_queue_bytes), AT(has_send_queue_bytes)},
    {"rtt_seconds", SFREPORT_METRIC_GAUGE, "seconds", "Round-trip time of the stream.", SFREPORT_METRIC_US, AT(rtt_us),
     AT(has_rtt_us)},
    {"retransmits", SFREPORT_METRIC_COUNTER, NULL, "Packets of the stream that were sent again.",
     SFREPORT_METRIC_UINT64, AT(retransmits), AT(has_retransmits)},
    {"busy_seconds", SFREPORT_METRIC_COUNTER, "seconds", "Time in which something was in the kernel's send queue.",
     SFREPORT_METRIC_US, AT(busy_us), AT(has_busy_us)},
};
#undef AT

#define AT(name) offsetof(Sfproto__PeerTraffic, name)
const sfreport_metric_t sfreport_metric_traffic[] = {
    {"messages_sent", SFREPORT_METRIC_COUNTER, NULL, "Messages sent to the node, by kind.", SFREPORT_METRIC_UINT64,
     AT(messages_sent), 0},
    {"messages_received", SFREPORT_METRIC_COUNTER, NULL, "Messages received from the node, by kind.",
     SFREPORT_METRIC_UINT64, AT(messages_received), 0},
    {"payload_sent_bytes", SFREPORT_METRIC_COUNTER, "bytes", "Payload sent to the node, by kind.",
     SFREPORT_METRIC_UINT64, AT(payload_sent), 0},
    {"payload_received_bytes", SFREPORT_METRIC_COUNTER, "bytes", "Payload received from the node, by kind.",
     SFREPORT_METRIC_UINT64, AT(payload_received), 0},
};
#undef AT

const size_t sfreport_metric_ntraffic = sizeof sfreport_metric_traffic / sizeof sfreport_metric_traffic[0];

static const char *const peer_states[] = {"closed", "opening", "open", NULL};

static const void *body_of_peer(const Sfproto__Message *message)
{
  return message->peer_info;
}

static void label_peer(sfreport_openmetrics_t *out, const void *body)
{
  sfreport_openmetrics_label_int(out, "peer", ((const Sfproto__PeerInfo *)body)->node);
}

static const char *state_of_peer(const void *body)
{
  return ((const Sfproto__PeerInfo *)body)->state;
}

const sfreport_metric_kind_t sfreport_metric_peer = {.prefix = "sfd_peer_",
                                                     .body = body_of_peer,
                                                     .label = label_peer,
                                                     .state = state_of_peer,
                                                     .states = peer_states,
                                                     FIELDS(peer_fields)};
