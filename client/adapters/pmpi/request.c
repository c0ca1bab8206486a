/* Requests: see request.h; and entry points that start, complete and free requests. An array may mix MPI's own requests
 * with those of this library, which MPI always takes for inactive. Any thread that may call MPI. */
#include "client/adapters/pmpi/request.h"

#include <stdatomic.h>

#include "client/adapters/pmpi/functions.h"
#include "client/adapters/pmpi/job.h"
#include "client/adapters/pmpi/table.h"

#define IDLE_NS 10000 /* between two looks at MPI's requests, if nothing moves */

/* ---- Tokens ------------------------------------------------------------------------------------------------------ */

static sfpmpi_table_t operations; /* by token */
static atomic_bool used;          /* there has been a token */

int sfpmpi_request_make(sfpmpi_operation_t *operation)
{
  if (operation->token != MPI_REQUEST_NULL)
    return MPI_SUCCESS;
  int code = PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, 0, sfpmpi_job.self, &operation->token);
  if (code != MPI_SUCCESS)
    return code;
  sfpmpi_lock();
  bool entered = sfpmpi_table_enter(&operations, (uintptr_t)operation->token, operation);
  sfpmpi_unlock();
  atomic_store_explicit(&used, true, memory_order_relaxed);
  if (!entered)
    (void)PMPI_Request_free(&operation->token);
  return entered ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

void sfpmpi_request_free(sfpmpi_operation_t *operation)
{
  if (operation->token == MPI_REQUEST_NULL)
    return;
  sfpmpi_lock();
  sfpmpi_table_remove(&operations, (uintptr_t)operation->token);
  sfpmpi_unlock();
  if (sfpmpi_job.context != NULL)
    (void)PMPI_Request_free(&operation->token);
}

/* The operation of a request; NULL: a request of MPI's. */
static sfpmpi_operation_t *find(const MPI_Request *request)
{
  if (request == NULL || !atomic_load_explicit(&used, memory_order_relaxed))
    return NULL;
  sfpmpi_lock();
  sfpmpi_operation_t *operation = sfpmpi_table_find(&operations, (uintptr_t)*request);
  sfpmpi_unlock();
  return operation;
}

/* The operation of a request that the program can complete; NULL: MPI says what there is to say. */
static sfpmpi_operation_t *find_started(const MPI_Request *request)
{
  sfpmpi_operation_t *operation = find(request);
  return operation != NULL && operation->started ? operation : NULL;
}

/* Operations to be completed in an array. */
static int count_started(int n, const MPI_Request *requests)
{
  int count = 0;
  for (int i = 0; i < n && requests != NULL; i++)
    count += find_started(&requests[i]) != NULL;
  return count;
}

/* ---- Completing -------------------------------------------------------------------------------------------------- */

static void set_empty(MPI_Status *status)
{
  if (status == MPI_STATUS_IGNORE)
    return;
  int error = status->MPI_ERROR; /* is not set by functions that complete one request */
  *status = sfpmpi_job.empty;
  status->MPI_ERROR = error;
}

/* The first error of a call; code MPI_SUCCESS: none. */
typedef struct failure {
  int code;
  MPI_Comm comm;
} failure_t;

/* Completes the request of an operation that has ended. Returns its error. */
static int end(sfpmpi_operation_t *operation, MPI_Request *request, MPI_Status *status, failure_t *first)
{
  int code = operation->error;
  if (first->code == MPI_SUCCESS)
    *first = (failure_t){code, operation->star->topology->comm};
  set_empty(status);
  operation->error = MPI_SUCCESS;
  operation->started = false;
  if (!operation->persistent) {
    *request = MPI_REQUEST_NULL;
    sfpmpi_operation_give_back(operation);
  }
  return code;
}

/* The same for the only one; calls the error handler. */
static int finish(sfpmpi_operation_t *operation, MPI_Request *request, MPI_Status *status)
{
  failure_t first = {MPI_SUCCESS, MPI_COMM_NULL};
  (void)end(operation, request, status, &first);
  return sfpmpi_raise(first.comm, first.code);
}

/* The same for one of several, whose status is number k. *code_p becomes MPI_ERR_IN_STATUS with the first error: then
 * the n statuses before get their errors, too. */
static void finish_one(sfpmpi_operation_t *operation, MPI_Request *request, MPI_Status *statuses, int k, int n,
                       failure_t *first, int *code_p)
{
  bool ignored = statuses == MPI_STATUSES_IGNORE;
  int code = end(operation, request, ignored ? MPI_STATUS_IGNORE : &statuses[k], first);
  for (int i = 0; i < n && !ignored && code != MPI_SUCCESS && *code_p == MPI_SUCCESS; i++)
    statuses[i].MPI_ERROR = MPI_SUCCESS;
  if (code != MPI_SUCCESS)
    *code_p = MPI_ERR_IN_STATUS;
  if (*code_p == MPI_ERR_IN_STATUS && !ignored)
    statuses[k].MPI_ERROR = code;
}

/* Completes all requests of an array, whose operations have ended, after MPI has completed its own with that code. */
static int finish_all(int n, MPI_Request *requests, MPI_Status *statuses, int code)
{
  failure_t first = {MPI_SUCCESS, MPI_COMM_NULL};
  for (int i = 0; i < n; i++) {
    sfpmpi_operation_t *operation = find_started(&requests[i]);
    if (operation != NULL)
      finish_one(operation, &requests[i], statuses, i, n, &first, &code);
  }
  (void)sfpmpi_raise(first.comm, first.code);
  return code;
}

/* ---- Waiting and testing ----------------------------------------------------------------------------------------- */

SFPMPI_EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
  sfpmpi_operation_t *operation = find_started(request);
  if (operation == NULL)
    return sfpmpi_next.Wait(request, status);
  (void)sfpmpi_operation_wait(operation, -1);
  return finish(operation, request, status);
}

SFPMPI_EXPORT int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
  sfpmpi_operation_t *operation = find_started(request);
  if (operation == NULL)
    return sfpmpi_next.Test(request, done, status);
  *done = sfpmpi_operation_wait(operation, 0);
  return *done ? finish(operation, request, status) : MPI_SUCCESS;
}

SFPMPI_EXPORT int MPI_Request_get_status(MPI_Request request, int *done, MPI_Status *status)
{
  sfpmpi_operation_t *operation = find_started(&request);
  if (operation == NULL)
    return sfpmpi_next.Request_get_status(request, done, status);
  *done = sfpmpi_operation_wait(operation, 0);
  if (*done)
    set_empty(status);
  return MPI_SUCCESS;
}

/* Waits for the operations in an array, at most that long for each. Returns whether all have ended. */
static bool wait_all(int n, const MPI_Request *requests, int64_t timeout_ns)
{
  bool ended = true;
  for (int i = 0; i < n; i++) {
    sfpmpi_operation_t *operation = find_started(&requests[i]);
    if (operation != NULL && !sfpmpi_operation_wait(operation, timeout_ns))
      ended = false;
  }
  return ended;
}

SFPMPI_EXPORT int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
  int own = count_started(n, requests), code = MPI_SUCCESS;
  if (own > 0)
    (void)wait_all(n, requests, -1);
  if (own == 0 || own < n)
    code = sfpmpi_next.Waitall(n, requests, statuses);
  return own > 0 && (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS) ? finish_all(n, requests, statuses, code) : code;
}

SFPMPI_EXPORT int MPI_Testall(int n, MPI_Request *requests, int *done, MPI_Status *statuses)
{
  int own = count_started(n, requests);
  if (own > 0 && !wait_all(n, requests, 0)) {
    *done = 0;
    return MPI_SUCCESS;
  }
  int code = MPI_SUCCESS;
  if (own == 0 || own < n)
    code = sfpmpi_next.Testall(n, requests, done, statuses);
  else
    *done = 1;
  bool ended = code == MPI_ERR_IN_STATUS || (code == MPI_SUCCESS && *done);
  return own > 0 && ended ? finish_all(n, requests, statuses, code) : code;
}

SFPMPI_EXPORT int MPI_Testany(int n, MPI_Request *requests, int *index, int *done, MPI_Status *status)
{
  bool left = false;
  for (int i = 0; i < n && requests != NULL; i++) {
    sfpmpi_operation_t *operation = find_started(&requests[i]);
    if (operation != NULL && sfpmpi_operation_wait(operation, 0)) {
      *index = i;
      *done = 1;
      return finish(operation, &requests[i], status);
    }
    left |= operation != NULL;
  }
  int code = sfpmpi_next.Testany(n, requests, index, done, status);
  if (code == MPI_SUCCESS && left && *done && *index == MPI_UNDEFINED)
    *done = 0; /* MPI sees inactive requests only */
  return code;
}

/* Those that MPI has completed are first among the *count completed ones. */
SFPMPI_EXPORT int MPI_Testsome(int n, MPI_Request *requests, int *count, int *indices, MPI_Status *statuses)
{
  failure_t first = {MPI_SUCCESS, MPI_COMM_NULL};
  bool left = false;
  int code = sfpmpi_next.Testsome(n, requests, count, indices, statuses);
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
    return code;
  int k = *count == MPI_UNDEFINED ? 0 : *count;
  for (int i = 0; i < n && requests != NULL; i++) {
    sfpmpi_operation_t *operation = find_started(&requests[i]);
    bool ended = operation != NULL && sfpmpi_operation_wait(operation, 0);
    left |= operation != NULL && !ended;
    if (!ended)
      continue;
    indices[k] = i;
    finish_one(operation, &requests[i], statuses, k, k, &first, &code);
    k++;
  }
  *count = k == 0 && !left ? *count : k;
  (void)sfpmpi_raise(first.comm, first.code);
  return code;
}

/* Waits a moment for one of the operations in an array. */
static void wait_briefly(int n, const MPI_Request *requests)
{
  for (int i = 0; i < n; i++) {
    sfpmpi_operation_t *operation = find_started(&requests[i]);
    if (operation == NULL)
      continue;
    (void)sfpmpi_operation_wait(operation, IDLE_NS);
    return;
  }
}

SFPMPI_EXPORT int MPI_Waitany(int n, MPI_Request *requests, int *index, MPI_Status *status)
{
  if (count_started(n, requests) == 0)
    return sfpmpi_next.Waitany(n, requests, index, status);
  for (;;) {
    int done = 0, code = MPI_Testany(n, requests, index, &done, status);
    if (code != MPI_SUCCESS || done)
      return code;
    wait_briefly(n, requests);
  }
}

SFPMPI_EXPORT int MPI_Waitsome(int n, MPI_Request *requests, int *count, int *indices, MPI_Status *statuses)
{
  if (count_started(n, requests) == 0)
    return sfpmpi_next.Waitsome(n, requests, count, indices, statuses);
  for (;;) {
    int code = MPI_Testsome(n, requests, count, indices, statuses);
    if (code != MPI_SUCCESS || *count != 0)
      return code;
    wait_briefly(n, requests);
  }
}

/* ---- Starting and freeing ---------------------------------------------------------------------------------------- */

static int refuse(const sfpmpi_operation_t *operation)
{
  return sfpmpi_raise(operation->star->topology->comm, MPI_ERR_REQUEST);
}

SFPMPI_EXPORT int MPI_Start(MPI_Request *request)
{
  sfpmpi_operation_t *operation = find(request);
  if (operation == NULL)
    return sfpmpi_next.Start(request);
  if (operation->started || !operation->persistent)
    return refuse(operation);
  return sfpmpi_raise(operation->star->topology->comm, sfpmpi_operation_begin(operation));
}

SFPMPI_EXPORT int MPI_Startall(int n, MPI_Request *requests)
{
  int code = MPI_SUCCESS, own = 0;
  for (int i = 0; i < n && requests != NULL; i++)
    own += find(&requests[i]) != NULL;
  if (own == 0)
    return sfpmpi_next.Startall(n, requests);
  for (int i = 0; i < n && code == MPI_SUCCESS; i++)
    code = MPI_Start(&requests[i]);
  return code;
}

/* Nonblocking collectives can't be freed or cancelled while they are active. */
SFPMPI_EXPORT int MPI_Request_free(MPI_Request *request)
{
  sfpmpi_operation_t *operation = find(request);
  if (operation == NULL)
    return sfpmpi_next.Request_free(request);
  if (!operation->persistent)
    return refuse(operation);
  (void)sfpmpi_operation_wait(operation, -1);
  operation->persistent = false;
  return finish(operation, request, MPI_STATUS_IGNORE);
}

SFPMPI_EXPORT int MPI_Cancel(MPI_Request *request)
{
  sfpmpi_operation_t *operation = find(request);
  return operation == NULL ? sfpmpi_next.Cancel(request) : refuse(operation);
}
