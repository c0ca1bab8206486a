/* libsfclient: star-forest communication between the ranks of a job, through the node's daemon sfd. An application
 * needs only this header. Nothing here needs MPI (sf_mpi.h converts MPI communicators, datatypes and ops).
 *
 * A star forest connects each *root* (a value owned by one rank) with zero or more *leaves* (copies on any ranks).
 * Operations move data along its edges. The model is defined by J. Brown, "Star forests as a parallel communication
 * model" (2011), cited as [SF], and by J. Zhang et al., "The PetscSF Scalable Communication Layer" (IEEE TPDS 2022),
 * cited as [PetscSF].
 *
 * Conventions
 *  - Fallible functions return SF_OK (0) or a negative sf_status_t. After an error sf_error_detail() names the object,
 *    the expected value and the value found. Output parameters come last, end in _p, and are written on success only.
 *  - Most functions can return the following errors, which their comments do not repeat. SF_ERR_ARG: a required pointer
 *    is NULL. SF_ERR_NOMEM, SF_ERR_SYS, SF_ERR_LIMIT: memory, descriptors or a limit of the daemon are exhausted.
 *    SF_ERR_RANK_FAILED, SF_ERR_DAEMON_LOST: a rank or a daemon of the job died (functions that are not local, and
 *    functions that allocate or register memory).
 *  - "Collective": every rank of the group calls the function, and all ranks make their collective calls in the same
 *    order. "Blocking": the function waits for other ranks; functions without this mark do not. "Local": no other rank
 *    takes part.
 *  - Handles are opaque. The caller that created an object destroys it. Destroy functions accept NULL.
 *  - Threads: different threads may use different graphs at the same time. Only one thread at a time may use a graph,
 *    and the thread that begins an operation must end it. Any thread may use contexts, groups and memory.
 *  - A process forked after sf_init must not use the library's objects of its parent (SF_ERR_STATE).
 *  - After SF_ERR_RANK_FAILED, SF_ERR_DAEMON_LOST or SF_ERR_MISMATCH the contents of result buffers are undefined. */
#ifndef SF_H
#define SF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header. */
#define SF_VERSION_MAJOR 0
#define SF_VERSION_MINOR 1
#define SF_VERSION_PATCH 0

/* Marks functions whose status the caller must check. */
#if defined(__GNUC__)
#define SF_CHECK_RESULT __attribute__((warn_unused_result))
#else
#define SF_CHECK_RESULT
#endif

typedef struct sf_context sf_context_t; /* this process as one rank of a job, connected to its node's sfd */
typedef struct sf_group sf_group_t;     /* ordered subset of the job's ranks */
typedef struct sf_graph sf_graph_t;     /* star forest over a group, set up for communication */
typedef struct sf_request sf_request_t; /* operation in flight, or persistent operation */
typedef struct sf_region sf_region_t;   /* registered memory */
typedef struct sf_type sf_type_t;       /* unit: type of the value at each vertex */
typedef struct sf_op sf_op_t;           /* how an arriving value is combined with the present value */

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* Text of a status code, also of unknown codes. Never NULL; static storage. Local. */
const char *sf_strerror(sf_status_t status);

/* Details of this thread's last failed call: the object, the expected value, the value found. Empty if no call failed.
 * The text belongs to the library and is valid until the thread's next call into it. Local. */
const char *sf_error_detail(void);

/* Version of the loaded library, as "major.minor.patch". Static storage. Local. */
const char *sf_version(void);

/* ---- Job --------------------------------------------------------------------------------------------------------- */

/* How to join a job. Initialise with SF_INIT_OPTIONS_DEFAULT: fields with default values are taken from the
 * environment. If several launchers have set their variables the first of this list counts: Open MPI, MPICH's Hydra and
 * others with PMI, PMIx, Slurm. Processes started by MPI_Comm_spawn must set job, rank and size (SF_ERR_UNSUPPORTED
 * otherwise). */
typedef struct sf_init_options {
  const char *socket_path; /* NULL: SF_SOCKET, else $XDG_RUNTIME_DIR/sfd.sock, else /tmp/sfd-UID/sfd.sock */
  const char *job;         /* name of the job, the same on all ranks. NULL: SF_JOB, else the launcher's */
  const char *key;         /* secret shared by the ranks; sfd refuses ranks with another key. NULL: SF_JOB_KEY or "" */
  int32_t rank;            /* this process, 0..size-1. -1: SF_RANK, else the launcher's */
  int32_t size;            /* number of ranks of the job. -1: SF_SIZE, else the launcher's */
  int64_t timeout_ms;      /* how long to wait for other ranks. -1: SF_TIMEOUT_MS, else the daemon's join-timeout */
} sf_init_options_t;

/* Takes all options from the environment. */
#define SF_INIT_OPTIONS_DEFAULT                                                                                        \
  {                                                                                                                    \
    NULL, NULL, NULL, -1, -1, -1                                                                                       \
  }

/* Joins the job. Collective over the job; blocking until all ranks have joined. options == NULL: all options are taken
 * from the environment. The caller owns the context and passes it to sf_finalize. A rank may join again after
 * sf_finalize, with the same environment: the call then joins a new job, and waits until all ranks have left the
 * previous one.
 * SF_ERR_NO_DAEMON: no daemon answers at the socket. SF_ERR_ARG: rank, size or job is missing or out of range, or
 * earlier ranks gave another size. SF_ERR_EXISTS: another process holds this rank. SF_ERR_STATE: a rank of the job has
 * failed and some ranks have not left the job yet. SF_ERR_VERSION: the daemon uses another protocol version.
 * SF_ERR_PERM: the job belongs to another user or has another key. SF_ERR_TIMEOUT: ranks are missing, and the detail
 * names them; or the daemon has not answered within two seconds after the given time-out. */
SF_CHECK_RESULT sf_status_t sf_init(const sf_init_options_t *options, sf_context_t **context_p);

/* Leaves the job, and frees the context and all memory from sf_alloc. Destroys graphs, groups and regions that still
 * exist. Local; does not wait for other ranks. context == NULL is accepted. A process that exits without this call
 * counts as failed. If others still use an array, its elements remain for ranks of this node, and for those of other
 * nodes until the last rank of this node leaves.
 * SF_ERR_STATE: requests have not been ended; nothing is freed. SF_ERR_RANK_FAILED: the job has failed, even if no
 * earlier call has reported it; everything is freed. */
sf_status_t sf_finalize(sf_context_t *context);

/* This process's rank in the job, and the number of ranks. -1 if context is NULL. Local. */
int32_t sf_rank(const sf_context_t *context);
int32_t sf_size(const sf_context_t *context);

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

/* The group of all ranks in job order; NULL if context is NULL. The context owns it; the caller must not destroy it.
 * Local. */
sf_group_t *sf_group_world(sf_context_t *context);

/* Creates the group whose member i is job rank ranks[i]; ranks has size elements, is read only, and may be freed at
 * return. Collective and blocking over the listed ranks only. The daemon matches calls by list and tag, so ranks may
 * create different groups in any order. The caller owns the group.
 * SF_ERR_ARG: ranks are not distinct, are out of range, or do not include the caller. This error is local: the other
 * listed ranks wait until this rank calls again with their list, or the job ends. SF_ERR_LIMIT, on all ranks: the list
 * has more than about 350,000 ranks. */
SF_CHECK_RESULT sf_status_t sf_group_create(sf_context_t *context, int32_t size, const int32_t ranks[], int32_t tag,
                                            sf_group_t **group_p);

/* Frees the group. Graphs on it remain usable. Local. group == NULL is accepted. SF_ERR_ARG: it is the group of all
 * ranks. */
sf_status_t sf_group_destroy(sf_group_t *group);

/* This process's rank in the group, and the number of members. -1 if group is NULL. Local. */
int32_t sf_group_rank(const sf_group_t *group);
int32_t sf_group_size(const sf_group_t *group);

/* ---- Units and ops ----------------------------------------------------------------------------------------------- */

/* Numbers. */
extern const sf_type_t *const SF_INT8;
extern const sf_type_t *const SF_UINT8;
extern const sf_type_t *const SF_INT16;
extern const sf_type_t *const SF_UINT16;
extern const sf_type_t *const SF_INT32;
extern const sf_type_t *const SF_UINT32;
extern const sf_type_t *const SF_INT64;
extern const sf_type_t *const SF_UINT64;
extern const sf_type_t *const SF_FLOAT;
extern const sf_type_t *const SF_DOUBLE;
extern const sf_type_t *const SF_FLOAT_COMPLEX;
extern const sf_type_t *const SF_DOUBLE_COMPLEX;

/* Pairs of a value and an index, for SF_MAXLOC and SF_MINLOC. Layout and padding are those of the C type
 * struct { value type; index type; }. SF_INT32_INT32 is MPI_2INT, SF_DOUBLE_INT32 is MPI_DOUBLE_INT. */
extern const sf_type_t *const SF_INT16_INT32;
extern const sf_type_t *const SF_INT32_INT32;
extern const sf_type_t *const SF_INT64_INT32;
extern const sf_type_t *const SF_INT64_INT64;
extern const sf_type_t *const SF_FLOAT_INT32;
extern const sf_type_t *const SF_DOUBLE_INT32;
extern const sf_type_t *const SF_DOUBLE_INT64;

/* Creates a unit of count >= 1 consecutive values of base. Ops apply to each value. base may be a block, and may be
 * destroyed before the new unit. The caller owns the unit. Local. SF_ERR_ARG: count < 1, or the unit exceeds 2^40
 * bytes.
 */
SF_CHECK_RESULT sf_status_t sf_type_create_block(int64_t count, const sf_type_t *base, const sf_type_t **type_p);

/* Creates a unit of size_bytes bytes (1 to 2^40) without arithmetic: only SF_REPLACE and ops of the application accept
 * it. The caller owns the unit. Local. SF_ERR_ARG: size_bytes is out of range. */
SF_CHECK_RESULT sf_status_t sf_type_create_opaque(int64_t size_bytes, const sf_type_t **type_p);

/* Frees a created unit. Operations in flight and persistent requests may still use it. Predefined units and NULL are
 * accepted and remain. Local. Returns SF_OK. */
sf_status_t sf_type_destroy(const sf_type_t *type);

/* Size of one unit in bytes, 0 if type is NULL. Local. */
size_t sf_type_size(const sf_type_t *type);

/* For all units: the arriving value replaces the present one. */
extern const sf_op_t *const SF_REPLACE;

/* For numbers. Integer arithmetic wraps around. */
extern const sf_op_t *const SF_SUM;
extern const sf_op_t *const SF_PROD;

/* For integers and floating-point numbers. A NaN that is present at the root stays; an arriving NaN is ignored. */
extern const sf_op_t *const SF_MAX;
extern const sf_op_t *const SF_MIN;

/* For integers: logical (result 0 or 1) and bitwise. */
extern const sf_op_t *const SF_LAND;
extern const sf_op_t *const SF_LOR;
extern const sf_op_t *const SF_LXOR;
extern const sf_op_t *const SF_BAND;
extern const sf_op_t *const SF_BOR;
extern const sf_op_t *const SF_BXOR;

/* For pairs: the pair with the higher (lower) value; of pairs with equal values the one with the lower index. NaN as in
 * SF_MAX and SF_MIN. */
extern const sf_op_t *const SF_MAXLOC;
extern const sf_op_t *const SF_MINLOC;

/* Combines n units: inout[i] = inout[i] op in[i]. Both arrays have n units of unit_bytes bytes each, are aligned for
 * any type of that size, and do not overlap. context is the pointer given to sf_op_create. The library calls the
 * function in threads that are inside an operation. The function must not call the library. */
typedef void (*sf_op_function_t)(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context);

/* Creates an op of the application, for all units: the function must know the unit's layout. context may be NULL; it
 * stays the caller's and is passed to the function. The caller owns the op. Local. All ranks must use ops with the same
 * meaning, which the library cannot check. The rank that owns a root combines its contributions one by one, in
 * ascending (group rank, leaf index) order, so the function need be neither associative nor commutative; contributions
 * travel uncombined. A reduce with such an op creates the multi-graph, as sf_gather_begin does. */
SF_CHECK_RESULT sf_status_t sf_op_create(sf_op_function_t function, void *context, const sf_op_t **op_p);

/* Frees a created op. Operations in flight and persistent requests may still call its function. Predefined ops and NULL
 * are accepted and remain. Local. Returns SF_OK. */
sf_status_t sf_op_destroy(const sf_op_t *op);

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

/* Flags of graphs. */
enum {
  SF_GRAPH_DEFAULT = 0,   /* no flag */
  SF_GRAPH_COPY = 1 << 0, /* never read buffers of other ranks in place, so that an end never waits for a reader */

  /* Contributions of a reduce travel between nodes one by one. By default each node combines its contributions before
   * it sends them. With this flag a result does not depend on the placement of ranks on nodes, even if the op rounds,
   * or is the maximum or minimum of +0 and -0, which are equal. It costs bandwidth. */
  SF_GRAPH_REPRODUCIBLE = 1 << 1,

  /* Devices may combine the contributions of one rank to one root in any order, by atomic operations (sum; max and min
   * of integers; of 32 and 64 bits). This is faster for roots with many leaves, but floating-point sums may differ in
   * rounding from run to run. By default one thread combines all contributions to a root in their order. */
  SF_GRAPH_UNORDERED = 1 << 2,

  /* sf_start_all makes one operation of consecutive persistent requests of this graph: bcasts, or reduces with
   * predefined ops, as sf_bcast_begin_v and sf_reduce_begin_v do for several fields (sf_fields.h). Then all ranks pass
   * the same requests in the same calls of sf_start_all. */
  SF_GRAPH_TOGETHER = 1 << 3,
};

/* Creates a star forest over the group [PetscSF 3.1]. This rank owns roots 0..nroots-1 and has nleaves leaves. Leaf i
 * has index leaf_index[i] in the leaf buffer (leaf_index == NULL: index i), and is connected to root root_index[i] of
 * group rank root_rank[i], which may be this rank. The arrays have nleaves elements each, are read only, and may be
 * freed at return. Leaf indices are distinct and >= 0. A root may have any number of leaves, or none. flags:
 * SF_GRAPH_*, the same on all ranks. Collective and blocking over the group. The caller owns the graph.
 *
 * Errors are agreed: if the input of a rank is invalid, all ranks return the error of the lowest rank, and of its
 * lowest leaf. The owner of a root checks the root index, except if the owner's own input is invalid. SF_ERR_ARG:
 * negative sizes, NULL arrays, duplicate leaf, unknown flags, graph_p == NULL; also group == NULL, on this rank alone.
 * SF_ERR_RANGE: negative leaf index; root rank or root index out of range. SF_ERR_MISMATCH: flags differ. If a rank
 * runs out of memory when other ranks have already returned the graph, the graph's next operation fails on all ranks.
 *
 * Plan cache: if all ranks pass the same edges as for an earlier graph, in the same order and form and with the same
 * flags, the new graph shares the earlier plan, and set-up takes a fraction of the time. The library keeps the plans of
 * the last 8 different graphs, with copies of edge lists of up to 64 MiB each, also after the graphs are destroyed.
 * sf_place.h: how the library records the source line of the call. */
SF_CHECK_RESULT sf_status_t sf_graph_create(sf_group_t *group, int64_t nroots, int64_t nleaves,
                                            const int64_t leaf_index[], const int32_t root_rank[],
                                            const int64_t root_index[], uint32_t flags, sf_graph_t **graph_p);

/* The same with 32-bit indices. Some ranks may call this form and others sf_graph_create. */
SF_CHECK_RESULT sf_status_t sf_graph_create_i32(sf_group_t *group, int64_t nroots, int64_t nleaves,
                                                const int32_t leaf_index[], const int32_t root_rank[],
                                                const int32_t root_index[], uint32_t flags, sf_graph_t **graph_p);

/* Frees the graph and its persistent requests. Collective; not blocking, except for work on device streams: the driver
 * closes memory of other ranks' devices only when all streams of the process have finished. graph == NULL is accepted.
 * SF_ERR_STATE: operations of the graph have not been ended. */
sf_status_t sf_graph_destroy(sf_graph_t *graph);

/* Sizes and counters of this rank's part of a graph. */
typedef struct sf_graph_info {
  int64_t nroots;              /* roots of this rank */
  int64_t nleaves;             /* connected leaves of this rank */
  int64_t leaf_space;          /* units in a leaf buffer: 1 + highest connected leaf index, 0 without leaves */
  int64_t nleaves_self;        /* connected leaves whose root is on this rank */
  int32_t nroot_ranks;         /* other ranks that own roots of this rank's leaves */
  int32_t nleaf_ranks;         /* other ranks with leaves of this rank's roots; at least one is counted of each node */
  int64_t nroot_values_sent;   /* values that this rank sends in a bcast: each root once to each leaf rank of its node,
                                  and once to each other node */
  int64_t nroot_contributions; /* values that this rank receives in a reduce from other ranks and nodes */
  uint64_t operations;         /* operations that this rank has begun on the graph */
} sf_graph_info_t;

/* Writes this rank's sizes and counters of the graph to *info_p. Also for graphs that have failed. Local. */
sf_status_t sf_graph_info(const sf_graph_t *graph, sf_graph_info_t *info_p);

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* Operations are collective over the graph's group, and matched by their order on the graph. begin does not block; wait
 * and test make progress on all operations that the thread has begun.
 *
 * Buffers. rootdata and leafdata are arrays of units with at least nroots and leaf_space elements. Between begin and
 * end the application must not write to either, nor read the receiving one. Both may be the same array if no vertex is
 * both a connected root and a connected leaf in it. Any number of operations may be in flight on a graph, and they may
 * be ended in any order. Operations in flight at the same time must not share a receiving vertex, and none may read
 * what another receives. The end of an operation whose buffers other ranks read in place (sf_alloc or registered
 * memory, payloads above 256 KiB) waits for these readers; SF_GRAPH_COPY prevents this.
 *
 * Eager limit. After begin of a bcast or reduce the other ranks can complete the operation without further calls of
 * this rank, as after an eager send of MPI. So a rank may wait for another rank by other means between begin and end.
 * This holds for host memory, within these limits of data in flight: 1 MiB and 24 operations to each rank of the node;
 * 8 operations, of which 4 above 128 KiB, to each other node; and once all ranks of this node with edges to that node
 * have called begin. Beyond these limits, and in fetch_op, other ranks may have to wait until this rank calls wait or
 * test.
 *
 * Errors of all operations. SF_ERR_ARG: data is NULL where units are accessed, or the op is not defined for the unit.
 * SF_ERR_RANGE: a buffer in registered or sf_alloc memory ends before its last vertex. SF_ERR_RANK_FAILED,
 * SF_ERR_DAEMON_LOST. If begin returns an argument error nothing has begun on this rank: the other ranks wait until it
 * calls again with correct arguments. SF_ERR_MISMATCH: ranks called different operations; the detail names both sides,
 * at this or a later call, and the graph is unusable. Ranks that exchange no data are compared by the daemons, which
 * report a mismatch after 0.1 s to 2 s: different operations, and operations that other ranks cannot match any more
 * because they destroyed the graph or left the job. (Graphs of one node beyond the first 255 of a rank are not
 * compared.) */

/* leaf = leaf op root, for every edge [PetscSF 3.2(1)]. rootdata is read, leafdata is updated. */
SF_CHECK_RESULT sf_status_t sf_bcast_begin(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata,
                                           void *leafdata, const sf_op_t *op, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_bcast(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata, void *leafdata,
                                     const sf_op_t *op);

/* root = root op leaf_1 op leaf_2 ..., over all leaves of the root in ascending (group rank, leaf index) order
 * [PetscSF 3.2(1)]. Results are bitwise the same in every run. With SF_REPLACE the highest (rank, leaf) wins. leafdata
 * is read, rootdata is updated. */
SF_CHECK_RESULT sf_status_t sf_reduce_begin(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                            void *rootdata, const sf_op_t *op, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_reduce(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *rootdata,
                                      const sf_op_t *op);

/* gather copies the values of all leaves of a root into consecutive units at the root, in ascending (group rank, leaf
 * index) order; scatter copies each leaf's own unit back [PetscSF 3.2]. slotdata is the root array of the multi-graph
 * (sf_graph_multi): the units of root i follow those of root i-1, one for each leaf.
 * begin creates the multi-graph if it does not exist. It is then collective and blocking, and no operation may be in
 * flight on the graph. Call sf_graph_multi first to avoid this. If begin creates the multi-graph its argument errors
 * are agreed: all ranks return the error of the lowest rank, and nothing has begun; except SF_ERR_RANGE for slotdata,
 * which stays local. */
SF_CHECK_RESULT sf_status_t sf_gather_begin(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                            void *slotdata, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_gather(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *slotdata);
SF_CHECK_RESULT sf_status_t sf_scatter_begin(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata,
                                             void *leafdata, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_scatter(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata, void *leafdata);

/* Fetch-and-op [PetscSF 3.2(2)]. The contributions of a root's leaves are processed in ascending (group rank, leaf
 * index) order: leafupdate[leaf] = root, then root = root op leaf. The root ends with the value that a reduce of single
 * contributions gives. Values depend neither on timing nor on the placement of ranks on nodes. All units and ops of
 * bcast and reduce are accepted, also ops of the application. leafupdate is an array of leaves like leafdata, and may
 * be the same array.
 * Between nodes contributions travel uncombined, one value each way per leaf; a reduce with a predefined op sends one
 * per node and root. The owner of the roots allocates memory for all contributions in flight, and keeps it for the next
 * operation. begin creates the multi-graph as sf_gather_begin does. */
SF_CHECK_RESULT sf_status_t sf_fetch_op_begin(sf_graph_t *graph, const sf_type_t *unit, void *rootdata,
                                              const void *leafdata, void *leafupdate, const sf_op_t *op,
                                              sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_fetch_op(sf_graph_t *graph, const sf_type_t *unit, void *rootdata, const void *leafdata,
                                        void *leafupdate, const sf_op_t *op);

/* Creates a persistent operation: arguments are checked and looked up once. sf_start begins it, sf_wait or sf_test ends
 * it, and it can be started again. The buffers must remain valid until sf_request_free. Init is local, start is
 * collective. With an op of the application, init creates the multi-graph as sf_gather_begin does. */
SF_CHECK_RESULT sf_status_t sf_bcast_init(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata,
                                          void *leafdata, const sf_op_t *op, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_reduce_init(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                           void *rootdata, const sf_op_t *op, sf_request_t **request_p);

/* Persistent gather, scatter and fetch_op. Init creates the multi-graph as sf_gather_begin does; if it does not exist
 * yet some ranks may call init and others begin. */
SF_CHECK_RESULT sf_status_t sf_gather_init(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                           void *slotdata, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_scatter_init(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata,
                                            void *leafdata, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_fetch_op_init(sf_graph_t *graph, const sf_type_t *unit, void *rootdata,
                                             const void *leafdata, void *leafupdate, const sf_op_t *op,
                                             sf_request_t **request_p);

/* Begins a persistent operation. Collective. Errors of begin. SF_ERR_STATE: the request is in flight. SF_ERR_ARG: the
 * request is not persistent. */
SF_CHECK_RESULT sf_status_t sf_start(sf_request_t *request);

/* Begins count >= 0 persistent operations in the given order, as sf_start does, with one wake-up for all. Stops at the
 * first error; the operations before it are in flight. On graphs with SF_GRAPH_TOGETHER consecutive requests may be one
 * operation, of which nothing has begun if one of them is refused; each is ended by itself. */
SF_CHECK_RESULT sf_status_t sf_start_all(int32_t count, sf_request_t *const requests[]);

/* Ends the operation. Blocks until the results are complete and the buffers may be used again. A request of begin is
 * freed and *request set to NULL, also on error; a persistent request remains. If *request is NULL or not in flight the
 * call returns SF_OK at once. Errors of the operation. SF_ERR_STATE: another thread began the operation, which remains
 * in flight. */
SF_CHECK_RESULT sf_status_t sf_wait(sf_request_t **request);

/* Ends count >= 0 operations, as sf_wait does, even if some fail. Blocking. Returns the first error. */
SF_CHECK_RESULT sf_status_t sf_wait_all(int32_t count, sf_request_t *requests[]);

/* Waits at most about timeout_ns >= 0 nanoseconds for the end of the operation. *done_p: whether the operation has
 * ended; then as sf_wait. For applications that must call other libraries meanwhile, for instance for progress of MPI.
 * Errors of sf_wait, which end the operation as there. SF_ERR_ARG: timeout_ns < 0. */
SF_CHECK_RESULT sf_status_t sf_wait_for(sf_request_t **request, int64_t timeout_ns, bool *done_p);

/* Makes progress, and ends the operation if it is complete. *done_p: whether it has ended; then as sf_wait. Does not
 * block. Errors of sf_wait, which end the operation as there. */
SF_CHECK_RESULT sf_status_t sf_test(sf_request_t **request, bool *done_p);

/* Frees a persistent request and sets *request to NULL. *request == NULL is accepted. Local. SF_ERR_STATE: the request
 * is in flight, or not persistent. */
sf_status_t sf_request_free(sf_request_t **request);

#ifdef __cplusplus
}
#endif

#include <sf/sf_algebra.h>
#include <sf/sf_array.h>
#include <sf/sf_edges.h>
#include <sf/sf_exchange.h>
#include <sf/sf_fields.h>
#include <sf/sf_grid.h>
#include <sf/sf_memory.h>
#include <sf/sf_place.h>
#include <sf/sf_section.h>
#include <sf/sf_streams.h>
#endif
