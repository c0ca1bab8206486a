/* Values of options as text: parsing and printing by type. */
#ifndef SFD_BASE_OPTION_VALUE_H
#define SFD_BASE_OPTION_VALUE_H

#include "daemon/base/options.h"

#define SFD_OPTION_TEXT_SIZE 32 /* of a value that is no text itself */

/* Sets the option's field; options NULL: only checks the value. SF_ERR_ARG: the detail is label, which says where the
 * value is, and the expected values. */
sf_status_t sfd_option_set(const sfd_option_t *option, const char *label, const char *text, sfd_options_t *options)
    __attribute__((warn_unused_result));

/* The value as sfd_option_set accepts it: text of options, or buffer. */
const char *sfd_option_text(const sfd_option_t *option, const sfd_options_t *options,
                            char buffer[SFD_OPTION_TEXT_SIZE]);

/* Frees the value if it is text. */
void sfd_option_clear(const sfd_option_t *option, sfd_options_t *options);

#endif
