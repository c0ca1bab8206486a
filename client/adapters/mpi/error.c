/* Errors of MPI calls: see error.h. */
#include "client/adapters/mpi/error.h"

#include "shm/base/error.h"

sf_status_t sfmpi_check(int code, const char *what)
{
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (code == MPI_SUCCESS)
    return SF_OK;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
    length = 0;
  return sfshm_error(SF_ERR_SYS, "%s: %.*s", what, length, text);
}
