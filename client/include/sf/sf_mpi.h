/* libsfclient_mpi: from MPI communicators, datatypes and ops to those of sf.h. The only part of the client that needs
 * MPI, and only while these functions run: operations never use it, but for those with ops of sf_mpi_op_create. */
#ifndef SF_MPI_H
#define SF_MPI_H

#include <mpi.h>

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the job made of the communicator's processes, with their ranks there. Identity and key are made by rank 0, so
 * that nothing but the socket (options->socket_path or the environment) has to be told. options may be NULL; its job,
 * key, rank and size must be at their defaults (SF_ERR_ARG). The job's name begins with SF_JOB, else with the program's
 * name. SF_ERR_ARG, too: the launcher has started several processes, but MPI knows of one only, as with an mpirun of
 * another MPI. Collective over the communicator and blocking. If one process fails all do: those that themselves
 * succeeded with the error of the lowest that did not, whose number is in the detail. Errors as of sf_init. */
SF_CHECK_RESULT sf_status_t sf_mpi_init(MPI_Comm comm, const sf_init_options_t *options, sf_context_t **context_p);

/* The group of the communicator's processes, in its order. All must be ranks of the context's job. Collective over the
 * communicator and blocking. If one process has a NULL argument or no memory all fail, as with sf_mpi_init. Other
 * errors as of sf_group_create. */
SF_CHECK_RESULT sf_status_t sf_mpi_group(sf_context_t *context, MPI_Comm comm, sf_group_t **group_p);

/* The unit that corresponds to an MPI datatype. *type_p is to be given to sf_type_destroy. Local.
 *  - Predefined integer, floating-point, complex and byte types of C, and the pairs of MPI_MAXLOC: the unit of the same
 *    name. MPI_BYTE is an unsigned integer, as ops take it for one.
 *  - Derived datatypes, also subarrays, and distributed arrays that are all one process's, whose values are all of one
 *    such type and fill the extent without gaps, in whatever order: a block.
 *  - Other datatypes that fill their extent, but for gaps as C leaves them in a struct, which are then copied with it:
 *    an opaque unit, for SF_REPLACE. Predefined types without a counterpart, such as long double, are opaque, too.
 * A datatype that stands for a part of its extent (every third value, a part of an array) is refused: let the graph say
 * which vertices take part. SF_ERR_ARG: MPI_DATATYPE_NULL. SF_ERR_UNSUPPORTED: such a datatype, with its first gap in
 * the detail; values that overlap; parts of distributed arrays; more than 65536 pieces. */
SF_CHECK_RESULT sf_status_t sf_mpi_type(MPI_Datatype datatype, const sf_type_t **type_p);

/* The op that corresponds to a predefined MPI op, also MPI_MAXLOC and MPI_MINLOC. Local. SF_ERR_UNSUPPORTED: others;
 * see sf_mpi_op_create. */
SF_CHECK_RESULT sf_status_t sf_mpi_op(MPI_Op op, const sf_op_t **op_p);

/* An op of the application made of any op of MPI, as MPI_Op_create makes them, that is defined for the datatype: the
 * predefined ones, too, on datatypes that are opaque units otherwise. What MPI takes for commutative is
 * SF_OP_COMMUTATIVE, see sf_op_create_with; op(a, b) of two values is what MPI_Reduce_local(a, b) computes. To
 * be used with the unit of the datatype (sf_mpi_type), which must be committed, or with blocks of it; of other units,
 * what is less than a value is left as it is. Operations with it call MPI_Reduce_local, in whichever thread is inside
 * of an operation then: MPI has to be initialised, at a level that allows it. sf_mpi_op_destroy frees the op when
 * operations with it have ended, and persistent requests with it have been freed; op and datatype of MPI have to stay
 * until then. Local. SF_ERR_ARG: MPI_OP_NULL, MPI_DATATYPE_NULL, NULL; destruction of another op. SF_ERR_UNSUPPORTED:
 * the datatype does not begin at its address. SF_ERR_SYS: what MPI says, also of a predefined op that is not defined
 * for the datatype, unless its error handler ends the program. SF_ERR_NOMEM. */
SF_CHECK_RESULT sf_status_t sf_mpi_op_create(MPI_Op op, MPI_Datatype datatype, const sf_op_t **op_p);
sf_status_t sf_mpi_op_destroy(const sf_op_t *op);

#ifdef __cplusplus
}
#endif
#endif
