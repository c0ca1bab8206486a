/* The values of options as text: what each type of option takes, and how it is printed. */
#ifndef SFD_BASE_OPTION_VALUE_H
#define SFD_BASE_OPTION_VALUE_H

#include "daemon/base/options.h"

#define SFD_OPTION_TEXT_SIZE 32 /* of a value that is not text itself */

/* Sets the option's field; options NULL: only checks the value. SF_ERR_ARG: the detail begins with label, which says
 * where the value was found, and says what was expected. */
sf_status_t sfd_option_set(const sfd_option_t *option, const char *label, const char *text, sfd_options_t *options)
    __attribute__((warn_unused_result));

/* The option's value as sfd_option_set takes it: the text that options hold, or buffer. */
const char *sfd_option_text(const sfd_option_t *option, const sfd_options_t *options,
                            char buffer[SFD_OPTION_TEXT_SIZE]);

/* Frees the option's value if it is text. */
void sfd_option_clear(const sfd_option_t *option, sfd_options_t *options);

#endif
