/* Tests of sfrun's command line and of what it adds for each MPI. */
#include "tools/sfrun/options.h"

#include "shm/base/error.h"
#include "tests/unit/expect.h"
#include "tools/sfrun/mpi/mpi.h"
#include "tools/sfrun/mpi/mpirun_options.h"

#define MAX_WORDS 32

static sf_status_t parse(const char *const words[], sfrun_options_t *options_p)
{
  static char *argv[MAX_WORDS];
  int argc = 0;
  argv[argc++] = (char *)"sfrun";
  for (; words[argc - 1]; argc++)
    argv[argc] = (char *)(uintptr_t)words[argc - 1];
  argv[argc] = NULL;
  return sfrun_options_parse(argc, argv, options_p);
}

static sfrun_options_t parse_ok(const char *const words[])
{
  sfrun_options_t options;
  sf_status_t status = parse(words, &options);
  ck_assert_msg(status == SF_OK, "status %d: %s", status, sfshm_error_detail());
  return options;
}

static void expect_words(const char *const found[], int nfound, const char *const expected[])
{
  int i = 0;
  for (; expected[i]; i++) {
    ck_assert_int_lt(i, nfound);
    ck_assert_str_eq(found[i], expected[i]);
  }
  ck_assert_int_eq(i, nfound);
}

/* Parses and expects mpirun's arguments and the program's words. */
static void expect_split(const char *const words[], const char *const mpirun_args[], const char *const program[])
{
  sfrun_options_t options = parse_ok(words);
  expect_words(options.mpirun_args, options.nmpirun_args, mpirun_args);
  int nwords = 0;
  while (options.program[nwords])
    nwords++;
  expect_words((const char *const *)options.program, nwords, program);
  sfrun_options_free(&options);
}

static void expect_error(const char *const words[], const char *const text)
{
  sfrun_options_t options;
  ck_assert_int_eq(parse(words, &options), SF_ERR_ARG);
  ck_assert_msg(strstr(sfshm_error_detail(), text), "\"%s\" is not in \"%s\"", text, sfshm_error_detail());
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_WORDS ((const char *const[]){NULL})

SFTEST(defaults)
{
  sfrun_options_t options = parse_ok(WORDS("prog"));
  ck_assert(!options.help && !options.version && !options.quiet);
  ck_assert_int_eq(options.launcher, SFRUN_LAUNCHER_MPIRUN);
  ck_assert_ptr_null(options.mpirun);
  ck_assert_ptr_null(options.sfd);
  ck_assert_ptr_null(options.log_level);
  ck_assert_ptr_null(options.daemon_log);
  ck_assert_int_eq(options.grace_ms, 10000);
  ck_assert_int_eq(options.nranks, 0);
  ck_assert_int_eq(options.nsfd_options, 0);
  sfrun_options_free(&options);
}

SFTEST(own_options)
{
  sfrun_options_t options = parse_ok(WORDS("--quiet", "--launcher=local", "-n", "3", "--mpirun", "/m", "--sfd=/d",
                                           "--sfd-option", "a=1", "--sfd-option=b=x=y", "--log-level", "debug",
                                           "--keep-daemon-log", "f", "--grace", "0", "prog", "--quiet"));
  ck_assert(options.quiet);
  ck_assert_int_eq(options.launcher, SFRUN_LAUNCHER_LOCAL);
  ck_assert_int_eq(options.nranks, 3);
  ck_assert_str_eq(options.mpirun, "/m");
  ck_assert_str_eq(options.sfd, "/d");
  expect_words(options.sfd_options, options.nsfd_options, WORDS("a=1", "b=x=y"));
  ck_assert_str_eq(options.log_level, "debug");
  ck_assert_str_eq(options.daemon_log, "f");
  ck_assert_int_eq(options.grace_ms, 0);
  ck_assert_str_eq(options.program[0], "prog");
  ck_assert_str_eq(options.program[1], "--quiet");
  sfrun_options_free(&options);
}

SFTEST(help_and_version_need_nothing_else)
{
  char *text;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  sfrun_options_print_help(file);
  fclose(file);
  sftest_must_fit(text);
  free(text);
  sfrun_options_t options = parse_ok(WORDS("--help", "--launcher", "nonsense"));
  ck_assert(options.help);
  sfrun_options_free(&options);
  options = parse_ok(WORDS("--version"));
  ck_assert(options.version);
  ck_assert_ptr_null(options.program);
  sfrun_options_free(&options);
}

SFTEST(rank_count)
{
  static const char *const names[] = {"-n", "-np", "--np", "--n", "-c"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    sfrun_options_t options = parse_ok(WORDS(names[i], "4", "prog"));
    ck_assert_int_eq(options.nranks, 4);
    expect_words(options.mpirun_args, options.nmpirun_args, WORDS(names[i], "4"));
    sfrun_options_free(&options);
  }
  sfrun_options_t options = parse_ok(WORDS("-n=5", "prog"));
  ck_assert_int_eq(options.nranks, 5);
  sfrun_options_free(&options);
}

SFTEST(bad_rank_count)
{
  static const char *const bad[] = {"0", "-1", "+1", "x", "4x", "", " 4", "2147483648", "99999999999999999999"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    expect_error(WORDS("-n", bad[i], "prog"), "number of ranks");
    expect_error(WORDS("-n", bad[i], "prog"), bad[i]);
  }
  expect_error(WORDS("-n"), "-n: the number of ranks is missing");
}

SFTEST(bad_own_options)
{
  expect_error(WORDS("--grace", "-1", "prog"), "--grace \"-1\"");
  expect_error(WORDS("--grace", "1.5", "prog"), "--grace \"1.5\"");
  expect_error(WORDS("--launcher", "ssh", "prog"), "--launcher \"ssh\"");
  expect_error(WORDS("--launcher"), "--launcher: mpirun|local is missing");
  expect_error(WORDS("--quiet=yes", "prog"), "--quiet takes no value");
  expect_error(WORDS("--sfd=", "prog"), "--sfd: expected PATH");
  expect_error(WORDS("--sfd-option", "debug", "prog"), "--sfd-option \"debug\"");
  expect_error(WORDS("--sfd-option", "--a=b", "prog"), "KEY=VALUE");
}

SFTEST(several_nodes)
{
  sfrun_options_t options = parse_ok(WORDS("-n", "4", "prog"));
  ck_assert_int_eq(options.nnodes, 0);
  ck_assert_int_eq(options.distribution, SFRUN_BLOCK);
  ck_assert_int_eq(options.fabric, SFRUN_FABRIC_TCP);
  ck_assert_ptr_null(options.hostfile);
  sfrun_options_free(&options);
  options = parse_ok(WORDS("--nodes", "3", "--distribution=cyclic", "--fabric", "mpi", "-n", "4", "prog"));
  ck_assert_int_eq(options.nnodes, 3);
  ck_assert_int_eq(options.distribution, SFRUN_CYCLIC);
  ck_assert_int_eq(options.fabric, SFRUN_FABRIC_MPI);
  expect_words(options.mpirun_args, options.nmpirun_args, WORDS("-n", "4"));
  sfrun_options_free(&options);
  options = parse_ok(WORDS("--hostfile", "h", "--port", "7411", "-hostfile", "g", "prog"));
  ck_assert_str_eq(options.hostfile, "h");
  ck_assert_int_eq(options.port, 7411);
  expect_words(options.mpirun_args, options.nmpirun_args, WORDS("-hostfile", "g"));
  sfrun_options_free(&options);
}

SFTEST(neighbors)
{
  sfrun_options_t options = parse_ok(WORDS("-n", "4", "prog", "--neighbors"));
  ck_assert(!options.neighbors);
  sfrun_options_free(&options);
  options = parse_ok(WORDS("--neighbors", "-n", "4", "prog"));
  ck_assert(options.neighbors);
  expect_words(options.mpirun_args, options.nmpirun_args, WORDS("-n", "4"));
  sfrun_options_free(&options);
  expect_error(WORDS("--neighbors", "--launcher", "local", "-n", "1", "prog"), "for programs without MPI");
  expect_error(WORDS("--neighbors", "-n", "1", "prog", ":", "-n", "1", "prog"), "--neighbors with several programs");
}

SFTEST(bad_nodes)
{
  expect_error(WORDS("--nodes", "0", "prog"), "--nodes \"0\"");
  expect_error(WORDS("--nodes", "1025", "prog"), "1 to 1024");
  expect_error(WORDS("--distribution", "random", "prog"), "--distribution \"random\"");
  expect_error(WORDS("--fabric", "ucx", "prog"), "--fabric \"ucx\"");
  expect_error(WORDS("--port", "65536", "prog"), "--port \"65536\"");
  expect_error(WORDS("--nodes", "2", "--hostfile", "h", "prog"), "not both");
  expect_error(WORDS("--nodes", "2", "--sfd-option", "metrics=9464", "prog"),
               "the 2 daemons of --nodes can't all serve");
  expect_error(WORDS("--launcher", "local", "-n", "1", "--hostfile", "h", "prog"), "this host only");
  expect_error(WORDS("--nodes", "2", "-n", "1", "prog", ":", "-n", "1", "prog"), "several programs");
}

SFTEST(job_names)
{
  sfrun_options_t options = parse_ok(WORDS("prog"));
  ck_assert_ptr_null(options.job);
  sfrun_options_free(&options);
  options = parse_ok(WORDS("--job", "night run", "-n", "2", "prog"));
  ck_assert_str_eq(options.job, "night run");
  sfrun_options_free(&options);
  expect_error(WORDS("--job", "", "prog"), "--job: a name of 0 bytes, expected 1 to 128");
}

/* Passed on to mpirun, their arguments would become the program. */
SFTEST(mistyped_options)
{
  expect_error(WORDS("--launchr", "local", "-n", "2", "prog"), "unknown option --launchr (did you mean --launcher?)");
  expect_error(WORDS("--nodse=2", "prog"), "unknown option --nodse (did you mean --nodes?)");
  expect_split(WORDS("-nodse", "2", "--", "prog"), WORDS("-nodse", "2"), WORDS("prog"));
  expect_split(WORDS("prog", "--nodse"), NO_WORDS, WORDS("prog", "--nodse"));
}

/* Expects the text of an error about the program, which words have behind an option. */
static void expect_explained(const char *const words[], const char *expected)
{
  sfrun_options_t options = parse_ok(words);
  ck_assert_int_eq(sfrun_options_explain(&options, sfshm_error(SF_ERR_NOT_FOUND, "none")), SF_ERR_NOT_FOUND);
  ck_assert_str_eq(sfshm_error_detail(), expected);
  sfrun_options_free(&options);
}

SFTEST(values_of_unknown_options)
{
#define AFTER(option)                                                                                                  \
  "none; it follows " option ", which is an option neither of sfrun nor, as far as it knows, of mpirun"
  expect_explained(WORDS("-n", "2", "--sfd-opt", "a=b", "true"), AFTER("--sfd-opt (did you mean --sfd-option?)"));
  expect_explained(WORDS("--option", "metrics=1", "true"), AFTER("--option (did you mean --sfd-option?)"));
  expect_explained(WORDS("--distr", "block", "true"), AFTER("--distr (did you mean --distribution?)"));
  expect_explained(WORDS("--daemon-log", "f", "true"), AFTER("--daemon-log (did you mean --keep-daemon-log?)"));
  expect_explained(WORDS("-nodes", "2", "-n", "2", "true"), AFTER("-nodes (did you mean --nodes?)"));
  expect_explained(WORDS("-job", "x", "true"), AFTER("-job (did you mean --job?)"));
  expect_explained(WORDS("-nodse", "2", "true"), AFTER("-nodse (did you mean --nodes?)"));
  expect_explained(WORDS("--jobname", "x", "true"), AFTER("--jobname"));
  expect_explained(WORDS("--bind-t", "core", "true"), AFTER("--bind-t"));
  expect_explained(WORDS("--novelty", "a", "--", "true"), "none");
  expect_explained(WORDS("--novelty", "-n", "2", "true"), "none");
  expect_explained(WORDS("-x", "A=b", "true", "--novelty"), "none");
}

SFTEST(no_program)
{
  expect_error(NO_WORDS, "no program");
  expect_error(WORDS("-n", "4"), "no program");
  expect_error(WORDS("-n", "4", "--"), "no program");
}

SFTEST(local_launcher_limits)
{
  expect_error(WORDS("--launcher", "local", "prog"), "-n RANKS");
  expect_error(WORDS("--launcher", "local", "-n", "2", "--bind-to", "core", "prog"), "--bind-to");
  expect_error(WORDS("--launcher", "local", "-n", "2", "--quit", "prog"), "--quit (did you mean --quiet?)");
}

SFTEST(mpirun_options_pass)
{
  expect_split(
      WORDS("-n", "2", "--mca", "btl", "self,vader", "-x", "A=b", "--tag-output", "--quiet", "prog", "-n", "9"),
      WORDS("-n", "2", "--mca", "btl", "self,vader", "-x", "A=b", "--tag-output"), WORDS("prog", "-n", "9"));
  expect_split(WORDS("-genv", "A", "b", "-ppn", "2", "prog"), WORDS("-genv", "A", "b", "-ppn", "2"), WORDS("prog"));
  expect_split(WORDS("-launcher", "ssh", "prog"), WORDS("-launcher", "ssh"), WORDS("prog"));
  expect_error(WORDS("--mca", "btl"), "--mca takes 2 arguments, found 1");
}

SFTEST(double_dash)
{
  expect_split(WORDS("--", "prog", "--", "x"), NO_WORDS, WORDS("prog", "--", "x"));
  expect_split(WORDS("--", "-prog"), NO_WORDS, WORDS("-prog"));
  /* the program's own "--" */
  expect_split(WORDS("-n", "2", "prog", "--", "x"), WORDS("-n", "2"), WORDS("prog", "--", "x"));
  /* an option that sfrun doesn't know, with and without argument */
  expect_split(WORDS("--novelty", "a", "b", "--", "prog"), WORDS("--novelty", "a", "b"), WORDS("prog"));
  expect_split(WORDS("--novelty", "prog", "a"), WORDS("--novelty"), WORDS("prog", "a"));
  expect_split(WORDS("--novelty=a", "prog", "--", "b"), WORDS("--novelty=a"), WORDS("prog", "--", "b"));
  expect_split(WORDS("--novelty", "-n", "2", "prog", "--", "b"), WORDS("--novelty", "-n", "2"),
               WORDS("prog", "--", "b"));
}

SFTEST(option_knowledge)
{
  ck_assert_int_eq(sfrun_mpirun_option_arguments("--mca"), 2);
  ck_assert_int_eq(sfrun_mpirun_option_arguments("-x"), 1);
  ck_assert_int_eq(sfrun_mpirun_option_arguments("--map-by=core"), 0);
  ck_assert_int_eq(sfrun_mpirun_option_arguments("-v"), 0);
  ck_assert_int_eq(sfrun_mpirun_option_arguments("--novelty"), -1);
  ck_assert_int_eq(sfrun_mpirun_option_arguments("-"), -1);
  ck_assert(sfrun_mpirun_option_is("--np", "np"));
  ck_assert(sfrun_mpirun_option_is("-np=4", "np"));
  ck_assert(!sfrun_mpirun_option_is("-npernode", "np"));
  ck_assert(!sfrun_mpirun_option_is("np", "np"));
}

SFTEST(recognises_mpi)
{
  ck_assert_int_eq(sfrun_mpi_recognise("mpirun (Open MPI) 4.1.6\n"), SFRUN_MPI_OPEN_MPI);
  ck_assert_int_eq(sfrun_mpi_recognise("mpirun.openmpi (OpenRTE) 4.1.4\n"), SFRUN_MPI_OPEN_MPI);
  ck_assert_int_eq(sfrun_mpi_recognise("HYDRA build details:\n    Version: 4.0.2\n"), SFRUN_MPI_HYDRA);
  ck_assert_int_eq(sfrun_mpi_recognise("Intel(R) MPI Library for Linux* OS, Version 2021.5\n"), SFRUN_MPI_INTEL);
  ck_assert_int_eq(sfrun_mpi_recognise(""), SFRUN_MPI_UNKNOWN);
}

static void expect_additions(const char *const words[], bool root, const char *const expected[], bool yield)
{
  sfrun_options_t options = parse_ok(words);
  sfrun_cpus_t cpus = {.ncpus = 4, .ncores = 2};
  sfrun_mpi_additions_t additions = sfrun_mpi_additions(SFRUN_MPI_OPEN_MPI, &options, root, cpus);
  expect_words(additions.args, additions.nargs, expected);
  ck_assert_int_eq(additions.yield, yield);
  additions = sfrun_mpi_additions(SFRUN_MPI_HYDRA, &options, root, cpus);
  ck_assert_int_eq(additions.nargs, 0);
  ck_assert(!additions.yield);
  sfrun_options_free(&options);
}

SFTEST(additions_for_open_mpi)
{
  ck_assert_int_eq(clearenv(), 0);
  expect_additions(WORDS("-n", "2", "p"), false, NO_WORDS, false);
  expect_additions(WORDS("-n", "2", "p"), true, WORDS("--allow-run-as-root"), false);
  expect_additions(WORDS("-n", "3", "p"), false, WORDS("--oversubscribe", "--bind-to", "none"), false);
  expect_additions(WORDS("-n", "5", "p"), true, WORDS("--allow-run-as-root", "--oversubscribe", "--bind-to", "none"),
                   true);
  expect_additions(WORDS("p"), false, NO_WORDS, false);
}

SFTEST(additions_respect_the_user)
{
  ck_assert_int_eq(clearenv(), 0);
  expect_additions(WORDS("-n", "5", "--bind-to", "core", "--allow-run-as-root", "p"), true, WORDS("--oversubscribe"),
                   true);
  expect_additions(WORDS("-n", "5", "--nooversubscribe", "p"), false, WORDS("--bind-to", "none"), true);
  expect_additions(WORDS("-n", "5", "-H", "a,b", "p"), false, NO_WORDS, false);
  ck_assert_int_eq(setenv("OMPI_MCA_mpi_yield_when_idle", "0", 1), 0);
  expect_additions(WORDS("-n", "5", "p"), false, WORDS("--oversubscribe", "--bind-to", "none"), false);
  ck_assert_int_eq(setenv("SLURM_JOB_ID", "1", 1), 0);
  expect_additions(WORDS("-n", "5", "p"), false, NO_WORDS, false);
  ck_assert_int_eq(setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1), 0);
  expect_additions(WORDS("p"), true, WORDS("--allow-run-as-root"), false);
  ck_assert_int_eq(setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1), 0);
  expect_additions(WORDS("p"), true, NO_WORDS, false);
}

SFTEST(cpus_are_counted)
{
  sfrun_cpus_t cpus = sfrun_cpus_count();
  ck_assert_int_ge(cpus.ncores, 1);
  ck_assert_int_le(cpus.ncores, cpus.ncpus);
}
