/* Parts of graphs over nodes: see parts.h. The daemon's thread. */
#include "daemon/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/network.h"
#include "daemon/segment.h"
#include "daemon/trunks_internal.h"
#include "shm/error.h"
#include "shm/merge/remains.h"

/* Between a node and all others. The daemon does nothing else meanwhile: larger graphs are set up the ordinary way,
 * which has threads. */
#define PARTS_MAX_VALUES (INT64_C(1) << 20)

typedef struct sfd_notice {
  int32_t node;
  void *memory;
  size_t bytes;
} sfd_notice_t;

struct sfd_parts {
  sfd_trunk_plan_t *whole;  /* NULL: it has no trunks here, or the members have not come */
  sfshm_remains_t *remains; /* by side of the whole: of those as leaf */
  sfd_notice_t *notices;
  int32_t nnotices;
  bool agreed; /* it goes on when the last notice is there */
};

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

static sfd_parts_t *parts_of(sfd_graph_t *graph)
{
  if (graph->setup->parts == NULL)
    graph->setup->parts = calloc(1, sizeof(sfd_parts_t));
  return graph->setup->parts;
}

void sfd_parts_free(sfd_parts_t *parts)
{
  if (parts == NULL)
    return;
  for (uint32_t i = 0; parts->remains != NULL && i < parts->whole->nsides; i++)
    sfshm_remains_free(&parts->remains[i]);
  for (int32_t i = 0; i < parts->nnotices; i++)
    free(parts->notices[i].memory);
  sfd_trunk_plan_let_go(parts->whole);
  free(parts->remains);
  free(parts->notices);
  free(parts);
}

static const sfshm_trunk_side_t *side_of(const sfd_trunk_plan_t *plan, uint32_t i)
{
  return &((const sfshm_trunk_map_t *)plan->map.base)->sides[i];
}

static sf_status_t open_side(const sfd_trunk_plan_t *plan, uint32_t i, sfshm_image_t *image)
{
  const sfshm_trunk_side_t *side = side_of(plan, i);
  sf_status_t status =
      sfshm_image_open((const char *)plan->map.base + side->image, side->image_bytes,
                       side->role == SFSHM_AS_ROOT ? SFSHM_ROOT_IMAGE_MAGIC : SFSHM_LEAF_IMAGE_MAGIC, image);
  if (status == SF_OK && image->header.uncombined != 0)
    status = sfshm_error(SF_ERR_STATE, "a graph whose contributions travel uncombined");
  return status;
}

/* ---- What ranks say ---------------------------------------------------------------------------------------------- */

/* Which of a member's values from one other node remain: the next of its sets. */
static sf_status_t read_set(const sfd_graph_t *graph, int32_t place, int64_t nvalues, uint64_t **set_p)
{
  sfd_setup_member_t *member = sfd_setup_member(graph, place);
  const sfd_segment_t *segment = sfd_segment_find(sfd_group_member(graph->group, place), member->far_segment);
  uint64_t bytes = ((uint64_t)nvalues + 63) / 64 * sizeof **set_p;
  if (segment == NULL || member->far_marks > segment->length || bytes > segment->length - member->far_marks)
    return sfshm_error(SF_ERR_PROTO, "group rank %d marks no values of another node", place);
  *set_p = malloc(bytes + 1);
  if (*set_p == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%" PRId64 " values", nvalues);
  sf_status_t status = sfshm_read(segment->fd, member->far_marks, bytes, *set_p);
  member->far_marks += bytes;
  return status;
}

static sf_status_t read_sets(const sfd_graph_t *graph, const sfshm_image_t *image, uint64_t *sets[])
{
  sf_status_t status = SF_OK;
  for (uint32_t i = 0; i < image->header.nparts && status == SF_OK; i++)
    status = read_set(graph, sfshm_leaf_parts(image)[i].rank, sfshm_leaf_parts(image)[i].from.n, &sets[i]);
  return status;
}

/* The values of ranks that are looked at on a side of leaves; the positions, on one of roots. */
static int64_t count_values(const sfshm_image_t *image)
{
  int64_t n = 0;
  if (image->header.magic == SFSHM_ROOT_IMAGE_MAGIC)
    return image->header.bcast_values;
  for (uint32_t i = 0; i < image->header.nparts; i++)
    n += sfshm_leaf_parts(image)[i].from.n;
  return n;
}

/* Before anything is made. */
static sf_status_t check_size(const sfd_parts_t *parts)
{
  int64_t room = PARTS_MAX_VALUES;
  for (uint32_t i = 0; i < parts->whole->nsides; i++) {
    sfshm_image_t image;
    sf_status_t status = open_side(parts->whole, i, &image);
    if (status != SF_OK)
      return status;
    int64_t n = count_values(&image);
    if (n > room)
      return sfshm_error(SF_ERR_LIMIT, "more than %" PRId64 " values between this node and others", PARTS_MAX_VALUES);
    room -= n;
  }
  return SF_OK;
}

static sf_status_t find_remains_of(const sfd_graph_t *graph, uint32_t side, const sfshm_image_t *image)
{
  const sfd_parts_t *parts = graph->setup->parts;
  const sfd_plan_side_t *owners = &parts->whole->sides[side];
  uint64_t **sets = calloc((size_t)image->header.nparts + 1, sizeof *sets);
  sf_status_t status =
      sets != NULL ? read_sets(graph, image, sets) : sfshm_error(SF_ERR_NOMEM, "%u sets", image->header.nparts);
  if (status == SF_OK)
    status = sfshm_remains_of_leaves(image, owners->owner_ends, owners->nowners, (const uint64_t *const *)sets,
                                     &parts->remains[side]);
  for (uint32_t i = 0; sets != NULL && i < image->header.nparts; i++)
    free(sets[i]);
  free(sets);
  return status;
}

/* Ranks have their sets in the order of the sides. */
static sf_status_t find_remains(sfd_graph_t *graph)
{
  sfd_parts_t *parts = graph->setup->parts;
  sf_status_t status = SF_OK;
  parts->remains = calloc(parts->whole->nsides, sizeof *parts->remains);
  if (parts->remains == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%u sides of trunks", parts->whole->nsides);
  for (uint32_t i = 0; i < parts->whole->nsides && status == SF_OK; i++) {
    sfshm_image_t image;
    status = open_side(parts->whole, i, &image);
    if (status == SF_OK && side_of(parts->whole, i)->role == SFSHM_AS_LEAF)
      status = find_remains_of(graph, i, &image);
  }
  return status;
}

/* ---- Telling ----------------------------------------------------------------------------------------------------- */

static void on_notice_sent(void *notice, sf_status_t status)
{
  (void)status; /* the channel's end fails the job */
  free(notice);
}

/* The notice is given away: the set-up may end before it has left. */
static void send_notice(const sfd_graph_t *graph, int32_t node, sfshm_remains_t *remains)
{
  void *notice = remains->notice;
  sfd_message_head_t head = {
      .kind = SFD_PEER_REMAINS,
      .payload_bytes = remains->notice_bytes,
      .job = graph->group->job->id,
      .object = graph->group->id,
      .desc = graph->number,
  };
  remains->notice = NULL;
  sfd_network_send_payload(graph->group->job->server, node, &head, notice, on_notice_sent, notice);
}

sf_status_t sfd_parts_begin(sfd_graph_t *graph)
{
  const sfd_graph_t *whole = sfd_graph_find(graph->group->job, graph->setup->members[0].again);
  sfd_parts_t *parts = parts_of(graph);
  if (whole == NULL || whole->group != graph->group || whole->state != SFD_GRAPH_READY)
    return sfshm_error(SF_ERR_NOT_FOUND, "graph %" PRIu64 " is not there", graph->setup->members[0].again);
  if (parts == NULL)
    return sfshm_error(SF_ERR_NOMEM, "a part of a graph");
  parts->whole = sfd_trunks_hold_plan(whole->trunks);
  if (parts->whole == NULL)
    return SF_OK;
  sf_status_t status = check_size(parts);
  if (status == SF_OK)
    status = find_remains(graph);
  for (uint32_t i = 0; i < parts->whole->nsides && status == SF_OK; i++)
    if (side_of(parts->whole, i)->role == SFSHM_AS_LEAF)
      send_notice(graph, side_of(parts->whole, i)->node, &parts->remains[i]);
  return status;
}

/* ---- Being told -------------------------------------------------------------------------------------------------- */

static const sfd_notice_t *find_notice(const sfd_parts_t *parts, int32_t node)
{
  for (int32_t i = 0; i < parts->nnotices; i++)
    if (parts->notices[i].node == node)
      return &parts->notices[i];
  return NULL;
}

static bool have_all(const sfd_parts_t *parts)
{
  for (uint32_t i = 0; parts->whole != NULL && i < parts->whole->nsides; i++)
    if (side_of(parts->whole, i)->role == SFSHM_AS_ROOT && find_notice(parts, side_of(parts->whole, i)->node) == NULL)
      return false;
  return true;
}

static sf_status_t keep(sfd_parts_t *parts, int32_t node, void *notice, size_t bytes)
{
  if (parts == NULL)
    return sfshm_error(SF_ERR_NOMEM, "a part of a graph");
  if (find_notice(parts, node) != NULL)
    return sfshm_error(SF_ERR_PROTO, "node %d tells twice what remains of a graph", node);
  sfd_notice_t *notices = realloc(parts->notices, ((size_t)parts->nnotices + 1) * sizeof *notices);
  if (notices == NULL)
    return sfshm_error(SF_ERR_NOMEM, "notice of node %d", node);
  parts->notices = notices;
  parts->notices[parts->nnotices++] = (sfd_notice_t){node, notice, bytes};
  return SF_OK;
}

/* The set-up that the notice is about, begun if need be. One in which all members here have taken part, and which is
 * not there any more, has ended: it was refused, and went the ordinary way without waiting for this. */
static sf_status_t find_setup(sfd_group_t *group, uint64_t number, sfd_graph_t **graph_p)
{
  *graph_p = sfd_setup_find(group, number);
  bool over = *graph_p == NULL;
  for (int32_t i = 0; i < group->nlocals && over; i++)
    over = group->members[group->locals[i]].ngraphs > number;
  return over ? SF_OK : sfd_setup_find_gathering(group, number, graph_p);
}

static bool takes_notices(const sfd_graph_t *graph)
{
  const sfd_setup_t *setup = graph->setup;
  bool waits = graph->state == SFD_GRAPH_COMMITTING && setup->parts != NULL && setup->parts->agreed;
  return !setup->refused && (graph->state == SFD_GRAPH_GATHERING || waits);
}

static void go_on(sfd_graph_t *graph, sf_status_t status);

sf_status_t sfd_parts_arrived(sfd_group_t *group, int32_t node, const sfd_message_head_t *head, void *notice)
{
  sfd_graph_t *graph = NULL;
  sf_status_t status = find_setup(group, head->desc, &graph);
  if (graph == NULL || !takes_notices(graph)) {
    free(notice);
    return status;
  }
  status = keep(parts_of(graph), node, notice, head->payload_bytes);
  if (status != SF_OK)
    free(notice);
  else if (graph->state == SFD_GRAPH_COMMITTING && have_all(graph->setup->parts))
    go_on(graph, SF_OK);
  return status;
}

/* ---- Trunks ------------------------------------------------------------------------------------------------------ */

/* What remains of a side; image NULL: nothing. */
static sf_status_t make_source(const sfd_graph_t *graph, uint32_t i, sfd_trunk_source_t *source)
{
  const sfd_parts_t *parts = graph->setup->parts;
  const sfshm_trunk_side_t *side = side_of(parts->whole, i);
  const sfshm_remains_t *remains = &parts->remains[i];
  sfshm_image_t image;
  *source = (sfd_trunk_source_t){.node = side->node, .role = (sfshm_trunk_role_t)side->role};
  if (side->role == SFSHM_AS_LEAF) {
    source->image = remains->leaf_image;
    source->image_bytes = remains->leaf_image_bytes;
    source->owner_ends = remains->owner_ends;
    source->nowners = parts->whole->sides[i].nowners;
    return SF_OK;
  }
  const sfd_notice_t *notice = find_notice(parts, side->node);
  void *made = NULL;
  if (notice == NULL)
    return sfshm_error(SF_ERR_PROTO, "node %d has not told what remains of a graph", side->node);
  sf_status_t status = open_side(parts->whole, i, &image);
  if (status == SF_OK)
    status =
        sfshm_remains_of_roots(&image, notice->memory, notice->bytes, graph->group->size, &made, &source->image_bytes);
  source->image = made;
  return status;
}

static sf_status_t make_sources(const sfd_graph_t *graph, sfd_trunk_source_t sources[], uint32_t *n)
{
  sf_status_t status = SF_OK;
  for (uint32_t i = 0; i < graph->setup->parts->whole->nsides && status == SF_OK; i++) {
    status = make_source(graph, i, &sources[*n]);
    *n += status == SF_OK && sources[*n].image != NULL;
  }
  return status;
}

static sf_status_t make_trunks(sfd_graph_t *graph)
{
  const sfd_parts_t *parts = graph->setup->parts;
  uint32_t n = 0;
  if (parts->whole == NULL)
    return SF_OK;
  sfd_trunk_source_t *sources = calloc(parts->whole->nsides, sizeof *sources);
  sf_status_t status = sources != NULL ? make_sources(graph, sources, &n)
                                       : sfshm_error(SF_ERR_NOMEM, "%u sides of trunks", parts->whole->nsides);
  if (status == SF_OK)
    status = sfd_trunks_create(graph, sources, n);
  for (uint32_t i = 0; i < n; i++)
    if (sources[i].role == SFSHM_AS_ROOT) /* the others are those of the set-up */
      free((void *)(uintptr_t)sources[i].image);
  free(sources);
  return status;
}

/* With an error of this node, or all notices. */
static void go_on(sfd_graph_t *graph, sf_status_t status)
{
  graph->setup->parts->agreed = false;
  if (status == SF_OK)
    status = make_trunks(graph);
  if (sfd_agreement_is_pair(graph->group))
    sfd_setup_become_ready(graph, status);
  else
    sfd_setup_finish_commit(graph, status);
}

void sfd_parts_agreed(sfd_graph_t *graph, sf_status_t status)
{
  sfd_setup_begin_commit(graph);
  graph->setup->parts->agreed = true;
  if (status != SF_OK || sfd_agreement_is_pair(graph->group) || have_all(graph->setup->parts))
    go_on(graph, status);
}
