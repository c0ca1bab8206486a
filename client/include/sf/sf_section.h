/* Sections: arrays with a varying number of units per vertex, for instance degrees of freedom of mesh points, rows of a
 * sparse matrix, lists of neighbours. Part of sf.h, which is what to include.
 *
 * A graph of points and a section of its roots and leaves define a graph of units [PetscSF 4.2; SF 2.6, the non-uniform
 * variant]. To move data to the leaves: sf_section_migrate tells each leaf the size and position of its data,
 * sf_section_graph creates the graph of units, and sf_bcast on that graph moves the data. To move data to the roots,
 * send the sizes by sf_reduce. Errors are agreed, as in sf_algebra.h. */
#ifndef SF_SECTION_H
#define SF_SECTION_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Positions of the units of points. The caller owns the arrays of npoints elements; the library only reads them. */
typedef struct sf_section {
  int64_t npoints;       /* number of points */
  const int64_t *size;   /* units of each point, >= 0; NULL: one unit each */
  const int64_t *offset; /* first unit of each point, >= 0; NULL: the points follow one another */
} sf_section_t;

/* Length of the array of units: 1 + the highest unit of any point, 0 if there are no units. Local. SF_ERR_ARG: a
 * pointer is NULL, or npoints < 0. SF_ERR_RANGE: a size or an offset is negative, or a sum overflows; the detail names
 * the point. */
SF_CHECK_RESULT sf_status_t sf_section_extent(const sf_section_t *section, int64_t *nunits_p);

/* Computes the section of the leaves from the section of the roots. roots has at least nroots points. The caller
 * provides leaf_size and leaf_offset, each of the graph's leaf_space elements. The points of the leaves follow one
 * another; indices below leaf_space that are not connected get size 0. *nunits_p: the extent of the leaves' section.
 * Collective and blocking over the graph's group. SF_ERR_ARG: a pointer is NULL, or roots has too few points.
 * SF_ERR_RANGE: the section is invalid, or a sum overflows. */
SF_CHECK_RESULT sf_status_t sf_section_migrate(sf_graph_t *graph, const sf_section_t *roots, int64_t leaf_size[],
                                               int64_t leaf_offset[], int64_t *nunits_p);

/* Creates the graph of units: unit k of each connected leaf becomes a leaf of unit k of its root. Units are numbered by
 * the sections, which have at least nroots and leaf_space points. Each rank has as many roots as the extent of its root
 * section. The new graph has the flags of graph, which may be destroyed first. The caller owns the new graph.
 * Collective and blocking over the graph's group. SF_ERR_ARG: a pointer is NULL, a section has too few points, or
 * leaves share units. SF_ERR_RANGE: a section is invalid. SF_ERR_MISMATCH: the sizes of a leaf and of its root differ.
 */
SF_CHECK_RESULT sf_status_t sf_section_graph(sf_graph_t *graph, const sf_section_t *roots, const sf_section_t *leaves,
                                             sf_graph_t **units_p);

#ifdef __cplusplus
}
#endif
#endif
