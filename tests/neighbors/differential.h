/* Neighbourhood collectives of MPI called twice, as MPI_X and as PMPI_X, with the same random arguments: a library that
 * interposes MPI_X must give what MPI's own functions give. Plain MPI: without such a library both are the same. */
#ifndef SFTEST_NEIGHBORS_DIFFERENTIAL_H
#define SFTEST_NEIGHBORS_DIFFERENTIAL_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#define MPI_PERSISTENT(name) MPIX_##name
#define PMPI_PERSISTENT(name) PMPIX_##name
#else
#define MPI_PERSISTENT(name) MPI_##name
#define PMPI_PERSISTENT(name) PMPI_##name
#endif

/* ---- Random numbers ---- */

typedef struct dice {
  uint64_t state;
} dice_t;

uint64_t dice_mix(uint64_t a, uint64_t b);
int dice_below(dice_t *dice, int n);
bool dice_percent(dice_t *dice, int percent);
void dice_shuffle(dice_t *dice, int n, int values[]);

/* ---- Topologies: topology.c ---- */

/* Neighbours in the order of MPI. An edge's number is the same on both ends. */
typedef struct topology {
  MPI_Comm comm; /* MPI_COMM_NULL: this process is not in it */
  char name[40];
  int rank, size;
  int nin, nout;
  int *in, *out; /* ranks, or MPI_PROC_NULL */
  uint64_t *in_edge, *out_edge;
} topology_t;

/* Collective over MPI_COMM_WORLD; shared: the same on all processes. */
void topology_make(dice_t *shared, topology_t *topology);
void topology_free(topology_t *topology);

/* ---- Datatypes: types.c ---- */

typedef enum base { BASE_BYTE, BASE_INT, BASE_DOUBLE, BASE_MIXED, BASE_PAIR, NBASES } base_t;
#define TYPE_PERIOD 12 /* elements of the base: each made type has a number of them that divides this */

typedef struct made_type {
  MPI_Datatype type;
  int elements; /* of the base */
  MPI_Aint lb, extent, true_lb, true_extent;
} made_type_t;

made_type_t type_make(dice_t *dice, base_t base);
void type_free(made_type_t *type);

/* ---- Calls: calls.c ---- */

typedef enum function { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, NFUNCTIONS } function_t;
typedef enum form { BLOCKING, NONBLOCKING, PERSISTENT, NFORMS } form_t;
typedef enum path { PATH_MPI, PATH_PMPI, NPATHS } path_t;

/* One side of a call. Arrays have one element more than there are neighbours, so that element 0 exists. */
typedef struct side {
  int n; /* neighbours, or 1 for the sender of an allgather */
  int *counts, *displs;
  MPI_Aint *byte_displs;
  MPI_Datatype *types[NPATHS]; /* the first path has copies, so that they can be freed early */
  made_type_t *made;
  size_t bytes;    /* of the buffer */
  MPI_Aint origin; /* of the address passed as buffer, in the buffer */
  unsigned char *data[NPATHS];
  bool absolute; /* MPI_BOTTOM, with addresses as displacements */
} side_t;

typedef struct call {
  const topology_t *topology;
  function_t function;
  form_t form;
  uint64_t number;
  side_t send, recv;
  MPI_Aint *absolute_displs; /* of the PMPI path's receive buffer */
} call_t;

/* number: of the call, the same on all ranks. own: this process's dice. */
void call_make(call_t *call, const topology_t *topology, function_t function, form_t form, uint64_t number,
               dice_t *own);
/* New contents for send buffers; receive buffers as before any call. Between the starts of a persistent operation. */
void call_refill(call_t *call, uint64_t salt);
/* Begins, initialises or carries out. The request is null if the call is complete. */
void call_begin(call_t *call, path_t path, MPI_Request *request);
/* Whether the request is persistent: the MPI's own function may be replaced by others, if it has errors. */
bool call_is_persistent(const call_t *call, path_t path);
/* Starts a persistent operation that is replaced by others; nothing else. */
void call_start_replaced(call_t *call, path_t path, MPI_Request *request);
/* Frees the datatypes of the first path: after begin or init, as MPI keeps what it needs, or in the end. */
void call_free_types(call_t *call);
/* Returns whether both receive buffers are the same. Prints what is not. */
bool call_compare(const call_t *call);
void call_free(call_t *call);

/* ---- Completion: finish.c ---- */

/* Whether MPI_X is another function than PMPI_X: then only the latter need be spared what the MPI itself gets wrong. */
extern bool carried;

/* Completes all requests in a way that the dice choose. */
void finish_all(dice_t *own, int n, MPI_Request requests[]);
/* For the message if the program hangs. */
void progress_note(const char *what, const char *which);

/* Ends the program with a message if the result of an MPI function is no success. */
void must(int result, const char *what);
void *make_room(size_t bytes);

#endif
