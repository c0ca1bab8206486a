/* Tasks: see task.h. The daemon's thread; apply_task also runs on workers. */
#include "daemon/onesided/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/onesided/target.h"
#include "shm/array/layout.h"
#include "shm/base/error.h"

#define TURN_COST (512 << 10)   /* limit for one turn of the loop: about a tenth of a millisecond */
#define WORKER_COST (128 << 10) /* least cost for which a worker saves time */
#define IN_PLACE_BYTES 16384u   /* least size of contiguous elements that are sent from the array */

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

void sfd_array_task_free(sfd_array_task_t *task)
{
  if (task == NULL)
    return;
  if (task->data != task->inline_data)
    free(task->data);
  if (!task->keeps_queue)
    free(task->returned);
  sfd_array_release(task->array);
  free(task);
}

void sfd_array_task_refuse(sfd_array_task_t *task, sf_status_t status, const char *text)
{
  task->status = status;
  snprintf(task->text, sizeof task->text, "%s", text);
}

/* Whether the rank waits for an answer, also if all ranks here have left its job: not if the job has failed, of which
 * all nodes hear. */
static bool is_awaited(const sfd_array_task_t *task)
{
  return !task->server->stopping &&
         sfd_job_goes_well(task->server, sfd_job_find_id(task->server, task->head.job), task->head.job);
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static void set_ready(sfd_server_t *server, sfd_array_queue_t *queue)
{
  bool ready = !queue->busy && !STAILQ_EMPTY(&queue->tasks);
  if (ready == queue->ready)
    return;
  queue->ready = ready;
  if (ready)
    TAILQ_INSERT_TAIL(&server->onesided->ready, queue, entry);
  else
    TAILQ_REMOVE(&server->onesided->ready, queue, entry);
}

sfd_array_queue_t *sfd_array_find_queue(sfd_array_t *array, int32_t rank)
{
  int32_t n = array->shape.nranks;
  if (array->queues == NULL) {
    array->queues = calloc((size_t)n, sizeof array->queues[0]);
    for (int32_t r = 0; array->queues != NULL && r < n; r++)
      STAILQ_INIT(&array->queues[r].tasks);
  }
  return array->queues != NULL ? &array->queues[rank] : NULL;
}

/* Ends the queue's operation in progress. */
static void free_queue(sfd_server_t *server, sfd_array_queue_t *queue)
{
  queue->busy = false;
  set_ready(server, queue);
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

static void on_sent(void *context, sf_status_t status)
{
  sfd_array_task_t *task = context;
  (void)status; /* the channel's end fails the job */
  if (task->keeps_queue)
    free_queue(task->server, task->queue);
  sfd_array_task_free(task);
}

static void trace(const sfd_array_task_t *task)
{
  sfd_message_head_t head = task->head;
  uint32_t kind = task->request.kind;
  uint64_t call = kind >= SFSHM_ARRAY_FETCH_OP
                      ? SFSHM_TRACE_CALL_ATOMIC
                      : SFSHM_TRACE_CALL_PUT + (kind - SFSHM_ARRAY_PATCH_PUT) % SFSHM_ARRAY_ATOMIC;
  head.flags = 0;
  head.payload_bytes = task->needs.data_bytes + task->needs.returned_bytes;
  sfd_event_ring_add_message(SFSHM_TRACE_ARRAY, task->node, &head, call);
}

/* Sends the operation's result or error. Takes ownership of the task. */
static void answer(sfd_array_task_t *task)
{
  sfd_message_head_t head = task->head;
  struct {
    int32_t status;
    char text[SFSHM_WINDOW_TEXT];
  } error = {.status = task->status};
  head.kind = SFD_PEER_ARRAY_DONE;
  head.flags = task->status != SF_OK ? SFD_ARRAY_FAILED : 0;
  if (!is_awaited(task)) {
    on_sent(task, SF_ERR_STATE);
  } else if (task->status != SF_OK) {
    memcpy(error.text, task->text, sizeof error.text);
    head.payload_bytes = sizeof error.status + strlen(error.text);
    sfd_network_send_payload(task->server, task->node, &head, &error, NULL, NULL);
    on_sent(task, SF_OK);
  } else {
    if (sfd_event_ring != NULL)
      trace(task);
    head.payload_bytes = task->needs.returned_bytes;
    bool copied = head.payload_bytes <= SFD_ARRAY_COPIED;
    sfd_network_send_payload(task->server, task->node, &head, task->returned, copied ? NULL : on_sent, task);
    if (copied)
      on_sent(task, SF_OK);
  }
}

/* ---- Carrying out ------------------------------------------------------------------------------------------------ */

/* Runs on the daemon's thread or on a worker. */
static void apply_task(sfd_work_t *work)
{
  sfd_array_task_t *task = (sfd_array_task_t *)work;
  if (task->in_place || task->keeps_queue)
    return;
  sf_status_t status = sfd_array_apply(task->array, &task->request, task->data, task->returned);
  if (status != SF_OK)
    sfd_array_task_refuse(task, status, sfshm_error_detail());
}

static void on_applied(sfd_work_t *work)
{
  sfd_array_task_t *task = (sfd_array_task_t *)work;
  sfd_idle_moved(&task->server->idle);
  free_queue(task->server, task->queue);
  answer(task);
}

/* Sets the memory of the result. A large contiguous result is sent from the array; the queue is then busy until it is
 * sent. */
static void find_returned(sfd_array_task_t *task)
{
  uint64_t bytes = task->needs.returned_bytes;
  bool long_patch = task->request.kind == SFSHM_ARRAY_PATCH_GET && bytes >= IN_PLACE_BYTES;
  task->returned = long_patch ? sfd_array_find_run(task->array, &task->request) : NULL;
  task->keeps_queue = task->returned != NULL;
  if (task->returned != NULL || bytes == 0)
    return;
  task->returned = malloc(bytes);
  if (task->returned == NULL)
    sfd_array_task_refuse(task, SF_ERR_NOMEM, "no memory for the result of a get");
}

static bool give_to_worker(sfd_array_task_t *task)
{
  if (task->in_place || task->keeps_queue || task->needs.cost < WORKER_COST || task->server->workers == NULL)
    return false;
  task->work.run = apply_task;
  task->work.done = on_applied;
  task->queue->busy = sfd_workers_submit(task->server->workers, &task->work);
  return task->queue->busy;
}

/* Carries out the next task, which is not in the queue. */
static void carry_out(sfd_array_task_t *task)
{
  const sfd_graph_t *graph = task->array->graph;
  if (graph == NULL || graph->state != SFD_GRAPH_READY || !is_awaited(task))
    sfd_array_task_refuse(task, SF_ERR_STATE, "the array has ended or failed");
  else
    find_returned(task);
  if (task->status == SF_OK && give_to_worker(task))
    return;
  if (task->status == SF_OK) {
    task->server->onesided->budget -= task->in_place ? 0 : task->needs.cost;
    apply_task(&task->work);
  }
  task->queue->busy = task->keeps_queue;
  answer(task);
}

void sfd_array_task_begin(sfd_array_task_t *task)
{
  sfd_array_queue_t *queue = task->queue;
  if (task->status != SF_OK) {
    answer(task);
    return;
  }
  if (!queue->busy && queue->ntasks == 0 && task->server->onesided->budget > 0) {
    carry_out(task);
    return;
  }
  STAILQ_INSERT_TAIL(&queue->tasks, task, entry);
  queue->ntasks++;
  set_ready(task->server, queue);
}

static sfd_array_task_t *take_first(sfd_array_queue_t *queue)
{
  sfd_array_task_t *task = STAILQ_FIRST(&queue->tasks);
  STAILQ_REMOVE_HEAD(&queue->tasks, entry);
  queue->ntasks--;
  return task;
}

bool sfd_onesided_attend(sfd_server_t *server)
{
  sfd_onesided_t *onesided = server->onesided;
  if (onesided == NULL)
    return false;
  onesided->budget = TURN_COST;
  while (!TAILQ_EMPTY(&onesided->ready) && onesided->budget > 0) {
    sfd_array_queue_t *queue = TAILQ_FIRST(&onesided->ready);
    sfd_array_task_t *task = take_first(queue);
    sfd_array_t *array = task->array;
    sfd_array_hold(array);
    TAILQ_REMOVE(&onesided->ready, queue, entry); /* set_ready appends it again behind the other queues */
    queue->ready = false;
    carry_out(task);
    set_ready(server, queue);
    sfd_array_release(array);
  }
  return !TAILQ_EMPTY(&onesided->ready);
}

void sfd_array_drop_queues(sfd_array_t *array)
{
  for (int32_t r = 0; array->queues != NULL && r < array->shape.nranks; r++) {
    sfd_array_queue_t *queue = &array->queues[r];
    while (!STAILQ_EMPTY(&queue->tasks)) {
      sfd_array_task_t *task = take_first(queue);
      set_ready(task->server, queue);
      sfd_array_task_refuse(task, SF_ERR_STATE, "the array has ended");
      answer(task);
    }
  }
}
