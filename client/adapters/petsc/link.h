/* Requests of a PetscSF: persistent requests by call arguments, kept for equal calls. */
#ifndef SFC_ADAPTERS_PETSC_LINK_H
#define SFC_ADAPTERS_PETSC_LINK_H

#include "client/adapters/petsc/petsc.h"
#include "client/adapters/petsc/unit.h"

typedef enum sfpetsc_kind { SFPETSC_BCAST, SFPETSC_REDUCE, SFPETSC_FETCH } sfpetsc_kind_t;

/* Arguments that identify an operation. */
typedef struct sfpetsc_call {
  sfpetsc_kind_t kind;
  MPI_Datatype datatype;
  uint64_t unit; /* number of sfpetsc_unit_t */
  const sf_op_t *op;
  const void *root;
  const void *leaf;
  const void *update; /* of fetch; else NULL */
} sfpetsc_call_t;

/* Whether both have the same kind and buffers, all that an end call says besides the datatype. */
PetscBool sfpetsc_call_same_buffers(const sfpetsc_call_t *a, const sfpetsc_call_t *b);

typedef struct sfpetsc_link {
  sfpetsc_call_t call;
  sf_request_t *request;
  PetscBool in_flight;
  uint64_t used; /* time of last use, in operations */
} sfpetsc_link_t;

typedef struct sfpetsc_links {
  sfpetsc_link_t *links;
  int count;
  int room;
  int recent; /* the last one begun */
  uint64_t clock;
} sfpetsc_links_t;

/* Finds an idle link for the call, or NULL. */
sfpetsc_link_t *sfpetsc_links_find(sfpetsc_links_t *links, const sfpetsc_call_t *call);

/* Finds the link in flight that an end call means, or NULL: same datatype, else one that PETSc considers equal. Buffers
 * may be NULL on ranks without vertices. Unit and op of the call are ignored. */
PetscErrorCode sfpetsc_links_find_begun(sfpetsc_links_t *links, const sfpetsc_call_t *call, sfpetsc_link_t **link_p);

/* Whether a link is in flight. */
PetscBool sfpetsc_links_busy(const sfpetsc_links_t *links);

/* Adds a link without request, freeing the least recently used one if necessary. */
PetscErrorCode sfpetsc_links_add(sfpetsc_links_t *links, const sfpetsc_call_t *call, sfpetsc_link_t **link_p);

/* Begins the link's operation. */
PetscErrorCode sfpetsc_link_begin(sfpetsc_links_t *links, sfpetsc_link_t *link);

/* Ends the operation, with MPI progress while waiting. */
PetscErrorCode sfpetsc_link_end(sfpetsc_link_t *link);

/* Frees the links; requests are freed with the graph. */
PetscErrorCode sfpetsc_links_free(sfpetsc_links_t *links);

#endif
