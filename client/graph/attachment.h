/* Attachments: objects of higher rooms that hang on a graph from their first use on, so that the graph need not know
 * them. A graph asks its attachments whether it may be destroyed, and ends them. The thread that uses the graph.
 *
 *   sf_graph_destroy   is_busy -> tear_down -> retire -> free
 *   sf_finalize        is_busy -> tear_down -> free
 *
 * Order: most recent first. A function may be NULL. */
#ifndef SFC_GRAPH_ATTACHMENT_H
#define SFC_GRAPH_ATTACHMENT_H

#include <stdbool.h>

#include <sf/sf.h>

typedef struct sfc_attachment sfc_attachment_t;

typedef struct sfc_attachment_ops {
  bool (*is_busy)(const sfc_attachment_t *attachment); /* an operation has begun and not ended */
  void (*tear_down)(
      sfc_attachment_t *attachment);            /* ends use by others and devices; the listener still knows the graph */
  void (*retire)(sfc_attachment_t *attachment); /* moves shared memory to the record of the destroyed graph */
  void (*free)(sfc_attachment_t *attachment);
} sfc_attachment_ops_t;

/* First member of the attached struct. */
struct sfc_attachment {
  const sfc_attachment_ops_t *ops;
  sf_graph_t *graph;
  sfc_attachment_t *next;
};

/* Attaches to the graph, which frees the attachment in the end; detaches. */
void sfc_graph_attach(sf_graph_t *graph, sfc_attachment_t *attachment, const sfc_attachment_ops_t *ops);
void sfc_graph_detach(sfc_attachment_t *attachment);

/* Returns the graph's attachment with these operations; NULL: none. */
void *sfc_graph_attachment(const sf_graph_t *graph, const sfc_attachment_ops_t *ops);

bool sfc_graph_is_busy(const sf_graph_t *graph);
void sfc_graph_tear_down(sf_graph_t *graph);
void sfc_graph_retire_attachments(sf_graph_t *graph);
void sfc_graph_free_attachments(sf_graph_t *graph);

#endif
