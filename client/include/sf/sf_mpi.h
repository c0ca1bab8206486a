/* libsfclient_mpi: converts MPI communicators, datatypes and ops to contexts, groups, units and ops of sf.h. This is
 * the only part of the client that needs MPI. It calls MPI while these functions run, and in operations with ops of
 * sf_mpi_op_create; other operations never call MPI. */
#ifndef SF_MPI_H
#define SF_MPI_H

#include <mpi.h>

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the job formed by the processes of the communicator, with the same ranks. Rank 0 creates the job's name and key
 * and sends them to the others; only the socket must be known (options->socket_path or the environment). The name
 * begins with SF_JOB, else with the program's name. options may be NULL; its job, key, rank and size must have their
 * default values. Collective over the communicator and blocking. The caller owns the context and passes it to
 * sf_finalize. Errors of sf_init. If a process fails all processes fail: those that succeeded return the error of the
 * lowest rank that failed, and the detail names that rank. SF_ERR_ARG: an option has no default value; or the launcher
 * has started several processes but MPI sees only one, as under an mpirun of another MPI library. */
SF_CHECK_RESULT sf_status_t sf_mpi_init(MPI_Comm comm, const sf_init_options_t *options, sf_context_t **context_p);

/* Creates the group of the communicator's processes, in their order. All must be ranks of the context's job. Collective
 * over the communicator and blocking. The caller owns the group. Errors of sf_group_create. If a process has a NULL
 * argument or no memory all processes fail, as in sf_mpi_init. */
SF_CHECK_RESULT sf_status_t sf_mpi_group(sf_context_t *context, MPI_Comm comm, sf_group_t **group_p);

/* Creates the unit that corresponds to an MPI datatype. The caller owns it and calls sf_type_destroy. Local.
 *  - Predefined integer, floating-point, complex and byte types of C, and the pair types of MPI_MAXLOC: the unit of the
 *    same name. MPI_BYTE becomes an unsigned integer, as ops treat it.
 *  - Derived datatypes whose values have one such type and fill the extent without gaps, in any order: a block. This
 *    includes subarrays, and distributed arrays that belong to one process.
 *  - Other datatypes that fill their extent except for the padding of C structs: an opaque unit, for SF_REPLACE; the
 *    padding is copied as well. Predefined types without a counterpart, such as long double, become opaque units too.
 * A datatype that covers only a part of its extent (every third value, a part of an array) is not supported: describe
 * the selection by the edges of the graph. SF_ERR_ARG: MPI_DATATYPE_NULL. SF_ERR_UNSUPPORTED: the datatype has gaps
 * (the detail says where the first one is), overlapping values, parts of a distributed array, or more than 65536
 * pieces. */
SF_CHECK_RESULT sf_status_t sf_mpi_type(MPI_Datatype datatype, const sf_type_t **type_p);

/* Returns the op that corresponds to a predefined MPI op, MPI_MAXLOC and MPI_MINLOC included. The op is static. Local.
 * SF_ERR_UNSUPPORTED: any other op; see sf_mpi_op_create. */
SF_CHECK_RESULT sf_status_t sf_mpi_op(MPI_Op op, const sf_op_t **op_p);

/* sf_mpi_op_create creates an op of the application from an MPI op that is defined for the datatype: an op of
 * MPI_Op_create, or a predefined op on a datatype that sf_mpi_type makes opaque. op(a, b) is the result of
 * MPI_Reduce_local(a, b). Use the op with the unit of the datatype (sf_mpi_type), or with blocks of it; bytes of a unit
 * beyond a multiple of the datatype stay unchanged. The datatype must be committed. The caller owns the op. MPI's op
 * and datatype must exist until sf_mpi_op_destroy. Operations call MPI_Reduce_local in the thread that is inside the
 * operation: MPI must be initialised with a thread level that allows this. sf_mpi_op_destroy frees the op, after
 * operations with it have ended and persistent requests with it have been freed. Both are local. SF_ERR_ARG:
 * MPI_OP_NULL, MPI_DATATYPE_NULL, NULL; destruction of an op of another kind. SF_ERR_UNSUPPORTED: the datatype does not
 * begin at its address. SF_ERR_SYS: an error of MPI, for instance a predefined op that is not defined for the datatype;
 * MPI's error handler may end the program first. SF_ERR_NOMEM. */
SF_CHECK_RESULT sf_status_t sf_mpi_op_create(MPI_Op op, MPI_Datatype datatype, const sf_op_t **op_p);
sf_status_t sf_mpi_op_destroy(const sf_op_t *op);

#ifdef __cplusplus
}
#endif
#endif
