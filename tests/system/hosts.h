/* Network namespaces as hosts on a switch, so that links between daemons can be cut. The test's process moves to a
 * namespace of its own, the switch; all is gone when it ends. Needs root and iproute2. */
#ifndef SFTEST_HOSTS_H
#define SFTEST_HOSTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SFTEST_HOSTS_MAX 4

typedef struct sftest_hosts {
  int32_t n;
  pid_t holder; /* a process on the switch, as whose the host's links know it */
  int home;     /* the switch's namespace */
  int namespaces[SFTEST_HOSTS_MAX];
  char peers[32 * SFTEST_HOSTS_MAX]; /* their addresses, as option peers */
} sftest_hosts_t;

/* Makes n hosts. NULL, or what this machine lacks for it. */
const char *sftest_hosts_make(sftest_hosts_t *hosts, int32_t n);
void sftest_hosts_end(sftest_hosts_t *hosts);

/* Cuts the host's link, at the switch: to others it becomes silent, and others to it. Or mends it. */
void sftest_hosts_cut(const sftest_hosts_t *hosts, int32_t host, bool cut);

/* Cuts the way from one host to another, and not back: what it sends there gets lost. Or mends it. */
void sftest_hosts_cut_way(const sftest_hosts_t *hosts, int32_t from, int32_t to, bool cut);

/* Limits what comes to the host, to a rate as "20mbit". false: this machine can't. */
bool sftest_hosts_limit(const sftest_hosts_t *hosts, int32_t host, const char *rate);

#endif
