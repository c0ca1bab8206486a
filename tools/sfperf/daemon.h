/* What this node's daemon tells about itself, through sfctl. */
#ifndef SFPERF_DAEMON_H
#define SFPERF_DAEMON_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* What the daemon has sent to those of other nodes: data of operations on graphs; requests on arrays and answers. */
typedef struct sfperf_traffic {
  uint64_t messages;
  uint64_t payload; /* bytes */
} sfperf_traffic_t;

/* Runs the sfctl in the directory of this program, else the one in PATH, which queries the daemon of SF_SOCKET. False
 * if there is none, or its output is not as expected. */
bool sfperf_daemon_traffic(sfperf_traffic_t *traffic_p);

/* That sfctl. */
void sfperf_daemon_find_sfctl(char path[PATH_MAX]);

/* Its process; 0 if that is not known. */
int sfperf_daemon_pid(void);

/* Adds up what `sfctl peers --json` printed. False if it is no such text. */
bool sfperf_daemon_parse(const char *json, sfperf_traffic_t *traffic_p);

#endif
