/* Entry points that start, complete and free requests. An array may have MPI's own requests and those of this library.
 * These functions end the operation of a request first, and then pass the request to MPI, which treats it as one of its
 * own. Any thread that may call MPI. */
#include <stdlib.h>

#include "client/adapters/pmpi/functions.h"
#include "client/adapters/pmpi/job.h"
#include "client/adapters/pmpi/request.h"

#define IDLE_NS 10000 /* between two looks at MPI's requests, if nothing moves */

/* ---- Operations in arrays ---------------------------------------------------------------------------------------- */

/* The operation of a request, quickly if this library has none at all. */
static sfpmpi_operation_t *find(MPI_Request request)
{
  return atomic_load_explicit(&sfpmpi_nrequests, memory_order_relaxed) > 0 ? sfpmpi_request_find(request) : NULL;
}

static bool has_operations(int n, const MPI_Request *requests)
{
  if (requests == NULL)
    return false;
  for (int i = 0; i < n; i++)
    if (find(requests[i]) != NULL)
      return true;
  return false;
}

/* Waits for the end of an operation at most that long. Returns whether it has ended. */
static bool advance(sfpmpi_operation_t *operation, int64_t timeout_ns)
{
  if (!operation->active)
    return true;
  if (!sfpmpi_operation_wait(operation, timeout_ns))
    return false;
  sfpmpi_request_complete(operation);
  return true;
}

/* Ends operations that are complete. Returns one that is not; NULL: none is left. */
static sfpmpi_operation_t *advance_all(int n, const MPI_Request *requests)
{
  sfpmpi_operation_t *left = NULL;
  for (int i = 0; i < n; i++) {
    sfpmpi_operation_t *operation = find(requests[i]);
    if (operation != NULL && !advance(operation, 0))
      left = operation;
  }
  return left;
}

static void end_all(int n, const MPI_Request *requests)
{
  for (int i = 0; i < n; i++) {
    sfpmpi_operation_t *operation = find(requests[i]);
    if (operation != NULL)
      (void)advance(operation, -1);
  }
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* Errors of the operations in an array, collected before MPI frees their requests. */
typedef struct errors {
  int *codes; /* by index; NULL: no error */
  MPI_Comm comm;
} errors_t;

static errors_t collect_errors(int n, const MPI_Request *requests)
{
  errors_t errors = {.codes = NULL};
  for (int i = 0; i < n; i++) {
    sfpmpi_operation_t *operation = find(requests[i]);
    if (operation == NULL || operation->error == MPI_SUCCESS)
      continue;
    if (errors.codes == NULL)
      errors.codes = calloc((size_t)n, sizeof *errors.codes);
    if (errors.codes == NULL)
      break;
    errors.codes[i] = operation->error;
    errors.comm = operation->star->topology->comm;
  }
  return errors;
}

/* Calls the error handler for each completed request with an error, and enters the error in its status. indices has the
 * numbers of the count completed requests; NULL: all have completed. Returns MPI_ERR_IN_STATUS if several, else the
 * code of the error. */
static int report(errors_t *errors, const MPI_Request *requests, int count, const int *indices, MPI_Status *statuses,
                  bool several)
{
  int first = MPI_SUCCESS;
  for (int k = 0; k < count && errors->codes != NULL; k++) {
    int i = indices != NULL ? indices[k] : k, code = errors->codes[i];
    sfpmpi_operation_t *operation = find(requests[i]);
    if (statuses != MPI_STATUSES_IGNORE && several)
      statuses[k].MPI_ERROR = code;
    if (operation != NULL && code != MPI_SUCCESS)
      operation->error = MPI_SUCCESS; /* of a persistent one */
    first = first != MPI_SUCCESS ? first : code;
  }
  free(errors->codes);
  (void)sfpmpi_raise(errors->comm, first);
  return several && first != MPI_SUCCESS ? MPI_ERR_IN_STATUS : first;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

SFPMPI_EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
  sfpmpi_operation_t *operation = request != NULL ? find(*request) : NULL;
  if (operation == NULL)
    return sfpmpi_next.Wait(request, status);
  end_all(1, request);
  errors_t errors = collect_errors(1, request);
  int code = sfpmpi_next.Wait(request, status), error = report(&errors, request, 1, NULL, NULL, false);
  return code != MPI_SUCCESS ? code : error;
}

SFPMPI_EXPORT int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
  if (!has_operations(n, requests))
    return sfpmpi_next.Waitall(n, requests, statuses);
  end_all(n, requests);
  errors_t errors = collect_errors(n, requests);
  int code = sfpmpi_next.Waitall(n, requests, statuses);
  int error = report(&errors, requests, n, NULL, code == MPI_SUCCESS ? statuses : MPI_STATUSES_IGNORE, true);
  return code != MPI_SUCCESS ? code : error;
}

SFPMPI_EXPORT int MPI_Waitany(int n, MPI_Request *requests, int *index, MPI_Status *status)
{
  if (!has_operations(n, requests))
    return sfpmpi_next.Waitany(n, requests, index, status);
  for (;;) {
    int done = 0;
    int code = MPI_Testany(n, requests, index, &done, status);
    if (code != MPI_SUCCESS || done)
      return code;
    sfpmpi_operation_t *left = advance_all(n, requests);
    if (left != NULL)
      (void)advance(left, IDLE_NS);
  }
}

SFPMPI_EXPORT int MPI_Waitsome(int n, MPI_Request *requests, int *count, int *indices, MPI_Status *statuses)
{
  if (!has_operations(n, requests))
    return sfpmpi_next.Waitsome(n, requests, count, indices, statuses);
  for (;;) {
    int code = MPI_Testsome(n, requests, count, indices, statuses);
    if (code != MPI_SUCCESS || *count != 0)
      return code;
    sfpmpi_operation_t *left = advance_all(n, requests);
    if (left != NULL)
      (void)advance(left, IDLE_NS);
  }
}

/* ---- Testing ----------------------------------------------------------------------------------------------------- */

SFPMPI_EXPORT int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
  sfpmpi_operation_t *operation = request != NULL ? find(*request) : NULL;
  if (operation == NULL)
    return sfpmpi_next.Test(request, done, status);
  if (!advance(operation, 0)) {
    *done = 0;
    return MPI_SUCCESS;
  }
  errors_t errors = collect_errors(1, request);
  int code = sfpmpi_next.Test(request, done, status), error = report(&errors, request, 1, NULL, NULL, false);
  return code != MPI_SUCCESS ? code : error;
}

SFPMPI_EXPORT int MPI_Testall(int n, MPI_Request *requests, int *done, MPI_Status *statuses)
{
  if (!has_operations(n, requests))
    return sfpmpi_next.Testall(n, requests, done, statuses);
  if (advance_all(n, requests) != NULL) {
    *done = 0;
    return MPI_SUCCESS;
  }
  errors_t errors = collect_errors(n, requests);
  int code = sfpmpi_next.Testall(n, requests, done, statuses);
  bool ended = code == MPI_SUCCESS && *done;
  int error = report(&errors, requests, ended ? n : 0, NULL, statuses, true);
  return code != MPI_SUCCESS ? code : error;
}

SFPMPI_EXPORT int MPI_Testany(int n, MPI_Request *requests, int *index, int *done, MPI_Status *status)
{
  if (!has_operations(n, requests))
    return sfpmpi_next.Testany(n, requests, index, done, status);
  bool left = advance_all(n, requests) != NULL;
  errors_t errors = collect_errors(n, requests);
  int code = sfpmpi_next.Testany(n, requests, index, done, status);
  bool ended = code == MPI_SUCCESS && *done && *index != MPI_UNDEFINED;
  if (code == MPI_SUCCESS && left && !ended)
    *done = 0; /* MPI may see inactive requests only */
  int error = report(&errors, requests, ended ? 1 : 0, index, NULL, false);
  return code != MPI_SUCCESS ? code : error;
}

SFPMPI_EXPORT int MPI_Testsome(int n, MPI_Request *requests, int *count, int *indices, MPI_Status *statuses)
{
  if (!has_operations(n, requests))
    return sfpmpi_next.Testsome(n, requests, count, indices, statuses);
  bool left = advance_all(n, requests) != NULL;
  errors_t errors = collect_errors(n, requests);
  int code = sfpmpi_next.Testsome(n, requests, count, indices, statuses);
  if (code == MPI_SUCCESS && left && *count == MPI_UNDEFINED)
    *count = 0; /* MPI sees inactive requests only */
  bool ended = code == MPI_SUCCESS && *count != MPI_UNDEFINED;
  int error = report(&errors, requests, ended ? *count : 0, indices, statuses, true);
  return code != MPI_SUCCESS ? code : error;
}

SFPMPI_EXPORT int MPI_Request_get_status(MPI_Request request, int *done, MPI_Status *status)
{
  sfpmpi_operation_t *operation = find(request);
  if (operation == NULL || advance(operation, 0))
    return sfpmpi_next.Request_get_status(request, done, status);
  *done = 0;
  return MPI_SUCCESS;
}

/* ---- Starting and freeing ---------------------------------------------------------------------------------------- */

static int refuse(const sfpmpi_operation_t *operation)
{
  return sfpmpi_raise(operation->star->topology->comm, MPI_ERR_REQUEST);
}

SFPMPI_EXPORT int MPI_Start(MPI_Request *request)
{
  sfpmpi_operation_t *operation = request != NULL ? find(*request) : NULL;
  if (operation == NULL)
    return sfpmpi_next.Start(request);
  if (operation->active || !operation->persistent)
    return refuse(operation);
  int code = sfpmpi_operation_begin(operation);
  if (code == MPI_SUCCESS && !operation->active)
    sfpmpi_request_complete(operation); /* this process has no neighbours */
  return sfpmpi_raise(operation->star->topology->comm, code);
}

SFPMPI_EXPORT int MPI_Startall(int n, MPI_Request *requests)
{
  int code = MPI_SUCCESS;
  if (!has_operations(n, requests))
    return sfpmpi_next.Startall(n, requests);
  for (int i = 0; i < n && code == MPI_SUCCESS; i++)
    code = MPI_Start(&requests[i]);
  return code;
}

/* Nonblocking collectives can't be freed or cancelled while they are active. */
SFPMPI_EXPORT int MPI_Request_free(MPI_Request *request)
{
  sfpmpi_operation_t *operation = request != NULL ? find(*request) : NULL;
  if (operation == NULL)
    return sfpmpi_next.Request_free(request);
  if (operation->active && !operation->persistent)
    return refuse(operation);
  (void)advance(operation, -1);
  if (operation->persistent)
    sfpmpi_request_free(operation);
  return sfpmpi_next.Request_free(request);
}

SFPMPI_EXPORT int MPI_Cancel(MPI_Request *request)
{
  sfpmpi_operation_t *operation = request != NULL ? find(*request) : NULL;
  return operation == NULL ? sfpmpi_next.Cancel(request) : refuse(operation);
}
