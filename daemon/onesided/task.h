/* Tasks: operations of ranks of other nodes, from the complete request to the answer, and their queues; see target.h.
 * The daemon's thread. */
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
  sfd_message_head_t head; /* head of the request */
  sfshm_array_request_t request;
  sfd_array_t *array; /* with a reference; NULL: not on this node */
  struct sfd_array_queue *queue;
  sfd_array_needs_t needs;
  sf_status_t status;           /* error with which the task is refused, or SF_OK */
  char text[SFSHM_WINDOW_TEXT]; /* text of the error */
  bool in_place;                /* the data are received directly into the array */
  char *data;                   /* inline_data, or memory of the task; NULL: none */
  char *returned;               /* result: memory of the task, or of the array if keeps_queue */
  bool keeps_queue;             /* the result is sent from the array; the queue is busy until then */
  char inline_data[SFD_ARRAY_INLINE];
} sfd_array_task_t;

STAILQ_HEAD(sfd_array_task_list, sfd_array_task);

/* Operations of one rank on one array, in order. While a worker carries out an operation, or its result is sent from
 * the array, the next operation waits. */
typedef struct sfd_array_queue {
  TAILQ_ENTRY(sfd_array_queue) entry; /* in the list of ready queues, if ready */
  bool ready;
  bool busy;      /* an operation is in progress; tasks does not have it */
  int32_t ntasks; /* length of tasks */
  struct sfd_array_task_list tasks;
} sfd_array_queue_t;

/* Finds the queue of a group rank. NULL: out of memory. */
sfd_array_queue_t *sfd_array_find_queue(sfd_array_t *array, int32_t rank);

void sfd_array_task_free(sfd_array_task_t *task); /* NULL is accepted */

/* Marks a task as refused: it is not carried out, and the origin gets status and text. */
void sfd_array_task_refuse(sfd_array_task_t *task, sf_status_t status, const char *text);

/* Begins a task whose request and data have arrived: carries it out now or later, and answers. Takes ownership of the
 * task. */
void sfd_array_task_begin(sfd_array_task_t *task);

#endif
