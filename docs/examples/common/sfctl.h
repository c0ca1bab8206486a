/* Lets an example show what the daemon knows about it. */
#ifndef EXAMPLES_SFCTL_H
#define EXAMPLES_SFCTL_H

#include <stdbool.h>

typedef enum sfctl_outcome {
  SFCTL_SHOWN,
  SFCTL_NOT_FOUND,
  SFCTL_FAILED,
} sfctl_outcome_t;

/* Runs sfctl with one argument, its output going where ours goes, and waits for it. The program is $SFCTL, else the
 * one in the folder above this executable's, else what PATH finds. It asks the daemon at SF_SOCKET, as we do. */
sfctl_outcome_t sfctl_show(const char *what);

/* What this node's daemon has sent to those of other nodes: the data of operations. */
typedef struct sfctl_traffic {
  unsigned long long messages, bytes;
} sfctl_traffic_t;

/* Asks by the same program. False if it can't be run or the daemon does not answer. */
bool sfctl_ask_traffic(sfctl_traffic_t *traffic_p);

#endif
