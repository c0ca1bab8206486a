/* Deriving a graph: what is computed and exchanged on the way to its edges, and the error that may be found there. A
 * derivation always ends with a set-up, in which all ranks take part whatever they found: that is where errors are
 * agreed. Arrays live until then. One thread. */
#ifndef SFC_ALGEBRA_DERIVE_H
#define SFC_ALGEBRA_DERIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf.h>

#include "client/core.h"

#define SFC_DERIVE_ARRAYS 40 /* more than any function needs */

/* Edges as arrays. */
typedef struct sfc_derive_edges {
  int64_t n;
  int64_t *leaf;
  int32_t *root_rank;
  int64_t *root;
} sfc_derive_edges_t;

/* A vertex of some rank, as it travels: a unit of two 64-bit integers. */
typedef struct sfc_place {
  int64_t rank; /* -1: nowhere */
  int64_t index;
} sfc_vertex_t;
_Static_assert(sizeof(sfc_vertex_t) == 2 * sizeof(int64_t), "travels as a block of two");

typedef struct sfc_derive {
  const char *caller;
  sf_group_t *group;
  uint32_t flags;
  int64_t nroots; /* of the graph to be made */
  sfc_derive_edges_t edges;
  int64_t room; /* for edges */

  sf_status_t status; /* the first error found here */
  int64_t bad_leaf;
  char detail[320];
  bool starved; /* arrays are missing */
  bool agreed;  /* the error is that of all ranks already */

  void *arrays[SFC_DERIVE_ARRAYS];
  int narrays;
} sfc_derive_t;

/* Fills it in; the group is that of a graph that exists, or the application's. Cannot fail. */
void sfc_derive_begin(sfc_derive_t *derive, const char *caller, sf_group_t *group, uint32_t flags);

/* Whether functions may go on with these graphs, or this group: without them there is nobody to tell of an error. What
 * else is wrong with a call is noted. */
sf_status_t sfc_derive_check(const char *caller, const sf_graph_t *graph);
sf_status_t sfc_derive_check_two(const char *caller, const sf_graph_t *a, const sf_graph_t *b);
sf_status_t sfc_derive_check_group(const char *caller, const sf_group_t *group);

/* Notes an error, whose text is the thread's, unless there is one already. leaf: that it concerns, -1: none. */
void sfc_derive_note(sfc_derive_t *derive, sf_status_t status, int64_t leaf);

/* Notes that there is no place for a result, if so. (That of a graph sfc_derive_end looks after.) */
void sfc_derive_check_output(sfc_derive_t *derive, const void *result);

/* An array of zeros that lives until the end. NULL: there is no memory; noted. */
void *sfc_derive_array(sfc_derive_t *derive, int64_t n, size_t element_bytes);

/* An array of places that are nowhere. */
sfc_vertex_t *sfc_derive_vertices(sfc_derive_t *derive, int64_t n);

/* Reads the edges of a graph, by ascending leaf; none if that fails. */
void sfc_derive_read_edges(sfc_derive_t *derive, const sf_graph_t *graph, sfc_derive_edges_t *edges);

/* Makes room for that many edges of the new graph; adds one, if there is room. */
void sfc_derive_reserve(sfc_derive_t *derive, int64_t n);
static inline void sfc_derive_add(sfc_derive_t *derive, int64_t leaf, int64_t root_rank, int64_t root)
{
  if (derive->edges.n == derive->room)
    return;
  derive->edges.leaf[derive->edges.n] = leaf;
  derive->edges.root_rank[derive->edges.n] = (int32_t)root_rank;
  derive->edges.root[derive->edges.n++] = root;
}

/* Bcast and reduce. */
typedef sf_status_t sfc_move_fn_t(sf_graph_t *graph, const sf_type_t *unit, const void *from, void *to,
                                  const sf_op_t *op);

/* What a rank does whose operation on a graph on the way has failed, or can't be called: the graph fails for all ranks,
 * so that none waits for its values. Nothing if the status, whose text is the thread's, is SF_OK. Returns the status.
 */
sf_status_t sfc_derive_give_up(sf_graph_t *graph, sf_status_t status);

/* Operations on a graph on the way, of units of count values. All ranks of the graph's group call them, also those that
 * have noted an error; a rank without arrays gives up. A NULL graph is that of a failed sfc_derive_helper. */
void sfc_derive_bcast(sfc_derive_t *derive, sf_graph_t *graph, const sf_type_t *base, int64_t count, const void *root,
                      void *leaf);
void sfc_derive_reduce(sfc_derive_t *derive, sf_graph_t *graph, const sf_type_t *base, int64_t count, const void *leaf,
                       void *root, const sf_op_t *op);

/* Values of all ranks, count each, by rank. NULL on all ranks as with sfc_derive_helper; or here alone. */
const int64_t *sfc_derive_allgather(sfc_derive_t *derive, int64_t count, const int64_t mine[]);

/* Makes the graph, or returns the agreed error. */
sf_status_t sfc_derive_end(sfc_derive_t *derive, sf_graph_t **graph_p);

/* All in one: a graph with the same edges, unless a rank has found an error before. Collective. */
sf_status_t sfc_derive_copy(const char *caller, const sf_graph_t *graph, uint32_t flags, sf_status_t before,
                            sf_graph_t **copy_p);

/* Ends a derivation that was local, or a part of another one, which gets its error. */
void sfc_derive_drop(sfc_derive_t *derive);
void sfc_derive_end_part(sfc_derive_t *part, sfc_derive_t *whole);

/* For what makes no graph: only agrees on errors. */
sf_status_t sfc_derive_agree(sfc_derive_t *derive);

/* Makes a graph of edges on the way, of all ranks of the derivation's group. NULL on all ranks if that fails, or an
 * error has been noted by one of them: what follows then does nothing but return the error. */
sf_graph_t *sfc_derive_helper(sfc_derive_t *derive, int64_t nroots, const sfc_derive_edges_t *edges);

/* a + b, negative if it does not fit; neither is negative. Likewise a * b. */
static inline int64_t sfc_sum(int64_t a, int64_t b)
{
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

static inline int64_t sfc_product(int64_t a, int64_t b)
{
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

#endif
