/* Graph of a PetscSF. */
#ifndef SFC_ADAPTERS_PETSC_GRAPH_H
#define SFC_ADAPTERS_PETSC_GRAPH_H

#include "client/adapters/petsc/petsc.h"

/* Creates the graph of a PetscSF that basic has set up. NULL if it stays with MPI: duplicate leaves, no edges between
 * ranks, processes outside of the job. Leaf *first_leaf_p of the PetscSF is leaf 0 of the graph. *shared_p: a root
 * has several leaves, on whatever rank. Collective and blocking. */
PetscErrorCode sfpetsc_graph_make(PetscSF sf, sf_graph_t **graph_p, PetscInt *first_leaf_p, PetscBool *shared_p);

#endif
