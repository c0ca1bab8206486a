/* The adapter's data of a PetscSF of its type.
 *
 * The type is derived from PETSc's type basic: a basic PetscSF is set up completely, and the adapter replaces some of
 * its functions. Basic does by MPI whatever the library does not do: unknown units and ops, communicators of one
 * process, duplicate leaves, processes outside of the job, and the first operations, because creating a graph costs a
 * round trip to the daemon and many PetscSFs are used once. All ranks decide equally, from the arguments of calls.
 *
 *     YOUNG --(operation number -sfd_setup_after, or one that rounds)--> GRAPH, or MPI if impossible
 *     communicator of one process: MPI from the start
 *
 * In state GRAPH a trial (trial.h) finds out whether MPI is faster. */
#ifndef SFC_ADAPTERS_PETSC_STAR_H
#define SFC_ADAPTERS_PETSC_STAR_H

#include "client/adapters/petsc/link.h"
#include "client/adapters/petsc/petsc.h"
#include "client/adapters/petsc/trial.h"

typedef enum sfpetsc_state {
  SFPETSC_YOUNG, /* few operations so far, by MPI */
  SFPETSC_GRAPH, /* by the library where possible, else by MPI */
  SFPETSC_MPI,   /* everything by MPI */
} sfpetsc_state_t;

typedef struct sfpetsc_star {
  sfpetsc_state_t state;
  PetscInt64 nbegun[2];      /* operations by each sfpetsc_doer_t */
  sf_graph_t *graph;         /* in state GRAPH */
  PetscInt first_leaf;       /* leaf of the PetscSF that is leaf 0 of the graph */
  PetscBool shared;          /* a root has several leaves: their order may matter */
  const PetscSFNode *remote; /* sf->remote when the graph was created */
  PetscBool fetched;         /* the graph has its multi-graph */
  sfpetsc_trial_t *trial;    /* NULL: none, or over */
  sfpetsc_doer_t doer;       /* of what both can do: by turns in the trial, then the faster one */
  sfpetsc_links_t links;
} sfpetsc_star_t;

/* Option -sfd_setup_after: operations by MPI before a graph is created. */
extern PetscInt sfpetsc_setup_after;

/* Option -sfd_trial: of which operations to find out whether MPI is faster. */
typedef enum sfpetsc_trials {
  SFPETSC_TRIALS_NONE,
  SFPETSC_TRIALS_SAME, /* whose result is the same with both */
  SFPETSC_TRIALS_ALL,  /* also those in which rounding depends on who does them */
} sfpetsc_trials_t;
extern sfpetsc_trials_t sfpetsc_trials;

/* Gives a basic PetscSF the adapter's functions. Local. */
PetscErrorCode sfpetsc_star_attach(PetscSF sf);

static inline sfpetsc_star_t *sfpetsc_star_of(PetscSF sf)
{
  extern PetscInt sfpetsc_star_id;
  return (sfpetsc_star_t *)(void *)((PetscObject)sf)->intstarcomposeddata[sfpetsc_star_id];
}

/* Constructor of the type, for -sf_type sfd. */
PetscErrorCode sfpetsc_star_create(PetscSF sf);

/* Functions of type basic. */
extern struct _PetscSFOps sfpetsc_basic;

#endif
