/* libsfclient_mpi: from MPI communicators, datatypes and ops to those of sf.h. The only part of the client that needs
 * MPI, and only while these functions run: operations never use it. */
#ifndef SF_MPI_H
#define SF_MPI_H

#include <mpi.h>

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the job made of the communicator's processes, with their ranks there. Identity and key are made by rank 0, so
 * that nothing but the socket (options->socket_path or the environment) has to be told. options may be NULL; its job,
 * key, rank and size must be at their defaults (SF_ERR_ARG). Collective over the communicator and blocking. If one
 * process fails all do: those that themselves succeeded with SF_ERR_RANK_FAILED. Other errors as of sf_init. */
SF_CHECK_RESULT sf_status_t sf_mpi_init(MPI_Comm comm, const sf_init_options_t *options, sf_context_t **context_p);

/* The group of the communicator's processes, in its order. All must be ranks of the context's job. Collective over the
 * communicator and blocking. */
SF_CHECK_RESULT sf_status_t sf_mpi_group(sf_context_t *context, MPI_Comm comm, sf_group_t **group_p);

/* The unit that corresponds to an MPI datatype: the predefined integer, floating-point, complex and byte types of C,
 * and MPI_Type_contiguous and MPI_Type_dup of these, to any depth. *type_p is to be given to sf_type_destroy. Local.
 * SF_ERR_UNSUPPORTED: any other datatype, with its kind in the detail. */
SF_CHECK_RESULT sf_status_t sf_mpi_type(MPI_Datatype datatype, const sf_type_t **type_p);

/* The op that corresponds to a predefined MPI op. Local. SF_ERR_UNSUPPORTED: user-defined ops, MAXLOC, MINLOC. */
SF_CHECK_RESULT sf_status_t sf_mpi_op(MPI_Op op, const sf_op_t **op_p);

#ifdef __cplusplus
}
#endif
#endif
