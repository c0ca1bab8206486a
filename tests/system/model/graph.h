/* Random star forests that every rank of a test can compute by itself. Operations on them: operation.h. */
#ifndef SFTEST_MODEL_GRAPH_H
#define SFTEST_MODEL_GRAPH_H

#include "tests/system/harness.h"
#include "tests/system/model/units.h"

#define SFTEST_GROUP_MAX 8

typedef struct sftest_edge {
  int64_t leaf;
  int32_t root_rank;
  int64_t root;
} sftest_edge_t;

/* One rank's part. */
typedef struct sftest_part {
  int64_t nroots;
  int64_t nleaves;
  int64_t leaf_space;
  bool leaves_given;    /* else leaf i is number i */
  sftest_edge_t *input; /* as given to the library */
  sftest_edge_t *edges; /* the same by leaf */
} sftest_part_t;

typedef struct sftest_graph {
  int32_t size;
  bool one_array; /* no leaf has the number of a root: both may be in the same array */
  sftest_part_t parts[SFTEST_GROUP_MAX];
} sftest_graph_t;

/* Makes a graph over size ranks, with at most about max_vertices roots and leaves on each. */
void sftest_graph_make(sftest_graph_t *graph, uint64_t seed, int32_t size, int64_t max_vertices);
/* Leaves out the edges of vertices, roots or leaves, that are not to stay. */
void sftest_graph_thin(sftest_graph_t *graph, bool (*stays)(int64_t vertex), bool by_roots);

void sftest_graph_free(sftest_graph_t *graph);

/* sf_graph_create with this rank's part, in the 32- or 64-bit form. */
sf_status_t sftest_graph_create(const sftest_graph_t *graph, sf_group_t *group, bool wide, uint32_t flags,
                                sf_graph_t **graph_p);

/* Units in an array that holds all roots and leaves of the rank. */
int64_t sftest_graph_space(const sftest_graph_t *graph, int32_t rank);

/* Fails the rank unless sf_graph_info and sf_graph_edges say of the graph what the model says, the ranks being on these
 * nodes. combined: another node sends one contribution to each root. */
void sftest_graph_check_info(sftest_rank_t *self, const sftest_graph_t *graph, const sf_graph_t *real, int32_t rank,
                             const int32_t places[], bool combined);

#endif
