/* Graph algebra: graphs derived from other graphs, from global numbers, from names and from patterns. Part of sf.h,
 * which is what to include.
 *
 * Unless a comment says otherwise, all functions here are collective and blocking over the group of the graphs.
 * Functions of several graphs require graphs on the same ranks in the same order. A new graph has the flags of the
 * first graph that it is derived from. It is independent of those graphs, which may be destroyed first. The caller owns
 * it and calls sf_graph_destroy.
 *
 * Errors are agreed: if a rank finds an error, all ranks return the error of the lowest such rank, and create nothing.
 * There are two exceptions. SF_ERR_ARG without an agreement: a graph or group is NULL, or the graphs are on different
 * groups; the other ranks then wait for this rank's correct call. SF_ERR_NOMEM for intermediate arrays on a rank: the
 * graphs used for the exchange have failed, because their operations cannot complete without that rank. */
#ifndef SF_ALGEBRA_H
#define SF_ALGEBRA_H

#include <stdio.h>

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Composition ------------------------------------------------------------------------------------------------- */

/* Composes two graphs: ab has the roots of a and the leaves of b [PetscSF 3.3(1)]. If leaf i of a rank in a has the
 * index of root i of the same rank in b, the leaves of that root in b are connected in ab to the root of leaf i in a.
 * Leaves of b whose root is not a connected leaf of a are not connected in ab. Leaves of a that are not roots of b are
 * ignored. */
SF_CHECK_RESULT sf_status_t sf_graph_compose(sf_graph_t *a, sf_graph_t *b, sf_graph_t **ab_p);

/* Composes a with the inverse of b: ab has the roots of a, and its leaves are the roots of b [PetscSF 3.3(1)]. Leaves
 * of a and b are the same vertices if they have the same rank and index. Root j of b is connected in ab to the root of
 * a that its leaf is connected to in a. A root of b with several leaves is allowed if those that are connected in a
 * have the same root there. Roots of b without such leaves are not connected in ab. SF_ERR_ARG: the leaves of a root of
 * b have different roots in a; the detail names that root. */
SF_CHECK_RESULT sf_status_t sf_graph_compose_inverse(sf_graph_t *a, sf_graph_t *b, sf_graph_t **ab_p);

/* Creates the graph with the same edges and exchanged roles: root i becomes leaf i of its rank, and its leaf becomes
 * its root. Each rank has as many roots as its leaf_space was. SF_ERR_ARG: a root has more than one leaf. */
SF_CHECK_RESULT sf_status_t sf_graph_inverse(sf_graph_t *graph, sf_graph_t **inverse_p);

/* ---- Subgraphs --------------------------------------------------------------------------------------------------- */

/* Creates the graph of the edges whose roots are selected [PetscSF 3.3(2)]. selected_roots has n >= 0 elements, the
 * roots of this rank to keep; repeated roots are allowed. Vertices keep their numbers, so the same buffers serve.
 * SF_ERR_ARG: n < 0, or the list is NULL. SF_ERR_RANGE: a selected root is not in 0..nroots-1. */
SF_CHECK_RESULT sf_status_t sf_graph_embed_roots(sf_graph_t *graph, int64_t n, const int64_t selected_roots[],
                                                 sf_graph_t **embedded_p);

/* Creates the graph of the edges whose leaves are selected [PetscSF 3.3(2)]. selected_leaves has n >= 0 elements, the
 * leaf indices of this rank to keep; indices that are not connected leaves are ignored. Vertices keep their numbers.
 * SF_ERR_ARG: n < 0, or the list is NULL. SF_ERR_RANGE: an index is negative. */
SF_CHECK_RESULT sf_status_t sf_graph_embed_leaves(sf_graph_t *graph, int64_t n, const int64_t selected_leaves[],
                                                  sf_graph_t **embedded_p);

/* ---- Unions ------------------------------------------------------------------------------------------------------ */

/* How sf_graph_concatenate numbers roots. */
typedef enum sf_root_mode {
  SF_ROOTS_LOCAL = 0,  /* on each rank: its roots of the first graph, then of the second, ... */
  SF_ROOTS_SHARED = 1, /* all graphs have the same roots; roots keep their numbers */
  SF_ROOTS_GLOBAL = 2, /* in one global order: all roots of the first graph by rank, then of the second, ...; each rank
                          owns the next range of this order, as long as the sum of its nroots over the graphs */
} sf_root_mode_t;

/* Creates the graph with the edges of n >= 1 graphs. Leaf i of graph k becomes leaf leaf_offset[k] + i. leaf_offset has
 * n elements and may differ between ranks; leaf_offset == NULL: the offsets are sums of the preceding leaf_space. mode
 * says how roots are numbered. n and mode are the same on all ranks. SF_ERR_ARG: n < 1, graphs NULL, unknown mode, or
 * leaves of two graphs get the same index; with SF_ROOTS_SHARED, the numbers of roots differ. SF_ERR_RANGE: a leaf
 * index becomes negative. If a rank passes an unknown mode the graphs fail as well. A rank that passes n < 1 or graphs
 * == NULL returns alone. */
SF_CHECK_RESULT sf_status_t sf_graph_concatenate(int32_t n, sf_graph_t *const graphs[], sf_root_mode_t mode,
                                                 const int64_t leaf_offset[], sf_graph_t **graph_p);

/* Creates the graph with the edges of two graphs on the same roots and leaves. A leaf that is connected in both graphs
 * keeps its root in b. SF_ERR_ARG: the numbers of roots differ on some rank. */
SF_CHECK_RESULT sf_status_t sf_graph_merge(sf_graph_t *a, sf_graph_t *b, sf_graph_t **merged_p);

/* Repeats the graph for arrays of count columns. Root i becomes roots i, i + root_stride, i + 2 root_stride, ...; leaf
 * l becomes leaves l, l + leaf_stride, ...; the k-th copies are connected. Each rank has count * root_stride roots.
 * count >= 1 is the same on all ranks. Strides may differ between ranks; 0 means nroots or leaf_space. (If the values
 * of a vertex are adjacent in memory, use a block unit instead.) SF_ERR_ARG: count < 1. SF_ERR_RANGE: a stride is below
 * nroots or leaf_space, or a product overflows. SF_ERR_MISMATCH: count differs between ranks that share edges. */
SF_CHECK_RESULT sf_status_t sf_graph_create_strided(sf_graph_t *graph, int64_t count, int64_t root_stride,
                                                    int64_t leaf_stride, sf_graph_t **strided_p);

/* ---- From global numbers ----------------------------------------------------------------------------------------- */

/* Creates a graph as sf_graph_create does, from global root numbers. Roots are numbered by rank: the nroots of rank 0,
 * then those of rank 1, ... Leaf i has index leaf_index[i] (leaf_index == NULL: index i) and is connected to the root
 * with number root_global[i]; a negative number leaves it unconnected. The arrays have nleaves elements and may be
 * freed at return. SF_ERR_ARG: negative sizes, NULL arrays, duplicate leaf. SF_ERR_RANGE: a leaf index is negative, or
 * a number exceeds the last root. SF_ERR_MISMATCH: flags differ. */
SF_CHECK_RESULT sf_status_t sf_graph_create_global(sf_group_t *group, int64_t nroots, int64_t nleaves,
                                                   const int64_t leaf_index[], const int64_t root_global[],
                                                   uint32_t flags, sf_graph_t **graph_p);

/* Creates the graph between two distributions of the same global range 0, 1, ... By rank, each rank owns the next
 * nroots numbers as roots and the next nleaves numbers as leaves. Leaves and roots with the same number are connected.
 * Leaves beyond the last root are not connected. SF_ERR_ARG: negative sizes. SF_ERR_RANGE: a total exceeds 2^63 - 1.
 * SF_ERR_MISMATCH: flags differ. */
SF_CHECK_RESULT sf_status_t sf_graph_from_layouts(sf_group_t *group, int64_t nroots, int64_t nleaves, uint32_t flags,
                                                  sf_graph_t **graph_p);

/* Names of one rank's roots and leaves, for sf_graph_create_matching. Names are 0..nnames-1; an entry with a negative
 * name is ignored. The caller owns the arrays, which may be freed when the graph has been created. */
typedef struct sf_match {
  int64_t nnames;            /* number of names; the same on all ranks */
  int64_t root_space;        /* number of roots of this rank; 0: 1 + the highest index in root_index */
  int64_t nroots;            /* length of root_name and root_index */
  const int64_t *root_name;  /* name of each entry */
  const int64_t *root_index; /* root of each entry; NULL: roots 0, 1, ... */
  int64_t nleaves;           /* length of leaf_name and leaf_index */
  const int64_t *leaf_name;  /* name of each entry */
  const int64_t *leaf_index; /* leaf of each entry; NULL: leaves 0, 1, ... */
} sf_match_t;

/* Connects each leaf to the root with the same name, on whichever rank. Leaves whose name has no root stay unconnected.
 * If several roots have a name, the root of the highest rank is taken, and of its entries the last one. Ranks find each
 * other by a directory of names distributed over all ranks; no rank stores more than its part and its own lists.
 * SF_ERR_ARG: negative sizes, NULL arrays, duplicate leaf. SF_ERR_RANGE: a name >= nnames, a negative index, a root
 * index >= root_space. SF_ERR_MISMATCH: flags or nnames differ. */
SF_CHECK_RESULT sf_status_t sf_graph_create_matching(sf_group_t *group, const sf_match_t *match, uint32_t flags,
                                                     sf_graph_t **graph_p);

/* ---- Patterns ---------------------------------------------------------------------------------------------------- */

/* Edge patterns of common collectives. */
typedef enum sf_pattern {
  SF_PATTERN_NONE = 0,      /* none of the following */
  SF_PATTERN_ALLGATHER = 1, /* every rank has a leaf for each root of all ranks, in rank order */
  SF_PATTERN_GATHER = 2,    /* one rank has these leaves, the others have none */
  SF_PATTERN_ALLTOALL = 3, /* roots and leaves come in blocks, one per rank: leaf block q of rank p is connected to root
                              block p of rank q */
} sf_pattern_t;

/* Creates a graph with a pattern. n: for ALLGATHER and GATHER the number of roots of this rank, which may differ
 * between ranks; for ALLTOALL the number of vertices of a block, the same on all ranks. root_rank: the rank that has
 * the leaves of GATHER, otherwise ignored. A bcast on the graph does what the collective of that name does; a reduce on
 * a GATHER graph does what MPI_Scatter does. SF_ERR_ARG: n < 0, unknown pattern. SF_ERR_RANGE: no such rank.
 * SF_ERR_MISMATCH: pattern, root_rank, flags, or n of ALLTOALL differ. */
SF_CHECK_RESULT sf_status_t sf_graph_create_pattern(sf_group_t *group, sf_pattern_t pattern, int64_t n,
                                                    int32_t root_rank, uint32_t flags, sf_graph_t **graph_p);

/* Finds the pattern of a graph, however it was created. *pattern_p is the same on all ranks. With one rank the patterns
 * are identical; then the first is returned. */
SF_CHECK_RESULT sf_status_t sf_graph_find_pattern(sf_graph_t *graph, sf_pattern_t *pattern_p);

/* ---- Copies and views -------------------------------------------------------------------------------------------- */

/* Creates a graph with the same edges and other flags (SF_GRAPH_*), the same on all ranks. SF_ERR_ARG: unknown flags.
 * SF_ERR_MISMATCH: flags differ. */
SF_CHECK_RESULT sf_status_t sf_graph_duplicate(sf_graph_t *graph, uint32_t flags, sf_graph_t **copy_p);

/* Creates a graph with the same roots whose leaves are renumbered 0..nleaves-1 in ascending order of their (root rank,
 * root), so that the values of one sender are adjacent in the leaf buffer. old_leaf, of nleaves elements, receives the
 * previous index of each leaf; NULL: not written. (Gather and reduce need no such order: they always combine by rank
 * and leaf.) */
SF_CHECK_RESULT sf_status_t sf_graph_rank_order(sf_graph_t *graph, int64_t old_leaf[], sf_graph_t **ordered_p);

/* Compares two graphs: *equal_p is true if on all ranks the numbers of roots and the edges are the same. Flags are not
 * compared. */
SF_CHECK_RESULT sf_status_t sf_graph_equal(sf_graph_t *a, sf_graph_t *b, bool *equal_p);

/* Formats of views. */
typedef enum sf_view_format {
  SF_VIEW_TEXT = 0, /* readable text; a run of consecutive edges takes one line */
  SF_VIEW_JSON = 1, /* JSON object: rank, nroots, nleaves, leaf_space, edges as arrays [leaf, root rank, root] */
} sf_view_format_t;

/* Writes this rank's part of the graph to text, at most text_bytes bytes with the terminating 0; longer text is
 * truncated. *needed_p: the number of bytes of the complete text; needed_p may be NULL. text may be NULL if text_bytes
 * is 0. Local. SF_ERR_ARG: graph is NULL, or the format is unknown. SF_ERR_NOMEM. */
SF_CHECK_RESULT sf_status_t sf_graph_view_part(const sf_graph_t *graph, sf_view_format_t format, char *text,
                                               size_t text_bytes, size_t *needed_p);

/* Writes the whole graph to the file of group rank 0, which must not be NULL; file is ignored on other ranks. Text: the
 * parts in rank order. JSON: one object with size and parts, an array by rank. Rank 0 holds the complete text in
 * memory. SF_ERR_ARG: unknown format. SF_ERR_SYS: the file could not be written. */
SF_CHECK_RESULT sf_status_t sf_graph_view(sf_graph_t *graph, sf_view_format_t format, FILE *file);

#ifdef __cplusplus
}
#endif
#endif
