/* Contributions to fetch_ops, and to reduces with ops of the application, that travel combined between nodes.
 *
 * A run is what follows one another, in the order in which a root is met, of contributions of ranks of one node. The
 * rank of its first one is its head: it collects the run over the graph members, combines it, and sends one value over
 * the graph values, whose roots are runs. The root meets that value, and what was there before goes back the same way:
 * the head finds out what was there before each member. Contributions of the owner's own node are runs of their own.
 *
 *   members   a head has a root for each member of its runs; each leaf of the application's graph has one edge
 *   values    an owner of roots has a root for each run, in the order of roots and (rank, leaf); a head has a leaf for
 *             each of its runs, the longest first
 *
 * Made together with the multi-graph, over whose graph of edges owners tell contributors about their runs, for a
 * persistent operation that could use them: only where at least a quarter of what would travel between nodes is saved,
 * and enough of it that the messages to and from the heads pay. Ranks may come to this in different ways. So rank 0
 * says over the directory whether it comes with such an operation, sums up what would be saved if it does, and says
 * whether that is enough, before the multi-graph is made: what fails on a rank until then is an error of that set-up.
 * Behind it all ranks know whether the two graphs are to be made. The thread that uses the graph. */
#ifndef SFC_RUNS_H
#define SFC_RUNS_H

#include <sf/sf.h>

#include "client/rounds.h"

typedef struct sfc_runs {
  sf_graph_t *members;
  sf_graph_t *values;
  size_t least_unit; /* bytes; smaller units travel by themselves. The same on all ranks */

  /* Of the runs of which this rank is the head: */
  int64_t nruns;
  int64_t nmembers;
  sfshm_pattern_t slot; /* in the members graph, of the first member of each run, then the second ones, ... */
  sfshm_pattern_t run;  /* of each of these behind the first ones */
  int64_t *round;       /* how many runs have a first member, a second one, ... */
  int64_t nrounds;
  int64_t *saved; /* by lane of the values graph: members for which nothing travels there */
  int64_t *arrays[2];

  /* Of the runs that come to roots here: */
  int64_t *root; /* of each run */
  sfc_rounds_t rounds;
} sfc_runs_t;

/* Decides with the other ranks whether they are made for a graph that has its directory and its graph of edges, and
 * will have its multi-graph. before: SF_OK, or what has failed on this rank, which takes part all the same and gets
 * that back. slot: of each edge of leaf_ranks, to be kept until forgotten. wanted: see multi.h; that of rank 0 counts.
 * *making_p is written also if this fails, but for want of memory for it. */
typedef struct sfc_runs_making sfc_runs_making_t;
sf_status_t sfc_runs_find(sf_status_t before, sf_graph_t *graph, const int64_t slot[], size_t wanted,
                          sfc_runs_making_t **making_p);

/* Makes them, if that has been decided, when the graph has its multi-graph. *runs_p: left as it is if not. Errors are
 * those of all ranks. Accepts NULL. */
sf_status_t sfc_runs_make(sfc_runs_making_t *making, sfc_runs_t **runs_p);

/* Accepts NULL. */
void sfc_runs_forget(sfc_runs_making_t *making);

/* Destroys the graphs, none of which has operations in flight; then frees the rest. Both accept NULL. */
void sfc_runs_destroy(sfc_runs_t *runs);
void sfc_runs_free(sfc_runs_t *runs);

#endif
