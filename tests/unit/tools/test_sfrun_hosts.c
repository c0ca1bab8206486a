/* Tests of sfrun's lists of hosts. */
#include "tools/sfrun/hosts/hosts.h"

#include <sys/stat.h>

#include "shm/base/error.h"
#include "tests/unit/runner.h"
#include "tools/sfrun/hosts/directory.h"

static char directory[SFRUN_SOCKET_BYTES], path[SFRUN_SOCKET_BYTES + 16];

static void setup(void)
{
  ck_assert_int_eq(sfrun_directory_make(directory), SF_OK);
  snprintf(path, sizeof path, "%s/file", directory);
}

static void teardown(void)
{
  sfrun_directory_remove(directory);
}

SFTEST_FIXTURE(setup, teardown);

static sf_status_t read_text(const char *text, sfrun_hosts_t *hosts_p)
{
  unlink(path);
  ck_assert_int_eq(sfrun_directory_write(directory, "file", text, strlen(text)), SF_OK);
  return sfrun_hosts_read(path, hosts_p);
}

/* Expects the file that an MPI gets, after reading text. */
static void expect_file(const char *text, sfrun_mpi_t mpi, const char *expected)
{
  sfrun_hosts_t hosts;
  char found[512] = "";
  ck_assert_msg(read_text(text, &hosts) == SF_OK, "%s", sfshm_error_detail());
  unlink(path);
  ck_assert_int_eq(sfrun_hosts_write(&hosts, mpi, directory, "file"), SF_OK);
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  found[fread(found, 1, sizeof found - 1, file)] = '\0';
  fclose(file);
  ck_assert_str_eq(found, expected);
  sfrun_hosts_free(&hosts);
}

SFTEST(both_ways_of_writing)
{
  const char *text = "# comment\n\n a slots=2\t# why\nb.example:3\r\nc\nd slots=1 max_slots=4";
  expect_file(text, SFRUN_MPI_OPEN_MPI, "a slots=2\nb.example slots=3\nc\nd slots=1\n");
  expect_file(text, SFRUN_MPI_HYDRA, "a:2\nb.example:3\nc\nd:1\n");
}

SFTEST(repeated_hosts_add_up)
{
  expect_file("a\nb\nA\na slots=2\n", SFRUN_MPI_OPEN_MPI, "a slots=4\nb\n");
}

static void expect_error(const char *text, const char *expected)
{
  sfrun_hosts_t hosts;
  ck_assert_int_eq(read_text(text, &hosts), SF_ERR_ARG);
  ck_assert_msg(strstr(sfshm_error_detail(), expected), "\"%s\" is not in \"%s\"", expected, sfshm_error_detail());
}

SFTEST(errors_name_the_line)
{
  sfrun_hosts_t hosts;
  expect_error("", "no host");
  expect_error("# nothing\n", "no host");
  expect_error("a\nb slot=2\n", ":2: \"slot=2\"");
  expect_error("a slots=0", ":1: \"0\" slots");
  expect_error("a:", "\"\" slots");
  expect_error("a:2x", "\"2x\" slots");
  expect_error("a:99999999", "slots");
  expect_error("-x", ":1: \"-x\"");
  expect_error("a;b", "\"a;b\" is no host's name");
  unlink(path);
  ck_assert_int_eq(sfrun_hosts_read(path, &hosts), SF_ERR_SYS);
}

SFTEST(option_like_names_are_refused)
{
  expect_error("$(id)", "is no host's name");
  expect_error("--mca", "is no host's name");
}

SFTEST(found_by_what_they_call_themselves)
{
  sfrun_hosts_t hosts;
  ck_assert_int_eq(read_text("a\nb.example\n10.0.0.1\nabc\n", &hosts), SF_OK);
  ck_assert_int_eq(sfrun_hosts_find(&hosts, "A.example"), 0);
  ck_assert_int_eq(sfrun_hosts_find(&hosts, "b"), 1);
  ck_assert_int_eq(sfrun_hosts_find(&hosts, "abc"), 3);
  ck_assert_int_eq(sfrun_hosts_find(&hosts, "ab"), -1);
  ck_assert_int_eq(sfrun_hosts_find(&hosts, "c"), -1);
  sfrun_hosts_free(&hosts);
}

static void write_scontrol(const char *script)
{
  unlink(path);
  char name[sizeof path];
  snprintf(name, sizeof name, "%s/scontrol", directory);
  unlink(name);
  ck_assert_int_eq(sfrun_directory_write(directory, "scontrol", script, strlen(script)), SF_OK);
  ck_assert_int_eq(chmod(name, 0700), 0);
}

SFTEST(slurm)
{
  sfrun_hosts_t hosts;
  ck_assert(!sfrun_hosts_in_slurm());
  setenv("SLURM_JOB_NODELIST", "n[1-2]", 1);
  setenv("SLURM_JOB_NUM_NODES", "1", 1);
  ck_assert(!sfrun_hosts_in_slurm());
  setenv("SLURM_JOB_NUM_NODES", "2", 1);
  ck_assert(sfrun_hosts_in_slurm());

  setenv("PATH", directory, 1);
  ck_assert_int_eq(sfrun_hosts_from_slurm(&hosts), SF_ERR_STATE);
  write_scontrol("#!/bin/sh\n[ \"$*\" = 'show hostnames n[1-2]' ] && echo n1 && echo n2\n");
  ck_assert_msg(sfrun_hosts_from_slurm(&hosts) == SF_OK, "%s", sfshm_error_detail());
  ck_assert_int_eq(hosts.count, 2);
  ck_assert_str_eq(hosts.hosts[1].name, "n2");
  sfrun_hosts_free(&hosts);
  write_scontrol("#!/bin/sh\nexit 1\n");
  ck_assert_int_eq(sfrun_hosts_from_slurm(&hosts), SF_ERR_ARG);
}
