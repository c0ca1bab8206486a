/* Packing: see lane_pack.h. */
#include "client/engine/lane_pack.h"

/* Single stores to lines that were last in the reader's cache are slow, as are single stores past the caches, and
 * scattered loads between them are worse. Therefore scattered values are gathered in local lines, the stage, and copied
 * from there. For a few values, and for large units, the stage costs more than it saves. */
#define STAGE_BYTES ((size_t)16 << 10)
#define STAGED_MIN ((size_t)512)
#define STAGED_UNIT_MAX ((size_t)64)
#define NONTEMPORAL_UNIT_MAX ((size_t)2 << 10)
_Static_assert(NONTEMPORAL_UNIT_MAX <= STAGE_BYTES, "a unit fits in the stage");

typedef struct packer {
  char *to;      /* position of the next bytes of the message */
  size_t staged; /* bytes in the stage, which precede those */
  bool past;     /* copies go past the caches */
  bool staging;  /* scattered values go through the stage */
  _Alignas(64) char stage[STAGE_BYTES];
} packer_t;

static void copy(packer_t *packer, const char *from, size_t bytes)
{
  if (packer->past)
    sfshm_dense_copy_nontemporal(packer->to, from, bytes);
  else
    sfshm_dense_copy(packer->to, from, bytes);
  packer->to += bytes;
}

static void end_stage(packer_t *packer)
{
  if (packer->staged > 0)
    copy(packer, packer->stage, packer->staged);
  packer->staged = 0;
}

static void stage_values(packer_t *packer, const sfc_outgoing_t *out, const sfc_field_t *field, int64_t first,
                         int64_t n)
{
  size_t unit_bytes = field->combine.unit_bytes;
  for (int64_t done = 0, some; done < n; done += some) {
    if (STAGE_BYTES - packer->staged < unit_bytes)
      end_stage(packer);
    some = (int64_t)((STAGE_BYTES - packer->staged) / unit_bytes);
    if (some > n - done)
      some = n - done;
    field->move->pack(field->combine.unit, out->pattern, first + done, some, field->source,
                      packer->stage + packer->staged);
    packer->staged += (size_t)some * unit_bytes;
  }
}

static void pack_values(packer_t *packer, const sfc_outgoing_t *out, const sfc_field_t *field, int64_t first, int64_t n)
{
  size_t unit_bytes = field->combine.unit_bytes, bytes = (size_t)n * unit_bytes;
  bool is_dense = out->pattern->kind == SFSHM_PATTERN_CONTIGUOUS && (!packer->past || bytes >= SFC_NONTEMPORAL_MIN);
  if (!out->of_device && is_dense) {
    end_stage(packer);
    copy(packer, field->source + (size_t)sfshm_pattern_at(out->pattern, first) * unit_bytes, bytes);
  } else if (packer->staging && unit_bytes <= (packer->past ? NONTEMPORAL_UNIT_MAX : STAGED_UNIT_MAX)) {
    stage_values(packer, out, field, first, n);
  } else {
    end_stage(packer);
    field->move->pack(field->combine.unit, out->pattern, first, n, field->source, packer->to);
    packer->to += bytes;
  }
}

/* Copies part of a value larger than a cell. */
static void pack_part(packer_t *packer, const sfc_outgoing_t *out, const sfc_field_t *field, const sfc_cursor_t *at,
                      size_t bytes)
{
  static const sfshm_pattern_t one = {.kind = SFSHM_PATTERN_CONTIGUOUS, .n = 1, .stride = 1};
  size_t vertex = (size_t)sfshm_pattern_at(out->pattern, at->value);
  sfshm_unit_t part = {SFSHM_BASE_OPAQUE, (int64_t)bytes};
  end_stage(packer);
  sfc_kernels_find(field->devices, part, SFSHM_OP_REPLACE)
      ->pack(part, &one, 0, 1, field->source + vertex * field->combine.unit_bytes + at->bytes, packer->to);
  packer->to += bytes;
}

/* Packs so many bytes from the cursor on, and moves it behind them. fresh: the memory has left the reader's cache. */
static void pack(const sfc_lane_t *lane, const sfc_outgoing_t *out, sfc_cursor_t *at, size_t bytes, bool fresh,
                 char *packed)
{
  packer_t packer;
  packer.to = packed;
  packer.staged = 0;
  packer.past = sfc_lane_is_nontemporal(lane, bytes);
  packer.staging = !out->of_device && (packer.past || (!fresh && bytes >= STAGED_MIN));
  for (size_t done = 0; done < bytes;) {
    const sfc_field_t *field = &out->fields[at->field];
    sfc_run_t run = sfc_run_next(field, at, out->n, bytes - done, done == 0);
    if (run.n > 0)
      pack_values(&packer, out, field, at->value, run.n);
    else
      pack_part(&packer, out, field, at, run.bytes);
    sfc_cursor_move(at, field, out->n, run);
    done += run.bytes;
  }
  end_stage(&packer);
}

/* Whether the piece's cache lines have left the reader's cache, because the lane's pieces cycle through more memory. */
static bool are_fresh(const sfc_lane_t *lane, size_t bytes)
{
  return bytes >= SFSHM_PIECE_MOVES_FROM && lane->tx.posted >= SFC_FIRST_MESSAGES;
}

size_t sfc_lane_pack_piece(sfc_lane_t *lane, const sfc_outgoing_t *out)
{
  size_t most_bytes = sfshm_piece_most(lane->tx.cell_bytes);
  size_t bytes = sfc_piece_bytes(out->fields, out->nfields, lane->tx_cursor, out->n, most_bytes);
  pack(lane, out, &lane->tx_cursor, bytes, are_fresh(lane, bytes), (char *)sfshm_lane_tx_piece(&lane->tx, bytes));
  return bytes;
}

void sfc_lane_pack_rest(const sfc_lane_t *lane, const sfc_outgoing_t *out, size_t bytes, char *packed)
{
  sfc_cursor_t at = lane->tx_cursor;
  pack(lane, out, &at, bytes, true, packed);
}
