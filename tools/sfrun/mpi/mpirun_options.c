/* Options of Open MPI's, MPICH's and Intel MPI's mpirun that take arguments, and the most common others. Each takes the
 * same number of arguments in all. Single-threaded. */
#include "tools/sfrun/mpi/mpirun_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* By number of arguments: names without dashes, a space before and after each. */
static const char *const names_by_arguments[] = {
    [0] = " allow-run-as-root bind-to-core bind-to-socket bycore bynode byslot continuous disable-x"
          " display-allocation display-map do-not-launch enable-recovery enable-x envall envnone genvall genvnone"
          " get-stack-traces h info l nolocal nooversubscribe oversubscribe pernode prepend-rank"
          " print-all-exitcodes q quiet report-bindings report-child-jobs-separately skip-launch-node tag-output"
          " timestamp-output use-hwthread-cpus v V verbose ",
    [1] = " N H am app bind-to bootstrap configfile cpu-list cpu-set cpus-per-proc cpus-per-rank default-hostfile"
          " display envlist errfile-pattern f genvlist gpus-per-proc gpus-per-process host hostfile hosts iface"
          " launcher launcher-exec localhost machinefile map-by max-restarts membind nameserver npernode npersocket"
          " outfile-pattern output output-filename path perhost personality ppn ppr prefix preload-files"
          " prepend-pattern rank-by rankfile report-events report-pid report-uri rf rmk stdin timeout topolib usize"
          " wd wdir x ",
    [2] = " env genv gmca gpmixmca gprtemca mca omca pmixmca prtemca ",
};

static const char *without_dashes(const char *arg)
{
  return arg[0] != '-' ? NULL : arg + (arg[1] == '-' ? 2 : 1);
}

bool sfrun_mpirun_option_is(const char *arg, const char *name)
{
  const char *start = without_dashes(arg);
  size_t len_bytes = strlen(name);
  return start && strncmp(start, name, len_bytes) == 0 && (start[len_bytes] == '\0' || start[len_bytes] == '=');
}

int sfrun_mpirun_option_arguments(const char *arg)
{
  if (strchr(arg, '='))
    return 0;
  const char *name = without_dashes(arg);
  char word[64];
  if (!name || (size_t)snprintf(word, sizeof word, " %s ", name) >= sizeof word)
    return -1;
  for (int narguments = 0; narguments < (int)(sizeof names_by_arguments / sizeof *names_by_arguments); narguments++)
    if (strstr(names_by_arguments[narguments], word))
      return narguments;
  return -1;
}

bool sfrun_mpirun_options_have(const char *const args[], int nargs, const char *const names[])
{
  for (int i = 0; i < nargs; i++)
    for (const char *const *name = names; *name; name++)
      if (sfrun_mpirun_option_is(args[i], *name))
        return true;
  return false;
}
