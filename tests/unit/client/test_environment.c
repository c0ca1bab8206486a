/* Tests of client/environment: where job, rank and size come from, and what is said when they are missing or bad. Check
 * runs each test in a process of its own, so the environment can be changed freely. */
#include "client/core/identity.h"

#include "shm/base/error.h"
#include "tests/unit/runner.h"

static void clear_environment(void)
{
  ck_assert_int_eq(clearenv(), 0);
}

SFTEST_FIXTURE(clear_environment, NULL);

/* Pairs of name and value, ended by NULL. */
static void set_variables(const char *const pairs[])
{
  for (int i = 0; pairs[i]; i += 2)
    ck_assert_int_eq(setenv(pairs[i], pairs[i + 1], 1), 0);
}

#define SET(...) set_variables((const char *const[]){__VA_ARGS__, NULL})

static sfc_identity_t resolve_ok(const sf_init_options_t *options)
{
  sfc_identity_t identity;
  memset(&identity, 0xa5, sizeof identity);
  sf_status_t status = sfc_identity_resolve(options, &identity);
  ck_assert_msg(status == SF_OK, "status %d: %s", status, sfshm_error_detail());
  return identity;
}

/* Expects the status and every text (ended by NULL) in the detail; the result must be left alone. */
static void expect_error(const sf_init_options_t *options, sf_status_t expected, const char *const texts[])
{
  sfc_identity_t identity, untouched;
  memset(&identity, 0x5a, sizeof identity);
  memset(&untouched, 0x5a, sizeof untouched);
  ck_assert_int_eq(sfc_identity_resolve(options, &identity), expected);
  for (int i = 0; texts[i]; i++)
    ck_assert_msg(strstr(sfshm_error_detail(), texts[i]), "\"%s\" is not in \"%s\"", texts[i], sfshm_error_detail());
  ck_assert_mem_eq(&identity, &untouched, sizeof identity);
}

#define EXPECT_ERROR(options, status, ...) expect_error(options, status, (const char *const[]){__VA_ARGS__, NULL})

SFTEST(sf_variables)
{
  SET("SF_SOCKET", "/s", "SF_JOB", "j", "SF_JOB_KEY", "k", "SF_RANK", "2", "SF_SIZE", "3", "SF_TIMEOUT_MS", "1500");
  sfc_identity_t identity = resolve_ok(NULL);
  ck_assert_ptr_null(identity.socket_path); /* sfproto_connect looks at SF_SOCKET */
  ck_assert_str_eq(identity.job, "j");
  ck_assert_str_eq(identity.key, "k");
  ck_assert_int_eq(identity.rank, 2);
  ck_assert_int_eq(identity.size, 3);
  ck_assert_int_eq(identity.timeout_ms, 1500);
}

SFTEST(send_order)
{
  SET("SF_JOB", "j", "SF_RANK", "2", "SF_SIZE", "3");
  ck_assert(!resolve_ok(NULL).sends_by_number);
  SET("SF_SEND_ORDER", "distance");
  ck_assert(!resolve_ok(NULL).sends_by_number);
  SET("SF_SEND_ORDER", "number");
  ck_assert(resolve_ok(NULL).sends_by_number);
  SET("SF_SEND_ORDER", "random");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "SF_SEND_ORDER", "distance or number", "\"random\"");
}

SFTEST(defaults)
{
  SET("SF_JOB", "j", "SF_RANK", "0", "SF_SIZE", "1", "SF_SOCKET", "", "SF_TIMEOUT_MS", "");
  sf_init_options_t options = SF_INIT_OPTIONS_DEFAULT;
  sfc_identity_t identity = resolve_ok(&options);
  ck_assert_ptr_null(identity.socket_path);
  ck_assert_str_eq(identity.key, "");
  ck_assert_int_eq(identity.timeout_ms, -1);
}

SFTEST(options_win)
{
  SET("SF_SOCKET", "/s", "SF_JOB", "j", "SF_JOB_KEY", "k", "SF_RANK", "nonsense", "SF_SIZE", "3", "SF_TIMEOUT_MS",
      "nonsense");
  sf_init_options_t options = {"/o", "oj", "", 1, 2, 0};
  sfc_identity_t identity = resolve_ok(&options);
  ck_assert_str_eq(identity.socket_path, "/o");
  ck_assert_str_eq(identity.job, "oj");
  ck_assert_str_eq(identity.key, "");
  ck_assert_int_eq(identity.rank, 1);
  ck_assert_int_eq(identity.size, 2);
  ck_assert_int_eq(identity.timeout_ms, 0);
}

SFTEST(open_mpi)
{
  SET("OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "4", "OMPI_MCA_ess_base_jobid", "77");
  sfc_identity_t identity = resolve_ok(NULL);
  ck_assert_int_eq(identity.rank, 1);
  ck_assert_int_eq(identity.size, 4);
  ck_assert_str_eq(identity.job, "openmpi-77");
  SET("PMIX_NAMESPACE", "78");
  ck_assert_str_eq(resolve_ok(NULL).job, "pmix-78");
  SET("SF_JOB", "given");
  ck_assert_str_eq(resolve_ok(NULL).job, "given");
}

SFTEST(pmi)
{
  SET("PMI_RANK", "1", "PMI_SIZE", "4", "PMI_SPAWNED", "0", "PMI_JOBID", "12.0");
  sfc_identity_t identity = resolve_ok(NULL);
  ck_assert_int_eq(identity.rank, 1);
  ck_assert_int_eq(identity.size, 4);
  ck_assert_str_eq(identity.job, "pmi-12.0");
}

SFTEST(hydra_sets_no_job)
{
  SET("PMI_RANK", "1", "PMI_SIZE", "4", "PMIX_NAMESPACE", "of-another-launcher");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "rank 1 of 4", "sfrun -n 4", "SF_JOB");
}

SFTEST(explicit_pair_takes_any_launchers_job)
{
  sf_init_options_t options = SF_INIT_OPTIONS_DEFAULT;
  options.rank = 0;
  options.size = 2;
  SET("PMI_JOBID", "9");
  ck_assert_str_eq(resolve_ok(&options).job, "pmi-9");
  SET("PMIX_NAMESPACE", "8");
  ck_assert_str_eq(resolve_ok(&options).job, "pmix-8");
}

SFTEST(pair_comes_from_one_source)
{
  SET("SF_JOB", "j", "SF_RANK", "0", "SF_SIZE", "2", "OMPI_COMM_WORLD_RANK", "5", "OMPI_COMM_WORLD_SIZE", "6");
  sfc_identity_t identity = resolve_ok(NULL);
  ck_assert_int_eq(identity.rank, 0);
  ck_assert_int_eq(identity.size, 2);
  unsetenv("SF_SIZE");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "SF_RANK is set but SF_SIZE is not");
  unsetenv("SF_RANK");
  unsetenv("OMPI_COMM_WORLD_RANK");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "OMPI_COMM_WORLD_SIZE is set but OMPI_COMM_WORLD_RANK is not");
}

SFTEST(half_a_pair_in_options)
{
  SET("SF_JOB", "j", "SF_RANK", "0", "SF_SIZE", "2");
  sf_init_options_t options = SF_INIT_OPTIONS_DEFAULT;
  options.rank = 1;
  EXPECT_ERROR(&options, SF_ERR_ARG, "rank 1", "size -1");
}

SFTEST(launchers_disagree)
{
  SET("SF_JOB", "j", "OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "1", "PMI_RANK", "3", "PMI_SIZE", "4");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "OMPI_COMM_WORLD_RANK=0", "PMI_RANK=3", "disagree");
  SET("PMI_RANK", "0", "PMI_SIZE", "1");
  ck_assert_int_eq(resolve_ok(NULL).size, 1);
}

SFTEST(nothing_set)
{
  SET("SF_JOB", "j");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "no rank", "sfrun -n", "SF_RANK", "SF_SIZE");
}

SFTEST(bad_numbers)
{
  static const char *const bad[] = {"x", "-1", "+1", " 1", "1 ", "1x", "0x1", "1.0", "99999999999999999999"};
  SET("SF_JOB", "j", "SF_RANK", "0");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    SET("SF_SIZE", bad[i]);
    EXPECT_ERROR(NULL, SF_ERR_ARG, "SF_SIZE=\"", bad[i]);
  }
  SET("SF_SIZE", "2147483648");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "SF_SIZE=\"2147483648\"", "2147483647");
  SET("SF_SIZE", "1", "SF_TIMEOUT_MS", "-1");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "SF_TIMEOUT_MS=\"-1\"");
}

SFTEST(out_of_range)
{
  SET("SF_JOB", "j", "SF_RANK", "2", "SF_SIZE", "2");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "rank 2 of size 2", "0 to 1");
  SET("SF_RANK", "0", "SF_SIZE", "0");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "size 0", "at least 1");
  sf_init_options_t options = {NULL, "j", NULL, -5, 4, -1};
  EXPECT_ERROR(&options, SF_ERR_ARG, "rank -5", "the options");
  options = (sf_init_options_t){NULL, "j", NULL, 0, 4, -2};
  EXPECT_ERROR(&options, SF_ERR_ARG, "timeout_ms is -2");
}

SFTEST(job_too_long)
{
  char job[SFC_JOB_BYTES + 1];
  memset(job, 'j', sizeof job);
  job[SFC_JOB_BYTES] = '\0';
  SET("SF_JOB", job, "SF_RANK", "0", "SF_SIZE", "1");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "SF_JOB", "256", "255");
  job[SFC_JOB_BYTES - 1] = '\0';
  SET("SF_JOB", job);
  ck_assert_str_eq(resolve_ok(NULL).job, job);
}

SFTEST(spawned_is_refused)
{
  SET("SF_JOB", "parents", "OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "1", "OMPI_PARENT_PORT", "1.0:2");
  EXPECT_ERROR(NULL, SF_ERR_UNSUPPORTED, "MPI_Comm_spawn", "OMPI_PARENT_PORT");
  sf_init_options_t options = {NULL, NULL, NULL, 0, 1, -1};
  EXPECT_ERROR(&options, SF_ERR_UNSUPPORTED, "MPI_Comm_spawn");
  options.job = "own";
  ck_assert_str_eq(resolve_ok(&options).job, "own");
  unsetenv("OMPI_PARENT_PORT");
  SET("PMI_SPAWNED", "1");
  EXPECT_ERROR(NULL, SF_ERR_UNSUPPORTED, "PMI_SPAWNED");
}

SFTEST(slurm)
{
  SET("SLURM_PROCID", "1", "SLURM_NTASKS", "8", "SLURM_STEP_NUM_TASKS", "4", "SLURM_JOB_ID", "12", "SLURM_STEP_ID",
      "3");
  sfc_identity_t identity = resolve_ok(NULL);
  ck_assert_int_eq(identity.rank, 1);
  ck_assert_int_eq(identity.size, 4); /* of the step, not of the allocation */
  ck_assert_str_eq(identity.job, "slurm-12.3");
  unsetenv("SLURM_STEP_NUM_TASKS");
  ck_assert_int_eq(resolve_ok(NULL).size, 8);
  unsetenv("SLURM_NTASKS");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "SLURM_PROCID is set but SLURM_STEP_NUM_TASKS is not");
  SET("SLURM_STEP_NUM_TASKS", "x");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "SLURM_STEP_NUM_TASKS=\"x\"");
}

SFTEST(slurm_without_a_step)
{
  SET("SLURM_PROCID", "0", "SLURM_NTASKS", "4", "SLURM_JOB_ID", "12"); /* as in a batch script */
  EXPECT_ERROR(NULL, SF_ERR_ARG, "no rank");
  SET("SLURM_STEP_ID", "4294967290", "SLURM_STEP_NUM_TASKS", "1"); /* as in a shell of salloc */
  EXPECT_ERROR(NULL, SF_ERR_ARG, "no rank");
  sf_init_options_t options = {NULL, NULL, NULL, 0, 2, -1};
  EXPECT_ERROR(&options, SF_ERR_ARG, "not the job");
  SET("SLURM_STEP_ID", "0");
  ck_assert_str_eq(resolve_ok(&options).job, "slurm-12.0");
}

SFTEST(pmix)
{
  SET("PMIX_RANK", "2", "PMIX_NAMESPACE", "slurm.pmix.12.3", "SLURM_PROCID", "2", "SLURM_STEP_NUM_TASKS", "4",
      "SLURM_JOB_ID", "12", "SLURM_STEP_ID", "3");
  sfc_identity_t identity = resolve_ok(NULL);
  ck_assert_int_eq(identity.rank, 2);
  ck_assert_int_eq(identity.size, 4);
  ck_assert_str_eq(identity.job, "pmix-slurm.pmix.12.3");
}

SFTEST(pmix_inside_slurm)
{
  /* The step is that of the launcher's daemons: its size is the number of nodes. */
  SET("PMIX_RANK", "0", "PMIX_NAMESPACE", "prterun-host-77@1", "SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "2",
      "SLURM_JOB_ID", "12", "SLURM_STEP_ID", "3");
  EXPECT_ERROR(NULL, SF_ERR_ARG, "PMIX_RANK", "SF_RANK and SF_SIZE");
  SET("OMPI_COMM_WORLD_RANK", "5", "OMPI_COMM_WORLD_SIZE", "6");
  sfc_identity_t identity = resolve_ok(NULL);
  ck_assert_int_eq(identity.rank, 5);
  ck_assert_int_eq(identity.size, 6);
  ck_assert_str_eq(identity.job, "pmix-prterun-host-77@1");
}

SFTEST(order_of_launchers)
{
  SET("SF_JOB", "j", "SLURM_PROCID", "1", "SLURM_STEP_NUM_TASKS", "11", "SLURM_STEP_ID", "0");
  ck_assert_int_eq(resolve_ok(NULL).size, 11);
  SET("PMIX_RANK", "1", "PMIX_NAMESPACE", "slurm.pmix.1.0", "SLURM_STEP_NUM_TASKS", "12");
  ck_assert_int_eq(resolve_ok(NULL).size, 12);
  SET("PMI_RANK", "1", "PMI_SIZE", "13");
  ck_assert_int_eq(resolve_ok(NULL).size, 13);
  unsetenv("PMI_RANK");
  unsetenv("PMI_SIZE");
  SET("OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "14");
  ck_assert_int_eq(resolve_ok(NULL).size, 14);
  SET("SF_RANK", "1", "SF_SIZE", "15");
  ck_assert_int_eq(resolve_ok(NULL).size, 15);
}

SFTEST(job_of_another_namespace_is_refused)
{
  SET("SF_JOB", "pmix-77", "OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "1", "PMIX_NAMESPACE", "77");
  ck_assert_str_eq(resolve_ok(NULL).job, "pmix-77");
  SET("PMIX_NAMESPACE", "78");
  EXPECT_ERROR(NULL, SF_ERR_UNSUPPORTED, "pmix-77", "78", "MPI_Comm_spawn");
  SET("SF_JOB", "of-sfrun");
  ck_assert_str_eq(resolve_ok(NULL).job, "of-sfrun");
}
