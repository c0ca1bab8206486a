/* What a daemon that is broken, of another version, or not one at all, may say to another about a job that runs: of its
 * graphs what can't be, and anything at random. */
#ifndef SFTEST_LOOP_LIES_H
#define SFTEST_LOOP_LIES_H

#include <stdint.h>

#include "daemon/server.h"

#define SFTEST_LIED_SIZE 3 /* the job is the first one of so many ranks */

typedef enum sftest_lie {
  SFTEST_LIE_MEET,          /* that its ranks have come to meet */
  SFTEST_LIE_MEET_TWICE,    /* the same again */
  SFTEST_LIE_MEET_NO_RANK,  /* the first of whom is none */
  SFTEST_LIE_MEET_NO_ERROR, /* one of whom has an error that is none */
  SFTEST_LIE_MET,           /* that all have */
  SFTEST_LIE_CALLS,         /* what a rank that is none has called */
  SFTEST_LIE_DATA_LENGTH,   /* a message that holds no number of units */
  SFTEST_LIE_DATA_NUMBER,   /* one that has come before, or not yet */
  SFTEST_LIE_DATA_NOTHING,  /* one that is empty */
  SFTEST_LIE_CREDIT,        /* that it has read what was never sent */
  SFTEST_LIE_KIND,          /* something of no kind */
  SFTEST_LIE_PAYLOAD,       /* the same, with bytes */
  SFTEST_LIE_WANTS,         /* roots that it wants, whose list fits into no memory */
  SFTEST_LIE_GARBAGE,       /* a control message that is none */
  SFTEST_LIE_START,         /* that a job starts, with a node that there isn't */
  SFTEST_LIE_RUNS,          /* that no job has begun */
  SFTEST_LIE_EMPTY,         /* one without a body */
  SFTEST_LIE_ARRAY_RANK,    /* a request on an array of a rank that is elsewhere */
  SFTEST_LIE_ARRAY_SHORT,   /* one that is cut off */
  SFTEST_LIE_ARRAY_TWICE,   /* two, of which the first lacks its data */
  SFTEST_LIE_ARRAY_DATA,    /* data of no request */
  SFTEST_LIE_ARRAY_DONE,    /* an answer to no request */
  SFTEST_LIE_RANDOM,        /* and all above, which are seeds: many messages with random contents */
} sftest_lie_t;

void sftest_lie(sfd_server_t *server, int32_t node, sftest_lie_t lie);

#endif
