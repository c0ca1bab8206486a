/* Answers to sfctl config. The daemon's thread. */
#include "daemon/admin/query_config.h"

#include <string.h>

#include "daemon/admin/admin.h"
#include "daemon/admin/query.h"
#include "daemon/base.h"
#include "proto/conn.h"

static void send_option(sfd_query_t *query, size_t index)
{
  size_t count;
  const sfd_server_t *server = query->server;
  const sfd_option_t *option = &sfd_options_table(&count)[index];
  char number[SFD_OPTION_TEXT_SIZE], levels[SFD_LOG_SPEC_SIZE], origin[SFD_OPTION_ORIGIN_SIZE];
  const char *value = sfd_option_text(option, server->options, number);
  sfd_options_origin(server->options, index, origin, sizeof origin);
  if (option->type == SFD_OPTION_LEVELS && server->admin->logged_by[0] != '\0') {
    sfd_log_describe(levels);
    value = levels;
    snprintf(origin, sizeof origin, "%s", server->admin->logged_by);
  }
  Sfproto__Message message =
      SFPROTO_MESSAGE_OF(CONFIG_INFO, config_info, .name = (char *)(uintptr_t)option->name /* only read */,
                         .value = (char *)(uintptr_t)value, .origin = origin);
  sfd_query_send(query, &message, NULL, 0);
}

bool sfd_query_send_next_option(sfd_query_t *query)
{
  size_t count;
  const sfd_option_t *table = sfd_options_table(&count);
  size_t next = (size_t)query->next_rank;
  while (next < count && table[next].type == SFD_OPTION_ACTION)
    next++;
  if (next >= count)
    return false;
  query->next_rank = (int32_t)next + 1;
  send_option(query, next);
  return true;
}
