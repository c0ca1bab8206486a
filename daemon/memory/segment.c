/* Segments of ranks: see segment.h. The daemon's thread. */
#include "daemon/memory/segment.h"

#include <inttypes.h>
#include <stdlib.h>

#include "daemon/base.h"
#include "shm/base/error.h"
#include "shm/region/inbox.h"

sfd_segment_t *sfd_segment_find(const sfd_rank_t *rank, uint64_t number)
{
  return sfd_id_map_find(rank->segments_by_number, number);
}

static bool has_room(const sfd_rank_t *rank)
{
  return rank->nsegments < rank->job->server->options->max_segments;
}

static sf_status_t verify(uint64_t number, uint64_t length, sfshm_region_kind_t kind, int fd, size_t *length_p)
{
  sf_status_t status = sfshm_region_verify(fd, kind, SFD_MAX_REGION_BYTES, length_p);
  if (status == SF_OK && length != 0 && *length_p != length)
    return sfshm_error(SF_ERR_ARG, "segment %" PRIu64 " has %zu bytes, not %" PRIu64 " as said", number, *length_p,
                       length);
  return status;
}

static void free_segment(sfd_rank_t *rank, sfd_segment_t *segment)
{
  sfd_id_map_remove(&rank->segments_by_number, segment);
  TAILQ_REMOVE(&rank->segments, segment, entry);
  rank->nsegments--;
  sfd_job_close_fd(rank->job, segment->fd);
  sfd_shared_mapping_release(segment->mapping);
  sfd_holders_free(&segment->holders);
  free(segment);
}

/* Maps sf_alloc memory for workers, before the segment gets its last seal. NULL: not possible; then workers don't copy
 * there. */
static sfd_shared_mapping_t *map_for_workers(const sfd_rank_t *rank, sfshm_region_kind_t kind, int fd)
{
  sfshm_region_t region;
  if (kind != SFSHM_REGION_ALLOC || !sfd_server_offloads(rank->job->server) ||
      sfshm_region_map_last(fd, SFSHM_REGION_ALLOC, SFD_MAX_REGION_BYTES, &region) != SF_OK)
    return NULL;
  sfd_shared_mapping_t *mapping = sfd_shared_mapping_create(&region);
  if (mapping == NULL)
    sfshm_region_destroy(&region);
  return mapping;
}

/* Enters a segment without its descriptor. */
static sf_status_t enter_segment(sfd_rank_t *rank, uint64_t number, uint64_t length, sfshm_region_kind_t kind,
                                 sfd_segment_t **segment_p)
{
  sfd_segment_t *segment = calloc(1, sizeof *segment);
  if (segment == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for segment %" PRIu64, number);
  *segment = (sfd_segment_t){.number = number, .length = length, .kind = kind, .fd = -1};
  if (!sfd_id_map_insert(&rank->segments_by_number, segment)) {
    free(segment);
    return sfshm_error(SF_ERR_NOMEM, "no memory for segment %" PRIu64, number);
  }
  TAILQ_INSERT_TAIL(&rank->segments, segment, entry);
  rank->nsegments++;
  *segment_p = segment;
  return SF_OK;
}

sf_status_t sfd_segment_add(sfd_rank_t *rank, uint64_t number, uint64_t length, sfshm_region_kind_t kind, int fd)
{
  if (sfd_segment_find(rank, number) != NULL)
    return sfshm_error(SF_ERR_EXISTS, "segment %" PRIu64 " exists", number);
  if (!has_room(rank))
    return sfshm_error(SF_ERR_LIMIT, "a rank may have %lld segments (option max-segments)",
                       (long long)rank->job->server->options->max_segments);
  size_t found = 0;
  sfd_segment_t *segment = NULL;
  sfd_shared_mapping_t *mapping = map_for_workers(rank, kind, fd);
  sf_status_t status = verify(number, length, kind, fd, &found);
  if (status == SF_OK)
    status = enter_segment(rank, number, found, kind, &segment);
  if (status != SF_OK) {
    sfd_shared_mapping_release(mapping);
    return status;
  }
  segment->mapping = mapping;
  status = sfd_job_hold_fd(rank->job);
  if (status != SF_OK) {
    free_segment(rank, segment);
    return status;
  }
  segment->fd = fd;
  return SF_OK;
}

static void alert_holders(const sfd_rank_t *rank, const sfd_segment_t *segment)
{
  Sfproto__Alert alert =
      SFPROTO_BODY(alert, .kind = SFPROTO__ALERT__KIND__SEGMENT_REMOVED, SFPROTO_HAS(segment, segment->number));
  sfd_holders_send_alert(&segment->holders, rank, &alert);
}

sf_status_t sfd_segment_find_wake(sfd_rank_t *rank)
{
  const sfd_segment_t *segment = sfd_segment_find(rank, 0);
  if (rank->wake != NULL)
    return SF_OK;
  if (segment == NULL)
    return sfshm_error(SF_ERR_STATE, "rank %d has no inbox any more", rank->number);
  sf_status_t status =
      sfshm_region_map_head(segment->fd, SFSHM_REGION_INBOX, sizeof(sfshm_inbox_t), SFSHM_READ_WRITE, &rank->inbox);
  if (status == SF_OK)
    rank->wake = &((sfshm_inbox_t *)rank->inbox.base)->wake;
  return status;
}

void sfd_segments_leave(sfd_rank_t *rank)
{
  SFD_FOREACH_SAFE (sfd_segment_t, segment, &rank->segments, entry) {
    if (segment->kind == SFSHM_REGION_INBOX)
      continue;
    alert_holders(rank, segment);
    free_segment(rank, segment);
  }
}

void sfd_segment_handle_add(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  const Sfproto__SegmentAdd *add = message->segment_add;
  sfshm_region_kind_t kind = add->inbox ? SFSHM_REGION_INBOX : add->array ? SFSHM_REGION_ARRAY : SFSHM_REGION_ALLOC;
  (void)nfds;
  if (add->inbox)
    sfd_session_release_alerts(session); /* the rank may need what others have released */
  sf_status_t status = sfd_segment_add(session->rank, add->segment, add->length, kind, fds[0]);
  if (status != SF_OK) {
    sfd_session_send_error(session, message->request, status, sfshm_error_detail());
    return;
  }
  fds[0] = -1;
  sfd_session_send_done(session, message->request);
}

void sfd_segment_handle_remove(sfd_session_t *session, const Sfproto__Message *message)
{
  uint64_t number = message->segment_remove->segment;
  sfd_segment_t *segment = sfd_segment_find(session->rank, number);
  if (segment == NULL) {
    sfd_session_send_errorf(session, message->request, SF_ERR_NOT_FOUND, "there is no segment %" PRIu64, number);
    return;
  }
  alert_holders(session->rank, segment);
  free_segment(session->rank, segment);
  sfd_session_send_done(session, message->request);
}

static void send_segment(sfd_session_t *session, uint64_t request, const sfd_segment_t *segment)
{
  Sfproto__Message message = SFPROTO_MESSAGE_OF(
      SEGMENT, segment, .length = segment->length, .inbox = segment->kind == SFSHM_REGION_INBOX,
      .has_array = segment->kind == SFSHM_REGION_ARRAY, .array = segment->kind == SFSHM_REGION_ARRAY);
  message.request = request;
  sfd_session_send(session, &message, &segment->fd, 1);
}

void sfd_segment_handle_get(sfd_session_t *session, const Sfproto__Message *message)
{
  const Sfproto__SegmentGet *get = message->segment_get;
  const sfd_job_t *job = session->rank->job;
  if (sfd_job_answer_failed(session->rank, message->request))
    return;
  if (get->rank < 0 || get->rank >= job->size) {
    sfd_session_send_errorf(session, message->request, SF_ERR_ARG, "segment of rank %d: the job has ranks 0 to %d",
                            get->rank, job->size - 1);
    return;
  }
  const sfd_rank_t *owner = job->ranks[get->rank]; /* NULL: on another node */
  sfd_segment_t *segment = owner != NULL ? sfd_segment_find(owner, get->segment) : NULL;
  if (segment == NULL)
    sfd_session_send_errorf(session, message->request, SF_ERR_NOT_FOUND, "rank %d has no segment %" PRIu64 " here",
                            get->rank, get->segment);
  else if (owner != session->rank && !sfd_holders_add(&segment->holders, session->rank))
    sfd_session_send_errorf(session, message->request, SF_ERR_NOMEM, "no memory to note who uses segment %" PRIu64,
                            get->segment);
  else
    send_segment(session, message->request, segment);
}

void sfd_segments_free(sfd_rank_t *rank)
{
  while (!TAILQ_EMPTY(&rank->segments))
    free_segment(rank, TAILQ_FIRST(&rank->segments));
}
