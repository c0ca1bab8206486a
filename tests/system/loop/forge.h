/* What a daemon that is broken, or not one, says to another: of the next graph that all ranks of its first job make. */
#ifndef SFTEST_LOOP_FORGE_H
#define SFTEST_LOOP_FORGE_H

#include <stdint.h>

#include "daemon/server.h"

typedef enum sftest_forgery {
  SFTEST_FORGE_WANTS,   /* an image of the roots that it wants, packed so that it can't be unpacked */
  SFTEST_FORGE_FAILURE, /* to all: that the second graph of the job has failed, as if a rank there had found it so */
  SFTEST_FORGE_START,   /* that a job of which it knows nothing runs, with very many ranks on nodes 1 and 2 in turns */
  SFTEST_FORGE_LIE,     /* and all above: the sftest_lie_t that has that number above this */
} sftest_forgery_t;

void sftest_forge(sfd_server_t *server, int32_t node, sftest_forgery_t forgery);

#endif
