/* Contributions that travel combined: see runs.h. */
#include "client/runs.h"

#include <stdlib.h>

#include "client/algebra/derive.h"
#include "client/context.h"
#include "client/device.h"
#include "client/multi.h"
#include "client/transfer.h"
#include "shm/error.h"

#define MEMBERS_MAX (INT64_MAX / 64) /* whose arrays can be counted in bytes */
#define SUM_MAX (INT64_MAX / 8)      /* contributions of all ranks: what is reckoned with them fits */
#define WORTH 4                      /* one in so many values must be saved */
#define VALUE_COST 4                 /* bytes that might travel while the heads deal with a value */

/* What an owner tells of a contribution: a unit of three 64-bit integers. */
typedef struct told {
  int64_t run;    /* at the owner */
  int64_t number; /* in the run */
  int64_t length; /* of the run */
} told_t;
_Static_assert(sizeof(told_t) == 3 * sizeof(int64_t), "travels as a block of three");

/* A run whose head this rank is. */
typedef struct head {
  int64_t length;
  int64_t order; /* in which it was heard of */
  int32_t owner;
  int64_t run;
} head_t;

struct sfc_runs_making {
  sfc_derive_t derive;
  sf_graph_t *graph;
  sfc_runs_t *runs;

  /* As owner. */
  int64_t nslots;
  const int64_t *slot; /* of each edge, as they stand in leaf_ranks */
  int32_t *slot_rank;
  int64_t *slot_run;
  int64_t nruns;
  int64_t *first;      /* slot of each run */
  int64_t nfar;        /* slots of ranks of other nodes */
  int64_t nfar_runs;   /* and runs */
  int64_t *first_root; /* in the members graph of its head, of each run */
  int64_t least_unit;  /* see runs.h; 0: all travel by themselves */

  /* As contributor. */
  head_t *heads;
  int64_t nheads;
  int64_t nmembers; /* of all these runs */
  int64_t *begin;   /* in the members graph here, of each run */
};
typedef struct sfc_runs_making making_t;

/* ---- At the owner ------------------------------------------------------------------------------------------------ */

static void find_slot_ranks(making_t *making)
{
  const sfc_ranks_t *leaves = &making->graph->multi->leaf_ranks;
  making->slot_rank = sfc_derive_array(&making->derive, making->nslots, sizeof *making->slot_rank);
  for (int32_t i = 0; i < leaves->nranks && making->derive.status == SF_OK; i++)
    for (int64_t k = leaves->offset[i]; k < leaves->offset[i + 1]; k++)
      making->slot_rank[making->slot[k]] = leaves->ranks[i];
}

/* Cuts the slots of a root into runs. */
static void cut_root(making_t *making, int64_t root, int64_t begin, int64_t end)
{
  const sf_graph_t *graph = making->graph;
  for (int64_t slot = begin; slot < end; slot++) {
    int32_t node = sfc_group_node_of(graph->group, making->slot_rank[slot]);
    bool far = node != graph->context->node;
    making->nfar += far;
    if (slot == begin || !far || node != sfc_group_node_of(graph->group, making->slot_rank[slot - 1])) {
      making->runs->root[making->nruns] = root;
      making->first[making->nruns++] = slot;
      making->nfar_runs += far;
    }
    making->slot_run[slot] = making->nruns - 1;
  }
}

static void find_runs(making_t *making)
{
  sfc_derive_t *derive = &making->derive;
  const sfc_ranks_t *leaves = &making->graph->multi->leaf_ranks;
  making->nslots = leaves->offset[leaves->nranks];
  making->slot_run = sfc_derive_array(derive, making->nslots, sizeof *making->slot_run);
  making->first = sfc_derive_array(derive, making->nslots, sizeof *making->first);
  making->runs = calloc(1, sizeof *making->runs);
  if (making->runs != NULL)
    making->runs->root = malloc(((size_t)making->nslots + 1) * sizeof(int64_t));
  find_slot_ranks(making);
  int64_t *root = malloc(((size_t)making->nslots + 1) * sizeof *root);
  if (root == NULL || making->runs == NULL || making->runs->root == NULL ||
      (derive->status == SF_OK && !sfc_rounds_find_slots(&making->graph->multi->rounds, NULL, root)))
    sfc_derive_note(derive, sfshm_error(SF_ERR_NOMEM, "runs of %lld contributions", (long long)making->nslots), -1);
  for (int64_t begin = 0, end; begin < making->nslots && derive->status == SF_OK; begin = end) {
    for (end = begin + 1; end < making->nslots && root[end] == root[begin];)
      end++;
    cut_root(making, root[begin], begin, end);
  }
  if (!derive->starved)
    making->first[making->nruns] = making->nslots;
  free(root);
}

/* From how many bytes of a unit on it is worth it, for all ranks together; 0: it never is. all: contributions of other
 * nodes, and their runs. */
static int64_t find_least_unit(const sf_graph_t *graph, const int64_t all[2])
{
  int64_t saved = all[0] - all[1], from = graph->context->combine_from;
  if (saved == 0 || saved < all[0] / WORTH)
    return 0;
  return from == 0 ? 1 : (VALUE_COST * all[0] + from * graph->size - 1) / saved + 1;
}

/* What all ranks have told together can't be true. */
static void check_sums(making_t *making, const int64_t all[2])
{
  if (all[1] >= 0 && all[1] <= all[0] && all[0] <= SUM_MAX)
    return;
  sfc_derive_note(&making->derive,
                  sfshm_error(SF_ERR_MISMATCH,
                              "graph %llu: all ranks together tell of %lld contributions of other nodes in %lld runs",
                              (unsigned long long)making->graph->number, (long long)all[0], (long long)all[1]),
                  -1);
}

/* Rank 0's value becomes that of all. */
static void hear_of_rank_0(making_t *making, int64_t *value)
{
  const sf_graph_t *graph = making->graph;
  int32_t n = graph->multi->root_ranks.nranks;
  int64_t *root = sfc_derive_array(&making->derive, graph->size + 1, sizeof *root);
  int64_t *leaf = sfc_derive_array(&making->derive, n + 1, sizeof *leaf);
  if (root != NULL)
    root[graph->size] = *value; /* only that of rank 0 has leaves */
  sfc_derive_bcast(&making->derive, graph->multi->directory, SF_INT64, 1, root, leaf);
  *value = leaf != NULL ? leaf[n] : 0;
}

/* Of two values of each rank, at rank 0. */
static void find_sums(making_t *making, const int64_t mine[2], int64_t sums[2])
{
  const sf_graph_t *graph = making->graph;
  int32_t n = graph->multi->root_ranks.nranks;
  int64_t *root = sfc_derive_array(&making->derive, graph->size + 1, 2 * sizeof *root);
  int64_t *leaf = sfc_derive_array(&making->derive, n + 1, 2 * sizeof *leaf);
  if (mine[0] > SUM_MAX / graph->size) /* the runs are no more */
    sfc_derive_note(&making->derive,
                    sfshm_error(SF_ERR_LIMIT, "%lld contributions of other nodes, at most %lld are possible",
                                (long long)mine[0], (long long)(SUM_MAX / graph->size)),
                    -1);
  for (int i = 0; i < 2 && leaf != NULL && making->derive.status == SF_OK; i++)
    leaf[2 * n + i] = mine[i];
  sfc_derive_reduce(&making->derive, graph->multi->directory, SF_INT64, 2, leaf, root, SF_SUM);
  for (int i = 0; i < 2; i++)
    sums[i] = root != NULL ? root[2 * graph->size + i] : 0;
}

/* Rank 0 decides, and all ranks know, unless this ends with an error. */
static void agree_on_least_unit(making_t *making, size_t wanted)
{
  int64_t wanted_by_0 = (int64_t)wanted, all[2];
  hear_of_rank_0(making, &wanted_by_0);
  if (wanted_by_0 == 0)
    return;
  find_runs(making);
  find_sums(making, (const int64_t[2]){making->nfar, making->nfar_runs}, all);
  if (making->graph->rank == 0)
    check_sums(making, all);
  if (making->graph->rank == 0 && making->derive.status == SF_OK) {
    int64_t least = find_least_unit(making->graph, all);
    making->least_unit = least <= wanted_by_0 ? least : 0;
  }
  hear_of_rank_0(making, &making->least_unit);
}

/* ---- At the heads ------------------------------------------------------------------------------------------------ */

/* The longest first. */
static int by_length(const void *a, const void *b)
{
  const head_t *x = a, *y = b;
  return x->length != y->length ? (x->length < y->length) - (x->length > y->length)
                                : (x->order > y->order) - (x->order < y->order);
}

/* Of a contribution: arrays are going to be made for its run. */
static bool check_told(making_t *making, int32_t owner, const told_t *told)
{
  if (told->run >= 0 && told->number >= 0 && told->number < told->length &&
      told->length <= MEMBERS_MAX - making->nmembers)
    return true;
  sfc_derive_note(&making->derive,
                  sfshm_error(SF_ERR_MISMATCH,
                              "graph %llu: rank %d tells of contribution %lld of a run %lld of %lld contributions",
                              (unsigned long long)making->graph->number, owner, (long long)told->number,
                              (long long)told->run, (long long)told->length),
                  -1);
  return false;
}

static void hear_of_runs(making_t *making)
{
  sfc_derive_t *derive = &making->derive;
  const sfc_ranks_t *roots = &making->graph->multi->root_ranks;
  told_t *there = sfc_derive_array(derive, making->nslots, sizeof *there);
  told_t *here = sfc_derive_array(derive, making->graph->nleaves, sizeof *here);
  making->heads = sfc_derive_array(derive, making->graph->nleaves, sizeof *making->heads);
  making->begin = sfc_derive_array(derive, making->graph->nleaves, sizeof *making->begin);
  for (int64_t k = 0; k < making->nslots && !derive->starved; k++) {
    int64_t run = making->slot_run[making->slot[k]], first = making->first[run];
    there[k] = (told_t){run, making->slot[k] - first, making->first[run + 1] - first};
  }
  sfc_derive_bcast(derive, making->graph->multi->edges, SF_INT64, 3, there, here);
  if (derive->status != SF_OK)
    return;
  for (int32_t i = 0; i < roots->nranks; i++)
    for (int64_t k = roots->offset[i]; k < roots->offset[i + 1]; k++) {
      if (!check_told(making, roots->ranks[i], &here[k]))
        return;
      if (here[k].number > 0)
        continue;
      making->nmembers += here[k].length;
      making->heads[making->nheads++] = (head_t){here[k].length, k, roots->ranks[i], here[k].run};
    }
  qsort(making->heads, (size_t)making->nheads, sizeof *making->heads, by_length);
}

/* Where the head finds the members of its runs, and how it goes through them. */
static void lay_out(making_t *making)
{
  sfc_runs_t *runs = making->runs;
  int64_t n = 0;
  if (making->derive.status != SF_OK)
    return;
  runs->nruns = making->nheads;
  for (int64_t i = 0; i < making->nheads; i++) {
    making->begin[i] = runs->nmembers;
    runs->nmembers += making->heads[i].length;
  }
  runs->nrounds = making->nheads > 0 ? making->heads[0].length : 0;
  int64_t *slot = malloc(((size_t)runs->nmembers + 1) * sizeof *slot);
  int64_t *run = malloc(((size_t)runs->nmembers + 1) * sizeof *run);
  runs->round = calloc((size_t)runs->nrounds + 1, sizeof *runs->round);
  runs->arrays[0] = slot;
  runs->arrays[1] = run;
  if (slot == NULL || run == NULL || runs->round == NULL) {
    sfc_derive_note(&making->derive, sfshm_error(SF_ERR_NOMEM, "%lld members of runs", (long long)runs->nmembers), -1);
    return;
  }
  for (int64_t round = 0; round < runs->nrounds; round++)
    for (int64_t i = 0; i < making->nheads && making->heads[i].length > round; i++) {
      slot[n] = making->begin[i] + round;
      run[n++] = i;
      runs->round[round]++;
    }
  runs->slot = sfshm_pattern_from_index64(slot, n);
  runs->run = sfshm_pattern_from_index64(run + runs->nruns, n - runs->nruns);
}

static sf_graph_t *make_values(making_t *making)
{
  sfc_derive_t *derive = &making->derive;
  sfc_edges_t edges = {.root_rank = sfc_derive_array(derive, making->nheads, sizeof *edges.root_rank),
                       .root = sfc_derive_array(derive, making->nheads, sizeof *edges.root)};
  for (int64_t i = 0; i < making->nheads && !derive->starved; i++, edges.n++) {
    edges.root_rank[i] = making->heads[i].owner;
    edges.root[i] = making->heads[i].run;
  }
  return sfc_derive_lasting(derive, making->nruns, &edges);
}

/* ---- Members ----------------------------------------------------------------------------------------------------- */

/* Where a run begins at its head, as that has told. */
static bool check_first_root(making_t *making, int64_t run)
{
  int64_t root = making->first_root[run];
  if (root >= 0 && root <= MEMBERS_MAX)
    return true;
  sfc_derive_note(&making->derive,
                  sfshm_error(SF_ERR_MISMATCH, "graph %llu: rank %d tells that a run of contributions begins at %lld",
                              (unsigned long long)making->graph->number, making->slot_rank[making->first[run]],
                              (long long)root),
                  -1);
  return false;
}

/* All contributors learn where their values go: the heads tell the owners, and these tell them. */
static sfc_place_t *find_places(making_t *making)
{
  sfc_derive_t *derive = &making->derive;
  making->first_root = sfc_derive_array(derive, making->nruns, sizeof *making->first_root);
  sfc_place_t *there = sfc_derive_array(derive, making->nslots, sizeof *there);
  sfc_place_t *here = sfc_derive_array(derive, making->graph->nleaves, sizeof *here);
  sfc_derive_reduce(derive, making->runs->values, SF_INT64, 1, making->begin, making->first_root, SF_REPLACE);
  for (int64_t k = 0; k < making->nslots && !derive->starved; k++) {
    int64_t run = making->slot_run[making->slot[k]], first = making->first[run];
    there[k] = (sfc_place_t){making->slot_rank[first], -1};
    if (check_first_root(making, run))
      there[k].index = making->first_root[run] + making->slot[k] - first;
  }
  sfc_derive_bcast(derive, making->graph->multi->edges, SF_INT64, 2, there, here);
  return here;
}

static sf_graph_t *make_members(making_t *making)
{
  sfc_derive_t *derive = &making->derive;
  const sfc_ranks_t *roots = &making->graph->multi->root_ranks;
  int64_t n = making->graph->nleaves;
  sfc_edges_t edges = {.leaf = roots->leaf,
                       .root_rank = sfc_derive_array(derive, n, sizeof *edges.root_rank),
                       .root = sfc_derive_array(derive, n, sizeof *edges.root)};
  const sfc_place_t *places = find_places(making);
  for (int64_t k = 0; k < n && derive->status == SF_OK; k++, edges.n++) {
    edges.root_rank[k] = (int32_t)places[k].rank;
    edges.root[k] = places[k].index;
  }
  return sfc_derive_lasting(derive, making->runs->nmembers, &edges);
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

/* From now on it fails with the multi-graph, and that with it. */
static void belong_to(sf_graph_t *part, const sf_graph_t *graph)
{
  part->of_runs = true;
  atomic_store_explicit(&part->counts->runs_of, graph->number, memory_order_relaxed);
  sfc_graph_set_parent(part, graph->multi->graph);
}

/* Without memory they are not counted. */
static void count_saved(const making_t *making)
{
  sfc_runs_t *runs = making->runs;
  const sf_graph_t *values = runs->values;
  runs->saved = calloc((size_t)values->nlanes + 1, sizeof *runs->saved);
  for (int64_t i = 0; i < making->nheads && runs->saved != NULL; i++) {
    int32_t node = sfc_group_node_of(making->graph->group, making->heads[i].owner);
    for (int32_t k = 0; k < values->nlanes && making->heads[i].length > 1; k++)
      if (values->lanes[k].trunk != NULL && values->lanes[k].rank == node)
        runs->saved[k] += making->heads[i].length - 1;
  }
}

static void make_both(making_t *making)
{
  sfc_runs_t *runs = making->runs;
  hear_of_runs(making);
  lay_out(making);
  runs->values = make_values(making);
  if (runs->values != NULL)
    runs->members = make_members(making);
}

sf_status_t sfc_runs_find(sf_status_t before, sf_graph_t *graph, const int64_t slot[], size_t wanted,
                          sfc_runs_making_t **making_p)
{
  making_t *making = calloc(1, sizeof *making);
  if (making == NULL)
    return sfc_derive_give_up(graph->multi->directory, sfshm_error(SF_ERR_NOMEM, "runs of contributions"));
  *making_p = making;
  making->graph = graph;
  making->slot = slot;
  sfc_derive_begin(&making->derive, "sf_graph_multi", graph->group, graph->flags);
  sfc_derive_note(&making->derive, before, -1);
  agree_on_least_unit(making, wanted);
  sf_status_t status = making->derive.status;
  return status == SF_OK ? SF_OK : sfshm_error(status, "%s", making->derive.detail);
}

sf_status_t sfc_runs_make(making_t *making, sfc_runs_t **runs_p)
{
  if (making == NULL || making->least_unit == 0)
    return SF_OK;
  make_both(making);
  if (making->derive.status != SF_OK) /* that of all: the last set-up has told them */
    return sfshm_error(making->derive.status, "%s", making->derive.detail);
  sfc_runs_t *runs = making->runs;
  count_saved(making);
  making->runs = NULL;
  runs->least_unit = (size_t)making->least_unit;
  runs->rounds = (sfc_rounds_t){.met = runs->root, .n = making->nruns, .nroots = making->graph->nroots};
  belong_to(runs->members, making->graph);
  belong_to(runs->values, making->graph);
  *runs_p = runs;
  return SF_OK;
}

void sfc_runs_forget(making_t *making)
{
  if (making == NULL)
    return;
  sfc_runs_destroy(making->runs);
  sfc_runs_free(making->runs);
  sfc_derive_drop(&making->derive);
  free(making);
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

void sfc_runs_destroy(sfc_runs_t *runs)
{
  sf_graph_t *const parts[] = {runs != NULL ? runs->members : NULL, runs != NULL ? runs->values : NULL};
  for (int i = 0; i < 2; i++) {
    if (parts[i] != NULL)
      sfc_graph_set_parent(parts[i], NULL);
    (void)sf_graph_destroy(parts[i]);
  }
}

void sfc_runs_free(sfc_runs_t *runs)
{
  if (runs == NULL)
    return;
  sfc_rounds_free(&runs->rounds);
  free(runs->root);
  free(runs->round);
  free(runs->saved);
  for (int i = 0; i < 2; i++)
    sfc_device_free_array(runs->arrays[i]);
  free(runs);
}
