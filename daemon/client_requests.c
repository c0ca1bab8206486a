/* Requests of clients: see client_requests.h. The daemon's thread. */
#include "daemon/client_requests.h"

#include "daemon/admin.h"
#include "daemon/base.h"
#include "daemon/data.h"
#include "daemon/jobs.h"
#include "daemon/membership.h"
#include "daemon/memory.h"
#include "daemon/onesided.h"
#include "daemon/setup.h"

/* One request; handle is for messages without descriptors, or else handle_fds is set. */
typedef struct route {
  const char *name;
  sfd_session_state_t state; /* in which the request is allowed */
  void (*handle)(sfd_session_t *session, const Sfproto__Message *message);
  void (*handle_fds)(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);
  int min_fds;
  int max_fds;
} route_t;

/* The last message of a client that could not take an answer. */
static void handle_error(sfd_session_t *session, const Sfproto__Message *message)
{
  sfd_session_dismiss(session, 0, SF_ERR_RANK_FAILED, message->error->detail);
}

#define BODY(name) [SFPROTO__MESSAGE__BODY_##name]

static const route_t routes[] = {
    BODY(HELLO) = {"Hello", SFD_SESSION_NEW, NULL, sfd_join_handle_hello, 0, 3},
    BODY(ERROR) = {"Error", SFD_SESSION_RUNNING, handle_error},
    BODY(GOODBYE) = {"Goodbye", SFD_SESSION_RUNNING, sfd_leave_handle_goodbye},
    BODY(SEGMENT_ADD) = {"SegmentAdd", SFD_SESSION_RUNNING, NULL, sfd_segment_handle_add, 1, 1},
    BODY(SEGMENT_REMOVE) = {"SegmentRemove", SFD_SESSION_RUNNING, sfd_segment_handle_remove},
    BODY(SEGMENT_GET) = {"SegmentGet", SFD_SESSION_RUNNING, sfd_segment_handle_get},
    BODY(REGION_ADD) = {"RegionAdd", SFD_SESSION_RUNNING, NULL, sfd_region_handle_add, 0, 1},
    BODY(REGION_REMOVE) = {"RegionRemove", SFD_SESSION_RUNNING, sfd_region_handle_remove},
    BODY(REGION_GET) = {"RegionGet", SFD_SESSION_RUNNING, sfd_region_handle_get},
    BODY(REGION_CLOSED) = {"RegionClosed", SFD_SESSION_RUNNING, sfd_region_handle_closed},
    BODY(GROUP_CREATE) = {"GroupCreate", SFD_SESSION_RUNNING, sfd_group_handle_create},
    BODY(GROUP_DESTROY) = {"GroupDestroy", SFD_SESSION_RUNNING, sfd_group_handle_destroy},
    BODY(GRAPH_CREATE) = {"GraphCreate", SFD_SESSION_RUNNING, NULL, sfd_setup_handle_create, 0, 1},
    BODY(GRAPH_COMMIT) = {"GraphCommit", SFD_SESSION_RUNNING, sfd_setup_handle_commit},
    BODY(GRAPH_DESTROY) = {"GraphDestroy", SFD_SESSION_RUNNING, sfd_graph_handle_destroy},
    BODY(GRAPH_MEET) = {"GraphMeet", SFD_SESSION_RUNNING, sfd_barrier_handle_enter},
    BODY(GRAPH_FAIL) = {"GraphFail", SFD_SESSION_RUNNING, sfd_graph_handle_fail},
    BODY(EXCHANGE_GET) = {"ExchangeGet", SFD_SESSION_RUNNING, sfd_trunks_handle_exchange_get},
    BODY(RING_OPEN) = {"RingOpen", SFD_SESSION_RUNNING, NULL, sfd_submit_ring_handle_open, 1, 1},
    BODY(ARRAY_OPEN) = {"ArrayOpen", SFD_SESSION_RUNNING, sfd_array_handle_open},
    BODY(WINDOW_OPEN) = {"WindowOpen", SFD_SESSION_RUNNING, NULL, sfd_window_handle_open, 1, 1},
    BODY(CONTROL) = {"Control", SFD_SESSION_TOOL, sfd_control_handle},
    BODY(CLAIMS_OPEN) = {"ClaimsOpen", SFD_SESSION_RUNNING, NULL, sfd_offers_handle_claims, 1, 1},
    BODY(GRAPH_EDGES) = {"GraphEdges", SFD_SESSION_RUNNING, NULL, sfd_offers_handle_edges, 1, 1},
    BODY(QUERY) = {"Query", SFD_SESSION_TOOL, sfd_tool_handle_query},
};

static const char *state_text(sfd_session_state_t state)
{
  switch (state) {
  case SFD_SESSION_NEW:
    return "before Hello";
  case SFD_SESSION_TOOL:
    return "from a tool";
  case SFD_SESSION_JOINING:
    return "before Welcome";
  case SFD_SESSION_LEFT:
    return "after Goodbye";
  default:
    return "from a client";
  }
}

static const route_t *find_route(const Sfproto__Message *message)
{
  size_t body = (size_t)message->body_case;
  return body < sizeof routes / sizeof routes[0] && routes[body].name != NULL ? &routes[body] : NULL;
}

/* The loop looks for more requests if a core is to spare, as ranks often create and destroy graphs in a row, and being
 * woken takes longer than most requests. */
static void expect_more(const sfd_session_t *session)
{
  if (session->state == SFD_SESSION_RUNNING && sfd_node_board_has_spare_core(session->server->board))
    sfd_idle_expect(&session->server->idle, SFD_EXPECT_RANKS_NS);
}

void sfd_client_requests_handle(sfd_session_t *session, sfproto_incoming_t *incoming)
{
  const Sfproto__Message *message = incoming->message;
  const route_t *route = find_route(message);
  expect_more(session);
  if (route == NULL)
    sfd_session_refuse(session, message->request, SF_ERR_PROTO, "message with field %d, which is no request",
                       (int)message->body_case);
  else if (route->state != session->state)
    sfd_session_refuse(session, message->request, SF_ERR_PROTO, "%s %s", route->name, state_text(session->state));
  else if (incoming->nfds < route->min_fds || incoming->nfds > route->max_fds)
    sfd_session_refuse(session, message->request, SF_ERR_PROTO, "%s with %d descriptors", route->name, incoming->nfds);
  else if (route->handle != NULL)
    route->handle(session, message);
  else
    route->handle_fds(session, message, incoming->fds, incoming->nfds);
}
