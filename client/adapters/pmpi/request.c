/* Requests: see request.h. Any thread. */
#include "client/adapters/pmpi/request.h"

#include "client/adapters/pmpi/job.h"
#include "client/adapters/pmpi/table.h"

atomic_int sfpmpi_nrequests;
static sfpmpi_table_t requests;

sfpmpi_operation_t *sfpmpi_request_find(MPI_Request request)
{
  sfpmpi_lock();
  sfpmpi_operation_t *operation = sfpmpi_table_find(&requests, (uintptr_t)request);
  sfpmpi_unlock();
  return operation;
}

static bool enter(sfpmpi_operation_t *operation)
{
  sfpmpi_lock();
  bool entered = sfpmpi_table_enter(&requests, (uintptr_t)operation->token, operation);
  atomic_store_explicit(&sfpmpi_nrequests, (int)requests.n, memory_order_relaxed);
  sfpmpi_unlock();
  return entered;
}

static void leave(sfpmpi_operation_t *operation)
{
  sfpmpi_lock();
  sfpmpi_table_remove(&requests, (uintptr_t)operation->token);
  atomic_store_explicit(&sfpmpi_nrequests, (int)requests.n, memory_order_relaxed);
  sfpmpi_unlock();
  operation->token = MPI_REQUEST_NULL;
  sfpmpi_operation_give_back(operation);
}

/* ---- Functions of generalised requests, which MPI calls ---------------------------------------------------------- */

/* The status of nonblocking collectives has no contents. */
static int query(void *extra, MPI_Status *status)
{
  (void)extra;
  (void)PMPI_Status_set_elements(status, MPI_BYTE, 0);
  (void)PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

static int end(void *extra)
{
  leave(extra);
  return MPI_SUCCESS;
}

/* Nonblocking collectives can't be cancelled: MPI_Cancel of this library says so. */
static int cancel(void *extra, int complete)
{
  (void)extra;
  (void)complete;
  return MPI_SUCCESS;
}

/* ---- Persistent ones ----------------------------------------------------------------------------------------------
 */

/* From where a persistent request receives. MPICH does not count requests with MPI_PROC_NULL among the active ones. */
#if defined(OPEN_MPI)
#define TOKEN_SOURCE MPI_PROC_NULL
#else
#define TOKEN_SOURCE 0
#endif

/* ---- Lifetime ---------------------------------------------------------------------------------------------------- */

int sfpmpi_request_make(sfpmpi_operation_t *operation, MPI_Request *request_p)
{
  int code;
  if (operation->persistent)
    code = PMPI_Recv_init(NULL, 0, MPI_BYTE, TOKEN_SOURCE, 0, sfpmpi_job.self, &operation->token);
  else
    code = PMPI_Grequest_start(query, end, cancel, operation, &operation->token);
  if (code != MPI_SUCCESS)
    return code;
  if (!enter(operation)) {
    if (operation->persistent)
      (void)PMPI_Request_free(&operation->token);
    return MPI_ERR_NO_MEM;
  }
  *request_p = operation->token;
  if (!operation->persistent && !operation->active)
    sfpmpi_request_complete(operation);
  return MPI_SUCCESS;
}

void sfpmpi_request_complete(sfpmpi_operation_t *operation)
{
  if (operation->persistent) {
    (void)PMPI_Start(&operation->token);
    if (TOKEN_SOURCE != MPI_PROC_NULL)
      (void)PMPI_Send(NULL, 0, MPI_BYTE, 0, 0, sfpmpi_job.self);
  } else
    (void)PMPI_Grequest_complete(operation->token);
}

void sfpmpi_request_free(sfpmpi_operation_t *operation)
{
  leave(operation);
}
