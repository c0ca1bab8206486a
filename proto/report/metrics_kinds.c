/* Values as metrics: one table row per family. Names are documented in docs/man/sfctl.1: add, never change. Pure
 * data. */
#include "proto/report/metrics_kinds.h"

#define TYPE_OF(value)                                                                                                 \
  _Generic((value), int32_t                                                                                            \
           : SFREPORT_METRIC_INT32, int64_t                                                                            \
           : SFREPORT_METRIC_INT64, uint32_t                                                                           \
           : SFREPORT_METRIC_UINT32, uint64_t                                                                          \
           : SFREPORT_METRIC_UINT64, double                                                                            \
           : SFREPORT_METRIC_DOUBLE, char *                                                                            \
           : SFREPORT_METRIC_TEXT)

/* A field of BODY; IF: one that may be unknown. */
#define AT(name) .field = {offsetof(BODY, name), 0, TYPE_OF(((BODY *)0)->name)}
#define IF(name) .field = {offsetof(BODY, name), offsetof(BODY, has_##name), TYPE_OF(((BODY *)0)->name)}
#define US_IF(name) .field = {offsetof(BODY, name), offsetof(BODY, has_##name), SFREPORT_METRIC_US}

/* A field of an item whose counters are known. */
#define COUNT_OF(name, type) .field = {offsetof(sfreport_item_t, name), offsetof(sfreport_item_t, ncounted), type}
#define COUNT(name) COUNT_OF(name, SFREPORT_METRIC_UINT64)
#define COUNT_NS(name) COUNT_OF(name, SFREPORT_METRIC_NS)

#define TABLE(array) .rows = array, .n = sizeof(array) / sizeof(array)[0]

/* ---- The daemon ---- */

#define BODY Sfproto__StatusInfo
static const sfreport_metric_t status_fields[] = {
    {"uptime_seconds", "gauge", "Time since the daemon's start.", AT(uptime_s)},
    {"cores", "gauge", "Processor cores.", AT(cores)},
    {"costs_measured", "gauge", "Whether the costs of copying were measured on this machine.", AT(costs_measured)},
    {"jobs", "gauge", "Jobs at present.", AT(jobs)},
    {"ranks", "gauge", "Ranks at present.", AT(ranks)},
    {"graphs", "gauge", "Graphs at present.", AT(graphs)},
    {"jobs_started", "counter", "Jobs since the daemon's start.", AT(jobs_total)},
    {"jobs_failed", "counter", "Jobs that failed.", AT(jobs_failed)},
    {"jobs_stalled", "gauge", "Jobs with a rank that waits for longer than stall-after.", IF(jobs_stalled)},
    {"connections_refused", "counter", "Connections refused, or closed for what they sent.", AT(refused)},
    {"node", "gauge", "Number of this node.", IF(node)},
    {"nodes", "gauge", "Nodes that the daemon knows, this one included.", IF(nodes)},
};
const sfreport_metric_kind_t sfreport_metric_daemon = {
    .prefix = "sfd_",
    .info = "build",
    .info_help = "The daemon's software.",
    .info_labels = {{"software", AT(software)}, {"protocol", AT(protocol)}, {"fabric", AT(fabric)}},
    .fields = {TABLE(status_fields)},
};
#undef BODY

/* ---- Jobs ---- */

#define BODY Sfproto__JobInfo
static const sfreport_metric_t job_fields[] = {
    {"ranks", "gauge", "Ranks of the job.", AT(size)},
    {"ranks_joined", "gauge", "Ranks that have joined.", AT(joined)},
    {"ranks_here", "gauge", "Ranks that came to this node.", IF(here)},
    {"nodes", "gauge", "Nodes on which the job has ranks.", IF(nodes)},
    {"groups", "gauge", "Groups of the job.", AT(groups)},
    {"graphs", "gauge", "Graphs of the job.", AT(graphs)},
    {"age_seconds", "gauge", "Time since the first rank came.", AT(age_s)},
    {"stalled", "gauge", "Whether a rank here waits for longer than stall-after.", IF(stalled)},
};
/* "job" is Prometheus' own label for its target. */
const sfreport_metric_kind_t sfreport_metric_job = {
    .prefix = "sfd_job_",
    .labels = {{"job_id", AT(job_id)}, {"job_name", AT(name)}},
    .info = "user",
    .info_help = "Whose job it is.",
    .info_labels = {{"uid", AT(uid)}},
    .state = offsetof(BODY, state),
    .states = (const char *const[]){"joining", "running", "failed", NULL},
    .fields = {TABLE(job_fields)},
};
#undef BODY

/* ---- Counters of ranks and graphs ---- */

static const char sent_help[] = "Payload sent on edges, by the way it went.";
static const char received_help[] = "Payload received, by where it came from.";
static const sfreport_metric_t counts[] = {
    {"bcasts", "counter", "Operations bcast begun.", COUNT(counts.bcasts)},
    {"reduces", "counter", "Operations reduce begun.", COUNT(counts.reduces)},
    {"gathers", "counter", "Operations gather begun.", COUNT(counts.gathers)},
    {"scatters", "counter", "Operations scatter begun.", COUNT(counts.scatters)},
    {"fetch_ops", "counter", "Operations fetch_op begun.", COUNT(counts.fetch_ops)},
    {"exchanges", "counter", "Operations exchange begun.", COUNT(counts.exchanges)},
    {"completed", "counter", "Operations ended.", COUNT(counts.completed)},
    {"messages_sent", "counter", "Messages to other ranks of the node.", COUNT(counts.messages_sent)},
    {"messages_received", "counter", "Messages from other ranks of the node.", COUNT(counts.messages_received)},
    {"sent_bytes", "counter", sent_help, COUNT(counts.bytes_inline), .way = "inline"},
    {"sent_bytes", "counter", sent_help, COUNT(counts.bytes_slots), .way = "slots"},
    {"sent_bytes", "counter", sent_help, COUNT(counts.bytes_in_place), .way = "in-place"},
    {"sent_bytes", "counter", sent_help, COUNT(counts.bytes_vm_read), .way = "vm-read"},
    {"sent_bytes", "counter", sent_help, COUNT(counts.bytes_self), .way = "self"},
    {"sent_bytes", "counter", sent_help, COUNT(counts.bytes_to_nodes), .way = "nodes"},
    {"received_bytes", "counter", received_help, COUNT(counts.bytes_received), .way = "ranks"},
    {"received_bytes", "counter", received_help, COUNT(counts.bytes_from_nodes), .way = "nodes"},
    {"saved_bytes", "counter", "Payload not carried, as leaves of a rank share a root.", COUNT(counts.bytes_saved)},
    {"node_messages_sent", "counter", "Messages to other nodes, whole.", COUNT(counts.node_messages_sent)},
    {"node_sent_bytes", "counter", "Payload of the messages to other nodes.", COUNT(counts.node_bytes_sent)},
    {"node_values_sent", "counter", "Values in the messages to other nodes.", COUNT(counts.node_values_sent)},
    {"node_messages_received", "counter", "Messages of other nodes, whole.", COUNT(counts.node_messages_received)},
    {"node_received_bytes", "counter", "Payload of the messages of other nodes.", COUNT(counts.node_bytes_received)},
    {"node_values_received", "counter", "Values in the messages of other nodes.", COUNT(counts.node_values_received)},
    {"values_wanted", "counter", "Values of leaves whose roots other ranks own.", COUNT(counts.values_wanted)},
    {"values_carried", "counter", "Values that travel for them, once for each root and rank.",
     COUNT(counts.values_carried)},
    {"waits", "counter", "Waits longer than spinning.", COUNT(counts.waits)},
    {"waited_seconds", "counter", "Time in these, also while they last.", COUNT_NS(counts.waited_ns)},
    {"node_waited_seconds", "counter", "Of this, time in which messages of other nodes were missing.",
     COUNT_NS(counts.waited_nodes_ns)},
    {"samples", "counter", "Operations of which the time was taken.", COUNT(counts.samples)},
    {"pack_seconds", "counter", "Time in which these packed and sent.", COUNT_NS(counts.pack_ns)},
    {"unpack_seconds", "counter", "Time in which these unpacked.", COUNT_NS(counts.unpack_ns)},
};
_Static_assert(sizeof counts / sizeof counts[0] * sizeof(uint64_t) == sizeof(sfreport_counts_t),
               "each counter has its row");
const sfreport_metric_table_t sfreport_metric_counts = {TABLE(counts)};

/* ---- Ranks ---- */

#define BODY Sfproto__RankInfo
static const sfreport_metric_t rank_fields[] = {
    {"ring_depth", "gauge", "Requests in the submission ring that the daemon has not taken yet.", IF(ring_depth)},
    {"offloaded_bytes", "counter", "Bytes that the daemon's workers have copied into its memory.", IF(offloaded_bytes)},
};
static const sfreport_metric_t rank_counted[] = {
    {"sleeps", "counter", "Waits that went to sleep.", COUNT(sleeps)},
    {"oldest_wait_seconds", "gauge", "How long the wait lasts by now that began first.", COUNT_NS(oldest_wait_ns)},
    {"waited_for_seconds", "counter", "Time that other ranks of the node have waited for the rank, added up.",
     COUNT_NS(waited_for_ns)},
};
const sfreport_metric_kind_t sfreport_metric_rank = {
    .prefix = "sfd_rank_",
    .labels = {{"job_id", AT(job_id)}, {"job_name", AT(job)}, {"rank", AT(rank)}},
    .info = "process",
    .info_help = "Process and program of the rank.",
    .info_labels = {{"pid", AT(pid)}, {"program", AT(program)}},
    .state = offsetof(BODY, state),
    .states = (const char *const[]){"joining", "running", "left", "failed", NULL},
    .fields = {TABLE(rank_fields)},
    .counted = {TABLE(rank_counted)},
};
#undef BODY

/* ---- Graphs ---- */

#define BODY Sfproto__GraphInfo
static const sfreport_metric_t graph_fields[] = {
    {"ranks", "gauge", "Ranks of the graph.", AT(size)},
    {"roots", "gauge", "Roots of all ranks together.", AT(nroots)},
    {"leaves", "gauge", "Leaves of all ranks together.", AT(nleaves)},
    {"pairs", "gauge", "Ordered pairs of distinct ranks with edges.", AT(pairs)},
};
static const sfreport_metric_t graph_counted[] = {
    {"ranks_counted", "gauge", "Ranks whose counters are in those of the graph.",
     .field = {offsetof(sfreport_item_t, ncounted), 0, SFREPORT_METRIC_INT32}},
    {"oldest_wait_seconds", "gauge", "How long the wait lasts by now that began first.", COUNT_NS(oldest_wait_ns)},
};
const sfreport_metric_kind_t sfreport_metric_graph = {
    .prefix = "sfd_graph_",
    .labels = {{"job_id", AT(job_id)}, {"job_name", AT(job)}, {"graph", AT(graph)}},
    .state = offsetof(BODY, state),
    .states = (const char *const[]){"setup", "ready", "failed", "retiring", NULL},
    .fields = {TABLE(graph_fields)},
    .counted = {TABLE(graph_counted)},
};
#undef BODY

/* ---- Arrays ---- */

#define BODY Sfproto__ArrayInfo
static const sfreport_metric_t array_fields[] = {
    {"part_bytes", "gauge", "Memory of the parts of the node's ranks.", AT(length)},
    {"in_flight", "gauge", "Requests of the node's ranks that other nodes have not answered.", AT(in_flight)},
};
const sfreport_metric_kind_t sfreport_metric_array = {
    .prefix = "sfd_array_",
    .labels = {{"job_id", AT(job_id)}, {"job_name", AT(job)}, {"graph", AT(graph)}},
    .fields = {TABLE(array_fields)},
};
#undef BODY

/* ---- Peers ---- */

#define BODY Sfproto__PeerInfo
static const sfreport_metric_t peer_fields[] = {
    {"frames_sent", "counter", "Frames sent to the node.", AT(frames_sent)},
    {"frames_received", "counter", "Frames received from the node.", AT(frames_received)},
    {"wire_sent_bytes", "counter", "Bytes sent to the node, with all headers.", AT(wire_sent)},
    {"wire_received_bytes", "counter", "Bytes received from the node, with all headers.", AT(wire_received)},
    {"queued_messages", "gauge", "Messages that wait to be sent.", AT(queued_messages)},
    {"queued_bytes", "gauge", "Payload of the messages that wait to be sent.", AT(queued_bytes)},
    {"send_queue_bytes", "gauge", "Bytes in the kernel's send queue, not acknowledged yet.", IF(send_queue_bytes)},
    {"rtt_seconds", "gauge", "Round-trip time of the stream.", US_IF(rtt_us)},
    {"retransmits", "counter", "Packets of the stream that were sent again.", IF(retransmits)},
    {"busy_seconds", "counter", "Time in which something was in the kernel's send queue.", US_IF(busy_us)},
};
const sfreport_metric_kind_t sfreport_metric_peer = {
    .prefix = "sfd_peer_",
    .labels = {{"peer", AT(node)}},
    .info = "address",
    .info_help = "The node, as the fabric describes it.",
    .info_labels = {{"description", AT(description)}},
    .state = offsetof(BODY, state),
    .states = (const char *const[]){"closed", "opening", "open", NULL},
    .fields = {TABLE(peer_fields)},
};
#undef BODY

#define BODY Sfproto__PeerTraffic
static const sfreport_metric_t traffic_fields[] = {
    {"messages_sent", "counter", "Messages sent to the node, by kind.", AT(messages_sent)},
    {"messages_received", "counter", "Messages received from the node, by kind.", AT(messages_received)},
    {"payload_sent_bytes", "counter", "Payload sent to the node, by kind.", AT(payload_sent)},
    {"payload_received_bytes", "counter", "Payload received from the node, by kind.", AT(payload_received)},
};
const sfreport_metric_table_t sfreport_metric_traffic = {TABLE(traffic_fields)};
