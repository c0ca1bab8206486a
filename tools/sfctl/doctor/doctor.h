/* sfctl doctor: looks at what sfd and the programs that use it need, and says what to mend. */
#ifndef SFCTL_DOCTOR_DOCTOR_H
#define SFCTL_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/sfctl/doctor/report.h"

typedef struct sfctl_doctor {
  const char *root;   /* put before the paths below /proc, /sys and /dev; "" but in tests */
  const char *socket; /* as given by --socket; NULL: not given */
  bool found_socket;  /* it was not given, but is the one of the daemon that was found */
  int64_t timeout_ms; /* for the daemon to answer */
  bool all_nodes;     /* the daemons of all nodes are asked, by way of this one */
} sfctl_doctor_t;

/* All checks. Changes nothing; starts sfd and mpirun only to ask for their versions. Blocks for as long as the daemon
 * and they take, and half a second more if a channel to another node is opening. */
void sfctl_doctor_examine(const sfctl_doctor_t *doctor, sfctl_report_t *report);

/* Its parts, which run one after the other. */
void sfctl_doctor_examine_daemon(const sfctl_doctor_t *doctor, sfctl_report_t *report);
void sfctl_doctor_examine_programs(sfctl_report_t *report);
void sfctl_doctor_examine_system(sfctl_report_t *report);
void sfctl_doctor_examine_machine(const sfctl_doctor_t *doctor, sfctl_report_t *report);

#endif
