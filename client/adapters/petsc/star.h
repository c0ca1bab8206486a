/* What the adapter keeps for a PetscSF of its type.
 *
 * The type is derived from PETSc's type basic: all of a basic PetscSF is there and set up, and the adapter has put its
 * own functions in front of some of basic's. So whatever the library does not do basic does, by MPI: units and ops that
 * the library does not know, communicators of one process, leaves that occur twice, processes outside of the job, and
 * the first operations on a graph, since a graph of the library costs a round trip to the daemon and many a PetscSF is
 * used once. All ranks decide alike, from what they were called with.
 *
 *     YOUNG --(operation number -sfd_setup_after, or one that rounds)--> GRAPH, or MPI if it can't be
 *     communicator of one process: MPI from the start                                              */
#ifndef SFC_ADAPTERS_PETSC_STAR_H
#define SFC_ADAPTERS_PETSC_STAR_H

#include "client/adapters/petsc/link.h"
#include "client/adapters/petsc/petsc.h"

typedef enum sfpetsc_state {
  SFPETSC_YOUNG, /* few operations so far, by MPI */
  SFPETSC_GRAPH, /* the library does what it can do, MPI the rest */
  SFPETSC_MPI,   /* everything by MPI */
} sfpetsc_state_t;

typedef struct sfpetsc_star {
  sfpetsc_state_t state;
  PetscInt64 nbegun[2];      /* operations begun: by MPI, by the library */
  sf_graph_t *graph;         /* in state GRAPH */
  PetscInt first_leaf;       /* leaf 0 of the graph is this one of the PetscSF */
  const PetscSFNode *remote; /* PETSc's when the graph was made */
  PetscBool fetched;         /* the graph has what fetch needs */
  sfpetsc_links_t links;
} sfpetsc_star_t;

/* Option -sfd_setup_after: how many operations on a PetscSF MPI does before a graph is made. */
extern PetscInt sfpetsc_setup_after;

/* Makes a basic PetscSF one of the adapter's type. Local. */
PetscErrorCode sfpetsc_star_attach(PetscSF sf);

/* Of a PetscSF that the adapter has made its own. */
static inline sfpetsc_star_t *sfpetsc_star_of(PetscSF sf)
{
  extern PetscInt sfpetsc_star_id;
  return (sfpetsc_star_t *)(void *)((PetscObject)sf)->intstarcomposeddata[sfpetsc_star_id];
}

/* Makes a PetscSF of the type: what PETSc calls for -sf_type sfd. */
PetscErrorCode sfpetsc_star_create(PetscSF sf);

/* The functions of type basic. */
extern struct _PetscSFOps sfpetsc_basic;

#endif
