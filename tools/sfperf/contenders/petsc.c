/* Calls PetscSF. Runs in each rank's only thread, all ranks in step. */
#include "tools/sfperf/contenders/petsc.h"

#ifdef SFPERF_WITH_PETSC

#include <petscsf.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/measure.h"

typedef struct state {
  PetscSF sf;
  sfperf_vectors_t vectors;
  MPI_Op op; /* of reduce */
} state_t;

static void check(PetscErrorCode code, const char *what)
{
  if (code)
    sfperf_fail("%s: PETSc error %d", what, (int)code);
}

const char *sfperf_petsc_version(void)
{
  static char text[32];
  PetscInt major, minor, subminor, release;
  check(PetscGetVersionNumber(&major, &minor, &subminor, &release), "PetscGetVersionNumber");
  snprintf(text, sizeof text, "%d.%d.%d", (int)major, (int)minor, (int)subminor);
  return text;
}

void sfperf_petsc_start(void)
{
  /* Signals are for the launcher; PETSc would turn each into a page of text. */
  check(PetscOptionsSetValue(NULL, "-no_signal_handler", "1"), "PetscOptionsSetValue");
  check(PetscInitializeNoArguments(), "PetscInitialize");
}

void sfperf_petsc_stop(void)
{
  check(PetscFinalize(), "PetscFinalize");
}

static PetscSF make_sf(PetscSFType type)
{
  PetscSF sf;
  check(PetscSFCreate(PETSC_COMM_WORLD, &sf), "PetscSFCreate");
  check(PetscSFSetType(sf, type), "PetscSFSetType");
  return sf;
}

static PetscSFNode *make_nodes(const sfperf_pattern_t *pattern)
{
  PetscSFNode *nodes = sfperf_malloc((size_t)pattern->nleaves * sizeof nodes[0]);
  for (int64_t i = 0; i < pattern->nleaves; i++) {
    nodes[i].rank = pattern->root_rank[i];
    nodes[i].index = pattern->root_index[i];
  }
  return nodes;
}

static void set_up(PetscSF sf, const sfperf_pattern_t *pattern, PetscSFNode *nodes)
{
  check(PetscSFSetGraph(sf, (PetscInt)pattern->nroots, (PetscInt)pattern->nleaves, NULL, PETSC_COPY_VALUES, nodes,
                        PETSC_COPY_VALUES),
        "PetscSFSetGraph");
  check(PetscSFSetUp(sf), "PetscSFSetUp");
}

static void *create(const sfperf_task_t *task, PetscSFType type)
{
  PetscSFNode *nodes = make_nodes(task->pattern);
  state_t *state = sfperf_malloc(sizeof *state);
  *state = (state_t){.sf = make_sf(type), .vectors = task->vectors, .op = task->sum ? MPI_SUM : MPI_REPLACE};
  set_up(state->sf, task->pattern, nodes);
  free(nodes);
  return state;
}

static void *create_basic(const sfperf_task_t *task)
{
  return create(task, PETSCSFBASIC);
}

static void *create_neighbor(const sfperf_task_t *task)
{
  return create(task, PETSCSFNEIGHBOR);
}

static void destroy(void *opaque)
{
  state_t *state = opaque;
  check(PetscSFDestroy(&state->sf), "PetscSFDestroy");
  free(state);
}

static void bcast_begin(void *opaque)
{
  const state_t *state = opaque;
  const sfperf_vectors_t *vectors = &state->vectors;
  check(PetscSFBcastBegin(state->sf, MPI_DOUBLE, vectors->roots, vectors->leaves, MPI_REPLACE), "PetscSFBcastBegin");
}

static void bcast_end(void *opaque)
{
  const state_t *state = opaque;
  const sfperf_vectors_t *vectors = &state->vectors;
  check(PetscSFBcastEnd(state->sf, MPI_DOUBLE, vectors->roots, vectors->leaves, MPI_REPLACE), "PetscSFBcastEnd");
}

static void reduce_begin(void *opaque)
{
  const state_t *state = opaque;
  const sfperf_vectors_t *vectors = &state->vectors;
  check(PetscSFReduceBegin(state->sf, MPI_DOUBLE, vectors->leaves, vectors->roots, state->op), "PetscSFReduceBegin");
}

static void reduce_end(void *opaque)
{
  const state_t *state = opaque;
  const sfperf_vectors_t *vectors = &state->vectors;
  check(PetscSFReduceEnd(state->sf, MPI_DOUBLE, vectors->leaves, vectors->roots, state->op), "PetscSFReduceEnd");
}

static void bcast(void *state)
{
  bcast_begin(state);
  bcast_end(state);
}

static void reduce(void *state)
{
  reduce_begin(state);
  reduce_end(state);
}

static double time_create(const sfperf_task_t *task)
{
  PetscSFNode *nodes = make_nodes(task->pattern);
  PetscSF sf = make_sf(PETSCSFBASIC);
  MPI_Barrier(MPI_COMM_WORLD); /* preparing took the ranks different times */
  double start = sfperf_now();
  set_up(sf, task->pattern, nodes);
  double seconds = sfperf_now() - start;
  check(PetscSFDestroy(&sf), "PetscSFDestroy");
  free(nodes);
  return seconds;
}

#define METHOD(suffix)                                                                                                 \
  {                                                                                                                    \
    .name = "petsc_" #suffix, .memory = SFPERF_PLAIN, .create = create_##suffix, .bcast = bcast, .reduce = reduce,     \
    .destroy = destroy, .bcast_begin = bcast_begin, .bcast_end = bcast_end, .reduce_begin = reduce_begin,              \
    .reduce_end = reduce_end                                                                                           \
  }
static const sfperf_method_t petsc_basic = METHOD(basic), petsc_neighbor = METHOD(neighbor);

static const sfperf_creator_t petsc_creator = {.name = "petsc_basic", .create = time_create};

const sfperf_method_t *const sfperf_petsc_methods[] = {&petsc_basic, &petsc_neighbor, NULL};
const sfperf_creator_t *const sfperf_petsc_creators[] = {&petsc_creator, NULL};

#else

const char *sfperf_petsc_version(void)
{
  return "";
}

void sfperf_petsc_start(void) {}

void sfperf_petsc_stop(void) {}

const sfperf_method_t *const sfperf_petsc_methods[] = {NULL};
const sfperf_creator_t *const sfperf_petsc_creators[] = {NULL};

#endif
