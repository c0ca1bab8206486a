/* Registered regions: see device_region.h. The daemon's thread. */
#include "daemon/memory/device_region.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base.h"
#include "daemon/jobs.h"
#include "shm/base/error.h"

static sfd_region_t *find(const sfd_rank_t *rank, uint64_t number)
{
  return sfd_id_map_find(rank->regions_by_number, number);
}

/* ---- Adding ------------------------------------------------------------------------------------------------------ */

static void free_region(sfd_rank_t *rank, sfd_region_t *region)
{
  rank->job->device_bytes -= region->lasting_bytes;
  sfd_id_map_remove(&rank->regions_by_number, region);
  TAILQ_REMOVE(&rank->regions, region, entry);
  rank->nregions--;
  sfd_holders_free(&region->holders);
  sfd_job_close_fd(rank->job, region->fd);
  free(region);
}

static sf_status_t check_quota(const sfd_job_t *job, uint64_t more)
{
  uint64_t quota = (uint64_t)job->server->options->max_device_memory << 20, used = job->device_bytes;
  if (job->server->options->max_device_memory < 0 || (used <= quota && more <= quota - used))
    return SF_OK;
  return sfshm_error(SF_ERR_LIMIT,
                     "the job may have %lld MiB of device memory of the library's on this node (option "
                     "max-device-memory), has %" PRIu64 " bytes of it, and wants %" PRIu64 " more",
                     (long long)job->server->options->max_device_memory, used, more);
}

static sf_status_t check(const sfd_rank_t *rank, const Sfproto__RegionAdd *add)
{
  if (find(rank, add->region) != NULL)
    return sfshm_error(SF_ERR_EXISTS, "region %" PRIu64 " exists", add->region);
  if (rank->nregions >= rank->job->server->options->max_regions)
    return sfshm_error(SF_ERR_LIMIT, "a rank may register %lld regions (option max-regions)",
                       (long long)rank->job->server->options->max_regions);
  if (add->has_handle && (add->handle.len == 0 || add->handle.len > SFD_MAX_HANDLE_BYTES))
    return sfshm_error(SF_ERR_ARG, "region %" PRIu64 ": a handle of %zu bytes, 1 to %d expected", add->region,
                       add->handle.len, SFD_MAX_HANDLE_BYTES);
  return add->has_lasting_bytes ? check_quota(rank->job, add->lasting_bytes) : SF_OK;
}

static sf_status_t keep(sfd_rank_t *rank, const sfd_region_t *from, sfd_region_t **region_p)
{
  sfd_region_t *region = malloc(sizeof *region);
  if (region != NULL)
    *region = *from;
  if (region == NULL || !sfd_id_map_insert(&rank->regions_by_number, region)) {
    free(region);
    return sfshm_error(SF_ERR_NOMEM, "no memory for region %" PRIu64, from->number);
  }
  TAILQ_INSERT_TAIL(&rank->regions, region, entry);
  rank->nregions++;
  rank->job->device_bytes += region->lasting_bytes;
  *region_p = region;
  return SF_OK;
}

/* Takes the descriptor, if there is one. */
static sf_status_t add_region(sfd_rank_t *rank, const Sfproto__RegionAdd *add, int fd)
{
  sf_status_t status = check(rank, add);
  if (status == SF_OK && fd >= 0 && !add->has_handle)
    status = sfshm_error(SF_ERR_PROTO, "region %" PRIu64 ": a descriptor without a handle", add->region);
  if (status != SF_OK)
    return status;
  sfd_region_t *kept = NULL, region = {.number = add->region,
                                       .length = add->length,
                                       .kind = add->kind,
                                       .method = add->method,
                                       .handle_bytes = add->has_handle ? add->handle.len : 0,
                                       .fd = -1,
                                       .offset = add->has_offset ? add->offset : 0,
                                       .lasting_bytes = add->has_lasting_bytes ? add->lasting_bytes : 0};
  if (region.handle_bytes > 0)
    memcpy(region.handle, add->handle.data, region.handle_bytes);
  status = keep(rank, &region, &kept);
  if (status != SF_OK || fd < 0)
    return status;
  status = sfd_job_hold_fd(rank->job);
  if (status == SF_OK)
    kept->fd = fd;
  else
    free_region(rank, kept);
  return status;
}

void sfd_region_handle_add(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  sf_status_t status = add_region(session->rank, message->region_add, nfds > 0 ? fds[0] : -1);
  if (status != SF_OK) {
    sfd_session_send_error(session, message->request, status, sfshm_error_detail());
    return;
  }
  if (nfds > 0)
    fds[0] = -1;
  sfd_session_send_done(session, message->request);
}

/* ---- Holders ----------------------------------------------------------------------------------------------------- */

static void alert_holders(const sfd_rank_t *rank, const sfd_region_t *region)
{
  Sfproto__Alert alert =
      SFPROTO_BODY(alert, .kind = SFPROTO__ALERT__KIND__REGION_REVOKED, SFPROTO_HAS(region, region->number));
  sfd_holders_send_alert(&region->holders, rank, &alert);
}

/* Answers the owner's RegionRemove. */
static void end_removal(sfd_rank_t *rank, sfd_region_t *region)
{
  uint64_t request = region->remove_request;
  bool abandoned = region->abandoned;
  free_region(rank, region);
  if (abandoned)
    return;
  rank->npending--;
  if (sfd_rank_connected(rank))
    sfd_session_send_done(rank->session, request);
}

static void drop_holder(sfd_rank_t *owner, sfd_region_t *region, int32_t number)
{
  if (sfd_holders_remove(&region->holders, number) && region->holders.n == 0 && region->revoked)
    end_removal(owner, region);
}

/* The rank has no region of others open any more. */
static void release_all(sfd_rank_t *rank)
{
  sfd_job_t *job = rank->job;
  for (int32_t r = 0; r < job->size; r++) {
    if (job->ranks[r] == NULL)
      continue;
    SFD_FOREACH_SAFE (sfd_region_t, region, &job->ranks[r]->regions, entry)
      drop_holder(job->ranks[r], region, rank->number);
  }
}

void sfd_regions_leave(sfd_rank_t *rank)
{
  release_all(rank);
  SFD_FOREACH_SAFE (sfd_region_t, region, &rank->regions, entry) {
    if (!region->revoked)
      alert_holders(rank, region);
    if (region->lasting_bytes > 0 && region->holders.n > 0)
      region->revoked = region->abandoned = true;
    else
      free_region(rank, region);
  }
}

void sfd_regions_free(sfd_rank_t *rank)
{
  while (!TAILQ_EMPTY(&rank->regions))
    free_region(rank, TAILQ_FIRST(&rank->regions));
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* A region of that rank; NULL: none, and the request has been answered. */
static sfd_region_t *find_of(sfd_session_t *session, uint64_t request, int32_t number, uint64_t region_number)
{
  const sfd_job_t *job = session->rank->job;
  if (number < 0 || number >= job->size) {
    sfd_session_send_errorf(session, request, SF_ERR_ARG, "region of rank %d: the job has ranks 0 to %d", number,
                            job->size - 1);
    return NULL;
  }
  sfd_region_t *region = job->ranks[number] != NULL ? find(job->ranks[number], region_number) : NULL;
  if (region == NULL)
    sfd_session_send_errorf(session, request, SF_ERR_NOT_FOUND, "rank %d has no region %" PRIu64 " here", number,
                            region_number);
  return region;
}

static void send_region(sfd_session_t *session, uint64_t request, sfd_region_t *region)
{
  Sfproto__Region answer = SFPROTO_BODY(region, .length = region->length);
  Sfproto__Message reply = SFPROTO_MESSAGE(REGION, region, &answer);
  answer.handle.data = region->handle;
  answer.handle.len = region->handle_bytes;
  answer.offset = region->offset;
  reply.request = request;
  sfd_session_send(session, &reply, &region->fd, region->fd >= 0);
}

void sfd_region_handle_get(sfd_session_t *session, const Sfproto__Message *message)
{
  const Sfproto__RegionGet *get = message->region_get;
  if (sfd_job_answer_failed(session->rank, message->request))
    return;
  sfd_region_t *region = find_of(session, message->request, get->rank, get->region);
  if (region == NULL)
    return;
  if (region->handle_bytes == 0 || region->revoked) {
    sfd_session_send_errorf(session, message->request, SF_ERR_STATE, "region %" PRIu64 " of rank %d %s", get->region,
                            get->rank, region->revoked ? "is being removed" : "cannot be opened by others");
    return;
  }
  if (!sfd_holders_add(&region->holders, session->rank)) {
    sfd_session_send_errorf(session, message->request, SF_ERR_NOMEM, "no memory to note who uses region %" PRIu64,
                            get->region);
    return;
  }
  send_region(session, message->request, region);
}

void sfd_region_handle_closed(sfd_session_t *session, const Sfproto__Message *message)
{
  const Sfproto__RegionClosed *closed = message->region_closed;
  sfd_job_t *job = session->rank->job;
  sfd_region_t *region = find_of(session, message->request, closed->rank, closed->region);
  if (region == NULL)
    return;
  drop_holder(job->ranks[closed->rank], region, session->rank->number);
  sfd_session_send_done(session, message->request);
}

/* Revokes a region that others have open: it goes when the last one has closed it, for which the owner may wait. */
static void revoke_region(sfd_rank_t *rank, sfd_region_t *region, uint64_t request, bool wait)
{
  region->revoked = true;
  region->abandoned = !wait;
  region->remove_request = request;
  alert_holders(rank, region);
  if (wait)
    rank->npending++;
  else
    sfd_session_send_done(rank->session, request);
}

void sfd_region_handle_remove(sfd_session_t *session, const Sfproto__Message *message)
{
  const Sfproto__RegionRemove *remove = message->region_remove;
  sfd_region_t *region = find(session->rank, remove->region);
  bool wait = !remove->has_at_once || !remove->at_once;
  if (region == NULL || region->revoked) {
    sfd_session_send_errorf(session, message->request, SF_ERR_NOT_FOUND, "there is no region %" PRIu64, remove->region);
  } else if (!wait && region->lasting_bytes == 0) {
    sfd_session_send_errorf(session, message->request, SF_ERR_ARG,
                            "region %" PRIu64 " is memory of the application, which does not last", remove->region);
  } else if (region->holders.n == 0) {
    free_region(session->rank, region);
    sfd_session_send_done(session, message->request);
  } else {
    revoke_region(session->rank, region, message->request, wait);
  }
}
