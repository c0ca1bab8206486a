/* Ways to complete requests in the differential test. One thread. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/neighbors/differential.h"

#define MAX_REQUESTS 1024
#define NWAYS 9

/* Requests that are still to be completed. */
typedef struct open {
  int n, nopen;
  MPI_Request *requests;
  bool done[MAX_REQUESTS]; /* those that were null at first, too */
} open_t;

static void note_done(open_t *open, int i)
{
  if (i < 0 || i >= open->n || open->done[i]) {
    fprintf(stderr, "request %d of %d completed, which was not open\n", i, open->n);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  open->done[i] = true;
  open->nopen--;
}

static void wait_any(open_t *open, dice_t *own, int until)
{
  while (open->nopen > until) {
    MPI_Status status;
    int i = -1;
    must(MPI_Waitany(open->n, open->requests, &i, dice_percent(own, 50) ? &status : MPI_STATUS_IGNORE), "MPI_Waitany");
    note_done(open, i);
  }
}

static void complete_some(open_t *open, bool wait)
{
  int indices[MAX_REQUESTS], nsome = 0;
  while (open->nopen > 0) {
    if (wait)
      must(MPI_Waitsome(open->n, open->requests, &nsome, indices, MPI_STATUSES_IGNORE), "MPI_Waitsome");
    else
      must(MPI_Testsome(open->n, open->requests, &nsome, indices, MPI_STATUSES_IGNORE), "MPI_Testsome");
    for (int k = 0; k < nsome; k++)
      note_done(open, indices[k]);
  }
}

static void test_any(open_t *open)
{
  while (open->nopen > 0) {
    int i = -1, flag = 0;
    MPI_Status status;
    must(MPI_Testany(open->n, open->requests, &i, &flag, &status), "MPI_Testany");
    if (flag)
      note_done(open, i);
  }
}

static void test_each(open_t *open)
{
  for (int i = 0; open->nopen > 0; i = (i + 1) % open->n) {
    int flag = 0;
    if (open->done[i])
      continue;
    must(MPI_Test(&open->requests[i], &flag, MPI_STATUS_IGNORE), "MPI_Test");
    if (flag)
      note_done(open, i);
  }
}

static void wait_each(open_t *open, dice_t *own, bool look_first)
{
  int order[MAX_REQUESTS];
  for (int i = 0; i < open->n; i++)
    order[i] = i;
  dice_shuffle(own, open->n, order);
  for (int k = 0; k < open->n; k++) {
    int i = order[k], flag = 0;
    while (look_first && !flag && !open->done[i])
      must(MPI_Request_get_status(open->requests[i], &flag, MPI_STATUS_IGNORE), "MPI_Request_get_status");
    must(MPI_Wait(&open->requests[i], MPI_STATUS_IGNORE), "MPI_Wait");
    if (!open->done[i])
      note_done(open, i);
  }
}

static void test_all(open_t *open)
{
  int flag = 0;
  while (!flag)
    must(MPI_Testall(open->n, open->requests, &flag, MPI_STATUSES_IGNORE), "MPI_Testall");
}

void finish_all(dice_t *own, int n, MPI_Request requests[])
{
  static const char *const names[] = {"Waitall", "Waitany",    "Waitsome",           "Testall", "Testany", "Testsome",
                                      "Wait",    "get_status", "Waitany and Waitall"};
  open_t open = {.n = n, .requests = requests};
  MPI_Status *statuses = make_room((size_t)(n + 1) * sizeof *statuses);
  for (int i = 0; i < n; i++) {
    open.done[i] = requests[i] == MPI_REQUEST_NULL;
    open.nopen += !open.done[i];
  }
  int way = dice_below(own, NWAYS + 1);
  progress_note("finishing", way < NWAYS ? names[way] : "Test");
  if (way == 0)
    must(MPI_Waitall(n, requests, dice_percent(own, 50) ? statuses : MPI_STATUSES_IGNORE), "MPI_Waitall");
  else if (way == 1)
    wait_any(&open, own, 0);
  else if (way == 2 || way == 5)
    complete_some(&open, way == 2);
  else if (way == 3)
    test_all(&open);
  else if (way == 4)
    test_any(&open);
  else if (way == 6 || way == 7)
    wait_each(&open, own, way == 7);
  else if (way == 8) {
    wait_any(&open, own, open.nopen / 2);
    must(MPI_Waitall(n, requests, statuses), "MPI_Waitall");
  } else {
    test_each(&open);
  }
  free(statuses);
}
