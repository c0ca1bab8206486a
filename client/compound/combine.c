/* Local step of composite operations: see composite.h. */
#include "client/compound/composite.h"
#include "client/compound/multigraph.h"
#include "shm/base/error.h"

/* ---- Choosing ---------------------------------------------------------------------------------------------------- */

/* Chooses kernels for the target's place. */
static sf_status_t choose_kernels(sfc_composite_t *composite)
{
  sfshm_unit_t unit = composite->combine.unit;
  composite->move = sfc_kernels_find(composite->devices, unit, SFSHM_OP_REPLACE);
  if (composite->op.function != NULL)
    return SF_OK;
  composite->combine.kernels = sfc_kernels_find(composite->devices, unit, composite->op.op);
  if (composite->combine.kernels == NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED, "%s: %s of %s on a device", sfshm_call_name(composite->call),
                       sfshm_op_name(composite->op.op), sfshm_base_name(unit.base));
  return SF_OK;
}

/* Chooses the order in which roots take contributions, which depends on the kernels. */
static sf_status_t choose_order(sfc_composite_t *composite)
{
  const sfshm_kernels_t *kernels = composite->combine.kernels;
  if (composite->call == SFSHM_CALL_BCAST)
    return SF_OK;
  composite->slot_root = NULL;
  composite->nrounds = 0;
  bool at_once = composite->call == SFSHM_CALL_FETCH && kernels != NULL && kernels->fetch != NULL;
  sfc_slot_rounds_t *rounds = &sfc_multigraph_find(composite->graph)->rounds;
  return at_once ? sfc_slot_rounds_slot_roots(rounds, &composite->slot_root)
                 : sfc_slot_rounds_all(rounds, &composite->rounds, &composite->nrounds);
}

sf_status_t sfc_composite_choose(sfc_composite_t *composite)
{
  sf_status_t status = choose_kernels(composite);
  return status == SF_OK ? choose_order(composite) : status;
}

/* ---- Meeting ----------------------------------------------------------------------------------------------------- */

/* Part of a round: n contributions from number first on. */
typedef struct sfc_piece {
  const sfc_slot_round_t *round;
  int64_t first;
  int64_t n;
} sfc_piece_t;

/* Combines contributions into the target; a fetch_op replaces each contribution by the previous value. */
static void combine_kernel(const sfc_composite_t *composite, const sfc_piece_t *piece, bool fetch)
{
  const sfc_combine_t *combine = &composite->combine;
  const sfshm_pattern_t *slot = &piece->round->slot, *vertex = &piece->round->root;
  if (fetch)
    composite->move->pack(combine->unit, vertex, piece->first, piece->n, composite->target, composite->chunks);
  combine->kernels->scatter(combine->unit, slot, 0, composite->scratch, vertex, composite->target, piece->first,
                            piece->n);
  if (fetch)
    composite->move->unpack(combine->unit, slot, piece->first, piece->n, composite->chunks, composite->scratch);
}

static void combine_function(const sfc_composite_t *composite, const sfc_piece_t *piece, bool fetch)
{
  sfshm_unit_t unit = composite->combine.unit;
  const sfshm_pattern_t *slot = &piece->round->slot, *vertex = &piece->round->root;
  char *present = composite->chunks;
  char *in = present + sfc_composite_aligned((size_t)composite->chunk * composite->combine.unit_bytes);
  composite->move->pack(unit, vertex, piece->first, piece->n, composite->target, present);
  composite->move->pack(unit, slot, piece->first, piece->n, composite->scratch, in);
  if (fetch)
    composite->move->unpack(unit, slot, piece->first, piece->n, present, composite->scratch);
  composite->op.function(in, present, piece->n, composite->combine.unit_bytes, composite->op.context);
  composite->move->unpack(unit, vertex, piece->first, piece->n, present, composite->target);
}

static void combine_round(const sfc_composite_t *composite, const sfc_slot_round_t *round)
{
  bool fetch = composite->call == SFSHM_CALL_FETCH;
  for (int64_t first = 0; first < round->slot.n; first += composite->chunk) {
    int64_t left = round->slot.n - first;
    sfc_piece_t piece = {round, first, left < composite->chunk ? left : composite->chunk};
    if (composite->op.function != NULL)
      combine_function(composite, &piece, fetch);
    else
      combine_kernel(composite, &piece, fetch);
  }
}

void sfc_composite_combine(const sfc_composite_t *composite)
{
  const sfc_combine_t *combine = &composite->combine;
  /* Slots are ordered by root and contribution: the kernel combines a root's contributions one by one. */
  if (composite->slot_root != NULL)
    combine->kernels->fetch(combine->unit, composite->slot_root, 0, composite->slot_root->n, composite->scratch,
                            composite->target);
  for (int64_t i = 0; i < composite->nrounds; i++)
    combine_round(composite, &composite->rounds[i]);
}
