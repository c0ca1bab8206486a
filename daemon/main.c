/* sfd: from options to the end of the event loop. One thread. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/base.h"
#include "daemon/clients.h"
#include "daemon/net/fabric.h"
#include "daemon/server.h"
#include "proto/report/text.h"
#include "shm/base/error.h"
#include "shm/base/standard.h"

#define EXIT_BAD_OPTION 2
#define FDS_TO_SERVE 6       /* of one rank: its connection, and what comes with it */
#define KEPT_BYTES (8 << 20) /* freed memory that the process keeps */

/* A client needs several descriptors. */
static void raise_descriptor_limit(void)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    sfd_log(SFD_LOG_MAIN, SFD_WARN, "cannot raise the limit of open files: %s", strerror(errno));
}

/* libuv and libsodium give up by abort() where the kernel refuses a call that they need, as filters of system calls
 * or limits do. Any other abort() goes on when this returns. */
static void on_abort(int number)
{
  static const char text[] = "sfd: ends, as the system refuses a call that it cannot do without: ";
  const char *why = errno == EPERM    ? "EPERM\n"
                    : errno == EACCES ? "EACCES\n"
                    : errno == ENOSYS ? "ENOSYS\n"
                    : errno == EMFILE ? "EMFILE\n"
                                      : NULL;
  (void)number;
  if (why == NULL)
    return;
  if (write(STDERR_FILENO, text, sizeof text - 1) > 0)
    (void)!write(STDERR_FILENO, why, strlen(why));
  _exit(EXIT_FAILURE);
}

/* With fewer no client could come, however long it waits. The kernel hands out the lowest free descriptor. */
static sf_status_t check_descriptors(void)
{
  struct rlimit limit;
  int lowest = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  if (lowest >= 0)
    close(lowest);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || (lowest >= 0 && (rlim_t)lowest + FDS_TO_SERVE <= limit.rlim_cur))
    return SF_OK;
  return sfshm_error(SF_ERR_LIMIT, "a limit of %llu open files leaves none for clients (ulimit -n, RLIMIT_NOFILE)",
                     (unsigned long long)limit.rlim_cur);
}

static void announce_ready(int64_t fd)
{
  static const char text[] = "READY=1\n";
  if (fd < 0)
    return;
  if (write((int)fd, text, sizeof text - 1) < 0)
    sfd_log(SFD_LOG_MAIN, SFD_WARN, "cannot write to descriptor %lld (option ready-fd): %s", (long long)fd,
            strerror(errno));
  close((int)fd);
}

/* Signals that end the daemon wait from before it makes its socket until it can remove that. */
static void hold_signals(int how)
{
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(how, &signals, NULL);
}

/* Closes the listening socket before what follows, such as the end of MPI, which waits for the other daemons. */
static sf_status_t serve_on(uv_loop_t *loop, const sfd_options_t *options, int listen_fd)
{
  sfshm_costs_t costs = sfd_copy_costs_default;
  sfd_server_t *server;
  if (strcmp(options->calibrate, "no") != 0)
    sfd_copy_costs_find(strcmp(options->calibrate, "again") == 0, &costs);
  sf_status_t status = sfd_server_create(loop, options, listen_fd, &costs, &server);
  if (status != SF_OK) {
    sfd_listen_close(listen_fd);
    return status;
  }
  hold_signals(SIG_UNBLOCK);
  status = sfd_server_connect(server);
  if (status == SF_OK)
    status = check_descriptors();
  if (status == SF_OK) {
    announce_ready(options->ready_fd);
    sfd_sd_notify_ready(sfd_listen_path());
  } else {
    sfd_server_stop(server);
  }
  uv_run(loop, UV_RUN_DEFAULT);
  sfd_sd_notify_stopping();
  sfd_listen_close(listen_fd);
  if (status == SF_OK && server->failed[0] != '\0')
    status = sfshm_error(SF_ERR_SYS, "%s", server->failed);
  sfd_server_destroy(server);
  return status;
}

/* A service manager may pass the socket for daemons of other nodes, too. */
static sf_status_t take_peers_socket(sfd_options_t *options)
{
  int fd = sfd_listen_peers_fd();
  if (fd < 0)
    return SF_OK;
  if (strcmp(options->fabric, "tcp") != 0 || options->fabric_fd >= 0)
    return sfshm_error(SF_ERR_ARG,
                       "the service manager passed a socket for daemons of other nodes: expected option fabric to be "
                       "tcp, and no option fabric-fd");
  options->fabric_fd = fd;
  return SF_OK;
}

static sf_status_t serve(sfd_options_t *options)
{
  uv_loop_t loop;
  int error = uv_loop_init(&loop);
  if (error != 0)
    return sfshm_error(SF_ERR_SYS, "cannot make an event loop: %s", uv_strerror(error));
  hold_signals(SIG_BLOCK);
  int listen_fd;
  sf_status_t status = sfd_listen(options->socket, &listen_fd);
  if (status == SF_OK) {
    status = take_peers_socket(options);
    if (status == SF_OK)
      status = serve_on(&loop, options, listen_fd);
    else
      sfd_listen_close(listen_fd);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  return status;
}

/* Keeps freed memory for the arrays of the next graph, as new pages are cleared and faulted in. */
static void keep_memory(void)
{
  (void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
  (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

/* Refuses a descriptor at which a reader might wait forever. */
static sf_status_t check_ready_fd(int64_t fd)
{
  int flags = fd < 0 ? O_WRONLY : fcntl((int)fd, F_GETFL);
  if (flags == -1 || (flags & O_ACCMODE) == O_RDONLY)
    return sfshm_error(SF_ERR_ARG, "option ready-fd: descriptor %lld is not open for writing", (long long)fd);
  return SF_OK;
}

/* From here on the log follows the options. */
static sf_status_t configure_log(const sfd_options_t *options)
{
  sf_status_t status = sfd_log_configure(options->log_level);
  if (status == SF_OK)
    sfd_log_show_time(options->log_time);
  return status;
}

static sf_status_t run(sfd_options_t *options)
{
  if (options->help) {
    sfd_options_print_help(stdout);
    return SF_OK;
  }
  if (options->version) {
    puts(SFD_SOFTWARE);
    return SF_OK;
  }
  if (options->make_key[0] != '\0')
    return sfd_tcp_key_write(options->make_key);
  if (options->print_config) {
    sfd_options_print_config(options, stdout);
    return SF_OK;
  }
  sf_status_t status = configure_log(options);
  if (status != SF_OK)
    return status;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* who lowers the limit of a running daemon causes errors */
  signal(SIGABRT, on_abort);
  sfd_sigbus_guard_begin();
  keep_memory();
  raise_descriptor_limit();
  return serve(options);
}

static int report(sf_status_t status, int exit_status)
{
  if (status == SF_OK)
    return EXIT_SUCCESS;
  char text[SFSHM_DETAIL_BYTES + 128];
  snprintf(text, sizeof text, "%s (%s)", sfshm_error_detail(), sfshm_strerror(status));
  sfreport_text_complain("sfd", text);
  return exit_status;
}

int main(int argc, char *argv[])
{
  sfd_options_t options;
  sfshm_standard_hold();
  sf_status_t status = sfd_options_parse(argc, argv, environ, &options);
  if (status != SF_OK)
    return report(status, EXIT_BAD_OPTION);
  status = check_ready_fd(options.ready_fd);
  if (status == SF_OK)
    status = run(&options);
  sfd_options_free(&options);
  return report(status, status == SF_ERR_ARG ? EXIT_BAD_OPTION : EXIT_FAILURE); /* some options are checked late */
}
