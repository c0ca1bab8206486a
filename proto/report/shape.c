/* Degrees of graphs: see shape.h. Sums wrap, as ranks may report anything. */
#include "proto/report/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAMED_FROM 64 /* edges; fewer do not matter */
#define NTOPS (sizeof((sfreport_shape_t *)0)->tops / sizeof((sfreport_shape_t *)0)->tops[0])

static void add_most(sfreport_most_t *most, int32_t rank, uint64_t edges)
{
  most->sum += edges;
  if (edges <= most->edges)
    return;
  most->edges = edges;
  most->rank = rank;
}

/* Moves the entry to its place in order. */
static void sort_in(sfreport_shape_t *shape, size_t i)
{
  for (; i > 0 && shape->tops[i].leaves > shape->tops[i - 1].leaves; i--) {
    sfreport_top_t top = shape->tops[i];
    shape->tops[i] = shape->tops[i - 1];
    shape->tops[i - 1] = top;
  }
}

static void add_top(sfreport_shape_t *shape, const sfreport_degrees_t *degrees)
{
  sfreport_top_t *last = &shape->tops[NTOPS - 1];
  for (size_t i = 0; i < NTOPS; i++) {
    sfreport_top_t *top = &shape->tops[i];
    if (top->leaves > 0 && (top->rank != degrees->top_rank || top->root != degrees->top_root))
      continue;
    *top = (sfreport_top_t){degrees->top_rank, degrees->top_root, top->leaves + degrees->top_leaves};
    sort_in(shape, i);
    return;
  }
  shape->unnamed += degrees->top_leaves < last->leaves ? degrees->top_leaves : last->leaves;
  if (degrees->top_leaves > last->leaves)
    *last = (sfreport_top_t){degrees->top_rank, degrees->top_root, degrees->top_leaves};
  sort_in(shape, NTOPS - 1);
}

void sfreport_shape_add(sfreport_shape_t *shape, const sfreport_degrees_t *degrees)
{
  shape->nranks++;
  add_most(&shape->leaves, degrees->rank, degrees->leaf_edges);
  add_most(&shape->roots, degrees->rank, degrees->root_edges);
  if (degrees->top_leaves > 0)
    add_top(shape, degrees);
  else
    shape->unnamed += degrees->leaf_edges;
}

uint64_t sfreport_shape_top(const sfreport_shape_t *shape, bool *exact_p)
{
  *exact_p = shape->unnamed == 0 && shape->tops[1].leaves == 0;
  return shape->tops[0].leaves;
}

static void append(char *text, size_t text_size, const char *more)
{
  size_t length = strlen(text);
  snprintf(text + length, text_size - length, "%s%s", length > 0 ? "; " : "", more);
}

static void describe_most(const sfreport_most_t *most, int32_t nranks, const char *what, char *text, size_t text_size)
{
  char part[160];
  double mean = (double)most->sum / nranks;
  if (most->edges < NAMED_FROM || (double)most->edges < 2 * mean)
    return;
  snprintf(part, sizeof part, "rank %d has %" PRIu64 " of %" PRIu64 " edges on its %s, %.1f times the mean", most->rank,
           most->edges, most->sum, what, (double)most->edges / mean);
  append(text, text_size, part);
}

void sfreport_shape_describe(const sfreport_shape_t *shape, char *text, size_t text_size)
{
  char part[160];
  bool exact;
  uint64_t top = sfreport_shape_top(shape, &exact);
  text[0] = '\0';
  if (shape->nranks == 0)
    return;
  describe_most(&shape->roots, shape->nranks, "roots", text, text_size);
  describe_most(&shape->leaves, shape->nranks, "leaves", text, text_size);
  if (top < NAMED_FROM || 2 * (double)top * shape->nranks < (double)shape->leaves.sum)
    return;
  snprintf(part, sizeof part, "root %" PRId64 " of rank %d has %s%" PRIu64 " leaves", shape->tops[0].root,
           shape->tops[0].rank, exact ? "" : "at least ", top);
  append(text, text_size, part);
}
