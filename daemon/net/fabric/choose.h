/* Choice of the fabric and of the peers' authentication by the options. */
#ifndef SFD_NET_FABRIC_CHOOSE_H
#define SFD_NET_FABRIC_CHOOSE_H

#include <uv.h>

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "daemon/net/fabric/fabric.h"

/* Creates the fabric; option fabric is not none. May block, see sfd_tcp_create. The options outlive it. SF_ERR_ARG:
 * contradictory or wrong values; errors of the fabrics. */
sf_status_t sfd_fabric_choose(const sfd_options_t *options, uv_loop_t *loop, sfd_fabric_t **fabric_p)
    __attribute__((warn_unused_result));

#endif
