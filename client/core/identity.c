/* Identity of this process: see identity.h. The thread that calls sf_init; reads the environment, changes nothing. */
#include "client/core/identity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"

#define MAX_SIZES 2
#define MAX_JOB_VARIABLES 2
#define PMIX_PREFIX "pmix-"

/* A variable that identifies the job, alone or with a second one. The prefix keeps the numbers of different launchers
 * apart. */
typedef struct job_variable {
  const char *name, *prefix;
  const char *second; /* NULL: none */
} job_variable_t;

/* A source of rank and size. */
typedef struct source {
  const char *name;
  bool (*applies)(void); /* NULL: always; false: another program's variables */
  bool shares_sizes;     /* size variables may be set without a rank: alone they mean nothing */
  const char *rank;
  const char *sizes[MAX_SIZES]; /* the first that is set counts */
  const char *spawned;          /* set, and not 0, in processes that MPI_Comm_spawn started */
  job_variable_t jobs[MAX_JOB_VARIABLES];
} source_t;

enum { SOURCE_SF, SOURCE_OPEN_MPI, SOURCE_PMI, SOURCE_PMIX, SOURCE_SLURM, NSOURCES };

static bool is_slurm_step(void);

/* In order of precedence. srun's come last: it may have started another launcher's daemons, whose ranks inherit its
 * variables. */
static const source_t sources[NSOURCES] = {
    [SOURCE_SF] = {.name = "SF_RANK and SF_SIZE", .rank = "SF_RANK", .sizes = {"SF_SIZE"}},
    [SOURCE_OPEN_MPI] = {.name = "Open MPI",
                         .rank = "OMPI_COMM_WORLD_RANK",
                         .sizes = {"OMPI_COMM_WORLD_SIZE"},
                         .spawned = "OMPI_PARENT_PORT",
                         .jobs = {{"PMIX_NAMESPACE", PMIX_PREFIX, NULL},
                                  {"OMPI_MCA_ess_base_jobid", "openmpi-", NULL}}},
    [SOURCE_PMI] = {.name = "MPICH or another launcher with PMI",
                    .rank = "PMI_RANK",
                    .sizes = {"PMI_SIZE"},
                    .spawned = "PMI_SPAWNED",
                    .jobs = {{"PMI_JOBID", "pmi-", NULL}}},
    [SOURCE_PMIX] = {.name = "PMIx",
                     .shares_sizes = true,
                     .rank = "PMIX_RANK",
                     .sizes = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
                     .jobs = {{"PMIX_NAMESPACE", PMIX_PREFIX, NULL}}},
    [SOURCE_SLURM] = {.name = "Slurm",
                      .applies = is_slurm_step,
                      .shares_sizes = true,
                      .rank = "SLURM_PROCID",
                      .sizes = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
                      .jobs = {{"SLURM_JOB_ID", "slurm-", "SLURM_STEP_ID"}}},
};

static const char *nonempty(const char *text)
{
  return text && *text ? text : NULL;
}

static const char *variable(const char *name)
{
  return name ? nonempty(getenv(name)) : NULL;
}

/* Slurm sets its variables also in batch scripts and shells. Those have no step, or a special number at the end of the
 * 32-bit range. */
static bool is_slurm_step(void)
{
  const char *step = variable("SLURM_STEP_ID");
  return step && strtoull(step, NULL, 10) < 0xfffffff0u;
}

/* PMIx gives the size to programs that link with it, not in the environment. Slurm's variables mean the same ranks only
 * if the namespace is Slurm's: srun may have started another launcher. */
static bool is_slurm_pmix(void)
{
  const char *name = variable("PMIX_NAMESPACE");
  return name && strncmp(name, "slurm.", strlen("slurm.")) == 0;
}

/* The name of the variable with the size: the first that is set, else the first there is; NULL if none is to be used.
 */
static const char *size_name(const source_t *source)
{
  if (source == &sources[SOURCE_PMIX] && !is_slurm_pmix())
    return NULL;
  for (int i = 0; i < MAX_SIZES; i++)
    if (variable(source->sizes[i]))
      return source->sizes[i];
  return source->sizes[0];
}

/* strtoll alone would accept white space, signs and trailing text. */
static sf_status_t parse_number(const char *name, const char *text, int64_t maximum, int64_t *value_p)
{
  errno = 0;
  char *end = NULL;
  long long value = strtoll(text, &end, 10);
  if (strspn(text, "0123456789") != strlen(text))
    return sfshm_error(SF_ERR_ARG, "%s=\"%s\": expected a number of digits only", name, text);
  if (errno || *end || value > maximum)
    return sfshm_error(SF_ERR_ARG, "%s=\"%s\": expected at most %" PRId64, name, text, maximum);
  *value_p = value;
  return SF_OK;
}

static sf_status_t check_pair(const char *where, int64_t rank, int64_t size)
{
  if (size < 1)
    return sfshm_error(SF_ERR_ARG, "size %" PRId64 " (from %s): a job has at least 1 rank", size, where);
  if (rank < 0 || rank >= size)
    return sfshm_error(SF_ERR_ARG, "rank %" PRId64 " of size %" PRId64 " (from %s): expected 0 to %" PRId64, rank, size,
                       where, size - 1);
  return SF_OK;
}

static bool source_present(const source_t *source)
{
  if (source->applies && !source->applies())
    return false;
  return variable(source->rank) || (!source->shares_sizes && variable(source->sizes[0]));
}

static sf_status_t half_a_pair(const source_t *source, const char *size)
{
  if (!size)
    return sfshm_error(SF_ERR_ARG,
                       "%s is set, but how many ranks there are is not known from a launcher with PMIx, other than "
                       "Slurm: set SF_RANK and SF_SIZE",
                       source->rank);
  bool have_rank = variable(source->rank) != NULL;
  return sfshm_error(SF_ERR_ARG, "%s is set but %s is not: set both (sfrun and mpirun do)",
                     have_rank ? source->rank : size, have_rank ? size : source->rank);
}

static sf_status_t read_pair(const source_t *source, int32_t *rank_p, int32_t *size_p)
{
  const char *size_from = size_name(source);
  const char *rank_text = variable(source->rank), *size_text = variable(size_from);
  if (!rank_text || !size_text)
    return half_a_pair(source, size_from);
  int64_t rank = 0, size = 0;
  sf_status_t status = parse_number(source->rank, rank_text, INT32_MAX, &rank);
  if (!status)
    status = parse_number(size_from, size_text, INT32_MAX, &size);
  if (!status)
    status = check_pair(source->name, rank, size);
  if (status)
    return status;
  *rank_p = (int32_t)rank;
  *size_p = (int32_t)size;
  return SF_OK;
}

/* A launcher started inside another's process leaves both sets of variables. Only for launchers that exclude each
 * other: PMIx and Slurm may serve an earlier one. */
static sf_status_t check_launchers_agree(void)
{
  const source_t *a = &sources[SOURCE_OPEN_MPI], *b = &sources[SOURCE_PMI];
  if (!source_present(a) || !source_present(b))
    return SF_OK;
  int32_t rank_a = 0, size_a = 0, rank_b = 0, size_b = 0;
  sf_status_t status = read_pair(a, &rank_a, &size_a);
  if (!status)
    status = read_pair(b, &rank_b, &size_b);
  if (status || (rank_a == rank_b && size_a == size_b))
    return status;
  return sfshm_error(SF_ERR_ARG,
                     "%s=%d and %s=%d, but %s=%d and %s=%d: two launchers disagree; set SF_RANK and SF_SIZE, or unset "
                     "the variables of one",
                     a->rank, rank_a, a->sizes[0], size_a, b->rank, rank_b, b->sizes[0], size_b);
}

/* *source_p: the source in the environment; NULL: the options. */
static sf_status_t resolve_pair(const sf_init_options_t *options, sfc_identity_t *identity, const source_t **source_p)
{
  *source_p = NULL;
  if (options->rank != -1 || options->size != -1) {
    if (options->rank == -1 || options->size == -1)
      return sfshm_error(SF_ERR_ARG, "the options give rank %d and size %d: give both, or leave both at -1",
                         options->rank, options->size);
    identity->rank = options->rank;
    identity->size = options->size;
    return check_pair("the options", options->rank, options->size);
  }
  for (int i = 0; i < NSOURCES; i++) {
    if (!source_present(&sources[i]))
      continue;
    *source_p = &sources[i];
    sf_status_t status = i == SOURCE_SF ? SF_OK : check_launchers_agree();
    return status ? status : read_pair(&sources[i], &identity->rank, &identity->size);
  }
  return sfshm_error(SF_ERR_ARG,
                     "this process has no rank: start the program by \"sfrun -n RANKS program\" or by mpirun "
                     "of Open MPI or MPICH, by srun of Slurm, or set SF_RANK and SF_SIZE");
}

sf_status_t sfc_identity_check_world(const char *caller, int world_size)
{
  for (int i = 0; i < NSOURCES && world_size == 1; i++) {
    const char *name = sources[i].sizes[0], *launched = variable(name);
    if (sources[i].shares_sizes || !launched)
      continue;
    if (strtol(launched, NULL, 10) <= 1)
      break;
    return sfshm_error(SF_ERR_ARG,
                       "%s: MPI_COMM_WORLD is this process alone, but its launcher has started %.20s (%s): start the "
                       "program by the mpirun of the MPI that it was built with, not by another one or sfrun "
                       "--launcher local; or unset %s, if each process is to be a job of its own",
                       caller, launched, name, name);
  }
  return SF_OK;
}

/* second: appended after a dot; NULL: nothing. */
static sf_status_t copy_job(const char *name, const char *prefix, const char *value, const char *second,
                            char job[SFC_JOB_BYTES])
{
  size_t len_bytes = strlen(prefix) + strlen(value) + (second ? strlen(".") + strlen(second) : 0);
  if (len_bytes >= SFC_JOB_BYTES)
    return sfshm_error(SF_ERR_ARG, "%s: a job identity of %zu bytes, at most %d are allowed", name, len_bytes,
                       SFC_JOB_BYTES - 1);
  char *end = stpcpy(stpcpy(job, prefix), value);
  if (second)
    stpcpy(stpcpy(end, "."), second);
  return SF_OK;
}

/* The first variable of the source that is set; *job stays empty if none is. */
static sf_status_t job_from_source(const source_t *source, char job[SFC_JOB_BYTES])
{
  for (int i = 0; i < MAX_JOB_VARIABLES && (!source->applies || source->applies()); i++) {
    const job_variable_t *from = &source->jobs[i];
    const char *value = variable(from->name);
    if (value)
      return copy_job(from->name, from->prefix, value, variable(from->second), job);
  }
  return SF_OK;
}

static sf_status_t resolve_job(const sf_init_options_t *options, const source_t *source, sfc_identity_t *identity)
{
  if (nonempty(options->job))
    return copy_job("the options' job", "", options->job, NULL, identity->job);
  if (variable("SF_JOB"))
    return copy_job("SF_JOB", "", variable("SF_JOB"), NULL, identity->job);

  bool launcher = source && source != &sources[SOURCE_SF];
  sf_status_t status = SF_OK;
  for (int i = 0; i < NSOURCES && !status && !*identity->job; i++)
    if (!launcher || source == &sources[i])
      status = job_from_source(&sources[i], identity->job);
  if (status || *identity->job)
    return status;
  return sfshm_error(SF_ERR_ARG,
                     "rank %d of %d is known (from %s), but not the job: start the program by \"sfrun -n %d program\", "
                     "or set SF_JOB to a name that all ranks of this job share and no other job has",
                     identity->rank, identity->size, source ? source->name : "the options", identity->size);
}

/* SF_JOB was made from another namespace: MPI_Comm_spawn creates a new one. */
static sf_status_t check_namespace(void)
{
  const char *job = variable("SF_JOB"), *name = variable("PMIX_NAMESPACE");
  size_t len_bytes = strlen(PMIX_PREFIX);
  if (!job || !name || strncmp(job, PMIX_PREFIX, len_bytes) != 0 || strcmp(job + len_bytes, name) == 0)
    return SF_OK;
  return sfshm_error(SF_ERR_UNSUPPORTED,
                     "SF_JOB=\"%s\" is the job of another namespace than this process's (PMIX_NAMESPACE=\"%s\"), as "
                     "after MPI_Comm_spawn, which is not supported: start all ranks together, or give job, rank and "
                     "size in sf_init's options",
                     job, name);
}

/* A spawned process inherits its parent's job and key, but not rank and size: only complete options are trusted. */
static sf_status_t check_not_spawned(const sf_init_options_t *options)
{
  if (options->rank != -1 && options->size != -1 && nonempty(options->job))
    return SF_OK;
  for (int i = 0; i < NSOURCES; i++) {
    const char *value = variable(sources[i].spawned);
    if (value && strcmp(value, "0") != 0)
      return sfshm_error(SF_ERR_UNSUPPORTED,
                         "this process was started by MPI_Comm_spawn (%s is set), which is not supported: start all "
                         "ranks together, or give job, rank and size in sf_init's options",
                         sources[i].spawned);
  }
  return check_namespace();
}

static sf_status_t resolve_timeout(const sf_init_options_t *options, int64_t *timeout_ms_p)
{
  *timeout_ms_p = options->timeout_ms;
  if (options->timeout_ms < -1)
    return sfshm_error(SF_ERR_ARG, "the options' timeout_ms is %" PRId64 ": expected -1 or more", options->timeout_ms);
  const char *text = variable("SF_TIMEOUT_MS");
  return options->timeout_ms == -1 && text ? parse_number("SF_TIMEOUT_MS", text, INT64_MAX, timeout_ms_p) : SF_OK;
}

static sf_status_t resolve_send_order(bool *by_number_p)
{
  const char *order = variable("SF_SEND_ORDER");
  *by_number_p = order && strcmp(order, "number") == 0;
  if (order && !*by_number_p && strcmp(order, "distance") != 0)
    return sfshm_error(SF_ERR_ARG, "SF_SEND_ORDER: expected distance or number, found \"%.64s\"", order);
  return SF_OK;
}

sf_status_t sfc_identity_resolve(const sf_init_options_t *options, sfc_identity_t *identity_p)
{
  static const sf_init_options_t defaults = SF_INIT_OPTIONS_DEFAULT;
  if (!options)
    options = &defaults;
  sfc_identity_t identity = {0};
  const source_t *source = NULL;
  sf_status_t status = check_not_spawned(options);
  if (!status)
    status = resolve_pair(options, &identity, &source);
  if (!status)
    status = resolve_job(options, source, &identity);
  if (!status)
    status = resolve_timeout(options, &identity.timeout_ms);
  if (!status)
    status = resolve_send_order(&identity.sends_by_number);
  if (status)
    return status;

  identity.socket_path = nonempty(options->socket_path) ? options->socket_path : NULL;
  identity.key = options->key ? options->key : variable("SF_JOB_KEY");
  if (!identity.key)
    identity.key = "";
  *identity_p = identity;
  return SF_OK;
}
