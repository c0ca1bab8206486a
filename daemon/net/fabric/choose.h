/* Which fabric joins this daemon with those of other nodes, and how peers prove to each other that they belong. */
#ifndef SFD_NET_FABRIC_CHOOSE_H
#define SFD_NET_FABRIC_CHOOSE_H

#include <uv.h>

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "daemon/net/fabric/fabric.h"

/* As options fabric, peers and those about proofs say; fabric is not none. May block, see sfd_tcp_create. The options
 * outlive the fabric. SF_ERR_ARG: they contradict each other, or another value is expected; errors of the fabrics. */
sf_status_t sfd_fabric_choose(const sfd_options_t *options, uv_loop_t *loop, sfd_fabric_t **fabric_p)
    __attribute__((warn_unused_result));

#endif
