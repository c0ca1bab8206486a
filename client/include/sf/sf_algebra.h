/* New star forests from old ones, and from global numbers and patterns. Part of sf.h, which is what to include.
 *
 * All functions here are collective and blocking over the group of the graphs (those that take several: the same ranks
 * in the same order in all) unless they say otherwise. What they make is a graph of its own: it may be used after the
 * graphs that it was made from have been destroyed, and its creator destroys it with sf_graph_destroy. It has the flags
 * of the first graph that it was made from.
 *
 * Errors are agreed: if one rank finds something wrong, all ranks return its error (that of the lowest rank), with
 * nothing made. Where there is nobody to tell this is not so: SF_ERR_ARG without waiting for others, who wait for this
 * rank's call if theirs are good: a graph or a group is NULL, or the graphs are of different groups. SF_ERR_NOMEM: a
 * rank has no memory for intermediate arrays; graphs that took part in the exchange of these have then failed, as
 * operations on them would have to wait for that rank. */
#ifndef SF_ALGEBRA_H
#define SF_ALGEBRA_H

#include <stdio.h>

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Composition ------------------------------------------------------------------------------------------------- */

/* Graph ab has a's roots and b's leaves: where leaf i of a rank in a has the number of root i of that rank in b, that
 * root's leaves in b become leaves of the root that a connects leaf i with [PetscSF 3.3(1)]. Leaves of b whose root is
 * no connected leaf of a are not connected in ab; leaves of a that are no root of b lead nowhere. */
SF_CHECK_RESULT sf_status_t sf_graph_compose(sf_graph_t *a, sf_graph_t *b, sf_graph_t **ab_p);

/* Graph ab has a's roots; its leaves are the roots of b, by their numbers there: root j of b becomes a leaf of the root
 * that a connects its leaf in b with, leaves of a and b being the same if they have the same rank and index [PetscSF
 * 3.3(1)]. A root of b may have several leaves if those that are connected in a all lead to one root; roots without any
 * are not connected in ab. SF_ERR_ARG: some root of b leads to different roots of a; the text names it. */
SF_CHECK_RESULT sf_status_t sf_graph_compose_inverse(sf_graph_t *a, sf_graph_t *b, sf_graph_t **ab_p);

/* The same edges with roots and leaves exchanged: root i of a rank becomes its leaf i, connected to what was its leaf;
 * each rank has as many roots as its leaf_space was. SF_ERR_ARG: some root has more than one leaf. */
SF_CHECK_RESULT sf_status_t sf_graph_inverse(sf_graph_t *graph, sf_graph_t **inverse_p);

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

/* The graph without the edges of roots that are not among the n selected ones of this rank [PetscSF 3.3(2)]. Vertices
 * keep their numbers, so the same buffers serve. A root may be selected more than once. SF_ERR_ARG: n < 0, or the list
 * is NULL. SF_ERR_RANGE: a selected root is not in 0..nroots-1. */
SF_CHECK_RESULT sf_status_t sf_graph_embed_roots(sf_graph_t *graph, int64_t n, const int64_t selected_roots[],
                                                 sf_graph_t **embedded_p);

/* The graph without the edges of leaves that are not among the n selected ones of this rank [PetscSF 3.3(2)]. Vertices
 * keep their numbers. Selected indices that are no connected leaf select nothing. SF_ERR_ARG: n < 0, or the list is
 * NULL. SF_ERR_RANGE: a negative index. */
SF_CHECK_RESULT sf_status_t sf_graph_embed_leaves(sf_graph_t *graph, int64_t n, const int64_t selected_leaves[],
                                                  sf_graph_t **embedded_p);

/* ---- Unions ------------------------------------------------------------------------------------------------------ */

/* How sf_graph_concatenate numbers roots. */
typedef enum sf_root_mode {
  SF_ROOTS_LOCAL = 0,  /* each rank has the roots of the first graph, then those of the second, ... */
  SF_ROOTS_SHARED = 1, /* the graphs have the same roots, equally many on each rank; they keep their numbers */
  SF_ROOTS_GLOBAL = 2, /* all ranks' roots of the first graph, then all of the second, ..., in one global order; each
                          rank has a range of it that is as long as its roots are in all graphs together */
} sf_root_mode_t;

/* Graph with the edges of n >= 1 graphs. Leaf i of graph k becomes leaf leaf_offset[k] + i. leaf_offset, of n elements,
 * is this rank's own; NULL: the leaf buffers follow one another, offsets being the sums of leaf_space. n and mode are
 * the same on all ranks. SF_ERR_ARG: n < 1, graphs NULL, unknown mode, a leaf of two graphs gets the same index; with
 * SF_ROOTS_SHARED, the number of roots differs. SF_ERR_RANGE: a leaf index becomes negative. Where a rank gives an
 * unknown mode the graphs have failed, too; with n < 1, or graphs NULL, it returns alone. */
SF_CHECK_RESULT sf_status_t sf_graph_concatenate(int32_t n, sf_graph_t *const graphs[], sf_root_mode_t mode,
                                                 const int64_t leaf_offset[], sf_graph_t **graph_p);

/* Graph with the edges of two graphs on the same roots and leaves. A leaf that is connected in both has its root in b.
 * SF_ERR_ARG: they have different numbers of roots on some rank. */
SF_CHECK_RESULT sf_status_t sf_graph_merge(sf_graph_t *a, sf_graph_t *b, sf_graph_t **merged_p);

/* The graph count times, for arrays of count columns: root i becomes roots i, i + root_stride, i + 2 root_stride, ...,
 * leaf l becomes leaves l, l + leaf_stride, ..., connected in that order. A rank then has count * root_stride roots.
 * count >= 1 is the same on all ranks; strides are each rank's own, 0 being nroots and leaf_space. (For values that lie
 * side by side a block unit serves.) SF_ERR_ARG: count < 1. SF_ERR_RANGE: a stride below nroots or leaf_space, or a
 * product that does not fit. SF_ERR_MISMATCH: count differs between ranks that share edges. */
SF_CHECK_RESULT sf_status_t sf_graph_create_strided(sf_graph_t *graph, int64_t count, int64_t root_stride,
                                                    int64_t leaf_stride, sf_graph_t **strided_p);

/* ---- From global numbers ----------------------------------------------------------------------------------------- */

/* As sf_graph_create, with roots named by global numbers: rank 0's roots come first, then rank 1's, ... Leaf i has
 * index leaf_index[i] (NULL: i) and is connected to the root with global number root_global[i]; a negative number
 * leaves it unconnected. SF_ERR_ARG: negative sizes, NULL arrays, duplicate leaf. SF_ERR_RANGE: negative leaf index;
 * global number beyond the last root. SF_ERR_MISMATCH: flags differ. */
SF_CHECK_RESULT sf_status_t sf_graph_create_global(sf_group_t *group, int64_t nroots, int64_t nleaves,
                                                   const int64_t leaf_index[], const int64_t root_global[],
                                                   uint32_t flags, sf_graph_t **graph_p);

/* Connects two ways to deal out the same global range 0, 1, ...: each rank owns the next nroots numbers of it as roots,
 * and the next nleaves as leaves; the leaf with a number is connected to the root with that number. Leaves beyond the
 * last root are not connected. SF_ERR_ARG: negative sizes. SF_ERR_RANGE: more than 2^63 - 1 numbers in all.
 * SF_ERR_MISMATCH: flags differ. */
SF_CHECK_RESULT sf_status_t sf_graph_from_layouts(sf_group_t *group, int64_t nroots, int64_t nleaves, uint32_t flags,
                                                  sf_graph_t **graph_p);

/* Who offers and wants names on one rank: for sf_graph_create_matching. Names are 0..nnames-1; negative ones offer and
 * want nothing. */
typedef struct sf_match {
  int64_t nnames;            /* the same on all ranks */
  int64_t root_space;        /* roots that this rank gets; 0: 1 + the highest index offered */
  int64_t nroots;            /* of the following two arrays */
  const int64_t *root_name;  /* that is offered */
  const int64_t *root_index; /* by this root; NULL: by the roots 0, 1, ... */
  int64_t nleaves;           /* of the following two arrays */
  const int64_t *leaf_name;  /* that is wanted */
  const int64_t *leaf_index; /* by this leaf; NULL: by the leaves 0, 1, ... */
} sf_match_t;

/* Connects each leaf that wants a name with the root that offers it, on whatever rank; a leaf whose name nobody offers
 * stays unconnected. If several roots offer a name, the one of the highest rank gets it, and on that rank the one with
 * the highest place in the list. Ranks find each other by a directory of names that is dealt out over all of them: no
 * rank holds more than its part and its own lists.
 * SF_ERR_ARG: negative sizes, NULL arrays, duplicate leaf. SF_ERR_RANGE: a name >= nnames, a negative index, a root
 * index >= root_space. SF_ERR_MISMATCH: flags or nnames differ. */
SF_CHECK_RESULT sf_status_t sf_graph_create_matching(sf_group_t *group, const sf_match_t *match, uint32_t flags,
                                                     sf_graph_t **graph_p);

/* ---- Patterns ---------------------------------------------------------------------------------------------------- */

/* Graphs that do what collectives do. */
typedef enum sf_pattern {
  SF_PATTERN_NONE = 0,      /* said of a graph that is none of these */
  SF_PATTERN_ALLGATHER = 1, /* every rank has a leaf for every root of all ranks, in the order of ranks */
  SF_PATTERN_GATHER = 2,    /* one rank has, the others have no leaves */
  SF_PATTERN_ALLTOALL = 3,  /* size blocks of roots and leaves each: block q of the leaves here is connected to block p
                               of the roots on rank q, p being this rank */
} sf_pattern_t;

/* Makes one. n: with ALLGATHER and GATHER how many roots this rank has, which may differ between ranks; with ALLTOALL
 * how many are in a block, the same everywhere. root_rank: that has the leaves with GATHER, else ignored. A bcast does
 * what the collective of that name does, a reduce on a GATHER graph what MPI_Scatter does. SF_ERR_ARG: n < 0, unknown
 * pattern. SF_ERR_RANGE: no such rank. SF_ERR_MISMATCH: pattern, rank, flags, or n with ALLTOALL differ. */
SF_CHECK_RESULT sf_status_t sf_graph_create_pattern(sf_group_t *group, sf_pattern_t pattern, int64_t n,
                                                    int32_t root_rank, uint32_t flags, sf_graph_t **graph_p);

/* Which pattern the graph has, however it was made: *pattern_p is the same on all ranks. On one rank the patterns are
 * the same: the first is told. */
SF_CHECK_RESULT sf_status_t sf_graph_find_pattern(sf_graph_t *graph, sf_pattern_t *pattern_p);

/* ---- Copies and looks -------------------------------------------------------------------------------------------- */

/* A graph with the same edges and these flags (SF_GRAPH_*), the same on all ranks. SF_ERR_ARG: unknown flags.
 * SF_ERR_MISMATCH: they differ. */
SF_CHECK_RESULT sf_status_t sf_graph_duplicate(sf_graph_t *graph, uint32_t flags, sf_graph_t **copy_p);

/* A graph with the same roots whose leaves are numbered 0..nleaves-1 by their root's rank, and for one rank by root
 * index: what one rank sends lies together in the leaf buffer. old_leaf, of nleaves elements, gets the index that each
 * had before; NULL: not wanted. (Gathers and reduces need no such order: they always go by rank and leaf.) */
SF_CHECK_RESULT sf_status_t sf_graph_rank_order(sf_graph_t *graph, int64_t old_leaf[], sf_graph_t **ordered_p);

/* Whether both have the same numbers of roots and the same edges, on all ranks. Flags are not compared. */
SF_CHECK_RESULT sf_status_t sf_graph_equal(sf_graph_t *a, sf_graph_t *b, bool *equal_p);

/* How a graph is written. */
typedef enum sf_view_format {
  SF_VIEW_TEXT = 0, /* for people; consecutive edges in one line */
  SF_VIEW_JSON = 1, /* an object: rank, nroots, nleaves, leaf_space, edges as arrays [leaf, root rank, root] */
} sf_view_format_t;

/* Writes this rank's part of the graph into text, at most text_bytes with the 0 at the end, cut off if that is too
 * little. *needed_p (NULL: not wanted) is how many bytes it takes. text may be NULL with text_bytes 0. Local.
 * SF_ERR_ARG: graph NULL, unknown format. SF_ERR_NOMEM. */
SF_CHECK_RESULT sf_status_t sf_graph_view_part(const sf_graph_t *graph, sf_view_format_t format, char *text,
                                               size_t text_bytes, size_t *needed_p);

/* Writes the whole graph to the file of group rank 0, whose file must not be NULL; the others' are ignored. As text,
 * part after part; as JSON, one object: size, and parts, an array by rank. For graphs that somebody wants to look at:
 * all of the text is in rank 0's memory. SF_ERR_ARG: unknown format. SF_ERR_SYS: it could not be written. */
SF_CHECK_RESULT sf_status_t sf_graph_view(sf_graph_t *graph, sf_view_format_t format, FILE *file);

#ifdef __cplusplus
}
#endif
#endif
