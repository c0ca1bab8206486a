/* Calls of the differential test: random arguments, buffers, and the functions under both their names. One thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/neighbors/differential.h"

#define PLACE 16 /* alignment of blocks */
#define TAG 78

/* ---- Sizes: the same on both ends of an edge ---- */

/* Calls of one topology have numbers from one thousand. About half of the edges keep their sizes. */
static int edge_elements(const call_t *call, uint64_t edge)
{
  uint64_t key = edge;
  if (call->function == ALLGATHER || call->function == ALLTOALL)
    key = 1;
  else if (call->function == ALLGATHERV)
    key = edge >> 40;
  uint64_t steady = dice_mix(call->number / 1000, key);
  dice_t dice = {steady % 2 == 0 ? steady : dice_mix(call->number, key)};
  int percent = dice_below(&dice, 100);
  int most = percent < 20 ? 1 : percent < 60 ? 4 : percent < 85 ? 64 : percent < 98 ? 1000 : 3000;
  return TYPE_PERIOD * dice_below(&dice, most);
}

static base_t edge_base(const call_t *call, uint64_t edge)
{
  return (base_t)(dice_mix(call->number, call->function == ALLTOALLW ? edge : 0) % NBASES);
}

/* ---- Sides ---- */

static bool is_uniform(const call_t *call)
{
  return call->function == ALLGATHER || call->function == ALLTOALL;
}

static void make_types(const call_t *call, side_t *side, const uint64_t edges[], dice_t *own)
{
  for (int i = 0; i <= side->n; i++) {
    side->made[i] = (made_type_t){.type = MPI_DATATYPE_NULL};
    if (i == 0 || (call->function == ALLTOALLW && i < side->n))
      side->made[i] = type_make(own, edge_base(call, side->n > 0 ? edges[i] : 0));
    side->types[PATH_MPI][i] = side->types[PATH_PMPI][i] = side->made[i].type;
    if (side->made[i].type != MPI_DATATYPE_NULL)
      must(MPI_Type_dup(side->made[i].type, &side->types[PATH_MPI][i]), "MPI_Type_dup");
  }
}

static const made_type_t *type_of(const call_t *call, const side_t *side, int i)
{
  return &side->made[call->function == ALLTOALLW ? i : 0];
}

/* End of the block behind its address. */
static MPI_Aint block_end(const made_type_t *type, int count)
{
  return count == 0 ? 0 : (count - 1) * type->extent + type->true_lb + type->true_extent;
}

/* Places blocks in memory in random order, with gaps; those to send sometimes all at one place. */
static void place_blocks(const call_t *call, side_t *side, bool overlap, dice_t *own)
{
  int *order = make_room((size_t)(side->n + 1) * sizeof *order);
  for (int i = 0; i < side->n; i++)
    order[i] = i;
  if (!is_uniform(call))
    dice_shuffle(own, side->n, order);
  MPI_Aint end = 0, cursor = 0;
  for (int k = 0; k < side->n; k++) {
    int i = order[k];
    const made_type_t *type = type_of(call, side, i);
    MPI_Aint gap = is_uniform(call) ? 0 : dice_below(own, 3);
    MPI_Aint room = type->true_lb < 0 ? -type->true_lb : 0;
    if (call->function == ALLTOALLW) {
      side->byte_displs[i] = overlap ? room : cursor + room + gap * PLACE;
      cursor = (side->byte_displs[i] + block_end(type, side->counts[i]) + PLACE - 1) / PLACE * PLACE;
    } else {
      side->displs[i] = overlap ? 0 : (int)(cursor + gap);
      cursor = side->displs[i] + side->counts[i];
    }
    MPI_Aint at = call->function == ALLTOALLW ? side->byte_displs[i] : side->displs[i] * type->extent;
    end = at + block_end(type, side->counts[i]) > end ? at + block_end(type, side->counts[i]) : end;
    side->origin = room > side->origin ? (room + PLACE - 1) / PLACE * PLACE : side->origin;
  }
  side->bytes = (size_t)(side->origin + end + 4 * PLACE);
  free(order);
}

static void make_side(call_t *call, side_t *side, int n, const uint64_t edges[], bool sends, dice_t *own)
{
  size_t room = (size_t)n + 1;
  *side = (side_t){.n = n,
                   .counts = make_room(room * sizeof(int)),
                   .displs = make_room(room * sizeof(int)),
                   .byte_displs = make_room(room * sizeof(MPI_Aint)),
                   .types = {make_room(room * sizeof(MPI_Datatype)), make_room(room * sizeof(MPI_Datatype))},
                   .made = make_room(room * sizeof(made_type_t))};
  make_types(call, side, edges, own);
  for (int i = 0; i < n; i++)
    side->counts[i] = edge_elements(call, edges[i]) / type_of(call, side, i)->elements;
  if (n == 0 && is_uniform(call))
    side->counts[0] = edge_elements(call, 0) / side->made[0].elements;
  place_blocks(call, side, sends && !is_uniform(call) && dice_percent(own, 20), own);
  for (int path = 0; path < (sends ? 1 : NPATHS); path++)
    side->data[path] = make_room(side->bytes);
  side->absolute = call->function == ALLTOALLW && n > 0 && dice_percent(own, 25);
}

/* Turns displacements into addresses; those of the second path into an array of its own. */
static void make_absolute(call_t *call, side_t *side, bool sends)
{
  MPI_Aint address[NPATHS] = {0, 0};
  for (int path = 0; path < (sends ? 1 : NPATHS); path++)
    must(MPI_Get_address(side->data[path] + side->origin, &address[path]), "MPI_Get_address");
  for (int i = 0; i < side->n; i++) {
    if (!sends)
      call->absolute_displs[i] = side->byte_displs[i] + address[PATH_PMPI];
    side->byte_displs[i] += address[PATH_MPI];
  }
}

void call_make(call_t *call, const topology_t *topology, function_t function, form_t form, uint64_t number, dice_t *own)
{
  bool gathers = function == ALLGATHER || function == ALLGATHERV;
  uint64_t self[] = {(uint64_t)topology->rank << 40, 0};
  *call = (call_t){.topology = topology, .function = function, .form = form, .number = number};
  call->absolute_displs = make_room((size_t)(topology->nin + 1) * sizeof(MPI_Aint));
  make_side(call, &call->send, gathers ? 1 : topology->nout, gathers ? self : topology->out_edge, true, own);
  make_side(call, &call->recv, topology->nin, topology->in_edge, false, own);
  if (call->send.absolute)
    make_absolute(call, &call->send, true);
  if (call->recv.absolute)
    make_absolute(call, &call->recv, false);
  call_refill(call, 0);
}

void call_refill(call_t *call, uint64_t salt)
{
  dice_t dice = {dice_mix(dice_mix(call->number, salt), (uint64_t)call->topology->rank)};
  for (size_t i = 0; i < call->send.bytes; i++)
    call->send.data[0][i] = (unsigned char)dice_below(&dice, 256);
  for (int path = 0; path < NPATHS; path++)
    memset(call->recv.data[path], 0xa5 ^ (int)(salt & 0xff), call->recv.bytes);
}

static void free_copies(side_t *side)
{
  for (int i = 0; i <= side->n; i++)
    if (side->types[PATH_MPI][i] != MPI_DATATYPE_NULL)
      must(MPI_Type_free(&side->types[PATH_MPI][i]), "MPI_Type_free");
}

void call_free_types(call_t *call)
{
  free_copies(&call->send);
  free_copies(&call->recv);
}

static void free_side(side_t *side)
{
  for (int i = 0; i <= side->n; i++)
    type_free(&side->made[i]);
  for (int path = 0; path < NPATHS; path++) {
    free(side->types[path]);
    free(side->data[path]);
  }
  free(side->counts);
  free(side->displs);
  free(side->byte_displs);
  free(side->made);
}

void call_free(call_t *call)
{
  free_side(&call->send);
  free_side(&call->recv);
  free(call->absolute_displs);
}

/* ---- The functions ---- */

#define RUN(prefix, name, ...)                                                                                         \
  (form == BLOCKING      ? prefix##_Neighbor_##name(__VA_ARGS__)                                                       \
   : form == NONBLOCKING ? prefix##_Ineighbor_##name(__VA_ARGS__, request)                                             \
                         : prefix##_PERSISTENT(Neighbor_##name##_init)(__VA_ARGS__, MPI_INFO_NULL, request))
#define RUN_PATH(name, ...) (path == PATH_MPI ? RUN(MPI, name, __VA_ARGS__) : RUN(PMPI, name, __VA_ARGS__))

static int run(call_t *call, path_t path, form_t form, MPI_Request *request)
{
  const side_t *s = &call->send, *r = &call->recv;
  MPI_Comm comm = call->topology->comm;
  const void *from = s->absolute ? MPI_BOTTOM : s->data[0] + s->origin;
  void *to = r->absolute ? MPI_BOTTOM : r->data[path] + r->origin;
  const MPI_Datatype *st = s->types[path], *rt = r->types[path];
  const MPI_Aint *at = r->absolute && path == PATH_PMPI ? call->absolute_displs : r->byte_displs;
  switch (call->function) {
  case ALLGATHER:
    return RUN_PATH(allgather, from, s->counts[0], st[0], to, r->counts[0], rt[0], comm);
  case ALLGATHERV:
    return RUN_PATH(allgatherv, from, s->counts[0], st[0], to, r->counts, r->displs, rt[0], comm);
  case ALLTOALL:
    return RUN_PATH(alltoall, from, s->counts[0], st[0], to, r->counts[0], rt[0], comm);
  case ALLTOALLV:
    return RUN_PATH(alltoallv, from, s->counts, s->displs, st[0], to, r->counts, r->displs, rt[0], comm);
  default:
    return RUN_PATH(alltoallw, from, s->counts, s->byte_displs, st, to, r->counts, at, rt, comm);
  }
}

/* Whether MPI's own function is not called. MPICH 4.0 hangs in its alltoallw, or loses data; its inactive persistent
 * operations complete again in arrays of requests, or make MPI_Testall fail. */
static bool is_replaced(const call_t *call, path_t path)
{
#ifdef OPEN_MPI
  (void)call;
  (void)path;
  return false;
#else
  return !(carried && path == PATH_MPI) && (call->function == ALLTOALLW || call->form == PERSISTENT);
#endif
}

/* alltoallw as a loop of messages. Completes at once. */
static int run_messages(const call_t *call, path_t path)
{
  const side_t *s = &call->send, *r = &call->recv;
  const topology_t *topology = call->topology;
  MPI_Request *requests = make_room((size_t)(s->n + r->n + 1) * sizeof *requests);
  unsigned char *to = r->absolute ? MPI_BOTTOM : r->data[path] + r->origin;
  const unsigned char *from = s->absolute ? MPI_BOTTOM : s->data[0] + s->origin;
  const MPI_Aint *at = r->absolute && path == PATH_PMPI ? call->absolute_displs : r->byte_displs;
  for (int i = 0; i < r->n; i++)
    must(MPI_Irecv(to + at[i], r->counts[i], r->types[path][i], topology->in[i], TAG, topology->comm, &requests[i]),
         "MPI_Irecv");
  for (int i = 0; i < s->n; i++)
    must(MPI_Isend(from + s->byte_displs[i], s->counts[i], s->types[path][i], topology->out[i], TAG, topology->comm,
                   &requests[r->n + i]),
         "MPI_Isend");
  int result = MPI_Waitall(r->n + s->n, requests, MPI_STATUSES_IGNORE);
  free(requests);
  return result;
}

static const char *const function_names[] = {"allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"};
static const char *const form_names[] = {"blocking", "nonblocking", "persistent"};

void call_begin(call_t *call, path_t path, MPI_Request *request)
{
  *request = MPI_REQUEST_NULL;
  progress_note(form_names[call->form], function_names[call->function]);
  if (!is_replaced(call, path))
    must(run(call, path, call->form, request), function_names[call->function]);
  else if (call->form != PERSISTENT)
    must(run_messages(call, path), "messages");
}

bool call_is_persistent(const call_t *call, path_t path)
{
  return call->form == PERSISTENT && !is_replaced(call, path);
}

void call_start_replaced(call_t *call, path_t path, MPI_Request *request)
{
  if (call->form == PERSISTENT && is_replaced(call, path))
    must(call->function == ALLTOALLW ? run_messages(call, path) : run(call, path, NONBLOCKING, request), "replaced");
}

bool call_compare(const call_t *call)
{
  const unsigned char *mine = call->recv.data[PATH_MPI], *theirs = call->recv.data[PATH_PMPI];
  size_t at = 0;
  while (at < call->recv.bytes && mine[at] == theirs[at])
    at++;
  if (at == call->recv.bytes)
    return true;
  fprintf(stderr, "rank %d of \"%s\": %s %s, call %llu: byte %zu of %zu is %02x, PMPI says %02x\n",
          call->topology->rank, call->topology->name, form_names[call->form], function_names[call->function],
          (unsigned long long)call->number, at, call->recv.bytes, mine[at], theirs[at]);
  return false;
}
