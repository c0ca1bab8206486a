/* Terminal type. Separate, as <term.h> defines macros with common names. The one thread of sfctl. */
#include "tools/sfctl/print/terminal.h"

#include <curses.h>
#include <term.h>
#include <unistd.h>

bool sfctl_terminal_has_screen(void)
{
  int error;
  if (setupterm(NULL, STDOUT_FILENO, &error) != OK)
    return false;
  bool has_screen = cursor_address != NULL;
  del_curterm(cur_term);
  return has_screen;
}
