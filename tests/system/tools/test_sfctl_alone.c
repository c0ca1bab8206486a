/* sfctl where no daemon answers as it should: usage, none there, stuck ones, strange ones; and a disk that is full. */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "proto/frame.h"
#include "proto/sf_control.pb-c.h"
#include "tests/system/fake_device.h"
#include "tests/system/sfctl.h"

static const char *const out = sftest_sfctl_out;
static const char *const err = sftest_sfctl_err;

SFTEST(usage)
{
  sftest_sfctl("/nowhere", WORDS("--help"), 0);
  sftest_expect_in(out, "usage: sfctl ");
  sftest_sfctl("/nowhere", WORDS("--version"), 0);
  sftest_expect_in(out, "sfctl ");
  sftest_sfctl("/nowhere", WORDS("stauts"), 2);
  sftest_expect_in(err, "did you mean status?");
  sftest_sfctl("/nowhere", WORDS("status", "--jsno"), 2);
  sftest_expect_in(err, "did you mean --json?");
  sftest_sfctl("/nowhere", WORDS("plan", "--grid", "8x8x", "--ranks", "4", "--per-node", "2"), 2);
  sftest_expect_in(err, "--grid \"8x8x\"");
  sftest_sfctl("/nowhere", WORDS("plan", "--grid", "8x8", "--stencil", "7", "--ranks", "4", "--per-node", "2"), 2);
  sftest_sfctl("/nowhere", WORDS("plan", "--matrix", "/", "--ranks", "4", "--per-node", "2"), 1);
  sftest_expect_in(err, "Is a directory");
}

SFTEST(no_daemon)
{
  char path[200];
  sftest_sfctl("/nowhere/sfd.sock", WORDS("status"), 3);
  sftest_expect_in(err, "no sfd answers at /nowhere/sfd.sock");
  sftest_sfctl("/nowhere/sfd.sock", WORDS("status", "--socket", "/elsewhere/s"), 3);
  sftest_expect_in(err, "/elsewhere/s");
  memset(path, 'p', sizeof path - 1);
  path[sizeof path - 1] = '\0';
  sftest_sfctl(path, WORDS("status"), 1);
  sftest_expect_in(err, "199 bytes");
}

/* No daemon is needed, nor a device. */
SFTEST(topology)
{
  setenv("SF_CUDA_PLUGIN", "/nowhere/libsf_cuda.so", 1);
  sftest_sfctl("/nowhere", WORDS("topo"), 0);
  sftest_expect_in(out, "no devices: ");
  sftest_expect_in(out, "/nowhere/libsf_cuda.so");
  sftest_sfctl("/nowhere", WORDS("topo", "--json"), 0);
  sftest_expect_in(out, "\"devices\":[]");
  sftest_expect_in(out, "\"numa_nodes\":[");
}

/* Four devices of the stand-in for the driver, and how they reach each other. */
SFTEST(topology_of_devices)
{
  if (!sftest_device_can_fail() || !sftest_device_for_programs())
    return;
  setenv("SFTEST_CUDA_DEVICES", "4", 1);
  sftest_sfctl("/nowhere", WORDS("topo"), 0);
  sftest_expect_in(out, "4 devices, driver for CUDA ");
  sftest_expect_in(out, "     3  Stand-in 3  1.0 GiB  ffff:03:00.0");
  sftest_expect_in(out, "   0   1  nvlink     0  -\n   0   2  none       -  -\n   0   3  pci        1  -\n");
  sftest_expect_in(out, "\nvalues on devices go to other nodes through pinned memory of the host\n");
  sftest_sfctl("/nowhere", WORDS("topo", "--json"), 0);
  sftest_expect_in(out, "\"no_devices\":null");
  sftest_expect_in(out, "{\"from\":3,\"to\":0,\"access\":\"pci\",\"rank\":1,\"pci\":null}");
  sftest_expect_in(out, "\"to_other_nodes\":\"pinned\"");
  sftest_sfctl("/nowhere", WORDS("doctor"), 0);
  sftest_expect_in(out, "gpu         SF_CUDA_PLUGIN is set: CUDA 13.0, memory of devices can be registered\n");
  sftest_expect_in(out, "gpu-queues  streams of a process share 8 hardware queues of a device, under sfrun 32");
  setenv("SFTEST_CUDA_VERSION", "12040", 1);
  sftest_sfctl("/nowhere", WORDS("doctor"), 0);
  sftest_expect_in(out, "CUDA 12.4, memory of devices can be registered; the driver compiles the kernels");
  setenv("SFTEST_CUDA_VERSION", "12020", 1);
  sftest_sfctl("/nowhere", WORDS("doctor"), 0);
  sftest_expect_in(out, "the driver is for CUDA 12.2; CUDA 12.3 (driver 545) is the least -> install a driver of");
  setenv("SFTEST_CUDA_FAIL", "cuInit:1", 1);
  unsetenv("SFTEST_CUDA_VERSION");
  sftest_sfctl("/nowhere", WORDS("topo"), 0);
  sftest_expect_in(out, "no CUDA-capable device");
}

/* Output and exit status of a doctor that finds problems: what is wrong is in the output. */
static void call_the_doctor(const char *socket, const char *const words[], int code)
{
  sftest_sfctl_t run;
  sftest_sfctl_start(&run, socket, words, NULL);
  sftest_sfctl_finish(&run);
  ck_assert_msg(sftest_sfctl_code == code, "exit status %d, expected %d: %s", sftest_sfctl_code, code, out);
  ck_assert_str_eq(err, "");
}

SFTEST(no_daemon_but_a_doctor)
{
  call_the_doctor("/nowhere/sfd.sock", WORDS("doctor"), 0);
  sftest_expect_in(out, "ok       socket      /nowhere/sfd.sock (from SF_SOCKET), not there\n");
  sftest_expect_in(out,
                   "warning  daemon      no sfd answers at /nowhere/sfd.sock (No such file or directory) -> sfd & ");
  call_the_doctor("/dev/null", WORDS("doctor", "--json"), 1);
  sftest_expect_in(
      out, "{\"check\":\"socket\",\"verdict\":\"problem\",\"found\":\"/dev/null (from SF_SOCKET) is no socket\"");
  sftest_sfctl("/nowhere/sfd.sock", WORDS("metrics"), 3);
  sftest_expect_in(err, "no sfd answers at /nowhere/sfd.sock");
}

/* A stranger's mpirun and sfd: one that says nothing sensible, one that is of another version. */
static void write_script(char path[64], const char *directory, const char *name, const char *text)
{
  snprintf(path, 64, "%s/%s", directory, name);
  FILE *file = fopen(path, "we");
  ck_assert_ptr_nonnull(file);
  fprintf(file, "#!/bin/sh\necho '%s'\n", text);
  fclose(file);
  ck_assert_int_eq(chmod(path, 0700), 0);
}

SFTEST(strange_mpi)
{
  char directory[] = "/tmp/sftest-mpi-XXXXXX", path[64];
  ck_assert_ptr_nonnull(mkdtemp(directory));
  write_script(path, directory, "mpirun", "mpirun of nobody 1.2");
  setenv("SFRUN_MPIRUN", path, 1);
  call_the_doctor("/nowhere/s", WORDS("doctor"), 0);
  sftest_expect_in(out, "warning  mpi         unknown MPI 1.2 (/tmp/sftest-mpi-");
  write_script(path, directory, "mpirun", "mpirun (Open MPI) 9.8.7rc1");
  call_the_doctor("/nowhere/s", WORDS("doctor"), 0);
  sftest_expect_in(out, "ok       mpi         Open MPI 9.8.7rc1 (/tmp/sftest-mpi-");
  unlink(path);
  call_the_doctor("/nowhere/s", WORDS("doctor"), 0);
  sftest_expect_in(out, "warning  mpi         mpirun named by SFRUN_MPIRUN: ");
  rmdir(directory);
}

SFTEST(stopped_daemon)
{
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  kill(node.pid, SIGSTOP);
  int64_t started = sftest_now_ms();
  sftest_sfctl(node.socket, WORDS("jobs", "--timeout", "0.3"), 1);
  sftest_expect_in(err, node.socket);
  sftest_expect_in(err, "has not answered within 0.3 s (--timeout)");
  ck_assert_int_ge(sftest_now_ms() - started, 300);
  call_the_doctor(node.socket, WORDS("doctor", "--timeout", "0.3"), 1);
  sftest_expect_in(out, "problem  daemon      the sfd at ");
  sftest_expect_in(out, "has not answered within 0.3 s");
  kill(node.pid, SIGCONT);
  sftest_sfctl(node.socket, WORDS("jobs"), 0);
  sftest_node_stop(&node);
}

SFTEST(full_disk)
{
  static const char *const words[] = {"status", "--help", "--version", "metrics", "doctor"};
  sftest_node_t node;
  sftest_sfctl_t run;
  sftest_node_start(&node, NULL);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    sftest_sfctl_start(&run, node.socket, WORDS(words[i]), "/dev/full");
    sftest_sfctl_finish(&run);
    sftest_sfctl_expect(1);
    sftest_expect_in(err, "cannot write the output: ");
  }
  sftest_node_stop(&node);
}

/* ---- Strange daemons --------------------------------------------------------------------------------------------- */

/* Every command that asks a daemon. */
static const char *const commands[][4] = {
    {"status"},    {"jobs", "x"},        {"ranks"},         {"graphs", "--json"}, {"plan", "7"},
    {"peers"},     {"config"},           {"metrics"},       {"matrix"},           {"ranks", "--all-nodes"},
    {"drain"},     {"kill", "x"},        {"shutdown"},      {"log", "info"},      {"log", "--node", "1"},
    {"top", "-b"}, {"top", "jobs", "x"}, {"top", "--json"},
};
#define NCOMMANDS (sizeof commands / sizeof commands[0])

static const char *const *words_of(size_t command)
{
  static const char *words[5];
  memset(words, 0, sizeof words);
  memcpy(words, commands[command], sizeof commands[command]);
  return words;
}

/* Runs sfctl against one that says these bytes and closes the connection. */
static void run_command_against(const char *const words[], const void *bytes, size_t length, int expected)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char directory[] = "/tmp/sftest-sfctl-XXXXXX";
  sftest_sfctl_t run;
  ck_assert_ptr_nonnull(mkdtemp(directory));
  snprintf(address.sun_path, sizeof address.sun_path, "%s/s", directory);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
  ck_assert_int_eq(listen(listener, 1), 0);
  sftest_sfctl_start(&run, address.sun_path, words, NULL);
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  ck_assert_int_eq(send(fd, bytes, length, MSG_NOSIGNAL), (ssize_t)length);
  close(fd);
  close(listener);
  unlink(address.sun_path);
  rmdir(directory);
  sftest_sfctl_finish(&run);
  sftest_sfctl_expect(expected);
}

static void run_against(const void *bytes, size_t length, int expected)
{
  run_command_against(WORDS("status"), bytes, length, expected);
}

SFTEST(another_version)
{
  sfproto_header_t header = sfproto_header_make(0, 0);
  header.version++;
  run_against(&header, sizeof header, 4);
  sftest_expect_in(err, "version 2 ");
  sftest_expect_in(err, "version 1");
  for (size_t i = 0; i < NCOMMANDS; i++)
    run_command_against(words_of(i), &header, sizeof header, 4);
}

SFTEST(garbage)
{
  static const char text[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
  run_against(text, sizeof text, 1);
  sftest_expect_in(err, "magic");
  for (size_t i = 0; i < NCOMMANDS; i++)
    run_command_against(words_of(i), text, sizeof text, 1);
}

static size_t pack(Sfproto__Message *message, uint8_t *frame)
{
  size_t length = sfproto__message__pack(message, frame + sizeof(sfproto_header_t));
  sfproto_header_t header = sfproto_header_make(length, 0);
  memcpy(frame, &header, sizeof header);
  return sizeof header + length;
}

/* It has just died: what it said before may be cut anywhere. And an answer of another kind is no answer. */
SFTEST(a_daemon_that_dies)
{
  uint8_t bytes[512];
  char software[] = "sfd 9.9.9";
  Sfproto__Welcome welcome = SFPROTO__WELCOME__INIT;
  Sfproto__Goodbye goodbye = SFPROTO__GOODBYE__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  welcome.software = software;
  message.request = 1;
  message.body_case = SFPROTO__MESSAGE__BODY_WELCOME;
  message.welcome = &welcome;
  size_t length = pack(&message, bytes);
  message.request = 2;
  message.body_case = SFPROTO__MESSAGE__BODY_GOODBYE;
  message.goodbye = &goodbye;
  size_t both = length + pack(&message, bytes + length);
  for (size_t i = 0; i < NCOMMANDS; i++) {
    run_command_against(words_of(i), bytes, length, 1);
    sftest_expect_in(err, "has ended or closed the connection");
    run_command_against(words_of(i), bytes, length - 3, 1);
    run_command_against(words_of(i), bytes, length + 7, 1);
    run_command_against(words_of(i), bytes, both, 1);
    sftest_expect_in(err, "sfd answers with message ");
  }
}

SFTEST(a_socket_that_is_none)
{
  char path[] = "/tmp/sftest-file-XXXXXX";
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  close(fd);
  for (size_t i = 0; i < NCOMMANDS; i++) {
    sftest_sfctl(path, words_of(i), 3);
    sftest_expect_in(err, path);
  }
  unlink(path);
}

SFTEST(a_daemon_that_ends)
{
  run_against("", 0, 1);
  sftest_expect_in(err, "has ended or closed the connection");
}

/* Its text must not command the terminal. */
SFTEST(a_daemon_that_refuses)
{
  uint8_t frame[256];
  Sfproto__Error error = SFPROTO__ERROR__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  char detail[] = "no\x1b[2J\nmore";
  error.status = SF_ERR_LIMIT;
  error.detail = detail;
  message.body_case = SFPROTO__MESSAGE__BODY_ERROR;
  message.error = &error;
  size_t length = sfproto__message__pack(&message, frame + sizeof(sfproto_header_t));
  sfproto_header_t header = sfproto_header_make(length, 0);
  memcpy(frame, &header, sizeof header);
  run_against(frame, sizeof header + length, 1);
  ck_assert_str_eq(err, "sfctl: sfd answers: no\\x1b[2J\\nmore\n");
}
