/* Attachments of a graph: see attachment.h. */
#include "client/graph/attachment.h"

#include <stddef.h>

#include "client/graph/graph.h"

void sfc_graph_attach(sf_graph_t *graph, sfc_attachment_t *attachment, const sfc_attachment_ops_t *ops)
{
  *attachment = (sfc_attachment_t){.ops = ops, .graph = graph, .next = graph->attachments};
  graph->attachments = attachment;
}

void sfc_graph_detach(sfc_attachment_t *attachment)
{
  sfc_attachment_t **link = &attachment->graph->attachments;
  while (*link != attachment)
    link = &(*link)->next;
  *link = attachment->next;
}

void *sfc_graph_attachment(const sf_graph_t *graph, const sfc_attachment_ops_t *ops)
{
  sfc_attachment_t *attachment = graph->attachments;
  while (attachment != NULL && attachment->ops != ops)
    attachment = attachment->next;
  return attachment;
}

bool sfc_graph_is_busy(const sf_graph_t *graph)
{
  bool busy = graph->in_flight > 0;
  for (const sfc_attachment_t *at = graph->attachments; at != NULL && !busy; at = at->next)
    busy = at->ops->is_busy != NULL && at->ops->is_busy(at);
  return busy;
}

void sfc_graph_tear_down(sf_graph_t *graph)
{
  for (sfc_attachment_t *at = graph->attachments, *next; at != NULL; at = next) {
    next = at->next; /* it may detach itself */
    if (at->ops->tear_down != NULL)
      at->ops->tear_down(at);
  }
}

void sfc_graph_retire_attachments(sf_graph_t *graph)
{
  for (sfc_attachment_t *at = graph->attachments; at != NULL; at = at->next)
    if (at->ops->retire != NULL)
      at->ops->retire(at);
}

void sfc_graph_free_attachments(sf_graph_t *graph)
{
  sfc_attachment_t *attachment;
  while ((attachment = graph->attachments) != NULL) {
    graph->attachments = attachment->next;
    if (attachment->ops->free != NULL)
      attachment->ops->free(attachment);
  }
}
