/* Calls that the interface refuses in the state that a request, a thread or a process is in, by one rank alone: each
 * with the documented error, and with nothing broken afterwards. Arguments: test_arguments.c. */
#include <pthread.h>
#include <sys/wait.h>

#include "tests/system/setup/alone.h"

static void refuse_requests(sftest_alone_t *scene)
{
  sftest_rank_t *self = scene->self;
  sf_request_t *begun = NULL, *persistent = NULL, *none = NULL;
  bool done = false;
  double *roots = scene->roots, *leaves = scene->leaves;
  SFTEST_EXPECT(self, sf_wait(NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_test(NULL, &done), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_test(&none, NULL), SF_ERR_ARG);
  SFTEST_OK(self, sf_test(&none, &done));
  SFTEST_REQUIRE(self, done);
  SFTEST_OK(self, sf_wait(&none));
  SFTEST_EXPECT(self, sf_wait_for(NULL, 1, &done), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_wait_for(&none, 1, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_wait_for(&none, -1, &done), SF_ERR_ARG);
  done = false;
  SFTEST_OK(self, sf_wait_for(&none, 0, &done));
  SFTEST_REQUIRE(self, done);
  SFTEST_EXPECT(self, sf_wait_all(-1, &none), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_wait_all(1, NULL), SF_ERR_ARG);
  SFTEST_OK(self, sf_wait_all(0, NULL));
  SFTEST_EXPECT(self, sf_start(NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_start_all(1, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_start_all(-1, NULL), SF_ERR_ARG);
  SFTEST_OK(self, sf_start_all(0, NULL));
  SFTEST_OK(self, sf_request_free(&none));
  SFTEST_OK(self, sf_request_free(NULL));
  SFTEST_OK(self, sf_bcast_begin(scene->graph, SF_DOUBLE, roots, leaves, SF_REPLACE, &begun));
  SFTEST_EXPECT(self, sf_start(begun), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_request_free(&begun), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_graph_destroy(scene->graph), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_finalize(scene->context), SF_ERR_STATE);
  SFTEST_OK(self, sf_wait(&begun));
  SFTEST_REQUIRE(self, begun == NULL);
  SFTEST_OK(self, sf_bcast_init(scene->graph, SF_DOUBLE, roots, leaves, SF_REPLACE, &persistent));
  SFTEST_OK(self, sf_wait(&persistent));
  SFTEST_OK(self, sf_test(&persistent, &done));
  SFTEST_REQUIRE(self, persistent != NULL && done);
  SFTEST_OK(self, sf_start(persistent));
  SFTEST_EXPECT(self, sf_start(persistent), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_request_free(&persistent), SF_ERR_STATE);
  SFTEST_OK(self, sf_wait(&persistent));
  SFTEST_OK(self, sf_request_free(&persistent));
  SFTEST_REQUIRE(self, persistent == NULL);
}

static void *wait_elsewhere(void *argument)
{
  sf_request_t **request = argument;
  bool done;
  sf_status_t status = sf_wait(request);
  if (status == SF_ERR_STATE)
    status = sf_test(request, &done);
  return (void *)(intptr_t)status;
}

static void refuse_other_thread(sftest_alone_t *scene)
{
  pthread_t thread;
  void *result;
  sf_request_t *request;
  SFTEST_OK(scene->self, sf_bcast_begin(scene->graph, SF_DOUBLE, scene->roots, scene->leaves, SF_REPLACE, &request));
  SFTEST_REQUIRE(scene->self, pthread_create(&thread, NULL, wait_elsewhere, &request) == 0);
  pthread_join(thread, &result);
  SFTEST_EXPECT(scene->self, (sf_status_t)(intptr_t)result, SF_ERR_STATE);
  SFTEST_OK(scene->self, sf_wait(&request));
}

/* What two requests fail with one by one, and the first of them together. */
typedef struct failures {
  sf_request_t *requests[2];
  char one_by_one[2][256];
  char together[256];
} failures_t;

static void *wait_for_both_elsewhere(void *argument)
{
  failures_t *failures = argument;
  for (int i = 0; i < 2; i++)
    if (sf_wait(&failures->requests[i]) != SF_OK)
      snprintf(failures->one_by_one[i], sizeof failures->one_by_one[i], "%s", sf_error_detail());
  if (sf_wait_all(2, failures->requests) != SF_OK)
    snprintf(failures->together, sizeof failures->together, "%s", sf_error_detail());
  return NULL;
}

static void tell_of_the_first(sftest_alone_t *scene)
{
  sftest_rank_t *self = scene->self;
  pthread_t thread;
  failures_t failures = {0};
  double *roots = scene->roots, others[SFTEST_ALONE_VALUES];
  SFTEST_OK(self, sf_bcast_begin(scene->graph, SF_DOUBLE, roots, scene->leaves, SF_REPLACE, &failures.requests[0]));
  SFTEST_OK(self, sf_bcast_begin(scene->graph, SF_DOUBLE, roots, others, SF_REPLACE, &failures.requests[1]));
  SFTEST_REQUIRE(self, pthread_create(&thread, NULL, wait_for_both_elsewhere, &failures) == 0);
  pthread_join(thread, NULL);
  SFTEST_REQUIRE(self, strstr(failures.one_by_one[0], "another thread") != NULL);
  SFTEST_REQUIRE(self, strstr(failures.one_by_one[1], "another thread") != NULL);
  SFTEST_REQUIRE(self, strcmp(failures.one_by_one[0], failures.one_by_one[1]) != 0);
  SFTEST_REQUIRE(self, strcmp(failures.together, failures.one_by_one[0]) == 0);
  SFTEST_OK(self, sf_wait_all(2, failures.requests));
}

/* Nothing of the parent's may be used in the child, and nothing of it is harmed. */
static void use_in_child(sftest_alone_t *scene, sf_request_t *begun, sf_request_t *persistent)
{
  sftest_rank_t *self = scene->self;
  int32_t zero = 0;
  int64_t root = 0;
  bool done;
  sf_group_t *group;
  sf_graph_t *graph;
  sf_request_t *request;
  void *address;
  SFTEST_EXPECT(self, sf_alloc(scene->context, 10, &address), SF_ERR_STATE);
  SFTEST_DETAIL(self, "child");
  SFTEST_EXPECT(self, sf_group_create(scene->context, 1, &zero, 0, &group), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_graph_create(sf_group_world(scene->context), 1, 1, NULL, &zero, &root, 0, &graph),
                SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_bcast(scene->graph, SF_DOUBLE, scene->roots, scene->leaves, SF_SUM), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_reduce_init(scene->graph, SF_DOUBLE, scene->leaves, scene->roots, SF_SUM, &request),
                SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_start(persistent), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_wait(&begun), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_test(&begun, &done), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_graph_destroy(scene->graph), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_finalize(scene->context), SF_ERR_STATE);
  _exit(0);
}

static void refuse_child(sftest_alone_t *scene)
{
  int status = -1;
  sf_request_t *begun, *persistent;
  SFTEST_OK(scene->self, sf_bcast_init(scene->graph, SF_DOUBLE, scene->roots, scene->leaves, SF_REPLACE, &persistent));
  SFTEST_OK(scene->self, sf_bcast_begin(scene->graph, SF_DOUBLE, scene->roots, scene->leaves, SF_REPLACE, &begun));
  pid_t child = fork();
  if (child == 0)
    use_in_child(scene, begun, persistent);
  SFTEST_REQUIRE(scene->self, waitpid(child, &status, 0) == child && status == 0);
  SFTEST_OK(scene->self, sf_wait(&begun));
}

SFTEST(one_rank_alone)
{
  static const sftest_alone_part_t parts[] = {{"requests", refuse_requests},
                                              {"other thread", refuse_other_thread},
                                              {"two requests", tell_of_the_first},
                                              {"child", refuse_child},
                                              {NULL, NULL}};
  sftest_alone_run(parts);
}
