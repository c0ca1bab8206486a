/* Setting up graphs by hand, for tests of the daemon. */
#ifndef SFTEST_DAEMON_GRAPHS_H
#define SFTEST_DAEMON_GRAPHS_H

#include "tests/unit/daemon_fixture.h"

#define SFTEST_MAX_RANKS 80

/* What one rank says in round 1: it has edges to these root ranks. */
typedef struct sftest_edges {
  uint64_t group;
  uint32_t flags;
  int32_t nblocks;
  int32_t ranks[SFTEST_MAX_RANKS];
  Sfproto__SetupError *error; /* NULL: none */
  bool at_once;               /* with the lanes of sftest_send_lanes to these ranks; */
  int32_t more_lanes;         /* and so many fewer or more of them */
  int64_t root_max;           /* then: as it is said; -1: it is not */
} sftest_edges_t;

/* 10 roots and 1000 leaves; block i for ranks[i] has offset 128 * (i + 1), 4 edges and 3 values. */
void sftest_send_edges(sftest_client_t *client, const sftest_edges_t *edges);

/* What one rank hears in round 1: the graph, and the leaf ranks, n of them. */
typedef struct sftest_peers {
  uint64_t graph;
  int32_t n;
  int nmessages;
  int32_t ranks[SFTEST_MAX_RANKS];
  uint64_t offsets[SFTEST_MAX_RANKS];
  bool ready;
  int32_t nlanes; /* told with that, by these ranks: the place of their slots */
  int32_t lane_ranks[SFTEST_MAX_RANKS];
  uint64_t slots[SFTEST_MAX_RANKS];
} sftest_peers_t;

/* Takes all GraphReply of a round and checks their descriptors and numbers. */
void sftest_expect_peers(sftest_client_t *client, sftest_peers_t *peers);

/* GraphCommit with lanes to these ranks of the group; their slots are at 128 * (rank + 1) of the inbox and their
 * control lines 64 bytes behind. */
void sftest_send_lanes(sftest_client_t *client, uint64_t graph, const int32_t ranks[], int32_t n,
                       Sfproto__SetupError *error);

/* GraphReply with lanes from these ranks; own is the group rank of the client, job_ranks NULL if the same. */
void sftest_expect_ready(sftest_client_t *client, uint64_t graph, int32_t own, const int32_t ranks[], int32_t n,
                         const int32_t job_ranks[]);

/* Sets up the graph in which every rank has edges to the next one of the group of all, 2 to size clients. */
uint64_t sftest_ring(sftest_client_t clients[], int32_t size);

/* sftest_daemon_for_case with two ranks of another job, which notice nothing of a test and are served after it. */
void sftest_daemon_beside_job(TCase *tcase);

Sfproto__SetupError sftest_setup_error(sf_status_t status, int32_t rank, int64_t leaf, const char *detail);

#endif
