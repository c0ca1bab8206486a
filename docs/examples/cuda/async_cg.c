/* Conjugate gradients on devices, in two ways: with scalars that never leave the device, so that the host waits for
 * nothing from the first iteration to the last; and with scalars that the host reads, as most programs do. It is the
 * comparison of section 6.2 of J. Zhang et al., "The PetscSF Scalable Communication Layer" (IEEE TPDS 2022).
 *
 *   sfrun -n 2 -- async_cg [ROWS [BAND [ITERATIONS]]]          ROWS rows with up to 2 BAND + 1 entries each
 *
 * Both ways run the same kernels and add up in the same order: their results must agree bit by bit, and with those of a
 * serial computation but for rounding. All ranks use device 0, or the one that SF_EXAMPLE_DEVICE says. Dot products are
 * summed by a graph with one root, on rank 0, and a leaf on each rank: reduce, then bcast. */
#include <cuda.h>
#include <math.h>
#include <sf/sf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda/async_cg_kernels.h"
#include "cuda/banded.h"

#define BLOCK_THREADS 128
#define MAX_BLOCKS 1024
#define ROUNDING 1e-6 /* relative, of an entry of the solution */

#define QUOTE(text) #text
#define TEXT(text) QUOTE(text)
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".hidden async_cg_fatbin\n"
        ".global async_cg_fatbin\n"
        "async_cg_fatbin:\n"
        ".incbin " TEXT(ASYNC_CG_FATBIN) "\n"
                                         ".byte 0\n"
                                         ".popsection\n");
extern const char async_cg_fatbin[];

enum { MULTIPLY, DOT_PARTS, DOT_SUM, STEP, TURN, KERNELS };
static const char *const kernel_names[KERNELS] = {"cg_multiply", "cg_dot_parts", "cg_dot_sum", "cg_step", "cg_turn"};

/* Scalars on the device. */
enum { LOCAL, TOTAL, PQ, RR, SCALARS = RR + 2 };

typedef struct cg {
  sf_context_t *context;
  banded_t system;
  int32_t nghosts;
  sf_graph_t *ghosts_graph; /* roots: entries of p; leaves: ghosts */
  sf_graph_t *sum_graph;
  CUstream stream;
  CUfunction kernels[KERNELS];
  int64_t nsyncs;
  int32_t *row_start, *column; /* all of these on the device */
  double *value, *x, *r, *p, *q, *ghosts, *parts, *scalars;
  double *seen; /* pinned: a scalar that the host reads */
} cg_t;

static void must(bool good, const char *what, const char *why)
{
  if (good)
    return;
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void sf(sf_status_t status, const char *what)
{
  must(status == SF_OK, what, status == SF_OK ? "" : sf_error_detail());
}

static void cu(CUresult result, const char *what)
{
  const char *text = "unknown error";
  if (result != CUDA_SUCCESS)
    cuGetErrorString(result, &text);
  must(result == CUDA_SUCCESS, what, text);
}

/* ---- The device -------------------------------------------------------------------------------------------------- */

static CUdeviceptr pointer(const void *address)
{
  return (CUdeviceptr)(uintptr_t)address;
}

static void open_device(cg_t *cg)
{
  CUdevice device;
  CUcontext context;
  CUmodule module;
  const char *number = getenv("SF_EXAMPLE_DEVICE");
  cu(cuInit(0), "cuInit");
  cu(cuDeviceGet(&device, number != NULL ? atoi(number) : 0), "cuDeviceGet");
  cu(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  cu(cuCtxPushCurrent(context), "cuCtxPushCurrent");
  cu(cuStreamCreate(&cg->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  cu(cuModuleLoadData(&module, async_cg_fatbin), "loading kernels");
  for (int i = 0; i < KERNELS; i++)
    cu(cuModuleGetFunction(&cg->kernels[i], module, kernel_names[i]), kernel_names[i]);
  cu(cuMemHostAlloc((void **)&cg->seen, sizeof *cg->seen, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
}

/* Memory of the device that operations may use, with these values; it stays until the program ends. */
static void *upload(cg_t *cg, const void *values, size_t bytes)
{
  CUdeviceptr address;
  sf_region_t *region;
  cu(cuMemAlloc(&address, bytes), "cuMemAlloc");
  cu(cuMemcpyHtoD(address, values, bytes), "cuMemcpyHtoD"); /* which may return before the stream can see it */
  cu(cuCtxSynchronize(), "cuCtxSynchronize");
  sf(sf_register(cg->context, (void *)(uintptr_t)address, bytes, SF_MEMORY_CUDA, &region), "sf_register");
  return (void *)(uintptr_t)address;
}

static void *upload_zeros(cg_t *cg, int64_t n)
{
  double *zeros = calloc((size_t)n + 1, sizeof *zeros);
  void *address = upload(cg, zeros, ((size_t)n + 1) * sizeof *zeros);
  free(zeros);
  return address;
}

static void launch(const cg_t *cg, int kernel, int64_t nthreads, cg_args_t args)
{
  int64_t nblocks = (nthreads + BLOCK_THREADS - 1) / BLOCK_THREADS;
  void *parameters[] = {&args};
  cu(cuLaunchKernel(cg->kernels[kernel], (unsigned)(nblocks < MAX_BLOCKS ? nblocks : MAX_BLOCKS), 1, 1, BLOCK_THREADS,
                    1, 1, 0, cg->stream, parameters, NULL),
     kernel_names[kernel]);
}

static void synchronise(cg_t *cg)
{
  cg->nsyncs++;
  cu(cuStreamSynchronize(cg->stream), "cuStreamSynchronize");
}

/* ---- The problem ------------------------------------------------------------------------------------------------- */

static void make_matrix(cg_t *cg)
{
  const banded_t *system = &cg->system;
  int32_t *row_start = calloc((size_t)system->nrows + 1, sizeof *row_start), nentries = 0;
  int32_t *column = calloc((size_t)system->nrows * (size_t)(2 * system->band + 1) + 1, sizeof *column);
  double *value = calloc((size_t)system->nrows * (size_t)(2 * system->band + 1) + 1, sizeof *value);
  for (int32_t i = 0; i < system->nrows; i++) {
    int32_t row = system->first + i;
    for (int32_t j = row < system->band ? 0 : row - system->band; j <= row + system->band && j < system->n; j++) {
      column[nentries] = banded_place(system, j);
      value[nentries++] = banded_entry(system, row, j);
    }
    row_start[i + 1] = nentries;
  }
  cg->row_start = upload(cg, row_start, ((size_t)cg->system.nrows + 1) * sizeof *row_start);
  cg->column = upload(cg, column, ((size_t)nentries + 1) * sizeof *column);
  cg->value = upload(cg, value, ((size_t)nentries + 1) * sizeof *value);
  free(row_start);
  free(column);
  free(value);
}

static void make_graphs(cg_t *cg)
{
  int32_t after = cg->system.n - cg->system.first - cg->system.nrows, root_rank = 0;
  int64_t root = 0;
  cg->nghosts = banded_ghosts_before(&cg->system) + (after < cg->system.band ? after : cg->system.band);
  int32_t *ranks = calloc((size_t)cg->nghosts + 1, sizeof *ranks);
  int64_t *roots = calloc((size_t)cg->nghosts + 1, sizeof *roots);
  for (int32_t k = 0; k < cg->nghosts; k++) {
    ranks[k] = banded_owner(&cg->system, banded_ghost_column(&cg->system, k));
    roots[k] = banded_ghost_column(&cg->system, k) - banded_first(&cg->system, ranks[k]);
  }
  sf_group_t *world = sf_group_world(cg->context);
  sf(sf_graph_create(world, cg->system.nrows, cg->nghosts, NULL, ranks, roots, SF_GRAPH_DEFAULT, &cg->ghosts_graph),
     "graph");
  sf(sf_graph_create(world, cg->system.rank == 0, 1, NULL, &root_rank, &root, SF_GRAPH_DEFAULT, &cg->sum_graph),
     "graph");
  free(ranks);
  free(roots);
}

static void make_vectors(cg_t *cg)
{
  double *b = calloc((size_t)cg->system.nrows + 1, sizeof *b);
  for (int32_t i = 0; i < cg->system.nrows; i++)
    b[i] = banded_right_hand_side(cg->system.first + i);
  cg->x = upload_zeros(cg, cg->system.nrows);
  cg->r = upload(cg, b, ((size_t)cg->system.nrows + 1) * sizeof *b);
  cg->p = upload(cg, b, ((size_t)cg->system.nrows + 1) * sizeof *b);
  cg->q = upload_zeros(cg, cg->system.nrows);
  cg->ghosts = upload_zeros(cg, cg->nghosts);
  cg->parts = upload_zeros(cg, CG_PARTS);
  cg->scalars = upload_zeros(cg, SCALARS);
  free(b);
}

/* ---- Both ways --------------------------------------------------------------------------------------------------- */

static void multiply(const cg_t *cg)
{
  launch(cg, MULTIPLY, cg->system.nrows,
         (cg_args_t){.n = cg->system.nrows,
                     .nown = cg->system.nrows,
                     .row_start = cg->row_start,
                     .column = cg->column,
                     .value = cg->value,
                     .x = cg->p,
                     .ghosts = cg->ghosts,
                     .y = cg->q});
}

/* This rank's part of x . y, in the scalar LOCAL. */
static void dot_here(const cg_t *cg, const double *x, double *y)
{
  cg_args_t args = {.n = cg->system.nrows,
                    .x = x,
                    .y = y,
                    .parts = cg->parts,
                    .sum = &cg->scalars[LOCAL],
                    .total = &cg->scalars[TOTAL]};
  launch(cg, DOT_PARTS, CG_PARTS, args);
  launch(cg, DOT_SUM, 1, args);
}

/* x += a p, r -= a q, with a = *rr / *pq or what the host has found. */
static void step(const cg_t *cg, const double *rr, const double *pq, double a)
{
  launch(cg, STEP, cg->system.nrows,
         (cg_args_t){.n = cg->system.nrows,
                     .x = cg->p,
                     .ghosts = cg->q,
                     .y = cg->x,
                     .z = cg->r,
                     .numerator = rr,
                     .denominator = pq,
                     .factor = a});
}

/* p = r + b p */
static void turn(const cg_t *cg, const double *rr, const double *rr_before, double b)
{
  launch(cg, TURN, cg->system.nrows,
         (cg_args_t){
             .n = cg->system.nrows, .x = cg->r, .y = cg->p, .numerator = rr, .denominator = rr_before, .factor = b});
}

/* ---- The way without waiting ------------------------------------------------------------------------------------- */

static void dot_on_device(cg_t *cg, const double *x, double *y, double *result)
{
  double *local = &cg->scalars[LOCAL], *total = &cg->scalars[TOTAL];
  dot_here(cg, x, y);
  sf(sf_reduce_on_stream(cg->sum_graph, SF_DOUBLE, local, total, SF_SUM, cg->stream), "sf_reduce_on_stream");
  sf(sf_bcast_on_stream(cg->sum_graph, SF_DOUBLE, total, result, SF_REPLACE, cg->stream), "sf_bcast_on_stream");
}

static void iterate_on_device(cg_t *cg, int32_t niterations)
{
  double *pq = &cg->scalars[PQ], *rr = &cg->scalars[RR], *next = rr + 1;
  dot_on_device(cg, cg->r, cg->r, rr);
  for (int32_t i = 0; i < niterations; i++) {
    sf(sf_bcast_on_stream(cg->ghosts_graph, SF_DOUBLE, cg->p, cg->ghosts, SF_REPLACE, cg->stream),
       "sf_bcast_on_stream");
    multiply(cg);
    dot_on_device(cg, cg->p, cg->q, pq);
    step(cg, rr, pq, 0);
    dot_on_device(cg, cg->r, cg->r, next);
    turn(cg, next, rr, 0);
    double *before = rr;
    rr = next;
    next = before;
  }
}

/* ---- The way with the host --------------------------------------------------------------------------------------- */

static double dot_on_host(cg_t *cg, const double *x, double *y)
{
  double total = 0, result = 0;
  dot_here(cg, x, y);
  cu(cuMemcpyAsync(pointer(cg->seen), pointer(&cg->scalars[LOCAL]), sizeof *cg->seen, cg->stream), "cuMemcpyAsync");
  synchronise(cg);
  sf(sf_reduce(cg->sum_graph, SF_DOUBLE, cg->seen, &total, SF_SUM), "sf_reduce");
  sf(sf_bcast(cg->sum_graph, SF_DOUBLE, &total, &result, SF_REPLACE), "sf_bcast");
  return result;
}

static void iterate_with_host(cg_t *cg, int32_t niterations)
{
  double rr = dot_on_host(cg, cg->r, cg->r);
  for (int32_t i = 0; i < niterations; i++) {
    synchronise(cg); /* sf_bcast does not know the stream */
    sf(sf_bcast(cg->ghosts_graph, SF_DOUBLE, cg->p, cg->ghosts, SF_REPLACE), "sf_bcast");
    multiply(cg);
    double pq = dot_on_host(cg, cg->p, cg->q);
    step(cg, NULL, NULL, rr / pq);
    double next = dot_on_host(cg, cg->r, cg->r);
    turn(cg, NULL, NULL, next / rr);
    rr = next;
  }
}

/* ---- Comparing --------------------------------------------------------------------------------------------------- */

typedef struct run {
  double us; /* an iteration */
  double syncs;
  double *x;
} run_t;

static double now_us(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void wait_for_all(cg_t *cg)
{
  double one = 1, sum = 0;
  sf(sf_reduce(cg->sum_graph, SF_DOUBLE, &one, &sum, SF_SUM), "sf_reduce");
  sf(sf_bcast(cg->sum_graph, SF_DOUBLE, &sum, &one, SF_REPLACE), "sf_bcast");
}

/* The first run also sets everything up: its time does not count. */
static run_t run(cg_t *cg, void (*iterate)(cg_t *cg, int32_t niterations), int32_t niterations)
{
  run_t result = {.x = calloc((size_t)cg->system.nrows + 1, sizeof(double))};
  for (int round = 0; round < 2; round++) {
    make_vectors(cg);
    wait_for_all(cg);
    cg->nsyncs = 0;
    double begin = now_us();
    iterate(cg, niterations);
    result.syncs = (double)cg->nsyncs / niterations;
    synchronise(cg); /* the one at the end */
    result.us = (now_us() - begin) / niterations;
    sf(sf_streams_check(cg->ghosts_graph), "sf_streams_check");
  }
  cu(cuMemcpyDtoH(result.x, pointer(cg->x), (size_t)cg->system.nrows * sizeof(double)), "cuMemcpyDtoH");
  return result;
}

static int32_t argument(int argc, char *argv[], int i, int32_t otherwise)
{
  int32_t number = argc > i ? atoi(argv[i]) : otherwise;
  must(number > 0, "usage", "async_cg [ROWS [BAND [ITERATIONS]]]");
  return number;
}

/* Whether it is true on all ranks. */
static bool all_agree(cg_t *cg, bool mine)
{
  int32_t here = mine, all = 1;
  sf(sf_reduce(cg->sum_graph, SF_INT32, &here, &all, SF_LAND), "sf_reduce");
  sf(sf_bcast(cg->sum_graph, SF_INT32, &all, &here, SF_REPLACE), "sf_bcast");
  return here != 0;
}

/* Rank 0 gets all of x and compares. */
static bool agrees_with_serial(cg_t *cg, const double *mine, int32_t niterations)
{
  int32_t n = cg->system.rank == 0 ? cg->system.n : 0;
  int32_t *ranks = calloc((size_t)n + 1, sizeof *ranks);
  int64_t *roots = calloc((size_t)n + 1, sizeof *roots);
  double *all = calloc((size_t)n + 1, sizeof *all), *expected = calloc((size_t)n + 1, sizeof *expected);
  bool good = true;
  sf_graph_t *graph;
  for (int32_t row = 0; row < n; row++) {
    ranks[row] = banded_owner(&cg->system, row);
    roots[row] = row - banded_first(&cg->system, ranks[row]);
  }
  sf(sf_graph_create(sf_group_world(cg->context), cg->system.nrows, n, NULL, ranks, roots, SF_GRAPH_DEFAULT, &graph),
     "graph");
  sf(sf_bcast(graph, SF_DOUBLE, mine, all, SF_REPLACE), "sf_bcast");
  sf(sf_graph_destroy(graph), "sf_graph_destroy");
  if (n > 0)
    banded_solve(&cg->system, niterations, expected);
  for (int32_t row = 0; row < n; row++)
    good &= fabs(all[row] - expected[row]) <= ROUNDING * fabs(expected[row]);
  free(ranks);
  free(roots);
  free(all);
  free(expected);
  return all_agree(cg, good);
}

int main(int argc, char *argv[])
{
  cg_t cg = {.system = {.n = argument(argc, argv, 1, 7000), .band = argument(argc, argv, 2, 24)}};
  int32_t niterations = argument(argc, argv, 3, 200);
  sf(sf_init(NULL, &cg.context), "sf_init");
  cg.system.rank = sf_rank(cg.context);
  cg.system.size = sf_size(cg.context);
  must(cg.system.n >= cg.system.size, "usage", "at least as many rows as ranks");
  cg.system.first = banded_first(&cg.system, cg.system.rank);
  cg.system.nrows = banded_first(&cg.system, cg.system.rank + 1) - cg.system.first;
  open_device(&cg);
  make_graphs(&cg);
  make_matrix(&cg);
  run_t host = run(&cg, iterate_with_host, niterations), device = run(&cg, iterate_on_device, niterations);
  bool same = all_agree(&cg, memcmp(host.x, device.x, (size_t)cg.system.nrows * sizeof(double)) == 0);
  bool right = agrees_with_serial(&cg, device.x, niterations);
  if (cg.system.rank == 0) {
    printf("%d rows, %d ranks, %d iterations\n", cg.system.n, cg.system.size, niterations);
    printf("  scalars on the host    %8.1f us an iteration, %.1f host synchronisations and 3 waits in sf\n", host.us,
           host.syncs);
    printf("  scalars on the device  %8.1f us an iteration, %.1f host synchronisations\n", device.us, device.syncs);
    printf("  %s: the solutions %s bit by bit\n", same ? "ok" : "FAILED", same ? "agree" : "differ");
    printf("  %s: a serial computation\n", right ? "ok" : "FAILED");
  }
  free(host.x);
  free(device.x);
  cu(cuMemFreeHost(cg.seen), "cuMemFreeHost");
  sf(sf_graph_destroy(cg.ghosts_graph), "sf_graph_destroy");
  sf(sf_graph_destroy(cg.sum_graph), "sf_graph_destroy");
  sf(sf_finalize(cg.context), "sf_finalize");
  return same && right ? 0 : 1;
}
