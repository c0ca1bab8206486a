/* Exchanges of the halos of fields: one persistent bcast of all fields on each graph of the grid. The application's
 * thread. */
#include <stdio.h>
#include <stdlib.h>

#include "client/core.h"
#include "client/engine.h"
#include "client/grid/grid.h"
#include "shm/base/error.h"

struct sf_grid_exchange {
  sf_grid_t *grid;
  int32_t nrequests;
  sf_request_t *requests[]; /* one for each graph */
};

static void *array_of(const sf_grid_t *grid, const sf_grid_field_t *field, int32_t array)
{
  return array < grid->narrays && field->arrays != NULL ? field->arrays[array] : NULL;
}

/* Creates one request for each graph. list: scratch for nfields fields. */
static sf_status_t make_requests(sf_grid_exchange_t *exchange, int32_t nfields, const sf_grid_field_t fields[],
                                 sf_field_t list[])
{
  const sf_grid_t *grid = exchange->grid;
  int32_t n = grid->narrays_most;
  sf_status_t status = SF_OK;
  for (int32_t i = 0; i < n * n && status == SF_OK; i++) {
    for (int32_t f = 0; f < nfields; f++)
      list[f] = (sf_field_t){fields[f].unit, array_of(grid, &fields[f], i / n), array_of(grid, &fields[f], i % n),
                             SF_REPLACE};
    status = sf_bcast_init_v(grid->graphs[i], nfields, list, &exchange->requests[i]);
    exchange->nrequests += status == SF_OK;
  }
  return status;
}

sf_status_t sf_grid_exchange_create(sf_grid_t *grid, int32_t nfields, const sf_grid_field_t fields[],
                                    sf_grid_exchange_t **exchange_p)
{
  if (grid == NULL || fields == NULL || exchange_p == NULL || nfields < 1 || nfields > SF_FIELDS_MAX)
    return sfshm_error(SF_ERR_ARG, "%s: grid %p, %d fields (1 to %d expected) %p, place for the result %p", __func__,
                       (void *)grid, nfields, SF_FIELDS_MAX, (const void *)fields, (void *)exchange_p);
  size_t n = (size_t)grid->narrays_most;
  sf_grid_exchange_t *exchange = calloc(1, sizeof *exchange + n * n * sizeof *exchange->requests);
  sf_field_t *list = calloc((size_t)nfields, sizeof *list);
  sf_status_t status = SF_OK;
  if (exchange == NULL || list == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "%s: %d fields", __func__, nfields);
  if (status == SF_OK) {
    exchange->grid = grid;
    grid->nexchanges++;
    status = make_requests(exchange, nfields, fields, list);
  }
  free(list);
  if (status == SF_OK)
    *exchange_p = exchange;
  else if (exchange != NULL && exchange->grid == NULL)
    free(exchange);
  else
    (void)sf_grid_exchange_destroy(exchange);
  return status;
}

static bool is_in_flight(const sf_grid_exchange_t *exchange)
{
  bool in_flight = false;
  for (int32_t i = 0; exchange != NULL && i < exchange->nrequests; i++)
    in_flight = in_flight || exchange->requests[i]->in_flight;
  return in_flight;
}

sf_status_t sf_grid_exchange_begin(sf_grid_exchange_t *exchange)
{
  if (exchange == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: exchange is NULL", __func__);
  if (is_in_flight(exchange))
    return sfshm_error(SF_ERR_STATE, "%s: the exchange is in flight", __func__);
  return sf_start_all(exchange->nrequests, exchange->requests);
}

sf_status_t sf_grid_exchange_end(sf_grid_exchange_t *exchange)
{
  if (exchange == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: exchange is NULL", __func__);
  return sf_wait_all(exchange->nrequests, exchange->requests);
}

sf_status_t sf_grid_exchange(sf_grid_exchange_t *exchange)
{
  bool in_flight = is_in_flight(exchange); /* begun by an earlier call, which the application will end */
  sf_status_t status = sf_grid_exchange_begin(exchange);
  if (status == SF_OK)
    return sf_grid_exchange_end(exchange);
  if (exchange == NULL || in_flight)
    return status;
  char detail[SFSHM_DETAIL_BYTES];
  snprintf(detail, sizeof detail, "%s", sfshm_error_detail());
  sf_status_t ended = sf_grid_exchange_end(exchange); /* the operations that began before the error */
  (void)ended;
  return sfshm_error(status, "%s", detail);
}

sf_status_t sf_grid_exchange_destroy(sf_grid_exchange_t *exchange)
{
  sf_status_t first = SF_OK;
  if (is_in_flight(exchange))
    return sfshm_error(SF_ERR_STATE, "%s: the exchange is in flight", __func__);
  for (int32_t i = 0; exchange != NULL && i < exchange->nrequests; i++) {
    sf_status_t status = sf_request_free(&exchange->requests[i]);
    first = first == SF_OK ? status : first;
  }
  if (exchange != NULL)
    exchange->grid->nexchanges--;
  free(exchange);
  return first;
}
