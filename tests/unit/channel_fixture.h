/* Nodes with channels over the loop fabric, which remember what they were told. */
#ifndef SFTEST_CHANNEL_FIXTURE_H
#define SFTEST_CHANNEL_FIXTURE_H

#include "daemon/net/channel.h"
#include "tests/common/fabric/loop.h"
#include "tests/unit/runner.h"

#define SFTEST_NODES_MAX 4
#define SFTEST_DETAIL_SIZE 512

typedef struct sftest_arrival {
  int32_t from;
  sfd_message_head_t head;
  uint8_t *payload; /* a copy, NULL if there was none */
} sftest_arrival_t;

struct sftest_cluster;

/* A node; the functions, if set, are called in place of, or in front of, what the fixture does. */
typedef struct sftest_node {
  struct sftest_cluster *cluster;
  int32_t number;
  sfd_channels_t *channels; /* NULL if somebody else uses the fabric */
  bool deferred;
  bool closed;
  bool is_told; /* within a handler or done, or the fabric's step */

  size_t narrivals;
  size_t room;
  sftest_arrival_t *arrivals;
  int nplaced; /* buffers that place gave, and neither arrived nor lost took back */
  int nlost;
  int ndown;
  int32_t down_node; /* of the last one */
  sf_status_t down_status;
  char down_detail[SFTEST_DETAIL_SIZE];
  sfd_placing_t placing; /* the answer of place */

  sf_status_t (*on_arrived)(struct sftest_node *node, const sfd_message_head_t *head);
  void (*on_place)(struct sftest_node *node, const sfd_message_head_t *head);
  void (*on_down)(struct sftest_node *node);
  uint8_t *buffers[SFTEST_NODES_MAX]; /* the one given, by sender */
} sftest_node_t;

typedef struct sftest_cluster {
  sftest_fabric_hub_t *hub;
  int32_t nnodes;
  sftest_node_t nodes[SFTEST_NODES_MAX];
} sftest_cluster_t;

/* What became of a message's done. */
typedef struct sftest_done {
  int calls;
  sf_status_t status;
} sftest_done_t;

void sftest_cluster_start(sftest_cluster_t *cluster, int32_t nnodes);

/* Lets node number be used by the test itself: it has no channels. Right after the start. */
void sftest_cluster_bare(sftest_cluster_t *cluster, int32_t number);

/* Steps until nothing moves any more. */
void sftest_cluster_run(sftest_cluster_t *cluster);
void sftest_cluster_step(sftest_cluster_t *cluster);

/* Closes all channels, checks that all ends, and frees everything. */
void sftest_cluster_stop(sftest_cluster_t *cluster);

/* Sends with kind 1 and the number as desc. */
sf_status_t sftest_send_message(sftest_cluster_t *cluster, int32_t from, int32_t to, uint64_t number,
                                const void *payload, size_t nbytes, sftest_done_t *done);

/* The i-th arrival at a node is this. */
void sftest_expect_arrival(const sftest_node_t *node, size_t i, uint64_t number, const void *payload, size_t nbytes);

/* The node was told once that a channel ended, and of this one; the text holds the given one. */
void sftest_expect_down(const sftest_node_t *node, int32_t other, sf_status_t status, const char *text);

#endif
