/* Origin side of one-sided operations: windows of ranks (shm/array/window.h), and requests of ranks of this node to
 * other nodes. The state of the requests in flight is in private memory, so that a rank can damage only its own
 * requests. The daemon's thread. States of a slot of the window:
 *
 *   free ---SFSHM_SUBMIT_ARRAY: request and data go to the target's daemon---> busy ---its answer---> free */
#ifndef SFD_ONESIDED_WINDOW_H
#define SFD_ONESIDED_WINDOW_H

#include "daemon/clients.h"
#include "daemon/jobs.h"
#include "daemon/net.h"
#include "shm/array/window.h"
#include "shm/lane/ring.h"

typedef struct sfd_window sfd_window_t;

/* Handles WindowOpen: maps the rank's window. */
void sfd_window_handle_open(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

/* Closes the window of a rank that leaves. NULL is accepted. */
void sfd_window_close(sfd_window_t *window);

/* Handles SFSHM_SUBMIT_ARRAY: checks an entry of the rank's ring and sends its request. */
void sfd_window_submit(sfd_rank_t *rank, const sfshm_ring_entry_t *entry);

/* Requests on one array to one node that have not been answered. */
typedef struct sfd_window_wait {
  uint64_t graph;
  int32_t node;
  uint32_t requests;
  uint64_t since_ms; /* begin of the oldest request, by the loop's clock */
} sfd_window_wait_t;

/* Lists the waits of a window, and returns their number. window == NULL is accepted. */
int32_t sfd_window_waits(const sfd_window_t *window, sfd_window_wait_t waits[SFSHM_WINDOW_SLOTS]);

/* Handle SFD_PEER_ARRAY_DONE, the answer of another node; see sfd_channel_handlers_t. */
sfd_placing_t sfd_window_place(sfd_server_t *server, int32_t node, const sfd_message_head_t *head, void **buffer_p);
sf_status_t sfd_window_answered(sfd_server_t *server, int32_t node, const sfd_message_head_t *head,
                                const void *payload);
void sfd_window_answer_lost(sfd_server_t *server, int32_t node);

/* Answers the requests to a node that is lost, for jobs that go on as all their ranks there had left. */
void sfd_windows_node_lost(sfd_server_t *server, int32_t node);

#endif
