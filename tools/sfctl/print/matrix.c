/* Traffic as text, CSV, SVG and JSON: see matrix.h. The one thread of sfctl. */
#include "tools/sfctl/print/matrix.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/base/error.h"
#include "tools/sfctl/print/json.h"

#define TEXT_PARTIES 64
#define SVG_PARTIES 128
#define SVG_PIXELS 512 /* of the larger side */
#define SVG_MARGIN 70
#define SVG_LETTER 7     /* pixels; of nearly all text more than the mean */
#define LEAST_SHADE 0.15 /* of non-empty cells */

/* Parties of one side in bins; several in one if there are many. */
typedef struct side {
  sfctl_party_t *parties; /* sorted */
  size_t nparties, nbins;
} side_t;

typedef struct map {
  side_t from, to;
  double *cells; /* by from and to */
  double highest, lowest, total;
} map_t;

/* ---- Names ---- */

static const char *write_party(const sfctl_party_t *party, char text[32])
{
  if (party->kind == SFCTL_PARTY_OTHERS)
    snprintf(text, 32, "other %s", party->number != 0 ? "nodes" : "ranks");
  else
    snprintf(text, 32, "%s %d", party->kind == SFCTL_PARTY_RANK ? "rank" : "node", party->number);
  return text;
}

/* "rank 3", or "ranks 0-7" of a bin. */
static void write_bin(const side_t *side, size_t bin, char text[80])
{
  size_t first = bin * side->nparties / side->nbins, end = (bin + 1) * side->nparties / side->nbins;
  char begin[32], last[32];
  write_party(&side->parties[first], begin);
  if (end - first == 1)
    snprintf(text, 80, "%s", begin);
  else
    snprintf(text, 80, "%s to %s", begin, write_party(&side->parties[end - 1], last));
}

/* ---- Cells ---- */

static int compare_parties(const void *a, const void *b)
{
  return sfctl_party_compare(a, b);
}

static sf_status_t list_parties(const sfctl_traffic_t *traffic, bool to, size_t max_bins, side_t *side)
{
  side->parties = calloc(traffic->nflows + 1, sizeof *side->parties);
  if (side->parties == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a matrix");
  for (size_t i = 0; i < traffic->nflows; i++)
    side->parties[i] = to ? traffic->flows[i].to : traffic->flows[i].from;
  qsort(side->parties, traffic->nflows, sizeof *side->parties, compare_parties);
  for (size_t i = 0; i < traffic->nflows; i++)
    if (side->nparties == 0 || compare_parties(&side->parties[i], &side->parties[side->nparties - 1]) != 0)
      side->parties[side->nparties++] = side->parties[i];
  side->nbins = side->nparties < max_bins ? side->nparties : max_bins;
  return SF_OK;
}

static size_t bin_of(const side_t *side, const sfctl_party_t *party)
{
  const sfctl_party_t *found = bsearch(party, side->parties, side->nparties, sizeof *party, compare_parties);
  size_t index = (size_t)(found - side->parties), bin = index * side->nbins / side->nparties;
  while (bin * side->nparties / side->nbins > index)
    bin--;
  while ((bin + 1) * side->nparties / side->nbins <= index)
    bin++;
  return bin;
}

static void map_free(map_t *map)
{
  free(map->from.parties);
  free(map->to.parties);
  free(map->cells);
}

static sf_status_t map_make(const sfctl_traffic_t *traffic, const sfctl_matrix_style_t *style, size_t max_bins,
                            map_t *map)
{
  *map = (map_t){0};
  sf_status_t status = list_parties(traffic, false, max_bins, &map->from);
  if (status == SF_OK)
    status = list_parties(traffic, true, max_bins, &map->to);
  if (status == SF_OK)
    map->cells = calloc(map->from.nbins * map->to.nbins + 1, sizeof *map->cells);
  if (status == SF_OK && map->cells == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "no memory for a matrix");
  if (status != SF_OK) {
    map_free(map);
    return status;
  }
  for (size_t i = 0; i < traffic->nflows; i++) {
    const sfctl_flow_t *flow = &traffic->flows[i];
    double amount = (double)(style->messages ? flow->messages : flow->bytes);
    map->cells[bin_of(&map->from, &flow->from) * map->to.nbins + bin_of(&map->to, &flow->to)] += amount;
    map->total += amount;
  }
  for (size_t i = 0; i < map->from.nbins * map->to.nbins; i++) {
    double cell = map->cells[i];
    map->highest = cell > map->highest ? cell : map->highest;
    map->lowest = cell > 0 && (map->lowest == 0 || cell < map->lowest) ? cell : map->lowest;
  }
  if (map->lowest > map->highest / 10) /* similar amounts look similar */
    map->lowest = map->highest / 10;
  return SF_OK;
}

/* 0: nothing, to 1: most; logarithmic. */
static double shade(const map_t *map, double cell)
{
  if (cell <= 0)
    return 0;
  return LEAST_SHADE + (1 - LEAST_SHADE) * log(cell / map->lowest) / log(map->highest / map->lowest);
}

static void write_amount(const sfctl_matrix_style_t *style, double amount, char text[64])
{
  char bytes[SFREPORT_TEXT_SIZE];
  if (style->seconds > 0)
    amount /= style->seconds;
  if (style->messages)
    snprintf(text, 64, "%.0f messages%s", amount, style->seconds > 0 ? "/s" : "");
  else
    snprintf(text, 64, "%s%s", sfreport_text_bytes((uint64_t)amount, bytes), style->seconds > 0 ? "/s" : "");
}

/* ---- Heat map ---- */

static void print_title(const sfctl_traffic_t *traffic, const sfctl_matrix_style_t *style, const map_t *map, FILE *file)
{
  char job[SFREPORT_PRINTABLE_SIZE(sizeof traffic->job)], total[64];
  sfreport_text_printable(traffic->job, job, sizeof job);
  write_amount(style, map->total, total);
  fprintf(file, "job %s: %s%s\n", job, total, style->seconds > 0 ? "" : " since the beginning");
}

/* Numbers of columns, vertically. */
static void print_column_numbers(const map_t *map, int indent, FILE *file)
{
  for (int digit = 1000; digit > 0; digit /= 10) {
    bool any = digit == 1;
    for (size_t c = 0; c < map->to.nbins; c++)
      any = any || c / (size_t)digit > 0;
    if (!any)
      continue;
    fprintf(file, "%*s", indent, "");
    for (size_t c = 0; c < map->to.nbins; c++)
      fputc(c >= (size_t)digit || digit == 1 ? (int)('0' + c / (size_t)digit % 10) : ' ', file);
    fputc('\n', file);
  }
}

static void print_legend(const map_t *map, const sfctl_matrix_style_t *style, const char *shades, FILE *file)
{
  char text[80], amount[64];
  write_amount(style, map->lowest, amount);
  fprintf(file, "\n'%c' nothing, '%c' %s", shades[0], shades[1], amount);
  write_amount(style, map->highest, amount);
  fprintf(file, " to '%c' %s; columns:\n", shades[9], amount);
  for (size_t c = 0; c < map->to.nbins; c++) {
    write_bin(&map->to, c, text);
    fprintf(file, "%s%zu %s", c > 0 ? ", " : "", c, text);
  }
  fputc('\n', file);
}

sf_status_t sfctl_matrix_print_text(const sfctl_traffic_t *traffic, const sfctl_matrix_style_t *style, FILE *file)
{
  static const char shades[] = " .:-=+*#%@";
  map_t map;
  char name[80];
  int indent = 0;
  if (traffic->nflows == 0) {
    fputs("nothing has been sent\n", file);
    return SF_OK;
  }
  sf_status_t status = map_make(traffic, style, TEXT_PARTIES, &map);
  if (status != SF_OK)
    return status;
  print_title(traffic, style, &map, file);
  for (size_t r = 0; r < map.from.nbins; r++) {
    write_bin(&map.from, r, name);
    indent = (int)strlen(name) > indent ? (int)strlen(name) : indent;
  }
  print_column_numbers(&map, indent + 1, file);
  for (size_t r = 0; r < map.from.nbins; r++) {
    write_bin(&map.from, r, name);
    fprintf(file, "%-*s|", indent, name);
    for (size_t c = 0; c < map.to.nbins; c++)
      fputc(shades[(int)ceil(9 * shade(&map, map.cells[r * map.to.nbins + c]))], file);
    fputs("|\n", file);
  }
  print_legend(&map, style, shades, file);
  map_free(&map);
  return SF_OK;
}

/* ---- Picture ---- */

static void print_axis(const map_t *map, double cell, FILE *file)
{
  char text[80];
  size_t step_from = (map->from.nbins + 31) / 32, step_to = (map->to.nbins + 31) / 32;
  for (size_t r = 0; r < map->from.nbins; r += step_from) {
    write_bin(&map->from, r, text);
    fprintf(file, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", SVG_MARGIN - 4,
            SVG_MARGIN + ((double)r + 0.7) * cell, text);
  }
  for (size_t c = 0; c < map->to.nbins; c += step_to) {
    double x = SVG_MARGIN + ((double)c + 0.7) * cell;
    write_bin(&map->to, c, text);
    fprintf(file, "<text x=\"%.1f\" y=\"%d\" transform=\"rotate(-90 %.1f %d)\">%s</text>\n", x, SVG_MARGIN - 4, x,
            SVG_MARGIN - 4, text);
  }
}

static void print_cells(const map_t *map, const sfctl_matrix_style_t *style, double cell, FILE *file)
{
  char from[80], to[80], amount[64];
  for (size_t r = 0; r < map->from.nbins; r++)
    for (size_t c = 0; c < map->to.nbins; c++) {
      double value = map->cells[r * map->to.nbins + c];
      if (value <= 0)
        continue;
      write_bin(&map->from, r, from);
      write_bin(&map->to, c, to);
      write_amount(style, value, amount);
      fprintf(file,
              "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill-opacity=\"%.2f\"><title>%s to %s: "
              "%s</title></rect>\n",
              SVG_MARGIN + (double)c * cell, SVG_MARGIN + (double)r * cell, cell * 0.96, cell * 0.96, shade(map, value),
              from, to, amount);
    }
}

/* Replaces markup in job names by question marks. */
static void write_plain(const char *from, char *to, size_t size)
{
  sfreport_text_printable(from, to, size);
  for (; *to != '\0'; to++)
    if (strchr("<>&\"", *to) != NULL)
      *to = '?';
}

/* Texts below the cells, beside a bar of shades from the smallest to the largest amount. */
typedef struct caption {
  char title[SFREPORT_PRINTABLE_SIZE(sizeof((sfctl_traffic_t *)0)->job) + 80], lowest[80], highest[80];
  int bar, highest_x, width; /* pixels */
} caption_t;

enum { BAR_STEPS = 8, BAR_STEP_PIXELS = 14 };

static void write_caption(const map_t *map, const sfctl_traffic_t *traffic, const sfctl_matrix_style_t *style,
                          caption_t *caption)
{
  char job[SFREPORT_PRINTABLE_SIZE(sizeof traffic->job)], amount[64];
  write_plain(traffic->job, job, sizeof job);
  write_amount(style, map->total, amount);
  snprintf(caption->title, sizeof caption->title, "job %s: %s in all", job, amount);
  write_amount(style, map->lowest, amount);
  snprintf(caption->lowest, sizeof caption->lowest, "a cell: %s", amount);
  write_amount(style, map->highest, amount);
  snprintf(caption->highest, sizeof caption->highest, "%s (logarithmic)", amount);
  caption->bar = 4 + SVG_LETTER * (int)strlen(caption->lowest);
  caption->highest_x = caption->bar + BAR_STEPS * BAR_STEP_PIXELS + 6;
  int title = 4 + SVG_LETTER * (int)strlen(caption->title);
  int highest = caption->highest_x + SVG_LETTER * (int)strlen(caption->highest);
  caption->width = title > highest ? title : highest;
}

static void print_caption(const map_t *map, const caption_t *caption, double top, FILE *file)
{
  fprintf(file, "<text x=\"4\" y=\"%.0f\">%s</text>\n", top + 10, caption->title);
  fprintf(file, "<text x=\"4\" y=\"%.0f\">a row sends to a column</text>\n", top + 24);
  if (map->highest <= 0)
    return;
  fprintf(file, "<text x=\"4\" y=\"%.0f\">%s</text>\n<g fill=\"#0b4f9e\">\n", top + 38, caption->lowest);
  for (int i = 0; i < BAR_STEPS; i++)
    fprintf(file, "<rect x=\"%d\" y=\"%.0f\" width=\"%d\" height=\"10\" fill-opacity=\"%.2f\"/>\n",
            caption->bar + i * BAR_STEP_PIXELS, top + 29, BAR_STEP_PIXELS,
            LEAST_SHADE + (1 - LEAST_SHADE) * i / (BAR_STEPS - 1));
  fprintf(file, "</g>\n<text x=\"%d\" y=\"%.0f\">%s</text>\n", caption->highest_x, top + 38, caption->highest);
}

sf_status_t sfctl_matrix_print_svg(const sfctl_traffic_t *traffic, const sfctl_matrix_style_t *style, FILE *file)
{
  map_t map;
  caption_t caption;
  sf_status_t status = map_make(traffic, style, SVG_PARTIES, &map);
  if (status != SF_OK)
    return status;
  size_t larger = map.from.nbins > map.to.nbins ? map.from.nbins : map.to.nbins;
  double cell = larger > 0 ? (double)SVG_PIXELS / (double)larger : 0;
  cell = cell < 40 ? cell : 40;
  double width = SVG_MARGIN + 10 + cell * (double)map.to.nbins, bottom = SVG_MARGIN + 4 + cell * (double)map.from.nbins;
  write_caption(&map, traffic, style, &caption);
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" "
          "font-size=\"10\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
          width > caption.width ? width : caption.width, bottom + 46);
  print_axis(&map, cell, file);
  fputs("<g fill=\"#0b4f9e\">\n", file);
  print_cells(&map, style, cell, file);
  fputs("</g>\n", file);
  print_caption(&map, &caption, bottom, file);
  fputs("</svg>\n", file);
  map_free(&map);
  return SF_OK;
}

/* ---- For programs ---- */

void sfctl_matrix_print_csv(const sfctl_traffic_t *traffic, FILE *file)
{
  char from[32], to[32];
  fputs("from,to,messages,bytes\n", file);
  for (size_t i = 0; i < traffic->nflows; i++) {
    const sfctl_flow_t *flow = &traffic->flows[i];
    fprintf(file, "%s,%s,%" PRIu64 ",%" PRIu64 "\n", write_party(&flow->from, from), write_party(&flow->to, to),
            flow->messages, flow->bytes);
  }
}

void sfctl_matrix_print_json(const sfctl_traffic_t *traffic, const sfctl_matrix_style_t *style, FILE *file)
{
  sfctl_json_t json = {.file = file};
  char from[32], to[32];
  sfctl_json_begin_object(&json, NULL);
  sfctl_json_add(&json, SFCTL_FIELD(traffic, job_id), SFCTL_FIELD(traffic, job),
                 SFCTL_MEMBER_IF("seconds", style->seconds > 0, style->seconds));
  sfctl_json_begin_array(&json, "flows");
  for (size_t i = 0; i < traffic->nflows; i++) {
    const sfctl_flow_t *flow = &traffic->flows[i];
    sfctl_json_object(&json, NULL, SFCTL_MEMBER("from", write_party(&flow->from, from)),
                      SFCTL_MEMBER("to", write_party(&flow->to, to)), SFCTL_FIELD(flow, messages),
                      SFCTL_FIELD(flow, bytes));
  }
  sfctl_json_end_array(&json);
  sfctl_json_end_object(&json);
}
