/* Two control connections with each other, and messages of any length to send over them. */
#ifndef SFTEST_CONN_PAIR_H
#define SFTEST_CONN_PAIR_H

#include "proto/conn.h"
#include "tests/unit/runner.h"

extern int sftest_pair_fds_before;
extern sfproto_conn_t *sftest_left;
extern sfproto_conn_t *sftest_right;

void sftest_pair_setup(void);

void sftest_pair_teardown(void);

/* A message of about length bytes. */
void sftest_message_make(Sfproto__Message *message, Sfproto__Error *error, uint64_t request, size_t length);

sf_status_t sftest_pair_queue(sfproto_conn_t *conn, uint64_t request, size_t length, const int fds[], int nfds);

sf_status_t sftest_pair_send(sfproto_conn_t *conn, uint64_t request, size_t length);

void sftest_expect_message(sfproto_incoming_t *incoming, uint64_t request, size_t length, int tag, int nfds);

#endif
