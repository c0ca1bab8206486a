/* Who says by hand what a peer of a tcp fabric would say, and how peers find that they do not fit; for tests. */
#ifndef SFTEST_TCP_STRANGER_H
#define SFTEST_TCP_STRANGER_H

#include "daemon/net/fabric/tcp/auth.h"
#include "tests/unit/tcp_cluster.h"

/* Sends all of it, or reads that much of the answer while the loop runs. */
void sftest_tcp_say(int fd, const void *bytes, size_t size);
void sftest_tcp_hear(int fd, void *bytes, size_t size);

/* A true hello, of so many nodes. */
void sftest_tcp_hello(sfd_tcp_hello_t *hello, int32_t from, int32_t to, int32_t nnodes);

/* A true hello of node 1 to node 0, of two, and the answer. */
void sftest_tcp_greet(int fd, sfd_tcp_hello_t *hello, sfd_tcp_challenge_t *challenge);

/* The fabric ends the connection, without being told to. Closes the descriptor. */
void sftest_tcp_expect_thrown_out(int fd);

/* Nodes 0 and 1. */
void sftest_tcp_create_pair(const sfd_tcp_options_t *zero, const sfd_tcp_options_t *one);

/* The node's attempt to connect to the peer fails, once, with these words, and there is no stream on either side. */
void sftest_tcp_expect_failure(int node, int peer, sf_status_t status, const char *words);

#endif
