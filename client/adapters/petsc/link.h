/* Operations on one PetscSF: persistent requests by the arguments of the call, kept for the next one alike. */
#ifndef SFC_ADAPTERS_PETSC_LINK_H
#define SFC_ADAPTERS_PETSC_LINK_H

#include "client/adapters/petsc/petsc.h"
#include "client/adapters/petsc/unit.h"

typedef enum sfpetsc_kind { SFPETSC_BCAST, SFPETSC_REDUCE, SFPETSC_FETCH } sfpetsc_kind_t;

/* What tells operations apart. */
typedef struct sfpetsc_call {
  sfpetsc_kind_t kind;
  MPI_Datatype datatype;
  uint64_t unit; /* number of sfpetsc_unit_t */
  const sf_op_t *op;
  const void *root;
  const void *leaf;
  const void *update; /* of fetch; else NULL */
} sfpetsc_call_t;

typedef struct sfpetsc_link {
  sfpetsc_call_t call;
  sf_request_t *request;
  PetscBool in_flight;
  uint64_t used; /* when, in operations */
} sfpetsc_link_t;

typedef struct sfpetsc_links {
  sfpetsc_link_t *links;
  int count;
  int room;
  int recent; /* the one begun last */
  uint64_t clock;
} sfpetsc_links_t;

/* An idle link for the call, or NULL. */
sfpetsc_link_t *sfpetsc_links_find(sfpetsc_links_t *links, const sfpetsc_call_t *call);

/* The link in flight that a call of end means, or NULL: with the same datatype, else with one that PETSc takes for the
 * same. Buffers don't tell it, as they are NULL on ranks without vertices. Unit and op of the call do not count. */
PetscErrorCode sfpetsc_links_find_begun(sfpetsc_links_t *links, const sfpetsc_call_t *call, sfpetsc_link_t **link_p);

/* Whether any is in flight. */
PetscBool sfpetsc_links_busy(const sfpetsc_links_t *links);

/* Room for another one, if need be by freeing the one that was not used for longest. Without request. */
PetscErrorCode sfpetsc_links_add(sfpetsc_links_t *links, const sfpetsc_call_t *call, sfpetsc_link_t **link_p);

/* Begins the operation of a link that has its request. */
PetscErrorCode sfpetsc_link_begin(sfpetsc_links_t *links, sfpetsc_link_t *link);

/* Ends it; MPI goes on while it waits. */
PetscErrorCode sfpetsc_link_end(sfpetsc_link_t *link);

/* Frees all, but not the requests: these go with the graph. */
PetscErrorCode sfpetsc_links_free(sfpetsc_links_t *links);

#endif
