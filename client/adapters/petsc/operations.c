/* Communication functions: see operations.h. The thread that calls PETSc. */
#include "client/adapters/petsc/operations.h"

#include "client/adapters/petsc/graph.h"
#include "client/adapters/petsc/star.h"

PetscInt sfpetsc_setup_after = 10;
sfpetsc_trials_t sfpetsc_trials = SFPETSC_TRIALS_SAME;

/* ---- Choice of library or MPI ------------------------------------------------------------------------------------ */

PetscErrorCode sfpetsc_operations_prepare(PetscSF sf)
{
  sfpetsc_star_t *star = sfpetsc_star_of(sf);
  PetscFunctionBegin;
  PetscCall(sfpetsc_graph_make(sf, &star->graph, &star->first_leaf, &star->shared));
  star->remote = sf->remote;
  star->state = star->graph == NULL ? SFPETSC_MPI : SFPETSC_GRAPH;
  star->doer = SFPETSC_BY_SFD;
  if (star->graph != NULL && sfpetsc_trials != SFPETSC_TRIALS_NONE)
    PetscCall(sfpetsc_trial_create(&star->trial));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether to create the graph: for repeated use, for results that must not change when it is created, and for what
 * basic cannot do. */
static PetscBool is_time(const sfpetsc_star_t *star, const sf_type_t *type, const sfpetsc_call_t *call)
{
  return (PetscBool)(star->nbegun[SFPETSC_BY_MPI] >= sfpetsc_setup_after || sfpetsc_unit_rounds(type, call->op) ||
                     (call->kind == SFPETSC_FETCH && call->op != SF_SUM));
}

/* Whether MPI may do the call as well as the library. Both give the same result if the order in which leaves come to a
 * root does not matter; the user may accept that sums are rounded differently. */
static PetscBool can_be_either(const sfpetsc_star_t *star, const sf_type_t *type, const sfpetsc_call_t *call)
{
  PetscBool rounds = (PetscBool)(sfpetsc_trials != SFPETSC_TRIALS_ALL && sfpetsc_unit_rounds(type, call->op));
  PetscBool ordered = (PetscBool)(star->shared && (call->op == SF_REPLACE || rounds));
  return (PetscBool)(call->kind == SFPETSC_BCAST || (call->kind == SFPETSC_REDUCE && !ordered));
}

/* Lets MPI do what it does faster, or is to be tried with. *type_p: NULL then. */
static PetscErrorCode choose_faster(PetscSF sf, sfpetsc_star_t *star, const sfpetsc_call_t *call,
                                    const sf_type_t **type_p)
{
  PetscFunctionBegin;
  if (*type_p == NULL || !can_be_either(star, *type_p, call))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (star->trial != NULL)
    PetscCall(sfpetsc_trial_choose(sf, &star->trial, call, &star->doer));
  if (star->doer == SFPETSC_BY_MPI)
    *type_p = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *type_p NULL: by MPI. All ranks decide equally, because they make equal calls. */
static PetscErrorCode choose(PetscSF sf, sfpetsc_star_t *star, MPI_Op mpi_op, sfpetsc_call_t *call,
                             const sf_type_t **type_p)
{
  const sfpetsc_unit_t *unit;
  PetscFunctionBegin;
  *type_p = NULL;
  if (star->state == SFPETSC_MPI)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(sfpetsc_unit_find(call->datatype, &unit));
  PetscCall(sfpetsc_unit_choose(unit, mpi_op, type_p, &call->op));
  call->unit = unit->number;
  if (*type_p != NULL && star->state == SFPETSC_YOUNG && is_time(star, *type_p, call))
    PetscCall(sfpetsc_operations_prepare(sf));
  if (star->state != SFPETSC_GRAPH)
    *type_p = NULL;
  PetscCheck(*type_p == NULL || star->remote == sf->remote, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "sfd: VecScatterRemap after a scatter has been used more than %" PetscInt_FMT
             " times: use -sf_type basic or a larger -sfd_setup_after",
             sfpetsc_setup_after);
  PetscCall(choose_faster(sf, star, call, type_p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Operations of the library ----------------------------------------------------------------------------------- */

/* The graph begins at the lowest leaf, because PETSc's arrays may begin there. */
static const void *first_of(const sfpetsc_star_t *star, const sf_type_t *type, const void *leaf)
{
  return leaf == NULL ? NULL : (const char *)leaf + (size_t)star->first_leaf * sf_type_size(type);
}

static PetscErrorCode make_request(const sfpetsc_star_t *star, const sf_type_t *type, sfpetsc_link_t *link)
{
  const sfpetsc_call_t *call = &link->call;
  const void *leaf = first_of(star, type, call->leaf), *update = first_of(star, type, call->update);
  void *target = (void *)(uintptr_t)(call->kind == SFPETSC_BCAST ? leaf : call->root);
  PetscFunctionBegin;
  if (call->kind == SFPETSC_BCAST)
    PetscCall(sfpetsc_check(sf_bcast_init(star->graph, type, call->root, target, call->op, &link->request)));
  else if (call->kind == SFPETSC_REDUCE)
    PetscCall(sfpetsc_check(sf_reduce_init(star->graph, type, leaf, target, call->op, &link->request)));
  else
    PetscCall(sfpetsc_check(
        sf_fetch_op_init(star->graph, type, target, leaf, (void *)(uintptr_t)update, call->op, &link->request)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode begin(sfpetsc_star_t *star, const sf_type_t *type, const sfpetsc_call_t *call)
{
  PetscFunctionBegin;
  sfpetsc_link_t *link = sfpetsc_links_find(&star->links, call);
  if (link == NULL) {
    PetscCall(sfpetsc_links_add(&star->links, call, &link));
    PetscCall(make_request(star, type, link));
  }
  link->call.datatype = call->datatype;
  PetscCall(sfpetsc_link_begin(&star->links, link));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- PETSc's functions ------------------------------------------------------------------------------------------- */

/* The first fetch creates the multi-graph, which needs a graph without operations in flight. */
static PetscBool can_fetch(const sfpetsc_star_t *star)
{
  return (PetscBool)(star->fetched || !sfpetsc_links_busy(&star->links));
}

/* *begun_p: begun by the library; else by MPI. Host memory only: the choice must not depend on one rank's buffers. */
static PetscErrorCode try_begin(PetscSF sf, PetscMemType root, PetscMemType leaf, MPI_Op op, sfpetsc_call_t *call,
                                PetscBool *begun_p)
{
  sfpetsc_star_t *star = sfpetsc_star_of(sf);
  const sf_type_t *type;
  PetscFunctionBegin;
  PetscCheck(PetscMemTypeHost(root) && PetscMemTypeHost(leaf), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "PetscSF type %s works on host memory: use -sf_type basic for vectors on devices", SFPETSC_TYPE);
  PetscCall(choose(sf, star, op, call, &type));
  if (call->kind == SFPETSC_FETCH && !can_fetch(star))
    type = NULL;
  star->nbegun[type != NULL]++;
  if (type != NULL)
    PetscCall(begin(star, type, call));
  *begun_p = (PetscBool)(type != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode bcast_begin(PetscSF sf, MPI_Datatype datatype, PetscMemType root_memory, const void *root,
                                  PetscMemType leaf_memory, void *leaf, MPI_Op op)
{
  sfpetsc_call_t call = {.kind = SFPETSC_BCAST, .datatype = datatype, .root = root, .leaf = leaf};
  PetscBool begun;
  PetscFunctionBegin;
  PetscCall(try_begin(sf, root_memory, leaf_memory, op, &call, &begun));
  if (!begun)
    PetscCall(sfpetsc_basic.BcastBegin(sf, datatype, root_memory, root, leaf_memory, leaf, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *ended_p: it was the library's. */
static PetscErrorCode end(PetscSF sf, const sfpetsc_call_t *call, PetscBool *ended_p)
{
  sfpetsc_link_t *link;
  PetscFunctionBegin;
  PetscCall(sfpetsc_links_find_begun(&sfpetsc_star_of(sf)->links, call, &link));
  *ended_p = (PetscBool)(link != NULL);
  if (link != NULL)
    PetscCall(sfpetsc_link_end(link));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode bcast_end(PetscSF sf, MPI_Datatype datatype, const void *root, void *leaf, MPI_Op op)
{
  sfpetsc_call_t call = {.kind = SFPETSC_BCAST, .datatype = datatype, .root = root, .leaf = leaf};
  PetscBool ended;
  PetscFunctionBegin;
  PetscCall(end(sf, &call, &ended));
  if (!ended)
    PetscCall(sfpetsc_basic.BcastEnd(sf, datatype, root, leaf, op));
  PetscCall(sfpetsc_trial_end(sfpetsc_star_of(sf)->trial, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reduce_begin(PetscSF sf, MPI_Datatype datatype, PetscMemType leaf_memory, const void *leaf,
                                   PetscMemType root_memory, void *root, MPI_Op op)
{
  sfpetsc_call_t call = {.kind = SFPETSC_REDUCE, .datatype = datatype, .root = root, .leaf = leaf};
  PetscBool begun;
  PetscFunctionBegin;
  PetscCall(try_begin(sf, root_memory, leaf_memory, op, &call, &begun));
  if (!begun)
    PetscCall(sfpetsc_basic.ReduceBegin(sf, datatype, leaf_memory, leaf, root_memory, root, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reduce_end(PetscSF sf, MPI_Datatype datatype, const void *leaf, void *root, MPI_Op op)
{
  sfpetsc_call_t call = {.kind = SFPETSC_REDUCE, .datatype = datatype, .root = root, .leaf = leaf};
  PetscBool ended;
  PetscFunctionBegin;
  PetscCall(end(sf, &call, &ended));
  if (!ended)
    PetscCall(sfpetsc_basic.ReduceEnd(sf, datatype, leaf, root, op));
  PetscCall(sfpetsc_trial_end(sfpetsc_star_of(sf)->trial, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fetch_begin(PetscSF sf, MPI_Datatype datatype, PetscMemType root_memory, void *root,
                                  PetscMemType leaf_memory, const void *leaf, void *update, MPI_Op op)
{
  sfpetsc_call_t call = {.kind = SFPETSC_FETCH, .datatype = datatype, .root = root, .leaf = leaf, .update = update};
  PetscBool begun;
  PetscFunctionBegin;
  PetscCall(try_begin(sf, root_memory, leaf_memory, op, &call, &begun));
  if (begun)
    sfpetsc_star_of(sf)->fetched = PETSC_TRUE;
  else
    PetscCall(sfpetsc_basic.FetchAndOpBegin(sf, datatype, root_memory, root, leaf_memory, leaf, update, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fetch_end(PetscSF sf, MPI_Datatype datatype, void *root, const void *leaf, void *update,
                                MPI_Op op)
{
  sfpetsc_call_t call = {.kind = SFPETSC_FETCH, .datatype = datatype, .root = root, .leaf = leaf, .update = update};
  PetscBool ended;
  PetscFunctionBegin;
  PetscCall(end(sf, &call, &ended));
  if (!ended)
    PetscCall(sfpetsc_basic.FetchAndOpEnd(sf, datatype, root, leaf, update, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void sfpetsc_operations_set(struct _PetscSFOps *ops)
{
  ops->BcastBegin = bcast_begin;
  ops->BcastEnd = bcast_end;
  ops->ReduceBegin = reduce_begin;
  ops->ReduceEnd = reduce_end;
  ops->FetchAndOpBegin = fetch_begin;
  ops->FetchAndOpEnd = fetch_end;
}
