/* PetscSF type of the adapter: see star.h. The thread that calls PETSc. */
#include "client/adapters/petsc/star.h"

#include "client/adapters/petsc/job.h"
#include "client/adapters/petsc/operations.h"

struct _PetscSFOps sfpetsc_basic;
PetscInt sfpetsc_star_id = -1;

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

/* Collective, because a graph is destroyed by all its ranks. If the job has been left the library has destroyed it. */
static PetscErrorCode clear(sfpetsc_star_t *star)
{
  PetscFunctionBegin;
  if (star->graph != NULL && sfpetsc_job_context() != NULL)
    PetscCall(sfpetsc_check(sf_graph_destroy(star->graph)));
  PetscCall(sfpetsc_links_free(&star->links));
  PetscCall(sfpetsc_trial_destroy(&star->trial));
  *star = (sfpetsc_star_t){0};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reset(PetscSF sf)
{
  PetscFunctionBegin;
  PetscCall(clear(sfpetsc_star_of(sf)));
  PetscCall(sfpetsc_basic.Reset(sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSFSetType leaves setupcalled set although the data of the former type are gone: makes the new type set up again.
 */
static PetscErrorCode forget_set_up(PetscSF sf)
{
  PetscFunctionBegin;
  sf->setupcalled = PETSC_FALSE;
  sf->nranks = -1;
  PetscCall(PetscFree4(sf->ranks, sf->roffset, sf->rmine, sf->rremote));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A remapped VecScatter has its edges only in its type's data. */
static PetscErrorCode check_edges(PetscSF sf)
{
  PetscFunctionBegin;
  PetscCheck(!sf->setupcalled || sf->nleaves <= 0 || sf->remote != NULL, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "PetscSF type %s: set the type before VecScatterRemap, not after it", SFPETSC_TYPE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode destroy(PetscSF sf)
{
  sfpetsc_star_t *star = sfpetsc_star_of(sf);
  PetscFunctionBegin;
  PetscCall(check_edges(sf));
  PetscCall(forget_set_up(sf));
  PetscCall(clear(star));
  PetscCall(PetscFree(star));
  ((PetscObject)sf)->intstarcomposeddata[sfpetsc_star_id] = NULL;
  PetscCall(sfpetsc_basic.Destroy(sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Set-up ------------------------------------------------------------------------------------------------------ */

/* After basic's set-up. */
static PetscErrorCode start(PetscSF sf)
{
  int size;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)sf), &size));
  sfpetsc_star_of(sf)->state = size == 1 ? SFPETSC_MPI : SFPETSC_YOUNG;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the PetscSF has the adapter's type name; otherwise it may yet be remapped. */
static PetscErrorCode has_own_name(PetscSF sf, PetscBool *own_p)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)sf, SFPETSC_TYPE, own_p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_up(PetscSF sf)
{
  PetscBool own;
  PetscFunctionBegin;
  PetscCall(sfpetsc_basic.SetUp(sf));
  PetscCall(start(sf));
  PetscCall(has_own_name(sf, &own));
  if (own && sfpetsc_setup_after == 0 && sfpetsc_star_of(sf)->state == SFPETSC_YOUNG)
    PetscCall(sfpetsc_operations_prepare(sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Others made of it ------------------------------------------------------------------------------------------- */

/* PETSc remaps copies of VecScatters (in DMLocalToLocalBegin) only if their type is called basic, so copies are. */
static PetscErrorCode duplicate(PetscSF sf, PetscSFDuplicateOption option, PetscSF copy)
{
  PetscBool own;
  PetscFunctionBegin;
  if (sfpetsc_basic.Duplicate != NULL)
    PetscCall(sfpetsc_basic.Duplicate(sf, option, copy));
  PetscCall(has_own_name(sf, &own));
  if (!own)
    PetscCall(sfpetsc_star_attach(copy));
  else if (option == PETSCSF_DUPLICATE_GRAPH && sf->vscat.to_n >= 0)
    PetscCall(PetscObjectChangeTypeName((PetscObject)copy, PETSCSFBASIC));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Basic creates another basic PetscSF, set up, without communication. */
static PetscErrorCode embed_roots(PetscSF sf, PetscInt nselected, const PetscInt *selected, PetscSF *embedded_p)
{
  PetscFunctionBegin;
  PetscCall(sfpetsc_basic.CreateEmbeddedRootSF(sf, nselected, selected, embedded_p));
  PetscCall(sfpetsc_star_attach(*embedded_p));
  PetscCall(start(*embedded_p));
  PetscCall(PetscObjectChangeTypeName((PetscObject)*embedded_p, SFPETSC_TYPE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

static PetscErrorCode view(PetscSF sf, PetscViewer viewer)
{
  static const char *const states[] = {"none yet", "yes", "none, by MPI"};
  const sfpetsc_star_t *star = sfpetsc_star_of(sf);
  PetscBool ascii;
  PetscFunctionBegin;
  if (sfpetsc_basic.View != NULL)
    PetscCall(sfpetsc_basic.View(sf, viewer));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii)
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "  graph of sfd: %s; operations: %" PetscInt64_FMT " by sfd, %" PetscInt64_FMT " by MPI%s\n",
        states[star->state], star->nbegun[SFPETSC_BY_SFD], star->nbegun[SFPETSC_BY_MPI],
        star->state == SFPETSC_GRAPH && star->trial == NULL && star->doer == SFPETSC_BY_MPI ? ", which is faster here"
                                                                                            : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- The type ---------------------------------------------------------------------------------------------------- */

static PetscErrorCode attach_data(PetscSF sf)
{
  sfpetsc_star_t *star;
  PetscFunctionBegin;
  if (sfpetsc_star_id < 0)
    PetscCall(PetscObjectComposedDataRegister(&sfpetsc_star_id));
  PetscCall(PetscNew(&star));
  PetscCall(PetscObjectComposedDataSetIntstar((PetscObject)sf, sfpetsc_star_id, (PetscInt *)(void *)star));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sfpetsc_star_attach(PetscSF sf)
{
  PetscFunctionBegin;
  PetscCall(attach_data(sf));
  if (sfpetsc_basic.SetUp == NULL)
    sfpetsc_basic = *sf->ops;
  sf->ops->SetUp = set_up;
  sf->ops->Reset = reset;
  sf->ops->Destroy = destroy;
  sf->ops->View = view;
  sf->ops->Duplicate = duplicate;
  if (sfpetsc_basic.CreateEmbeddedRootSF != NULL)
    sf->ops->CreateEmbeddedRootSF = embed_roots;
  sfpetsc_operations_set(sf->ops);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sfpetsc_star_create(PetscSF sf)
{
  PetscErrorCode (*create_basic)(PetscSF);
  PetscFunctionBegin;
  PetscCall(sfpetsc_job_require());
  PetscCall(PetscFunctionListFind(PetscSFList, PETSCSFBASIC, &create_basic));
  PetscCheck(create_basic != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "PetscSF type %s is not registered", PETSCSFBASIC);
  PetscCall(check_edges(sf));
  PetscCall(forget_set_up(sf));
  PetscCall(create_basic(sf));
  PetscCall(sfpetsc_star_attach(sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}
