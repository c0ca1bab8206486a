/* Requests of a PetscSF: see link.h. The thread that calls PETSc. */
#include "client/adapters/petsc/link.h"

/* Idle links kept: a Krylov method cycles through some tens of vectors. */
#define KEPT 40

/* Longest time without MPI progress while waiting: until SHORT_UNTIL_NS, and later. This rank's MPI messages may need
 * progress, other ranks may wait for them first, and nonblocking collectives, as of pipelined methods, advance only
 * then. */
#define SHORT_NS 5000
#define SHORT_UNTIL_NS 200000
#define LONG_NS 1000000

PetscBool sfpetsc_call_same_buffers(const sfpetsc_call_t *a, const sfpetsc_call_t *b)
{
  return (PetscBool)(a->root == b->root && a->leaf == b->leaf && a->update == b->update && a->kind == b->kind);
}

sfpetsc_link_t *sfpetsc_links_find(sfpetsc_links_t *links, const sfpetsc_call_t *call)
{
  for (int i = 0, at = links->recent; i < links->count; i++, at = at == 0 ? links->count - 1 : at - 1) {
    sfpetsc_link_t *link = &links->links[at];
    if (!link->in_flight && sfpetsc_call_same_buffers(&link->call, call) && link->call.unit == call->unit &&
        link->call.op == call->op)
      return link;
  }
  return NULL;
}

PetscErrorCode sfpetsc_links_find_begun(sfpetsc_links_t *links, const sfpetsc_call_t *call, sfpetsc_link_t **link_p)
{
  PetscBool same;
  PetscFunctionBegin;
  *link_p = NULL;
  for (int i = 0, at = links->recent; i < links->count; i++, at = at == 0 ? links->count - 1 : at - 1) {
    sfpetsc_link_t *link = &links->links[at];
    if (!link->in_flight || !sfpetsc_call_same_buffers(&link->call, call))
      continue;
    if (link->call.datatype == call->datatype) {
      *link_p = link;
      break;
    }
    if (*link_p != NULL)
      continue;
    PetscCall(MPIPetsc_Type_compare(link->call.datatype, call->datatype, &same));
    if (same)
      *link_p = link;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool sfpetsc_links_busy(const sfpetsc_links_t *links)
{
  for (int i = 0; i < links->count; i++)
    if (links->links[i].in_flight)
      return PETSC_TRUE;
  return PETSC_FALSE;
}

static sfpetsc_link_t *oldest_idle(sfpetsc_links_t *links)
{
  sfpetsc_link_t *oldest = NULL;
  for (int i = 0; i < links->count; i++) {
    sfpetsc_link_t *link = &links->links[i];
    if (!link->in_flight && (oldest == NULL || link->used < oldest->used))
      oldest = link;
  }
  return oldest;
}

static PetscErrorCode grow(sfpetsc_links_t *links)
{
  int room = links->room == 0 ? 4 : 2 * links->room;
  PetscFunctionBegin;
  PetscCall(PetscRealloc((size_t)room * sizeof *links->links, &links->links));
  links->room = room;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sfpetsc_links_add(sfpetsc_links_t *links, const sfpetsc_call_t *call, sfpetsc_link_t **link_p)
{
  sfpetsc_link_t *link = links->count < KEPT ? NULL : oldest_idle(links);
  PetscFunctionBegin;
  if (link != NULL) {
    PetscCall(sfpetsc_check(sf_request_free(&link->request)));
  } else {
    if (links->count == links->room)
      PetscCall(grow(links));
    link = &links->links[links->count++];
  }
  *link = (sfpetsc_link_t){.call = *call};
  *link_p = link;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sfpetsc_link_begin(sfpetsc_links_t *links, sfpetsc_link_t *link)
{
  PetscFunctionBegin;
  PetscCall(sfpetsc_check(sf_start(link->request)));
  link->in_flight = PETSC_TRUE;
  link->used = ++links->clock;
  links->recent = (int)(link - links->links);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode progress_mpi(void)
{
  int flag;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sfpetsc_link_end(sfpetsc_link_t *link)
{
  int64_t slice_ns = SHORT_NS, waited_ns = 0;
  bool done = false;
  PetscFunctionBegin;
  link->in_flight = PETSC_FALSE;
  for (;;) {
    PetscCall(sfpetsc_check(sf_wait_for(&link->request, slice_ns, &done)));
    if (done)
      PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(progress_mpi());
    waited_ns += slice_ns;
    slice_ns = waited_ns < SHORT_UNTIL_NS ? SHORT_NS : LONG_NS;
  }
}

PetscErrorCode sfpetsc_links_free(sfpetsc_links_t *links)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(links->links));
  *links = (sfpetsc_links_t){0};
  PetscFunctionReturn(PETSC_SUCCESS);
}
