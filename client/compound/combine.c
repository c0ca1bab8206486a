/* Local step of composite operations: see composite.h. */
#include "client/compound/composite.h"
#include "client/compound/multigraph.h"
#include "shm/base/error.h"

/* ---- Choosing ---------------------------------------------------------------------------------------------------- */

/* Chooses kernels for the target's place. */
static sf_status_t choose_kernels(const sfc_composite_t *composite, sfc_composite_field_t *field)
{
  sfshm_unit_t unit = field->combine.unit;
  field->move = sfc_kernels_find(field->devices, unit, SFSHM_OP_REPLACE);
  if (field->op.function != NULL)
    return SF_OK;
  field->combine.kernels = sfc_kernels_find(field->devices, unit, field->op.op);
  if (field->combine.kernels == NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED, "%s: %s of %s on a device", sfshm_call_name(composite->call),
                       sfshm_op_name(field->op.op), sfshm_base_name(unit.base));
  return SF_OK;
}

/* Chooses the order in which roots take contributions, which depends on the kernels. */
static sf_status_t choose_order(sfc_composite_t *composite, sfc_composite_field_t *field)
{
  const sfshm_kernels_t *kernels = field->combine.kernels;
  if (composite->call == SFSHM_CALL_BCAST)
    return SF_OK;
  field->slot_root = NULL;
  bool at_once = composite->call == SFSHM_CALL_FETCH && kernels != NULL && kernels->fetch != NULL;
  sfc_slot_rounds_t *rounds = &sfc_multigraph_find(composite->graph)->rounds;
  return at_once ? sfc_slot_rounds_slot_roots(rounds, &field->slot_root)
                 : sfc_slot_rounds_all(rounds, &composite->rounds, &composite->nrounds);
}

sf_status_t sfc_composite_choose(sfc_composite_t *composite, sfc_composite_field_t *field)
{
  sf_status_t status = choose_kernels(composite, field);
  return status == SF_OK ? choose_order(composite, field) : status;
}

/* ---- Meeting ----------------------------------------------------------------------------------------------------- */

/* Part of a round of a field: n contributions from number first on. */
typedef struct sfc_piece {
  const sfc_composite_field_t *field;
  const sfc_slot_round_t *round;
  int64_t first;
  int64_t n;
} sfc_piece_t;

/* Combines contributions into the target; a fetch_op replaces each contribution by the previous value. */
static void combine_kernel(const sfc_piece_t *piece, char *chunks, bool fetch)
{
  const sfc_composite_field_t *field = piece->field;
  const sfc_combine_t *combine = &field->combine;
  const sfshm_pattern_t *slot = &piece->round->slot, *vertex = &piece->round->root;
  if (fetch)
    field->move->pack(combine->unit, vertex, piece->first, piece->n, field->target, chunks);
  combine->kernels->scatter(combine->unit, slot, 0, field->scratch, vertex, field->target, piece->first, piece->n);
  if (fetch)
    field->move->unpack(combine->unit, slot, piece->first, piece->n, chunks, field->scratch);
}

static void combine_function(const sfc_piece_t *piece, char *chunks, bool fetch)
{
  const sfc_composite_field_t *field = piece->field;
  sfshm_unit_t unit = field->combine.unit;
  const sfshm_pattern_t *slot = &piece->round->slot, *vertex = &piece->round->root;
  char *present = chunks;
  char *in = present + sfc_composite_aligned((size_t)field->chunk * field->combine.unit_bytes);
  field->move->pack(unit, vertex, piece->first, piece->n, field->target, present);
  field->move->pack(unit, slot, piece->first, piece->n, field->scratch, in);
  if (fetch)
    field->move->unpack(unit, slot, piece->first, piece->n, present, field->scratch);
  field->op.function(in, present, piece->n, field->combine.unit_bytes, field->op.context);
  field->move->unpack(unit, vertex, piece->first, piece->n, present, field->target);
}

static void combine_round(const sfc_composite_t *composite, const sfc_composite_field_t *field,
                          const sfc_slot_round_t *round)
{
  bool fetch = composite->call == SFSHM_CALL_FETCH;
  for (int64_t first = 0; first < round->slot.n; first += field->chunk) {
    int64_t left = round->slot.n - first;
    sfc_piece_t piece = {field, round, first, left < field->chunk ? left : field->chunk};
    if (field->op.function != NULL)
      combine_function(&piece, composite->chunks, fetch);
    else
      combine_kernel(&piece, composite->chunks, fetch);
  }
}

void sfc_composite_combine(const sfc_composite_t *composite)
{
  for (int32_t k = 0; k < composite->nfields; k++) {
    const sfc_composite_field_t *field = &composite->fields[k];
    const sfc_combine_t *combine = &field->combine;
    /* Slots are ordered by root and contribution: the kernel combines a root's contributions one by one. */
    if (field->slot_root != NULL)
      combine->kernels->fetch(combine->unit, field->slot_root, 0, field->slot_root->n, field->scratch, field->target);
    for (int64_t i = 0; i < composite->nrounds && field->slot_root == NULL && !field->direct; i++)
      combine_round(composite, field, &composite->rounds[i]);
  }
}
