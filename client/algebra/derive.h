/* Derivation of a graph: computes and exchanges values on the way to its edges, and carries an error found there. It
 * always ends with a set-up in which all ranks take part, because errors are agreed on there. Its arrays live until
 * then. One thread. */
#ifndef SFC_ALGEBRA_DERIVE_H
#define SFC_ALGEBRA_DERIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf.h>

#include "client/core.h"

#define SFC_DERIVE_ARRAYS 40 /* more than any function needs */

typedef struct sfc_derive_edges {
  int64_t n;
  int64_t *leaf;
  int32_t *root_rank;
  int64_t *root;
} sfc_derive_edges_t;

/* A vertex of a rank; travels as two 64-bit integers. */
typedef struct sfc_place {
  int64_t rank; /* -1: none */
  int64_t index;
} sfc_vertex_t;
_Static_assert(sizeof(sfc_vertex_t) == 2 * sizeof(int64_t), "travels as a block of two");

typedef struct sfc_derive {
  const char *caller;
  const char *call_site; /* of the application; NULL: unknown */
  sf_group_t *group;
  uint32_t flags;
  int64_t nroots; /* of the graph to create */
  sfc_derive_edges_t edges;
  int64_t room; /* capacity for edges */

  sf_status_t status; /* first error here */
  int64_t bad_leaf;
  char detail[320];
  bool starved; /* arrays are missing */
  bool agreed;  /* all ranks have the same error */

  void *arrays[SFC_DERIVE_ARRAYS];
  int narrays;
} sfc_derive_t;

/* Begins a derivation on a valid group. Cannot fail. */
void sfc_derive_begin(sfc_derive_t *derive, const char *caller, sf_group_t *group, uint32_t flags);

/* The same after a check that there is a group, or there are graphs of one group, without which no other rank can be
 * told of an error; other errors of a call are noted. From a graph, of two the first: with its flags and its number of
 * roots. */
sf_status_t sfc_derive_on(sfc_derive_t *derive, const char *caller, sf_group_t *group, uint32_t flags);
sf_status_t sfc_derive_from(sfc_derive_t *derive, const char *caller, const sf_graph_t *graph);
sf_status_t sfc_derive_from_two(sfc_derive_t *derive, const char *caller, const sf_graph_t *a, const sf_graph_t *b);

/* Notes the first error, with the thread's text. leaf: of the error, -1: none. */
void sfc_derive_note(sfc_derive_t *derive, sf_status_t status, int64_t leaf);
#define sfc_derive_error(derive, leaf, ...) sfc_derive_note(derive, sfshm_error(__VA_ARGS__), leaf)

/* Notes an error if result is NULL. (sfc_derive_end checks the graph's.) */
void sfc_derive_check_output(sfc_derive_t *derive, const void *result);

/* Returns an array of zeros that lives until the end. NULL: no memory; noted. */
void *sfc_derive_array(sfc_derive_t *derive, int64_t n, size_t element_bytes);

/* An array of vertices that are none. */
sfc_vertex_t *sfc_derive_vertices(sfc_derive_t *derive, int64_t n);

/* Allocates an edge list with room for n edges; the list is empty. leaves false: edge i belongs to leaf i. */
sfc_derive_edges_t sfc_derive_new_edges(sfc_derive_t *derive, int64_t n, bool leaves);

/* Reads a graph's edges by ascending leaf; none on error. */
void sfc_derive_read_edges(sfc_derive_t *derive, const sf_graph_t *graph, sfc_derive_edges_t *edges);

/* Allocates for that many edges of the new graph; adds one, if there is room. */
void sfc_derive_reserve(sfc_derive_t *derive, int64_t n);
static inline void sfc_derive_add(sfc_derive_t *derive, int64_t leaf, int64_t root_rank, int64_t root)
{
  if (derive->edges.n == derive->room)
    return;
  derive->edges.leaf[derive->edges.n] = leaf;
  derive->edges.root_rank[derive->edges.n] = (int32_t)root_rank;
  derive->edges.root[derive->edges.n++] = root;
}

/* Bcast or reduce. */
typedef sf_status_t sfc_move_fn_t(sf_graph_t *graph, const sf_type_t *unit, const void *from, void *to,
                                  const sf_op_t *op);

/* Fails a helper graph for all ranks, so that none waits for values that this rank cannot send. status SF_OK: does
 * nothing. The error's text is the thread's. Returns the status. */
sf_status_t sfc_derive_give_up(sf_graph_t *graph, sf_status_t status);

/* Operations on a graph, with units of count values. All ranks of the graph's group call them, also after an error; a
 * rank without arrays fails the graph. graph NULL: from a failed sfc_derive_helper; does nothing. */
void sfc_derive_bcast(sfc_derive_t *derive, sf_graph_t *graph, const sf_type_t *base, int64_t count, const void *root,
                      void *leaf);
void sfc_derive_reduce(sfc_derive_t *derive, sf_graph_t *graph, const sf_type_t *base, int64_t count, const void *leaf,
                       void *root, const sf_op_t *op);

/* Gathers count values of each rank, by rank. NULL: on all ranks as with sfc_derive_helper, or here only. */
const int64_t *sfc_derive_allgather(sfc_derive_t *derive, int64_t count, const int64_t mine[]);

/* Creates the graph, or returns the agreed error. */
sf_status_t sfc_derive_end(sfc_derive_t *derive, sf_graph_t **graph_p);

/* Creates a copy of a graph, unless a rank has an error. Collective. */
sf_status_t sfc_derive_copy(const char *caller, const sf_graph_t *graph, uint32_t flags, sf_status_t local_error,
                            sf_graph_t **copy_p);

/* Ends a local derivation; ends a part of another one, which takes its error. */
void sfc_derive_drop(sfc_derive_t *derive);
void sfc_derive_end_part(sfc_derive_t *part, sfc_derive_t *whole);

/* Ends a derivation without a graph: only agrees on errors. */
sf_status_t sfc_derive_agree(sfc_derive_t *derive);

/* Creates a helper graph of all ranks of the group. NULL on all ranks if that fails or a rank has noted an error: later
 * steps then only return the error. */
sf_graph_t *sfc_derive_helper(sfc_derive_t *derive, int64_t nroots, const sfc_derive_edges_t *edges);

/* A bcast of one value per root along these edges, on a helper graph of its own. */
void sfc_derive_bcast_along(sfc_derive_t *derive, int64_t nroots, const sfc_derive_edges_t *edges,
                            const sf_type_t *unit, const void *root, void *leaf);

/* a + b and a * b of nonnegative numbers; negative on overflow. */
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
