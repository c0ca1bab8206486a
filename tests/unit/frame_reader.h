/* A control connection that a test feeds with frames, byte by byte if it likes. */
#ifndef SFTEST_FRAME_READER_H
#define SFTEST_FRAME_READER_H

#include "tests/unit/frames.h"
#include "tests/unit/runner.h"

extern int sftest_reader_fds_before;
extern int sftest_reader_fds_open; /* when nothing has been received */
extern int sftest_writer;          /* the other end of conn's socket */
extern int sftest_tagged;
extern sfproto_conn_t *sftest_reader;

void sftest_reader_setup(void);

/* In every test: what the connection received and nobody took is closed with it. */
void sftest_reader_teardown(void);

void sftest_send_part(const sftest_frame_t *frame, size_t from, size_t to, int nfds);

void sftest_send_frame(sftest_frame_t frame, int nfds);

void sftest_expect_next(uint64_t request, int nfds);

void sftest_expect_none(void);

#endif
