/* Graphs of communicators with a topology: see topology.h. The thread that creates or frees a communicator; of the last
 * request of a freed communicator, the one that ends it. */
#include "client/adapters/pmpi/topology.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/adapters/pmpi/functions.h"
#include "client/adapters/pmpi/operation.h"
#include "client/core.h"

/* Tag of groups of this library. */
#define GROUP_TAG (-0x504d5049)

/* Tag of MPI_Comm_create_group, in a communicator that nobody else knows yet. */
#define AGREEING_TAG 0

sfpmpi_table_t sfpmpi_topologies;
static int keyval = MPI_KEYVAL_INVALID; /* of the attribute by which MPI says that a communicator is freed */

/* ---- Lifetime ---------------------------------------------------------------------------------------------------- */

static void free_star(sfpmpi_star_t *star)
{
  sfpmpi_operations_free(star);
  if (sfpmpi_job.context != NULL)
    (void)sf_graph_destroy(star->graph);
}

void sfpmpi_topology_free(sfpmpi_topology_t *topology)
{
  free_star(&topology->alltoall);
  free_star(&topology->allgather);
  if (sfpmpi_job.context != NULL)
    (void)sf_group_destroy(topology->group);
  free(topology->numbers);
  free(topology);
}

/* MPI calls it when a communicator is freed. */
static int forget(MPI_Comm comm, int key, void *value, void *extra)
{
  sfpmpi_topology_t *topology = value;
  (void)key;
  (void)extra;
  sfpmpi_lock();
  sfpmpi_table_remove(&sfpmpi_topologies, (uintptr_t)comm);
  topology->comm = MPI_COMM_WORLD;
  sfpmpi_unlock();
  sfpmpi_topology_release(topology);
  return MPI_SUCCESS;
}

static bool create_keyval(void)
{
  return keyval != MPI_KEYVAL_INVALID ||
         PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL) == MPI_SUCCESS;
}

static bool enter(MPI_Comm comm, sfpmpi_topology_t *topology)
{
  if (!create_keyval())
    return false;
  sfpmpi_lock();
  bool entered = sfpmpi_table_enter(&sfpmpi_topologies, (uintptr_t)comm, topology);
  sfpmpi_unlock();
  return entered && PMPI_Comm_set_attr(comm, keyval, topology) == MPI_SUCCESS;
}

void sfpmpi_topologies_leave(void)
{
  for (uint32_t i = 0; sfpmpi_topologies.n > 0; i = (i + 1) & sfpmpi_topologies.mask) {
    sfpmpi_topology_t *topology = sfpmpi_topologies.entries[i].object;
    if (topology == NULL)
      continue;
    if (PMPI_Comm_delete_attr(topology->comm, keyval) != MPI_SUCCESS)
      sfpmpi_table_remove(&sfpmpi_topologies, sfpmpi_topologies.entries[i].handle);
    i--; /* another one may have moved there */
  }
}

/* ---- Texts for sfctl --------------------------------------------------------------------------------------------- */

#define TEXT_BYTES 320

/* Writes "MPI_X in FUNCTION" or "MPI_X in FILE+OFFSET", for an address in the code that called MPI_X. addr2line finds
 * the source line of the offset. */
static void find_call_site(char *text, size_t size, const char *called, const void *caller)
{
  Dl_info info;
  if (caller == NULL || dladdr(caller, &info) == 0 || info.dli_fname == NULL) {
    snprintf(text, size, "%s", called);
    return;
  }
  const char *slash = strrchr(info.dli_fname, '/'), *file = slash != NULL ? slash + 1 : info.dli_fname;
  if (info.dli_sname != NULL)
    snprintf(text, size, "%s in %s (%s)", called, info.dli_sname, file);
  else
    snprintf(text, size, "%s in %s+0x%zx", called, file,
             (size_t)((const char *)caller - 1 - (const char *)info.dli_fbase));
}

/* Writes to text, of TEXT_BYTES, and returns it. name: of the communicator, may be empty. */
static const char *graph_text(char *text, const char *name, const char *what, const char *made)
{
  snprintf(text, TEXT_BYTES, "%s: %.40s%s%s", made, name, *name != '\0' ? " " : "", what);
  return text;
}

static const char *const left[] = {
    [SFPMPI_LEFT_COPIES] = "copies by MPI_Comm_idup", [SFPMPI_LEFT_LARGE] = "calls with large counts"};

/* Tells sfctl what the graphs are. */
static void describe(const sfpmpi_topology_t *topology)
{
  char text[TEXT_BYTES], name[MPI_MAX_OBJECT_NAME], what[160];
  const sfpmpi_star_t *const stars[] = {&topology->alltoall, &topology->allgather};
  int length;
  if (PMPI_Comm_get_name(topology->comm, name, &length) != MPI_SUCCESS)
    *name = '\0';
  for (int i = 0; i < 2; i++) {
    size_t end = (size_t)snprintf(what, sizeof what, "%s", stars[i]->what);
    for (sfpmpi_left_t k = 0; k < SFPMPI_NLEFT && end < sizeof what; k++)
      if (topology->left[k])
        end += (size_t)snprintf(what + end, sizeof what - end, "; %s: left to MPI", left[k]);
    sf_graph_at(stars[i]->graph, graph_text(text, name, what, topology->made));
  }
}

/* ---- Creation ---------------------------------------------------------------------------------------------------- */

/* What a new communicator is made of; freed at the end. */
typedef struct making {
  MPI_Comm comm;
  int size;
  sfpmpi_neighbors_t neighbors;
  MPI_Comm own;   /* the processes of the job; comm, if there are no others */
  int32_t *ranks; /* nranks of the job, in the order of the communicator */
  int nranks;     /* less than size: others are not of the job */
  int *in, *out;  /* neighbours of the graph: those that are not MPI_PROC_NULL */
  sfpmpi_topology_t *topology;
  const char *shown; /* for sfctl, if MPI carries the communicator: why; NULL: sfctl can't show it */
} making_t;

static bool agree(MPI_Comm comm, bool mine)
{
  int all = mine;
  return PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all != 0;
}

/* Finds the processes of the job in the communicator, and a communicator of theirs to agree in: others may know nothing
 * of sfd. Collective over them. */
static bool find_own(making_t *making, MPI_Group *own_p)
{
  MPI_Group all;
  if (PMPI_Comm_group(making->comm, &all) != MPI_SUCCESS)
    return false;
  bool found = PMPI_Group_intersection(all, sfpmpi_job.group, own_p) == MPI_SUCCESS &&
               PMPI_Group_size(*own_p, &making->nranks) == MPI_SUCCESS;
  (void)PMPI_Group_free(&all);
  making->own = making->comm;
  if (found && making->nranks < making->size)
    found = PMPI_Comm_create_group(making->comm, *own_p, AGREEING_TAG, &making->own) == MPI_SUCCESS;
  return found;
}

/* Finds their ranks in the job. */
static bool find_ranks(making_t *making, MPI_Group own)
{
  int *numbers = calloc((size_t)making->nranks + 1, sizeof *numbers);
  making->ranks = calloc((size_t)making->nranks + 1, sizeof *making->ranks);
  for (int i = 0; i < making->nranks && numbers != NULL; i++)
    numbers[i] = i;
  bool found = numbers != NULL && making->ranks != NULL &&
               PMPI_Group_translate_ranks(own, making->nranks, numbers, sfpmpi_job.group, making->ranks) == MPI_SUCCESS;
  free(numbers);
  return found;
}

/* Numbers roots and leaves of both stars. */
static bool number_blocks(making_t *making)
{
  const sfpmpi_neighbors_t *neighbors = &making->neighbors;
  sfpmpi_topology_t *topology = making->topology;
  sfpmpi_star_t *alltoall = &topology->alltoall, *allgather = &topology->allgather;
  size_t nin = (size_t)neighbors->nin, nout = (size_t)neighbors->nout;
  int *next = topology->numbers = calloc(SFPMPI_ORDERS * nin + nout + 2, sizeof *next);
  making->in = calloc(nin + 1, sizeof *making->in);
  making->out = calloc(nout + 1, sizeof *making->out);
  if (next == NULL || making->in == NULL || making->out == NULL)
    return false;
  *alltoall = (sfpmpi_star_t){.topology = topology, .what = "alltoall", .nout = neighbors->nout, .nin = neighbors->nin};
  *allgather = (sfpmpi_star_t){.topology = topology, .what = "allgather", .nout = 1, .nin = neighbors->nin};
  allgather->root = next++; /* number 0 */
  alltoall->root = next;
  next += nout;
  for (int order = 0; order < SFPMPI_ORDERS; order++, next += nin)
    alltoall->leaf[order] = allgather->leaf[order] = next;
  alltoall->nroots = sfpmpi_neighbors_number_out(neighbors, alltoall->root, making->out);
  alltoall->nleaves = allgather->nleaves = sfpmpi_neighbors_number_in(neighbors, alltoall->leaf, making->in);
  allgather->nroots = alltoall->nroots > 0;
  return true;
}

static bool prepare(making_t *making, MPI_Group own)
{
  sfpmpi_topology_t *topology = making->topology = calloc(1, sizeof *topology);
  if (topology == NULL || !find_ranks(making, own))
    return false;
  topology->comm = making->comm;
  topology->users = 1;
  return making->nranks < making->size ||
         (sfpmpi_neighbors_find(making->comm, &making->neighbors) && number_blocks(making));
}

/* Returns the group of the processes of the job in the communicator. Collective over them. */
static sf_status_t make_group(making_t *making, sf_group_t **group_p)
{
  bool world = making->nranks == sf_size(sfpmpi_job.context);
  for (int i = 0; i < making->nranks; i++)
    world &= making->ranks[i] == i;
  sf_status_t status = SF_OK;
  if (!world && making->topology->group == NULL)
    status = sf_group_create(sfpmpi_job.context, making->nranks, making->ranks, GROUP_TAG, &making->topology->group);
  *group_p = world ? sf_group_world(sfpmpi_job.context) : making->topology->group;
  return status;
}

static sf_status_t make_graphs(making_t *making)
{
  char text[TEXT_BYTES];
  sfpmpi_topology_t *topology = making->topology;
  sfpmpi_star_t *alltoall = &topology->alltoall, *allgather = &topology->allgather;
  sf_group_t *group;
  int64_t *zeros = calloc((size_t)allgather->nleaves + 1, sizeof *zeros);
  sf_status_t status = make_group(making, &group);
  if (status == SF_OK) {
    sf_at(graph_text(text, "", alltoall->what, topology->made));
    status = sf_exchange_graph_create(group, alltoall->nleaves, making->in, alltoall->nroots, making->out, 0,
                                      &alltoall->graph);
  }
  if (status == SF_OK) {
    sf_at(graph_text(text, "", allgather->what, topology->made));
    status = sf_graph_create(group, 1, zeros != NULL ? allgather->nleaves : -1, NULL, making->in, zeros, 0,
                             &allgather->graph); /* -1: an error for all */
  }
  free(zeros);
  return status;
}

static void free_making(making_t *making)
{
  sfpmpi_neighbors_free(&making->neighbors);
  free(making->ranks);
  free(making->in);
  free(making->out);
  if (making->own != making->comm && making->own != MPI_COMM_NULL)
    (void)PMPI_Comm_free(&making->own);
}

/* Why MPI carries the communicator; NULL: sfd does; "": the detail of sfd's error. */
static const char *make(making_t *making, const char *maker, const void *caller)
{
  MPI_Group own = MPI_GROUP_NULL;
  bool found = find_own(making, &own), prepared = found && prepare(making, own);
  if (own != MPI_GROUP_NULL)
    (void)PMPI_Group_free(&own);
  if (making->topology != NULL)
    find_call_site(making->topology->made, sizeof making->topology->made, maker, caller);
  if (!found || !agree(making->own, prepared))
    return "no memory";
  if (making->nranks < making->size)
    return making->shown = "left to MPI, processes of other jobs";
  sf_status_t status = make_graphs(making);
  if (status == SF_ERR_MISMATCH) /* of all processes, if of one */
    making->shown = "left to MPI, neighbors disagree";
  if (!agree(making->comm, status == SF_OK))
    return status != SF_OK ? "" : "another process has an error";
  if (!agree(making->comm, enter(making->comm, making->topology)))
    return "no memory";
  return NULL;
}

/* Makes an empty graph, by which sfctl shows a communicator that MPI carries. It goes with the communicator. */
static void show_refused(making_t *making)
{
  char text[TEXT_BYTES];
  sfpmpi_topology_t *topology = making->topology;
  sf_group_t *group;
  topology->alltoall.what = making->shown;
  sf_at(graph_text(text, "", making->shown, topology->made));
  if (make_group(making, &group) != SF_OK ||
      sf_graph_create(group, 0, 0, NULL, NULL, NULL, 0, &topology->alltoall.graph) != SF_OK || !create_keyval() ||
      PMPI_Comm_set_attr(making->comm, keyval, topology) != MPI_SUCCESS)
    sfpmpi_topology_free(topology);
}

void sfpmpi_topology_attach(MPI_Comm comm, const char *maker, const void *caller)
{
  int topology;
  making_t making = {.comm = comm, .own = comm};
  if (sfpmpi_job.context == NULL || comm == MPI_COMM_NULL || PMPI_Topo_test(comm, &topology) != MPI_SUCCESS ||
      topology == MPI_UNDEFINED || PMPI_Comm_size(comm, &making.size) != MPI_SUCCESS)
    return;
  sfpmpi_job.devices = sfc_device_has_driver();
  const char *why_not = make(&making, maker, caller);
  if (why_not != NULL) {
    sfpmpi_job_fall_back(maker, *why_not != '\0' ? why_not : NULL);
    if (making.shown != NULL)
      show_refused(&making);
    else if (sfpmpi_topology_find(comm) != NULL)
      (void)PMPI_Comm_delete_attr(comm, keyval);
    else if (making.topology != NULL)
      sfpmpi_topology_free(making.topology);
  }
  free_making(&making);
}

/* By the attribute, which communicators that MPI carries have, too. */
void sfpmpi_topology_describe(MPI_Comm comm)
{
  const sfpmpi_topology_t *topology;
  int found;
  if (keyval != MPI_KEYVAL_INVALID && PMPI_Comm_get_attr(comm, keyval, &topology, &found) == MPI_SUCCESS && found)
    describe(topology);
}

void sfpmpi_topology_leave(MPI_Comm comm, sfpmpi_left_t what)
{
  sfpmpi_topology_t *topology = sfpmpi_topology_find(comm);
  if (topology == NULL || topology->left[what])
    return;
  sfpmpi_job_fall_back(left[what], topology->made);
  topology->left[what] = true;
  describe(topology);
}
