/* sfctl doctor: runs all checks. The one thread of sfctl. */
#include "tools/sfctl/doctor/doctor.h"

#include <signal.h>

void sfctl_doctor_examine(const sfctl_doctor_t *doctor, sfctl_report_t *report)
{
  sigset_t child, before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, &before); /* for waiting with a time-out */
  sfctl_doctor_examine_daemon(doctor, report);
  sfctl_doctor_examine_programs(report);
  sfctl_doctor_examine_system(report);
  sfctl_doctor_examine_machine(doctor, report);
  sigprocmask(SIG_SETMASK, &before, NULL);
}
