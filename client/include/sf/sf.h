/* libsfclient: star-forest communication through the node's sfd. The only header an application needs; nothing here
 * needs MPI (sf_mpi.h adapts MPI communicators, datatypes and ops).
 *
 * A star forest connects each *root* (a value that some rank owns) with zero or more *leaves* (copies, on any ranks).
 * Operations move data along its edges. The model is that of J. Brown, "Star forests as a parallel communication
 * model" (2011), and of J. Zhang et al., "The PetscSF Scalable Communication Layer" (IEEE TPDS 2022), cited below as
 * [SF] and [PetscSF].
 *
 * Conventions
 *  - Every fallible function returns SF_OK (0) or a negative sf_status_t; sf_error_detail() then tells which object was
 *    concerned, what was expected and what was found. Results come last, in parameters ending in _p, and are written
 *    only on success.
 *  - Errors that many functions share are not named with each: SF_ERR_ARG, something is NULL that may not be;
 *    SF_ERR_NOMEM, SF_ERR_SYS and SF_ERR_LIMIT, memory, descriptors or what the daemon allows are used up; and of those
 *    that are not local, or are about memory, SF_ERR_RANK_FAILED and SF_ERR_DAEMON_LOST.
 *  - "Collective" means: every rank of the group calls it, in the same order. Only functions marked "blocking" wait for
 *    other ranks.
 *  - Handles are opaque. Whoever created one destroys it. Destroy functions accept NULL.
 *  - Threads: different graphs may be used by different threads at once; a graph by one thread at a time, and an
 *    operation is ended by the thread that began it. Contexts, groups and memory may be used from any thread.
 *  - A process forked from one that called sf_init must not use the library's objects: SF_ERR_STATE.
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

/* Said of functions whose status must be looked at. */
#if defined(__GNUC__)
#define SF_CHECK_RESULT __attribute__((warn_unused_result))
#else
#define SF_CHECK_RESULT
#endif

typedef struct sf_context sf_context_t; /* this process as one rank of a job, connected to its node's sfd */
typedef struct sf_group sf_group_t;     /* ordered subset of the job's ranks */
typedef struct sf_graph sf_graph_t;     /* a star forest over a group, set up */
typedef struct sf_request sf_request_t; /* an operation begun and not ended, or a persistent one */
typedef struct sf_region sf_region_t;   /* registered memory */
typedef struct sf_type sf_type_t;       /* unit: the data at each vertex */
typedef struct sf_op sf_op_t;           /* how arriving data and present data are combined */

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* Fixed text of a status code; never NULL, also for unknown codes. Static storage. */
const char *sf_strerror(sf_status_t status);

/* What exactly went wrong in this thread's last failed call: which object, what was expected, what was found. Empty if
 * none failed. Valid until the thread's next call into the library. */
const char *sf_error_detail(void);

/* Version of the library that is loaded, as "major.minor.patch". */
const char *sf_version(void);

/* ---- Job --------------------------------------------------------------------------------------------------------- */

/* How to join a job. Initialise with SF_INIT_OPTIONS_DEFAULT; fields left at their default are taken from the
 * environment. Of launchers the first counts that has set its variables: Open MPI, MPICH's Hydra and others with PMI,
 * PMIx, Slurm. Processes started by MPI_Comm_spawn have to fill in job, rank and size (SF_ERR_UNSUPPORTED otherwise).
 * For measurements, SF_SEND_ORDER=number has operations send to other nodes by their numbers, not the nearest first. */
typedef struct sf_init_options {
  const char *socket_path; /* NULL: SF_SOCKET, else $XDG_RUNTIME_DIR/sfd.sock, else /tmp/sfd-UID/sfd.sock */
  const char *job;         /* job identity, the same on all ranks. NULL: SF_JOB, else the launcher's, as below */
  const char *key;         /* secret that the ranks share; ranks with another key are refused. NULL: SF_JOB_KEY or "" */
  int32_t rank;            /* this process, 0..size-1. -1: SF_RANK, else the launcher's */
  int32_t size;            /* number of ranks of the job. -1: SF_SIZE, else the launcher's */
  int64_t timeout_ms;      /* how long to wait for the other ranks; -1: SF_TIMEOUT_MS, else the daemon's join-timeout */
} sf_init_options_t;

/* Everything from the environment. */
#define SF_INIT_OPTIONS_DEFAULT                                                                                        \
  {                                                                                                                    \
    NULL, NULL, NULL, -1, -1, -1                                                                                       \
  }

/* Joins the job. Collective over the job, blocking until all ranks joined. options may be NULL (all from the
 * environment). The context is the caller's, to be given to sf_finalize.
 * SF_ERR_NO_DAEMON: nothing answers at the socket. SF_ERR_ARG: rank, size or job missing or out of range, or another
 * size than that of the ranks before. SF_ERR_EXISTS: another process holds this rank. SF_ERR_STATE: a rank of the job
 * has failed, and others have not left it yet. SF_ERR_VERSION: the daemon speaks another protocol version. SF_ERR_PERM:
 * job of another user or with another key. SF_ERR_TIMEOUT: the detail names the ranks that did not come; or sfd has
 * said nothing two seconds after the time-out that the options or SF_TIMEOUT_MS give. After sf_finalize a rank may join
 * again, by the same environment: that is another job, for which it waits while others are still in the one before. */
SF_CHECK_RESULT sf_status_t sf_init(const sf_init_options_t *options, sf_context_t **context_p);

/* Leaves the job and frees the context and the memory that sf_alloc gave. Does not wait for other ranks. All requests
 * must have been ended (SF_ERR_STATE otherwise, nothing is freed); graphs, groups and regions still there are
 * destroyed. NULL is accepted. A process that ends without it counts as failed. Of a job that has failed it returns the
 * failure, having freed everything all the same: SF_ERR_RANK_FAILED if a rank was lost before, also if no call has
 * told of it. */
sf_status_t sf_finalize(sf_context_t *context);

/* This process's rank in the job, and the job's size. -1 if context is NULL. */
int32_t sf_rank(const sf_context_t *context);
int32_t sf_size(const sf_context_t *context);

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

/* The group of all ranks in job order, NULL if context is. Belongs to the context; never destroy it. */
sf_group_t *sf_group_world(sf_context_t *context);

/* Makes the group whose member i is job rank ranks[i]. Collective and blocking over the listed ranks only; calls are
 * matched by the list and the tag, so groups may be made in any order. Ranks are distinct and the caller is among them
 * (else SF_ERR_ARG; as nobody knows then which group was meant, ranks with another list wait until this one has called
 * with theirs, or the job ends). SF_ERR_LIMIT, on all of them: the list is longer than about 350,000 ranks. */
SF_CHECK_RESULT sf_status_t sf_group_create(sf_context_t *context, int32_t size, const int32_t ranks[], int32_t tag,
                                            sf_group_t **group_p);

/* Frees the group. Graphs made on it stay usable. NULL is accepted. Local. SF_ERR_ARG: the group of all ranks. */
sf_status_t sf_group_destroy(sf_group_t *group);

/* This process's rank in the group, and the group's size. -1 if group is NULL. */
int32_t sf_group_rank(const sf_group_t *group);
int32_t sf_group_size(const sf_group_t *group);

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Where memory is. */
typedef enum sf_memory_kind {
  SF_MEMORY_HOST = 0,   /* ordinary memory of the host */
  SF_MEMORY_CUDA = 1,   /* memory of a CUDA device, from the driver or the runtime */
  SF_MEMORY_DETECT = 2, /* the one or the other: in a process that uses CUDA, the driver is asked */
} sf_memory_kind_t;

/* Memory that the other ranks of the node can read in place: operations on large dense parts of it cost one copy. Where
 * the node has a core to spare its daemon makes these copies between such memory while both ranks compute, in
 * operations that are begun and ended by separate calls. len_bytes > 0; aligned to 128 bytes; zeroed. Local.
 * SF_ERR_NOMEM when the memory is not there (pages are allocated now, never by a later fault). Before 4 MiB and more
 * are allocated they are compared with what the machine and the process's memory control groups have left; without
 * that, and when others take the memory at the same moment, the kernel may kill processes of the group instead. */
SF_CHECK_RESULT sf_status_t sf_alloc(sf_context_t *context, size_t len_bytes, void **address_p);

/* The same on a CUDA device, by the number that it has in this process: zeroed, registered (see sf_register), aligned
 * as the driver does. The daemon allocates it, so that other ranks lose nothing that they have open when this one dies,
 * and frees it when nobody has it open any more: in whole blocks of the driver's, of 2 MiB or more, since who opens
 * memory of a device has open all of its block. Opened here by the driver's IPC: its address is valid in all contexts
 * of the device. Local; waits for the daemon, which at first takes up to seconds to start the driver. SF_ERR_NOMEM: the
 * device has no more memory. SF_ERR_UNSUPPORTED: no driver, device or plugin here or at the daemon, the device is not
 * visible to the daemon, or the driver does not let processes share memory; the detail says which. SF_ERR_ARG: no such
 * device. SF_ERR_LIMIT: the daemon's options max-regions and max-device-memory. SF_ERR_TIMEOUT: the daemon's driver has
 * been at one allocation for more than three seconds, or ten if it is the first on its device; it need not be this one.
 */
SF_CHECK_RESULT sf_status_t sf_alloc_on_device(sf_context_t *context, int32_t device, size_t len_bytes,
                                               void **address_p);

/* Frees memory from sf_alloc or sf_alloc_on_device. No operation on it may be in flight. That of a device is let go by
 * the other ranks first. NULL is accepted. SF_ERR_ARG: not such memory. */
sf_status_t sf_free(sf_context_t *context, void *address);

/* Declares len_bytes at address to be used in operations. Host memory is then read by other ranks directly
 * (process_vm_readv) where a probe at joining showed that this is permitted and where that is faster; otherwise
 * registering changes nothing but the checks: an operation that would touch bytes beyond a region is refused
 * (SF_ERR_RANGE). Local. The memory must stay valid until sf_unregister. SF_ERR_EXISTS: overlaps another region.
 *
 * Memory of a CUDA device must be registered before operations may use it; root and leaf data may be on different
 * devices, or one of them on the host. Values are packed, combined and unpacked on the device, with the same results as
 * on the host. Ranks of a node read each other's devices where the driver lets them (the whole allocation is then open
 * to the job's ranks), also from one device to another that its kernels reach; the driver copies what is contiguous and
 * replaces, from 64 KiB on or where kernels don't reach; otherwise values pass through pinned memory. For comparison
 * the environment switches these ways off: SF_DEVICE_SHARE=off, no reading of other ranks' devices; SF_DEVICE_COPY=off,
 * no copies by the driver; SF_DEVICE_PEER=off, no way from another device's memory; SF_DEVICE_KERNEL=off, none within a
 * device either.
 *
 * To other nodes values pass through pinned memory, too, or through memory of a device, which the daemon gives to MPI
 * to send from and to receive into. That is so if its MPI takes memory of devices (option device-mpi of sfd), for
 * messages of more than 64 KiB between two nodes: not for the first ones on a graph, since a graph that is used once is
 * not worth it, and since its ranks say where their data are, and open that memory, when they begin operations. A
 * node's messages to another one leave a device if the data of all its ranks that have part in them were on devices
 * then, whose kernels reach that memory, which is on the device of one of them; they arrive on a device if all were on
 * that one, and it has what network adapters write in order. Units must not be larger than those of the operations with
 * which ranks said it. The daemon allocates the memory, for three to eight messages each way; it counts among the
 * memory of devices that a job may have (option max-device-memory). SF_DEVICE_MPI=off in the environment of one of the
 * ranks, like SF_DEVICE_SHARE=off, has the node do without. sfctl plan says what was decided.
 *
 * These operations don't know of streams (others do: sf_streams.h): what writes the data must have ended before begin,
 * and after the end they may be used by any stream. Arithmetic needs data aligned to the base type.
 * SF_ERR_UNSUPPORTED: no driver, no device, or libsf_cuda.so (SF_CUDA_PLUGIN, else beside the library) is not there.
 * SF_ERR_ARG: the address is not memory of a device, or the allocation ends before. */
SF_CHECK_RESULT sf_status_t sf_register(sf_context_t *context, void *address, size_t len_bytes, sf_memory_kind_t kind,
                                        sf_region_t **region_p);

/* Ends a registration. No operation on the memory may be in flight. NULL is accepted. Returns when no other rank has
 * memory of a device open any more, so that it may be freed; that may take until their streams have done what they were
 * given, so first comes what those wait for. SF_ERR_STATE: it has been freed already, which is an error also of
 * operations on it; the registration has ended all the same. */
sf_status_t sf_unregister(sf_region_t *region);

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

/* Pairs of a value and an index, for SF_MAXLOC and SF_MINLOC: as C lays out struct { value type; index type; }, with
 * what that leaves free between or behind them. SF_INT32_INT32 is MPI's MPI_2INT, SF_DOUBLE_INT32 is MPI_DOUBLE_INT. */
extern const sf_type_t *const SF_INT16_INT32;
extern const sf_type_t *const SF_INT32_INT32;
extern const sf_type_t *const SF_INT64_INT32;
extern const sf_type_t *const SF_INT64_INT64;
extern const sf_type_t *const SF_FLOAT_INT32;
extern const sf_type_t *const SF_DOUBLE_INT32;
extern const sf_type_t *const SF_DOUBLE_INT64;

/* A unit of count (>= 1) consecutive values of base, combined value by value. base may be a block itself, and need not
 * stay. Local. SF_ERR_ARG: count < 1, or the unit has more than 2^40 bytes. */
SF_CHECK_RESULT sf_status_t sf_type_create_block(int64_t count, const sf_type_t *base, const sf_type_t **type_p);

/* A unit of size_bytes bytes without arithmetic: SF_REPLACE only. Local. SF_ERR_ARG: not 1 to 2^40 bytes. */
SF_CHECK_RESULT sf_status_t sf_type_create_opaque(int64_t size_bytes, const sf_type_t **type_p);

/* Frees a created unit; operations begun with it, and persistent requests, are not affected. Predefined units and NULL
 * are accepted, and kept. Local; SF_OK. */
sf_status_t sf_type_destroy(const sf_type_t *type);

/* Size of one unit in bytes. 0 if type is NULL. */
size_t sf_type_size(const sf_type_t *type);

/* All units: what arrives takes the place of what is there. */
extern const sf_op_t *const SF_REPLACE;

/* Numbers; integers wrap. */
extern const sf_op_t *const SF_SUM;
extern const sf_op_t *const SF_PROD;

/* Integers and floating point; a NaN that is present at a root stays, one that arrives is ignored. (Not so between
 * nodes if device-aware MPI sends from memory of a device: a NaN that comes first of a node's contributions hides
 * others.) */
extern const sf_op_t *const SF_MAX;
extern const sf_op_t *const SF_MIN;

/* Integers: logical, with the result 0 or 1, and bitwise. */
extern const sf_op_t *const SF_LAND;
extern const sf_op_t *const SF_LOR;
extern const sf_op_t *const SF_LXOR;
extern const sf_op_t *const SF_BAND;
extern const sf_op_t *const SF_BOR;
extern const sf_op_t *const SF_BXOR;

/* Pairs: the pair with the higher (lower) value, of equal ones that with the lower index. NaN as in max and min. */
extern const sf_op_t *const SF_MAXLOC;
extern const sf_op_t *const SF_MINLOC;

/* Combines n units: inout[i] = inout[i] op in[i]. Both are arrays of units of unit_bytes each, aligned for any type of
 * that size, and no other memory. Called by threads that are inside of an operation; must not call this library. */
typedef void (*sf_op_function_t)(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context);

/* An op of the application, for all units: the function has to know what they are. Contributions to a reduce or a
 * fetch_op are combined by the rank that owns the root, one after the other in ascending (group rank, leaf index)
 * order; they travel uncombined, unless sf_op_create_with says that they need not. So the function need be neither
 * associative nor commutative. All ranks call with ops of the same meaning: that is not checked. A reduce makes the
 * multi-graph as a gather does. context, which may be NULL, is the function's last argument, and stays the caller's.
 * Local. */
SF_CHECK_RESULT sf_status_t sf_op_create(sf_op_function_t function, void *context, const sf_op_t **op_p);

/* The op is associative and commutative, or so nearly that the application does not mind in which order contributions
 * are combined, as with sums of floating-point numbers. */
#define SF_OP_COMMUTATIVE UINT32_C(1)

/* The same, with what is known of the op. flags: 0, or SF_OP_COMMUTATIVE (else SF_ERR_ARG), the same on all ranks
 * (SF_ERR_MISMATCH). With that, contributions of ranks of one node may be combined by one of these ranks before they
 * travel to another node, where sf_fetch_op_begin says that it is done, for a reduce likewise. Not on graphs with
 * SF_GRAPH_REPRODUCIBLE. The function is called in processes of the application only, in either case. */
SF_CHECK_RESULT sf_status_t sf_op_create_with(sf_op_function_t function, void *context, uint32_t flags,
                                              const sf_op_t **op_p);

/* Frees a created op; operations begun with it, and persistent requests, are not affected, and call its function still.
 * Predefined ops and NULL are accepted, and kept. Local; SF_OK. */
sf_status_t sf_op_destroy(const sf_op_t *op);

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

enum {
  SF_GRAPH_DEFAULT = 0,   /* none of them */
  SF_GRAPH_COPY = 1 << 0, /* never read buffers of other ranks in place: an end then never waits for a reader */

  /* Contributions of a reduce travel between nodes one by one, instead of combined on the node that they come from, so
   * that the result does not depend on which rank is on which node, also where the op rounds. Costs bandwidth. */
  SF_GRAPH_REPRODUCIBLE = 1 << 1,

  /* Contributions of one rank to one root on a device may be combined in any order: by atomic operations, for sums, and
   * for max and min of integers, of 32 and 64 bits. Faster where roots have many leaves; sums of floating-point numbers
   * may differ in rounding from run to run. Without it one thread combines all of them, in their order. */
  SF_GRAPH_UNORDERED = 1 << 2,
};

/* Makes a star forest over the group [PetscSF 3.1]. This rank owns roots 0..nroots-1 and nleaves leaves; leaf i has
 * index leaf_index[i] (NULL: i) in the leaf buffer and is connected to root root_index[i] of group rank root_rank[i].
 * Leaf indices are distinct and >= 0; roots may have any number of leaves, also none; a leaf's root may be on the rank
 * itself. The arrays may be reused at return. flags: SF_GRAPH_*, the same on all ranks.
 * Collective and blocking over the group. If the input of one rank is bad, all ranks return the same error: that of the
 * lowest rank and leaf. The owner of a root checks the index, unless the owner's own input is bad: then all return the
 * lowest error that was found without it. SF_ERR_ARG: negative sizes, NULL arrays, duplicate leaf, unknown flags, no
 * place for the result; on this rank alone, as there is nobody to tell: group NULL. SF_ERR_RANGE: negative leaf index;
 * root rank or root index out of range. SF_ERR_MISMATCH: flags differ. What fails on one rank when the others have the
 * graph already, for want of memory, is an error of the graph's next operation, on all ranks. The place of the call is
 * noted: sf_place.h. A graph that all ranks make again with the same edges, in the same order and form, and the same
 * flags shares what was found out about the earlier one, and is there in a fraction of the time, whether that has been
 * destroyed or not: the last 8 graphs that differ are kept for this, with a copy of their edges if it takes up to 64
 * MiB. */
SF_CHECK_RESULT sf_status_t sf_graph_create(sf_group_t *group, int64_t nroots, int64_t nleaves,
                                            const int64_t leaf_index[], const int32_t root_rank[],
                                            const int64_t root_index[], uint32_t flags, sf_graph_t **graph_p);

/* The same with 32-bit indices. Ranks may mix the two forms. */
SF_CHECK_RESULT sf_status_t sf_graph_create_i32(sf_group_t *group, int64_t nroots, int64_t nleaves,
                                                const int32_t leaf_index[], const int32_t root_rank[],
                                                const int32_t root_index[], uint32_t flags, sf_graph_t **graph_p);

/* Frees the graph. Collective; does not block, but for work on streams (sf_streams.h): not only the graph's, where
 * memory of other ranks' devices is closed with it, which a driver may do only when all streams of the process are
 * done. Its operations must have been ended (SF_ERR_STATE), its persistent requests are freed with it. NULL is
 * accepted. */
sf_status_t sf_graph_destroy(sf_graph_t *graph);

/* One rank's view of a graph. */
typedef struct sf_graph_info {
  int64_t nroots;              /* roots of this rank */
  int64_t nleaves;             /* connected leaves of this rank */
  int64_t leaf_space;          /* 1 + the highest connected leaf index, 0 without leaves: units in a leaf buffer */
  int64_t nleaves_self;        /* of those leaves, how many have their root on this rank */
  int32_t nroot_ranks;         /* other ranks that own roots of this rank's leaves */
  int32_t nleaf_ranks;         /* other ranks that have leaves of this rank's roots; of another node at least one */
  int64_t nroot_values_sent;   /* values that this rank sends in a bcast: each root once per leaf rank of its node and
                                  once per other node */
  int64_t nroot_contributions; /* values that reach this rank in a reduce from other ranks and nodes */
  uint64_t operations;         /* operations begun on it by this rank */
} sf_graph_info_t;

/* This rank's view of the graph, also of one that has failed. Local. */
sf_status_t sf_graph_info(const sf_graph_t *graph, sf_graph_info_t *info_p);

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* All are collective over the graph's group, and matched by order: ranks that call different operations get
 * SF_ERR_MISMATCH with a text that names both sides, at this or their next call on the graph, which is then unusable.
 * Between parts of the graph that no edge connects, where nobody waits for anybody, the daemons find it: at calls from
 * about 0.1 s later on, or up to 2 s if the job's graphs have been idle. In the same time they find that ranks call
 * more operations than others who have destroyed the graph or left the job: they get SF_ERR_MISMATCH, too, with a text
 * that names who is gone. (Of graphs of one node beyond the first 255 that a rank has at a time that is not found.)
 *
 * rootdata and leafdata are arrays of units, at least nroots and leaf_space long. Between begin and end neither may be
 * altered, and the one that receives may not be read. They may be the same array if no vertex is both a connected root
 * and a connected leaf there. Any number of operations may be in flight on a graph, ended in any order; operations in
 * flight at the same time must not share a receiving vertex, nor read what another receives.
 *
 * Begin never waits for another rank. Wait and test make progress on everything that the thread has begun. An end may
 * wait until the other ranks have read buffers in place; SF_GRAPH_COPY rules that out.
 *
 * The begin of a bcast or a reduce hands over all that the other ranks need to end it, as an eager send of MPI does: a
 * rank may wait for another one by other means between begin and end. That holds on host memory, while what is on its
 * way to each other rank of the node is at most 1 MiB and 24 operations, and to each other node 8 operations, 3 of more
 * than 128 KiB, for which all ranks of this node with edges to it have called begin. Beyond that, and in a fetch_op,
 * whose results the roots' owners make, others may have to wait until this rank calls wait or test. Buffers that are
 * read in place (of sf_alloc or registered, above 256 KiB) keep their own end waiting for the readers.
 *
 * What begin refuses on a rank has not begun there: the others wait for this rank's call, which may be repeated.
 * Errors of all: SF_ERR_ARG (NULL where data is needed, unit without this op), SF_ERR_RANGE (a buffer inside a
 * registered region or sf_alloc memory that ends before the last vertex), SF_ERR_RANK_FAILED, SF_ERR_DAEMON_LOST,
 * SF_ERR_MISMATCH. */

/* leaf = leaf op root, for every edge [PetscSF 3.2(1)]. */
SF_CHECK_RESULT sf_status_t sf_bcast_begin(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata,
                                           void *leafdata, const sf_op_t *op, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_bcast(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata, void *leafdata,
                                     const sf_op_t *op);

/* root = root op leaf_1 op leaf_2 ..., leaves in ascending (group rank, leaf index) order: the result is bitwise the
 * same in every run [PetscSF 3.2(1)]. With SF_REPLACE the highest (rank, leaf) wins. */
SF_CHECK_RESULT sf_status_t sf_reduce_begin(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                            void *rootdata, const sf_op_t *op, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_reduce(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *rootdata,
                                      const sf_op_t *op);

/* gather: the values of all leaves of a root come to lie side by side at the root, in ascending (group rank, leaf
 * index) order. scatter: each leaf gets the value of its own from there [PetscSF 3.2]. slotdata is the array of roots
 * of the multi-graph (see sf_graph_multi): the values of root i's leaves behind those of root i-1's. Vertices are those
 * of the multi-graph.
 * Without a multi-graph begin makes it, which is collective and blocks. As nothing goes on meanwhile, no operation may
 * be in flight then: call sf_graph_multi before to rule that out. A rank that calls something else is found out by the
 * daemons, as between parts of the graph that no edge connects. What begin would refuse all ranks return then, with the
 * number of the lowest that made the mistake, and nothing has begun; but for slotdata that ends too early. */
SF_CHECK_RESULT sf_status_t sf_gather_begin(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                            void *slotdata, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_gather(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata, void *slotdata);
SF_CHECK_RESULT sf_status_t sf_scatter_begin(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata,
                                             void *leafdata, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_scatter(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata, void *leafdata);

/* Fetch-and-op [PetscSF 3.2(2)]: the leaves of a root are met in ascending (group rank, leaf index) order; each finds
 * in leafupdate what the root was before, and then root = root op leaf. So afterwards the root is what a reduce makes
 * of it, each contribution being combined by itself. Values do not depend on timing, nor on which rank is on which
 * node (unless with an op created with SF_OP_COMMUTATIVE it does). For every unit and op of bcast and reduce; an op of
 * the application, too. leafupdate is an array of leaves as leafdata is, and may be the same.
 * Between nodes, contributions that follow one another in that order and come from ranks of one node travel as one, if
 * the op allows it bit by bit: all ops of integers and of pairs of them, SF_REPLACE, and SF_MAX, SF_MIN, SF_MAXLOC and
 * SF_MINLOC; or SF_OP_COMMUTATIVE. The rank of the first one combines them, and finds out what the others fetch when
 * the value for that one comes back. So with ranks placed in blocks a node sends one value for each root, with ranks
 * dealt one by one each its own. Else each contribution travels by itself, where a reduce would send one for each node:
 * that is the price of the values fetched.
 * Combining costs messages within the node, and graphs that carry them, which take longer to make than the multi-graph.
 * So these are made where the multi-graph is, if what makes it on rank 0 is a persistent request that would save a
 * quarter of the values and about 32 KiB for each rank (rank 0 may find another number of bytes in SF_COMBINE_FROM).
 * Then all later operations on the graph that would save as much use them, too, in whatever form. The owner needs
 * memory for all that comes while the operation is in flight, who combines for three times what it combines; it is kept
 * for the next one. The multi-graph is made as in gather. */
SF_CHECK_RESULT sf_status_t sf_fetch_op_begin(sf_graph_t *graph, const sf_type_t *unit, void *rootdata,
                                              const void *leafdata, void *leafupdate, const sf_op_t *op,
                                              sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_fetch_op(sf_graph_t *graph, const sf_type_t *unit, void *rootdata, const void *leafdata,
                                        void *leafupdate, const sf_op_t *op);

/* Persistent forms: everything is checked and looked up once; sf_start begins, sf_wait or sf_test ends, and the request
 * can be started again. Making one is local; starting it is what is collective. */
SF_CHECK_RESULT sf_status_t sf_bcast_init(sf_graph_t *graph, const sf_type_t *unit, const void *rootdata,
                                          void *leafdata, const sf_op_t *op, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_reduce_init(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                           void *rootdata, const sf_op_t *op, sf_request_t **request_p);

/* The same; init is collective and blocks where begin does, and so do bcast and reduce with an op of the application:
 * what comes first on a rank may be any of these forms. */
SF_CHECK_RESULT sf_status_t sf_gather_init(sf_graph_t *graph, const sf_type_t *unit, const void *leafdata,
                                           void *slotdata, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_scatter_init(sf_graph_t *graph, const sf_type_t *unit, const void *slotdata,
                                            void *leafdata, sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_fetch_op_init(sf_graph_t *graph, const sf_type_t *unit, void *rootdata,
                                             const void *leafdata, void *leafupdate, const sf_op_t *op,
                                             sf_request_t **request_p);

/* Begins a persistent request that is not in flight (SF_ERR_STATE otherwise). Errors as of begin; SF_ERR_ARG: it is not
 * persistent. */
SF_CHECK_RESULT sf_status_t sf_start(sf_request_t *request);

/* Begins count >= 0 persistent requests in the order given: the same as sf_start for each, with one wake-up for all.
 * Ends at the first that fails; those before it are in flight. */
SF_CHECK_RESULT sf_status_t sf_start_all(int32_t count, sf_request_t *const requests[]);

/* Ends the operation: blocks until its buffers may be used again and results are there. A request of begin is freed and
 * *request set to NULL, also on failure; a persistent one is kept, to be started again. NULL requests, and persistent
 * ones not in flight, return at once. Errors of the operation, see above; SF_ERR_STATE: another thread has begun it,
 * and it goes on. */
SF_CHECK_RESULT sf_status_t sf_wait(sf_request_t **request);

/* Ends count >= 0 operations, also where some fail, and returns the first error of any. */
SF_CHECK_RESULT sf_status_t sf_wait_all(int32_t count, sf_request_t *requests[]);

/* As sf_wait, but for about timeout_ns nanoseconds at most: *done_p tells whether the operation has ended. For those
 * who have to look after something else now and then, such as the progress of an MPI library. Errors of sf_wait, having
 * ended the operation as that does; SF_ERR_ARG: timeout_ns is negative. */
SF_CHECK_RESULT sf_status_t sf_wait_for(sf_request_t **request, int64_t timeout_ns, bool *done_p);

/* As sf_wait if the operation is complete, with *done_p true; else makes progress and returns with *done_p false. Does
 * not block. Errors of sf_wait, having ended the operation as that does. */
SF_CHECK_RESULT sf_status_t sf_test(sf_request_t **request, bool *done_p);

/* Frees a persistent request that is not in flight (SF_ERR_STATE otherwise, and if it is not persistent) and sets it to
 * NULL. NULL is accepted. Local. */
sf_status_t sf_request_free(sf_request_t **request);

#ifdef __cplusplus
}
#endif

#include <sf/sf_algebra.h>
#include <sf/sf_edges.h>
#include <sf/sf_place.h>
#include <sf/sf_section.h>
#include <sf/sf_streams.h>
#endif
