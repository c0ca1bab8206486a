/* Several daemons on this host that know each other, as the nodes of jobs: fabric tcp on loopback, each with a key file
 * in its directory, and on a port that nobody else can have meanwhile. A cluster of one is a daemon that is alone. */
#ifndef SFTEST_CLUSTER_H
#define SFTEST_CLUSTER_H

#include "tests/system/harness.h"
#include "tests/system/hosts.h"

#define SFTEST_NODES_MAX 4

typedef struct sftest_cluster {
  int32_t nnodes;
  sftest_node_t nodes[SFTEST_NODES_MAX];
  int ports[SFTEST_NODES_MAX];
  int reserved[SFTEST_NODES_MAX]; /* sockets that keep the ports while no daemon listens there */
  char peers[32 * SFTEST_NODES_MAX];
  const sftest_hosts_t *hosts; /* NULL: all are on this one */
  const char *log_level; /* NULL: sfd's errors go where those of the test go; else logs are files in the directories */
  int connect_timeout_s; /* of daemons that are started from now on; 0: as ever */
  int fds[SFTEST_NODES_MAX]; /* descriptors of each daemon while no job is there: see sftest_cluster_warm */
} sftest_cluster_t;

void sftest_cluster_start(sftest_cluster_t *cluster, int32_t nnodes);
void sftest_cluster_start_warm(sftest_cluster_t *cluster, int32_t nnodes); /* and sftest_cluster_warm */
void sftest_cluster_start_logging(sftest_cluster_t *cluster, int32_t nnodes, const char *log_level);

/* One daemon on each host. */
void sftest_cluster_start_on(sftest_cluster_t *cluster, const sftest_hosts_t *hosts);

/* Kills a daemon with SIGKILL; starts another one in its place. */
void sftest_cluster_kill(sftest_cluster_t *cluster, int32_t node);
void sftest_cluster_restart(sftest_cluster_t *cluster, int32_t node);

/* Ends all daemons, those that run with SIGTERM, and removes what is theirs. Fails the test if something is left. */
void sftest_cluster_stop(sftest_cluster_t *cluster);

/* Has every two daemons talk to each other, by a job with a rank on each node, and notes what they hold then. The job
 * has to succeed: this is also how a test shows that the cluster serves. */
void sftest_cluster_warm(sftest_cluster_t *cluster);

/* Waits until the daemons hold no more than they held then; fails the test if they do not come to that. */
void sftest_cluster_settle(const sftest_cluster_t *cluster);

/* A cluster for all tests of a case, of which a program has one: they find it warm. */
extern sftest_cluster_t sftest_case_cluster;
void sftest_cluster_for_case(TCase *tests, int32_t nnodes);

/* Another one for each test: setups and teardown. */
void sftest_two_nodes(void);
void sftest_three_nodes(void);
void sftest_four_nodes(void);
void sftest_stop_nodes(void);

/* The node that assembles a job of this user if none is lost, as daemons choose it: docs/peer-protocol.md. */
int32_t sftest_coordinator_of(const char *job, int32_t nnodes);

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

/* Fills places[0..size-1], for sftest_job_start_over. */
void sftest_places_block(int32_t places[], int32_t size, int32_t nnodes);
void sftest_places_cyclic(int32_t places[], int32_t size, int32_t nnodes);

/* Anything: uneven, one rank on a node, nodes without ranks. */
void sftest_places_random(int32_t places[], int32_t size, int32_t nnodes, uint64_t *random);

/* One of these, at random, on all or some of up to max_nodes nodes: on two or more, unless there is but one. */
void sftest_places_choose(int32_t places[], int32_t size, int32_t max_nodes, uint64_t *random);

/* Runs a job, expects success of all ranks, and waits until the daemons have let go of it. */
void sftest_cluster_run(const sftest_cluster_t *cluster, const int32_t places[], int32_t size, sftest_rank_fn_t run,
                        void *argument);

/* Data messages that all nodes have sent to others since they started, and the bytes in them, headers and credits
 * apart. */
typedef struct sftest_traffic {
  uint64_t messages;
  uint64_t bytes;
} sftest_traffic_t;
sftest_traffic_t sftest_cluster_traffic(const sftest_cluster_t *cluster);

#endif
