/* sfctl doctor: permissions of the kernel, by trial. The one thread of sfctl. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/report/text.h"
#include "tools/sfctl/doctor/doctor.h"

#define FEW_FILES 4096 /* a daemon with some hundred ranks needs more */

/* ---- Limits ---- */

static void examine_files(sfctl_report_t *report)
{
  struct rlimit limit = {0};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  if (limit.rlim_max == RLIM_INFINITY) {
    sfctl_report_add(report, "files", SFCTL_FINE, "as many open files as wanted");
    return;
  }
  bool few = limit.rlim_max < FEW_FILES;
  sfctl_report_add(report, "files", few ? SFCTL_WARNING : SFCTL_FINE, "at most %" PRIu64 " open files (hard limit)",
                   (uint64_t)limit.rlim_max);
  if (few)
    sfctl_report_advise(report,
                        "let sfd have %d or more, several for each rank: LimitNOFILE=, or nofile in "
                        "/etc/security/limits.conf",
                        FEW_FILES);
}

static void examine_locked_memory(sfctl_report_t *report)
{
  struct rlimit limit = {0};
  char bytes[SFREPORT_TEXT_SIZE];
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
    return;
  sfctl_report_add(report, "memlock", SFCTL_FINE, "%s of locked memory; sfd locks none",
                   limit.rlim_cur == RLIM_INFINITY ? "any amount" : sfreport_text_bytes(limit.rlim_cur, bytes));
}

/* Of shared memory, too: ranks and daemons refuse what is larger. */
#define FEW_FILE_BYTES (UINT64_C(1) << 30)
static void examine_file_size(sfctl_report_t *report)
{
  struct rlimit limit = {0};
  char bytes[SFREPORT_TEXT_SIZE];
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
    return;
  bool few = limit.rlim_cur < FEW_FILE_BYTES;
  sfctl_report_add(report, "file-size", few ? SFCTL_PROBLEM : SFCTL_FINE, "%s in a file or in shared memory",
                   limit.rlim_cur == RLIM_INFINITY ? "any amount" : sfreport_text_bytes(limit.rlim_cur, bytes));
  if (few)
    sfctl_report_advise(report, "raise it: ulimit -f, or the batch system's limit of file sizes");
}

/* ---- Shared memory ---- */

/* Creates, seals and maps a region. Returns what failed (errno); NULL: nothing. */
static const char *try_memfd(void)
{
  const size_t length = 4096;
  int fd = memfd_create("sfctl-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    return "memfd_create";
  const char *failed = NULL;
  signal(SIGXFSZ, SIG_IGN); /* beyond the limit of file sizes */
  if (ftruncate(fd, (off_t)length) != 0)
    failed = "ftruncate of a memfd";
  else if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    failed = "sealing a memfd";
  void *base = failed == NULL ? mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (base != MAP_FAILED)
    munmap(base, length);
  else if (failed == NULL)
    failed = "mapping a memfd";
  int code = errno;
  close(fd);
  errno = code;
  return failed;
}

static void examine_memfd(sfctl_report_t *report)
{
  const char *failed = try_memfd();
  if (failed == NULL) {
    sfctl_report_add(report, "memfd", SFCTL_FINE, "memfd_create, sealing and mapping work; /dev/shm is not needed");
    return;
  }
  sfctl_report_add(report, "memfd", SFCTL_PROBLEM, "%s: %s", failed, strerror(errno));
  sfctl_report_advise(report, "allow memfd_create in the container's seccomp profile; Linux 3.17 or later is needed");
}

/* ---- Waking and watching ---- */

static bool has_futex(void)
{
  uint32_t word = 0; /* another value, so it returns at once */
  return syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0) == -1 && errno == EAGAIN;
}

static bool has_eventfd(void)
{
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd >= 0)
    close(fd);
  return fd >= 0;
}

static void examine_wakeups(sfctl_report_t *report)
{
  const char *failed = !has_futex() ? "futex" : !has_eventfd() ? "eventfd" : NULL;
  if (failed == NULL) {
    sfctl_report_add(report, "wake-ups", SFCTL_FINE, "futex and eventfd work");
    return;
  }
  sfctl_report_add(report, "wake-ups", SFCTL_PROBLEM, "%s: %s", failed, strerror(errno));
  sfctl_report_advise(report, "allow %s in the container's seccomp profile", failed);
}

static void examine_pidfd(sfctl_report_t *report)
{
  int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
  if (fd >= 0) {
    close(fd);
    sfctl_report_add(report, "pidfd", SFCTL_FINE, "pidfd_open works");
    return;
  }
  sfctl_report_add(report, "pidfd", SFCTL_WARNING, "pidfd_open: %s; only its connection tells of a rank's death",
                   strerror(errno));
  sfctl_report_advise(report, "use Linux 5.3 or later, and allow it in the container's seccomp profile");
}

/* ---- Reading the memory of other processes ---- */

/* The child reads from its parent: like another rank, it is no ancestor. Returns 0, or errno. */
static int try_vm_read(void)
{
  static volatile uint64_t there = UINT64_C(0x5ca1ab1e);
  uint64_t here = 0;
  pid_t parent = getpid();
  int wait_status = 0;
  pid_t child = fork();
  if (child == 0) {
    struct iovec to = {&here, sizeof here}, from = {(void *)(uintptr_t)&there, sizeof here};
    if (process_vm_readv(parent, &to, 1, &from, 1, 0) != (ssize_t)sizeof here)
      _exit(errno);
    _exit(here == there ? 0 : EIO);
  }
  if (child < 0)
    return errno;
  while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : EIO;
}

static void examine_vm_read(sfctl_report_t *report)
{
  int scope = -1;
  FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
  if (file != NULL && fscanf(file, "%d", &scope) != 1)
    scope = -1;
  if (file != NULL)
    fclose(file);
  char yama[40] = "no Yama";
  if (scope >= 0)
    snprintf(yama, sizeof yama, "kernel.yama.ptrace_scope is %d", scope);
  int error = try_vm_read();
  if (error == 0) {
    sfctl_report_add(report, "vm-read", SFCTL_FINE, "process_vm_readv works between processes of this user (%s)", yama);
    return;
  }
  sfctl_report_add(report, "vm-read", SFCTL_WARNING, "process_vm_readv: %s (%s); registered memory is copied",
                   strerror(error), yama);
  sfctl_report_advise(report, "sysctl kernel.yama.ptrace_scope=0, and allow it in the container (--cap-add "
                              "SYS_PTRACE); or use memory of sf_alloc");
}

void sfctl_doctor_examine_system(sfctl_report_t *report)
{
  examine_files(report);
  examine_locked_memory(report);
  examine_file_size(report);
  examine_memfd(report);
  examine_wakeups(report);
  examine_pidfd(report);
  examine_vm_read(report);
}
