/* Table of listeners: what the rooms do, in this order, when ranks, jobs, groups and graphs fail or end; see
 * jobs/life.h. */
#include "daemon/life.h"

#include "daemon/admin.h"
#include "daemon/data.h"
#include "daemon/membership.h"
#include "daemon/memory.h"
#include "daemon/onesided.h"
#include "daemon/setup.h"

static void close_submit_ring(sfd_rank_t *rank)
{
  sfd_submit_ring_close(rank->submit_ring);
}

static void close_window(sfd_rank_t *rank)
{
  sfd_window_close(rank->window);
}

static void close_offers(sfd_rank_t *rank)
{
  sfd_offers_close(rank->offers);
}

static void withdraw(sfd_job_t *job)
{
  sfd_coordinator_client_withdraw(job, SF_ERR_RANK_FAILED);
}

static void fail_forming(sfd_job_t *job)
{
  sfd_groups_fail(job, SF_ERR_RANK_FAILED, job->detail);
}

static void fail_setups(sfd_job_t *job)
{
  sfd_setups_fail(job, SF_ERR_RANK_FAILED, job->detail);
}

static void fail_barriers(sfd_job_t *job)
{
  sfd_barriers_fail(job, SF_ERR_RANK_FAILED, job->detail);
}

static void free_trunk_regions(sfd_job_t *job)
{
  sfd_trunk_regions_release(job->trunk_regions);
}

static void watch_calls(sfd_graph_t *graph)
{
  sfd_calls_watch(graph);
}

static void let_streams_go(sfd_graph_t *graph, const char *detail)
{
  (void)detail;
  sfd_trunks_let_go(graph->trunks);
}

static void fail_barrier(sfd_graph_t *graph, const char *detail)
{
  (void)detail;
  sfd_barrier_graph_failed(graph);
}

static void free_trunks(sfd_graph_t *graph)
{
  sfd_trunks_free(graph->trunks);
}

static void free_offers(sfd_graph_t *graph)
{
  sfd_offers_free(graph->offers);
}

static void free_calls(sfd_graph_t *graph)
{
  sfd_calls_free(graph->calls);
}

const sfd_life_t sfd_life = {
    .agreements =
        {
            [SFPEER__ARRIVE__KIND__GROUP] = &sfd_group_agreement,
            [SFPEER__ARRIVE__KIND__GRAPH_EDGES] = &sfd_setup_edges_agreement,
            [SFPEER__ARRIVE__KIND__GRAPH_LANES] = &sfd_setup_lanes_agreement,
            [SFPEER__ARRIVE__KIND__GRAPH_AGAIN] = &sfd_setup_vote_agreement,
        },
    .submitted =
        {
            [SFSHM_SUBMIT_SEND] = sfd_trunks_submit,
            [SFSHM_SUBMIT_CREDIT] = sfd_trunks_submit,
            [SFSHM_SUBMIT_AWAIT] = sfd_trunks_submit,
            [SFSHM_SUBMIT_SOURCE] = sfd_offers_submit,
            [SFSHM_SUBMIT_TARGET] = sfd_offers_submit,
            [SFSHM_SUBMIT_ARRAY] = sfd_window_submit,
        },
    .rank_lost =
        {
            sfd_segments_free, /* memory that others have mapped */
            sfd_regions_leave, /* device memory that nobody has opened */
        },
    .rank_freed =
        {
            sfd_segments_free, sfd_regions_free, close_submit_ring, close_window, close_offers,
            sfd_trace_keep, /* takes the counters, which are closed next */
        },
    .job_failed =
        {
            fail_forming,         /* answers members that wait for a group */
            fail_setups,          /* answers members that wait for a graph, and frees graphs in set-up */
            fail_barriers,        /* answers members in barriers */
            sfd_trunks_fail_job,  /* releases device streams, as nothing comes any more */
            sfd_job_alert_failed, /* last, so that ranks that wait have an answer before the alert */
        },
    .joining_failed =
        {
            withdraw,                /* the coordinator drops its ranks */
            sfd_job_dismiss_joining, /* then answers them */
        },
    .job_freed = {free_trunk_regions},
    .member_gone = {sfd_setups_member_gone},
    .members_swept = {sfd_setups_sweep},
    .group_freed = {sfd_proposal_free_plans},
    .graph_set_up =
        {
            sfd_setup_free, watch_calls, /* compares the calls of its ranks from now on */
        },
    .graph_failed =
        {
            let_streams_go,         /* what device streams wait for does not come any more */
            sfd_graph_alert_failed, /* alerts members */
            fail_barrier,           /* answers members in the barrier */
        },
    .graph_freed =
        {
            sfd_setup_free,
            free_trunks,
            sfd_array_graph_freed, /* operations under way keep its memory */
            free_offers,
            free_calls,
            sfd_barrier_free,
        },
    .graph_named = {sfd_calls_named},
    .unknown_graph_named = {sfd_calls_named_gone},
};
