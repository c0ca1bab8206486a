/* Operations of ranks of other nodes: their queues, and how they are carried out and answered; see target.h. The
 * daemon's thread. */
#ifndef SFD_ONESIDED_TASK_H
#define SFD_ONESIDED_TASK_H

#include <stdbool.h>
#include <sys/queue.h>

#include "daemon/net.h"
#include "daemon/onesided/apply.h"
#include "daemon/onesided/array.h"
#include "daemon/onesided/messages.h"

/* One operation. */
typedef struct sfd_array_task {
  sfd_work_t work; /* first */
  STAILQ_ENTRY(sfd_array_task) entry;
  sfd_server_t *server;
  int32_t node;
  sfd_message_head_t head; /* of the request */
  sfshm_array_request_t request;
  sfd_array_t *array; /* held; NULL: not here */
  struct sfd_array_queue *queue;
  sfd_array_needs_t needs;
  sf_status_t status; /* an error: nothing has been carried out, and the text says why */
  char text[SFSHM_WINDOW_TEXT];
  bool in_place; /* the data were received directly into the array */
  char *data;    /* in inline_data, or to be freed; NULL: none */
  char *returned;
  bool keeps_queue; /* the result is sent from the array */
  char inline_data[SFD_ARRAY_INLINE];
} sfd_array_task_t;

STAILQ_HEAD(sfd_array_task_list, sfd_array_task);

/* Operations of one rank on one array, in order. While one of them is with a worker, or its result is being sent, the
 * next waits. */
typedef struct sfd_array_queue {
  TAILQ_ENTRY(sfd_array_queue) entry; /* in the list of ready queues, if: */
  bool ready;
  bool busy; /* the operation in progress is not in the list */
  int32_t ntasks;
  struct sfd_array_task_list tasks;
} sfd_array_queue_t;

/* The queue of a group rank; NULL: out of memory. */
sfd_array_queue_t *sfd_array_find_queue(sfd_array_t *array, int32_t rank);

void sfd_array_task_free(sfd_array_task_t *task); /* NULL is accepted */

/* The operation is not carried out; the origin gets the text. */
void sfd_array_task_refuse(sfd_array_task_t *task, sf_status_t status, const char *text);

/* The whole request has arrived: carries it out now or later, and answers. Takes ownership of the task. */
void sfd_array_task_begin(sfd_array_task_t *task);

#endif
