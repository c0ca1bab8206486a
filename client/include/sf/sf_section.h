/* Sections: a number of units for each vertex of a graph, which differs from vertex to vertex, packed in an array of
 * units. Part of sf.h, which is what to include.
 *
 * A graph of points and the numbers of units at its points make a graph of units [PetscSF 4.2; the non-uniform variant
 * of SF 2.6]: degrees of freedom of mesh points, rows of a sparse matrix, lists of neighbours. To move data to where
 * the leaves are: sf_section_migrate tells the leaves how much comes and where it goes, sf_section_graph makes the
 * graph, sf_bcast on that moves it. To move data to the roots instead, sizes are sent by sf_reduce. Errors are agreed,
 * as with all of sf_algebra.h. */
#ifndef SF_SECTION_H
#define SF_SECTION_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the units of points are. The arrays, of npoints elements, are the caller's and are only read. */
typedef struct sf_section {
  int64_t npoints;       /* vertices that have units */
  const int64_t *size;   /* units of each point, >= 0; NULL: one each */
  const int64_t *offset; /* where they begin in the array of units; NULL: the points follow one another */
} sf_section_t;

/* Length of the array of units: 1 + the highest unit of any point, 0 without units. Local. SF_ERR_ARG: a NULL pointer,
 * npoints < 0. SF_ERR_RANGE: a negative size or offset, or a sum that does not fit; the text names the point. */
SF_CHECK_RESULT sf_status_t sf_section_extent(const sf_section_t *section, int64_t *nunits_p);

/* Brings the section of the roots, of at least nroots points, to the leaves. leaf_size and leaf_offset, each of the
 * graph's leaf_space elements, become a section of the leaves whose points follow one another; indices below leaf_space
 * that are not connected get size 0. *nunits_p: its extent. Collective and blocking over the graph's group.
 * SF_ERR_ARG: a NULL pointer, too few points. SF_ERR_RANGE: a bad section, or a sum that does not fit. */
SF_CHECK_RESULT sf_status_t sf_section_migrate(sf_graph_t *graph, const sf_section_t *roots, int64_t leaf_size[],
                                               int64_t leaf_offset[], int64_t *nunits_p);

/* The graph of units: unit k of each connected leaf becomes a leaf of unit k of its root, numbered by the sections,
 * which have at least nroots and leaf_space points. A rank has as many roots as its section of roots is long. Flags are
 * the graph's. Collective and blocking over the graph's group; the result is the caller's to destroy, and does not need
 * the graph. SF_ERR_ARG: a NULL pointer, too few points, leaves that share units. SF_ERR_RANGE: a bad section.
 * SF_ERR_MISMATCH: a leaf has another size than its root. */
SF_CHECK_RESULT sf_status_t sf_section_graph(sf_graph_t *graph, const sf_section_t *roots, const sf_section_t *leaves,
                                             sf_graph_t **units_p);

#ifdef __cplusplus
}
#endif
#endif
