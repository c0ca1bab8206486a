/* Job of the processes of MPI_COMM_WORLD: see job.h. The thread that initialises MPI; errors: any. */
#include "client/adapters/pmpi/job.h"

#include <sf/sf_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/adapters/pmpi/threads.h"
#include "client/adapters/pmpi/topology.h"

sfpmpi_job_t sfpmpi_job = {
    .group = MPI_GROUP_NULL, .self = MPI_COMM_NULL, .pending = MPI_REQUEST_NULL, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Joining and leaving ----------------------------------------------------------------------------------------- */

/* Values of SF_MPI_NEIGHBORS, the more demanding ones last. */
typedef enum sfpmpi_mode { MODE_OFF, MODE_ON, MODE_REQUIRE, MODE_UNKNOWN } sfpmpi_mode_t;

static int read_mode(const char **text_p)
{
  static const char *const names[] = {[MODE_OFF] = "off", [MODE_ON] = "on", [MODE_REQUIRE] = "require"};
  const char *text = *text_p = getenv("SF_MPI_NEIGHBORS");
  if (text == NULL || *text == '\0')
    return MODE_ON;
  for (int mode = MODE_OFF; mode < MODE_UNKNOWN; mode++)
    if (strcmp(text, names[mode]) == 0)
      return mode;
  return MODE_UNKNOWN;
}

static void give_up(const char *what, const char *why)
{
  fprintf(stderr, "sfd: %s: %s\n", what, why);
  (void)PMPI_Abort(MPI_COMM_WORLD, 1);
}

/* Ends a program of another MPI, whose handles this library can't pass on. */
static void check_library(void)
{
#if defined(OPEN_MPI)
  static const bool is_open_mpi = true;
#else
  static const bool is_open_mpi = false;
#endif
  char version[8192] = ""; /* the longest of both MPIs */
  int length;
  (void)PMPI_Get_library_version(version, &length);
  if ((strncmp(version, "Open MPI", 8) == 0) == is_open_mpi)
    return;
  fprintf(stderr,
          "sfd: the preloaded library is for %s, but the program uses %.*s: start it by the mpirun of its MPI\n",
          is_open_mpi ? "Open MPI" : "MPICH", (int)strcspn(version, ",\n"), version);
  exit(EXIT_FAILURE);
}

/* The mode of all processes: off if one has that, require if one has that. */
static int agree_on_mode(void)
{
  const char *text;
  int mine = read_mode(&text), pair[2] = {-mine, mine};
  if (mine == MODE_UNKNOWN)
    give_up("SF_MPI_NEIGHBORS is off, on or require, but here", text);
  if (PMPI_Allreduce(MPI_IN_PLACE, pair, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS || pair[0] == -MODE_OFF)
    return MODE_OFF;
  return pair[1];
}

void sfpmpi_job_join(void)
{
  check_library();
  int level = MPI_THREAD_SINGLE, mode = agree_on_mode();
  if (mode == MODE_OFF || sfpmpi_job.context != NULL)
    return;
  sfpmpi_job.required = mode == MODE_REQUIRE;
  (void)PMPI_Query_thread(&level); /* not what the program asked for: MPI's settings may say more */
  sfpmpi_job.shared = level == MPI_THREAD_MULTIPLE;
  sfpmpi_job.turns = level >= MPI_THREAD_SERIALIZED;
  if (sf_mpi_init(MPI_COMM_WORLD, NULL, &sfpmpi_job.context) != SF_OK) {
    sfpmpi_job_fall_back("neighborhood collectives", NULL);
    return;
  }
  (void)PMPI_Comm_group(MPI_COMM_WORLD, &sfpmpi_job.group);
  (void)PMPI_Comm_dup(MPI_COMM_SELF, &sfpmpi_job.self);
  (void)PMPI_Comm_set_errhandler(sfpmpi_job.self, MPI_ERRORS_RETURN);
  MPI_Request nothing = MPI_REQUEST_NULL;
  (void)PMPI_Wait(&nothing, &sfpmpi_job.empty);
  (void)PMPI_Irecv(NULL, 0, MPI_BYTE, 0, 0, sfpmpi_job.self, &sfpmpi_job.pending);
}

void sfpmpi_job_leave(void)
{
  if (sfpmpi_job.context == NULL)
    return;
  sfpmpi_threads_end();
  sfpmpi_topologies_leave();
  (void)sf_finalize(sfpmpi_job.context); /* of a job that has failed: others have said so */
  sfpmpi_job.context = NULL;
  (void)PMPI_Group_free(&sfpmpi_job.group);
  (void)PMPI_Send(NULL, 0, MPI_BYTE, 0, 0, sfpmpi_job.self);
  (void)PMPI_Wait(&sfpmpi_job.pending, MPI_STATUS_IGNORE);
  (void)PMPI_Comm_free(&sfpmpi_job.self);
}

void sfpmpi_job_fall_back(const char *what, const char *reason)
{
  char text[1024];
  if (!sfpmpi_job.required)
    return;
  snprintf(text, sizeof text, "SF_MPI_NEIGHBORS=require, but MPI would carry %s", what);
  give_up(text, reason != NULL ? reason : sf_error_detail());
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* Makes a code of the class of this library's errors. Returns MPI_ERR_OTHER if MPI can't. */
static int make_code(void)
{
  static int class_of_all = MPI_SUCCESS;
  int code;
  if (class_of_all == MPI_SUCCESS &&
      (PMPI_Add_error_class(&class_of_all) != MPI_SUCCESS ||
       PMPI_Add_error_string(class_of_all, "sfd: a rank or a daemon has failed") != MPI_SUCCESS))
    return MPI_ERR_OTHER;
  return PMPI_Add_error_code(class_of_all, &code) == MPI_SUCCESS ? code : MPI_ERR_OTHER;
}

int sfpmpi_error_code_of(sf_status_t status)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the codes */
  static int codes[-SF_ERR_INTERNAL + 1];                  /* by status; 0: none yet */
  char text[MPI_MAX_ERROR_STRING];
  if (status == SF_ERR_RANGE)
    return MPI_ERR_TRUNCATE;
  snprintf(text, sizeof text, "sfd: %s: %s", sf_strerror(status), sf_error_detail());
  if (status < SF_ERR_INTERNAL || status > 0)
    status = SF_ERR_INTERNAL;
  pthread_mutex_lock(&lock);
  int code = codes[-status];
  if (code == MPI_SUCCESS)
    code = codes[-status] = make_code();
  pthread_mutex_unlock(&lock);
  if (code != MPI_ERR_OTHER)
    (void)PMPI_Add_error_string(code, text);
  return code;
}

int sfpmpi_raise(MPI_Comm comm, int code)
{
  if (code != MPI_SUCCESS)
    (void)PMPI_Comm_call_errhandler(comm, code);
  return code;
}
