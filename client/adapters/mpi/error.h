/* Errors of MPI calls as statuses. */
#ifndef SFC_ADAPTERS_MPI_ERROR_H
#define SFC_ADAPTERS_MPI_ERROR_H

#include <mpi.h>

#include <sf/sf.h>

/* SF_OK for MPI_SUCCESS; else SF_ERR_SYS with the failed call and MPI's text. */
sf_status_t sfmpi_check(int code, const char *what);

#endif
