/* sfctl doctor: checks what sfd and its programs need, and advises. */
#ifndef SFCTL_DOCTOR_DOCTOR_H
#define SFCTL_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/sfctl/doctor/report.h"

typedef struct sfctl_doctor {
  const char *root;   /* prefix of paths below /proc, /sys and /dev; "" except in tests */
  const char *socket; /* as given by --socket; NULL: not given */
  bool found_socket;  /* socket is that of a daemon that was found */
  int64_t timeout_ms; /* for the daemon's answer */
  bool all_nodes;     /* asks the daemons of all nodes */
} sfctl_doctor_t;

/* Runs all checks, without changing anything; starts sfd and mpirun for their versions. Blocks as long as these and the
 * daemon take, and half a second more if a channel is opening. */
void sfctl_doctor_examine(const sfctl_doctor_t *doctor, sfctl_report_t *report);

/* Parts, in order. */
void sfctl_doctor_examine_daemon(const sfctl_doctor_t *doctor, sfctl_report_t *report);
void sfctl_doctor_examine_programs(sfctl_report_t *report);
void sfctl_doctor_examine_system(sfctl_report_t *report);
void sfctl_doctor_examine_machine(const sfctl_doctor_t *doctor, sfctl_report_t *report);

#endif
