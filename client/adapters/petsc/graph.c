/* Graph of a PetscSF: see graph.h. The thread that calls PETSc. */
#include "client/adapters/petsc/graph.h"

#include <petscbt.h>

#include "client/adapters/petsc/job.h"
#include "client/adapters/petsc/star.h"

/* ---- Whether it can be ------------------------------------------------------------------------------------------- */

/* Facts known to single ranks; each concerns all ranks. */
typedef enum fact { DUPLICATES, SHARED, REMAPPED, REMOTE, FACTS } fact_t;

/* Numbers for which a table of bits costs more than a hash table of those that are there. */
#define FAR_APART 256

/* Whether one of n numbers between first and last is there twice. */
static PetscErrorCode find_twice(PetscInt n, const PetscInt numbers[], PetscInt first, PetscInt last, int *found_p)
{
  PetscBT seen;
  PetscBool found = PETSC_FALSE;
  PetscFunctionBegin;
  if (n > 0 && (last - first) / FAR_APART >= n) {
    PetscCall(PetscCheckDupsInt(n, numbers, &found));
  } else if (n > 0) {
    PetscCall(PetscBTCreate(last - first + 1, &seen));
    for (PetscInt i = 0; i < n && !found; i++)
      found = PetscBTLookupSet(seen, numbers[i] - first) != 0;
    PetscCall(PetscBTDestroy(&seen));
  }
  *found_p = found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode has_duplicates(PetscSF sf, int *found_p)
{
  PetscFunctionBegin;
  PetscCall(find_twice(sf->mine != NULL ? sf->nleaves : 0, sf->mine, sf->minleaf, sf->maxleaf, found_p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Roots with edges of this process, by leaf rank. Without a graph PETSc's numbers of roots and leaves are -1. */
static PetscErrorCode get_roots(PetscSF sf, PetscInt *nedges_p, const PetscInt **roots_p, PetscInt *nroots_p)
{
  __typeof__(sf->nranks) nranks; /* PetscInt, or PetscMPIInt in newer versions */
  const PetscInt *offsets;
  PetscFunctionBegin;
  PetscCall(sfpetsc_basic.GetLeafRanks(sf, &nranks, NULL, &offsets, roots_p));
  *nedges_p = offsets[nranks];
  /* PETSc's types accept leaves on roots beyond nroots (its overlap code and VecScatterRemap produce such). */
  *nroots_p = PetscMax(sf->nroots, 0);
  for (PetscInt k = 0; k < *nedges_p; k++)
    *nroots_p = PetscMax(*nroots_p, (*roots_p)[k] + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a root has several leaves. */
static PetscErrorCode has_shared(PetscSF sf, int *found_p)
{
  const PetscInt *roots;
  PetscInt nedges, nroots;
  PetscFunctionBegin;
  PetscCall(get_roots(sf, &nedges, &roots, &nroots));
  PetscCall(find_twice(nedges, roots, 0, nroots - 1, found_p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode agree(PetscSF sf, int facts[FACTS])
{
  PetscFunctionBegin;
  PetscCall(has_duplicates(sf, &facts[DUPLICATES]));
  PetscCall(has_shared(sf, &facts[SHARED]));
  facts[REMAPPED] = sf->nleaves > 0 && sf->remote == NULL; /* see VecScatterRemap */
  facts[REMOTE] = sf->nranks > sf->ndranks;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, facts, FACTS, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)sf)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Edges ------------------------------------------------------------------------------------------------------- */

typedef struct edges {
  PetscInt *leaf; /* NULL: 0, 1, 2... */
  int32_t *rank;
  PetscInt *root;
} edges_t;

/* Edges by root rank, as basic has sorted them. VecScatterRemap changes roots on their own side only, so a bcast of
 * root numbers finds them. */
static PetscErrorCode find_edges_remapped(PetscSF sf, PetscInt nroots, const edges_t *edges)
{
  PetscInt *roots, *leaves, n = sf->nleaves > 0 ? sf->maxleaf + 1 : 0, k = 0;
  PetscFunctionBegin;
  PetscCall(PetscMalloc2(nroots, &roots, n, &leaves));
  for (PetscInt i = 0; i < nroots; i++)
    roots[i] = i;
  PetscCall(sfpetsc_basic.BcastBegin(sf, MPIU_INT, PETSC_MEMTYPE_HOST, roots, PETSC_MEMTYPE_HOST, leaves, MPI_REPLACE));
  PetscCall(sfpetsc_basic.BcastEnd(sf, MPIU_INT, roots, leaves, MPI_REPLACE));
  for (PetscInt i = 0; i < sf->nranks; i++) {
    for (; k < sf->roffset[i + 1]; k++) {
      edges->leaf[k] = sf->rmine[k] - sf->minleaf;
      edges->rank[k] = sf->ranks[i];
      edges->root[k] = leaves[sf->rmine[k]];
    }
  }
  PetscCall(PetscFree2(roots, leaves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode find_edges(PetscSF sf, edges_t *edges)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < sf->nleaves; k++) {
    edges->rank[k] = (int32_t)sf->remote[k].rank;
    edges->root[k] = sf->remote[k].index;
  }
  if (sf->mine == NULL)
    edges->leaf = NULL;
  else
    for (PetscInt k = 0; k < sf->nleaves; k++)
      edges->leaf[k] = sf->mine[k] - sf->minleaf;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static sf_status_t create(sf_group_t *group, PetscInt nroots, PetscInt nleaves, const edges_t *edges,
                          sf_graph_t **graph_p)
{
#if defined(PETSC_USE_64BIT_INDICES)
  return sf_graph_create(group, nroots, nleaves, edges->leaf, edges->rank, edges->root, SF_GRAPH_DEFAULT, graph_p);
#else
  return sf_graph_create_i32(group, nroots, nleaves, edges->leaf, edges->rank, edges->root, SF_GRAPH_DEFAULT, graph_p);
#endif
}

static PetscErrorCode make(PetscSF sf, sf_group_t *group, PetscBool remapped, sf_graph_t **graph_p)
{
  edges_t edges;
  const PetscInt *roots;
  PetscInt *leaf, nedges, nroots, nleaves = PetscMax(sf->nleaves, 0);
  PetscFunctionBegin;
  PetscCall(get_roots(sf, &nedges, &roots, &nroots));
  PetscCall(PetscMalloc3(nleaves, &leaf, nleaves, &edges.rank, nleaves, &edges.root));
  edges.leaf = leaf;
  if (remapped)
    PetscCall(find_edges_remapped(sf, nroots, &edges));
  else
    PetscCall(find_edges(sf, &edges));
  PetscCall(sfpetsc_check(create(group, nroots, nleaves, &edges, graph_p)));
  PetscCall(PetscFree3(leaf, edges.rank, edges.root));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sfpetsc_graph_make(PetscSF sf, sf_graph_t **graph_p, PetscInt *first_leaf_p, PetscBool *shared_p)
{
  sf_group_t *group;
  int facts[FACTS];
  PetscFunctionBegin;
  *graph_p = NULL;
  *first_leaf_p = sf->nleaves > 0 ? sf->minleaf : 0;
  PetscCall(agree(sf, facts)); /* by MPI, so that all ranks have come before one waits without MPI progress */
  *shared_p = (PetscBool)(facts[SHARED] != 0);
  PetscCall(sfpetsc_job_group(PetscObjectComm((PetscObject)sf), &group));
  if (group != NULL && facts[REMOTE] && !facts[DUPLICATES])
    PetscCall(make(sf, group, (PetscBool)facts[REMAPPED], graph_p));
  PetscCall(PetscInfo(sf, "sfd: %s\n",
                      *graph_p != NULL    ? "graph made"
                      : group == NULL     ? "by MPI: processes outside of the job"
                      : facts[DUPLICATES] ? "by MPI: leaves occur twice"
                                          : "by MPI: no edges between processes"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
