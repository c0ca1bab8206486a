/* sfctl doctor: its report, what it makes of a machine (files below a directory of the test's), and that the man page
 * names every check. Runs in the root of the repository. */
#include "tools/sfctl/doctor/doctor.h"

#include <sys/stat.h>

#include "tests/unit/runner.h"

#define MAN_PAGE "docs/man/sfctl.1"

static sfctl_report_t report;

/* ---- The report -------------------------------------------------------------------------------------------------- */

static void expect_print(void (*print)(const sfctl_report_t *report, FILE *file), const char *expected)
{
  char *text;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  print(&report, file);
  fclose(file);
  ck_assert_str_eq(text, expected);
  free(text);
}

SFTEST(printing)
{
  report.count = 0;
  sfctl_report_add(&report, "one", SFCTL_FINE, "%d \x1b[2J", 17);
  sfctl_report_add(&report, "two", SFCTL_WARNING, "b");
  sfctl_report_advise(&report, "do \"%s\"", "this");
  sfctl_report_add(&report, "three", SFCTL_PROBLEM, "c");
  expect_print(sfctl_report_print_text, "ok       one         17 \\x1b[2J\n"
                                        "warning  two         b -> do \"this\"\n"
                                        "problem  three       c\n"
                                        "1 ok, 1 warning, 1 problem\n");
  expect_print(sfctl_report_print_json,
               "[\n{\"check\":\"one\",\"verdict\":\"ok\",\"found\":\"17 \\u001b[2J\",\"advice\":null},\n"
               "{\"check\":\"two\",\"verdict\":\"warning\",\"found\":\"b\",\"advice\":\"do \\\"this\\\"\"},\n"
               "{\"check\":\"three\",\"verdict\":\"problem\",\"found\":\"c\",\"advice\":null}\n]\n");
  ck_assert_uint_eq(sfctl_report_count(&report, SFCTL_PROBLEM), 1);
}

/* ---- A machine of files ------------------------------------------------------------------------------------------ */

static char root[] = "/tmp/sftest-doctor-XXXXXX";
static sfctl_doctor_t doctor = {.root = root, .socket = "/nowhere/s", .timeout_ms = 1000};

static void setup(void)
{
  strcpy(root + strlen(root) - 6, "XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(root));
  report.count = 0;
}

static void teardown(void)
{
  char command[80];
  snprintf(command, sizeof command, "rm -rf %s", root);
  ck_assert_int_eq(system(command), 0);
}

SFTEST_FIXTURE(setup, teardown);

static void write_file(const char *path, const char *text)
{
  char full[256];
  snprintf(full, sizeof full, "%s%s", root, path);
  for (char *slash = strchr(full + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(full, 0700);
    *slash = '/';
  }
  FILE *file = fopen(full, "we");
  ck_assert_ptr_nonnull(file);
  fputs(text, file);
  fclose(file);
}

static const sfctl_finding_t *find(const char *check)
{
  for (size_t i = 0; i < report.count; i++)
    if (strcmp(report.findings[i].check, check) == 0)
      return &report.findings[i];
  ck_abort_msg("no check %s", check);
  return NULL;
}

static void expect(const char *check, sfctl_verdict_t verdict, const char *found)
{
  const sfctl_finding_t *finding = find(check);
  ck_assert_msg(strstr(finding->found, found) != NULL, "%s: \"%s\" is not in \"%s\"", check, found, finding->found);
  ck_assert_msg(finding->verdict == verdict, "%s: %s", check, finding->found);
  ck_assert_msg((finding->advice[0] != '\0') == (verdict != SFCTL_FINE), "%s: advice \"%s\"", check, finding->advice);
}

static void expect_no(const char *check)
{
  for (size_t i = 0; i < report.count; i++)
    ck_assert_str_ne(report.findings[i].check, check);
}

static void expect_memory(sfctl_verdict_t verdict, const char *found)
{
  report.count = 0;
  sfctl_doctor_examine_machine(&doctor, &report);
  expect("memory", verdict, found);
}

SFTEST(nothing_is_known)
{
  sfctl_doctor_examine_machine(&doctor, &report);
  expect("cores", SFCTL_FINE, "the load is not known");
  expect("memory", SFCTL_FINE, "not known how much, not limited by a cgroup");
  expect("huge-pages", SFCTL_FINE, "shared memory: not known");
  expect("gpu", SFCTL_FINE, "no CUDA driver");
}

SFTEST(load_and_devices)
{
  write_file("/proc/loadavg", "5000.25 1.0 1.0 1/100 4242\n");
  write_file("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size [advise] never deny force\n");
  write_file("/proc/driver/nvidia/version", "NVRM version: NVIDIA 550\nGCC version: 12\n");
  setenv("SF_CUDA_PLUGIN", "/nowhere/libsf_cuda.so", 1);
  sfctl_doctor_examine_machine(&doctor, &report);
  expect("cores", SFCTL_WARNING, "load of the last minute 5000.25");
  expect("huge-pages", SFCTL_FINE, "shared memory: advise");
  expect("gpu", SFCTL_WARNING, "NVRM version: NVIDIA 550, but");
  expect("gpu", SFCTL_WARNING, "/nowhere/libsf_cuda.so");
  write_file("/proc/loadavg", "0.00 0.01 0.0 1/100 4242\n");
  unlink(strcat(strcpy((char[256]){0}, root), "/proc/driver/nvidia/version"));
  write_file("/dev/nvidiactl", "");
  report.count = 0;
  sfctl_doctor_examine_machine(&doctor, &report);
  expect("cores", SFCTL_FINE, "load of the last minute 0.00");
  expect("gpu", SFCTL_WARNING, "a CUDA device, but");
}

/* The lowest limit counts, wherever it stands on the way to the root. */
SFTEST(cgroup_version_2)
{
  write_file("/proc/meminfo", "MemTotal:       1048576 kB\nMemFree: 1 kB\n");
  write_file("/proc/self/cgroup", "0::/a/b\n");
  expect_memory(SFCTL_FINE, "1.0 GiB, not limited by a cgroup");
  write_file("/sys/fs/cgroup/a/b/memory.max", "max\n");
  expect_memory(SFCTL_FINE, "1.0 GiB, not limited by a cgroup");
  write_file("/sys/fs/cgroup/a/memory.max", "536870912\n");
  write_file("/sys/fs/cgroup/a/memory.current", "536870000\n");
  write_file("/sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 400000000\nactive_file 2\n");
  expect_memory(SFCTL_FINE, "limited by a cgroup to 512.0 MiB, 130.5 MiB in use");
  write_file("/sys/fs/cgroup/a/memory.stat", "inactive_file 4096\n");
  expect_memory(SFCTL_WARNING, "limited by a cgroup to 512.0 MiB, 512.0 MiB in use");
  write_file("/sys/fs/cgroup/a/b/memory.max", "1048576\n");
  expect_memory(SFCTL_FINE, "limited by a cgroup to 1.0 MiB, 0 B in use");
}

/* In a container the path may be the host's: what is there is the root of the mount. */
SFTEST(cgroup_version_1)
{
  write_file("/proc/meminfo", "MemTotal:       1048576 kB\n");
  write_file("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/docker/1234\n0::/\n");
  write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  expect_memory(SFCTL_FINE, "1.0 GiB, not limited by a cgroup");
  write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
  write_file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "104857600\n");
  expect_memory(SFCTL_WARNING, "limited by a cgroup to 100.0 MiB, 100.0 MiB in use");
  write_file("/sys/fs/cgroup/memory/memory.stat", "inactive_file 0\ntotal_inactive_file 52428800\n");
  expect_memory(SFCTL_FINE, "limited by a cgroup to 100.0 MiB, 50.0 MiB in use");
}

/* ---- This machine ------------------------------------------------------------------------------------------------ */

SFTEST(the_kernel)
{
  sfctl_doctor_examine_system(&report);
  expect("memfd", SFCTL_FINE, "/dev/shm is not needed");
  expect("wake-ups", SFCTL_FINE, "futex and eventfd work");
  find("files");
  find("memlock");
  expect("file-size", SFCTL_FINE, "in a file or in shared memory");
  find("pidfd");
  find("vm-read");
}

SFTEST(sockets)
{
  char path[64];
  sfctl_doctor_examine_daemon(&doctor, &report);
  expect("socket", SFCTL_FINE, "/nowhere/s (from --socket), not there");
  expect("daemon", SFCTL_WARNING, "no sfd answers at /nowhere/s (");
  ck_assert_str_eq(find("daemon")->advice, "sfd --socket /nowhere/s & (sfrun brings a daemon of its own)");
  write_file("/file", "");
  snprintf(path, sizeof path, "%s/file", root);
  report.count = 0;
  sfctl_doctor_examine_daemon(&(sfctl_doctor_t){.root = "", .socket = path, .timeout_ms = 100}, &report);
  expect("socket", SFCTL_PROBLEM, "is no socket");
  ck_assert_uint_eq(report.count, 1);
}

SFTEST(a_plugin_that_is_none)
{
  char path[64], before[4096];
  snprintf(before, sizeof before, "%s", getenv("PATH"));
  snprintf(path, sizeof path, "%s/sfd", root);
  write_file("/sfd", "#!/bin/sh\necho sfd 1.2.3\n");
  ck_assert_int_eq(chmod(path, 0755), 0);
  ck_assert_int_eq(setenv("PATH", root, 1), 0);
  sfctl_doctor_examine_programs(&report);
  expect("plugin", SFCTL_WARNING, "no libsfd_mpi.so beside");
  write_file("/libsfd_mpi.so", "a text that is longer than the header of a library would be, and no library at all\n");
  report.count = 0;
  sfctl_doctor_examine_programs(&report);
  expect("plugin", SFCTL_PROBLEM, "libsfd_mpi.so is of no use to sfd --fabric mpi: ");
  expect_no("munge");
  expect_no("cuda");
  write_file("/libsfd_munge.so",
             "a text that is longer than the header of a library would be, and no library at all\n");
  write_file("/libsf_cuda.so", "");
  report.count = 0;
  sfctl_doctor_examine_programs(&report);
  expect("munge", SFCTL_PROBLEM, "/libsfd_munge.so is of no use to sfd --peer-auth munge: ");
  expect("munge", SFCTL_PROBLEM, "/libsfd_munge.so: invalid ELF header");
  expect("cuda", SFCTL_PROBLEM, "/libsf_cuda.so: file too short");
  setenv("PATH", before, 1);
}

/* A line of the man page that begins the description of checks: .BR first ", " second */
static bool is_in_a_heading(const char *man, const char *check)
{
  const char *line = strstr(man, "\n.SH DOCTOR\n");
  ck_assert_ptr_nonnull(line);
  while ((line = strstr(line, "\n.TP\n.BR ")) != NULL) {
    char heading[128];
    line += strlen("\n.TP\n.BR ");
    snprintf(heading, sizeof heading, "%.*s", (int)strcspn(line, "\n"), line);
    for (char *rest = heading, *word; (word = strsep(&rest, " \",")) != NULL;)
      if (strcmp(word, check) == 0)
        return true;
  }
  return false;
}

SFTEST(checks_are_documented)
{
  static char man[1 << 16];
  char wanted[64];
  FILE *file = fopen(MAN_PAGE, "re");
  ck_assert_msg(file != NULL, "no " MAN_PAGE " in the current directory");
  man[fread(man, 1, sizeof man - 1, file)] = '\0';
  fclose(file);
  sfctl_doctor_examine(&doctor, &report);
  ck_assert_uint_gt(report.count, 12);
  for (size_t i = 0; i < report.count; i++) {
    const char *check = report.findings[i].check; /* its hyphen is \- there */
    size_t length = strcspn(check, "-");
    snprintf(wanted, sizeof wanted, "%.*s%s%s", (int)length, check, check[length] != '\0' ? "\\" : "", check + length);
    ck_assert_msg(is_in_a_heading(man, wanted), "check %s is not in " MAN_PAGE, report.findings[i].check);
  }
}
