/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* holdfast/holdfast.h: includes the whole public API. */
#ifndef HOLDFAST_HOLDFAST_H
#define HOLDFAST_HOLDFAST_H

#include <holdfast/base.h>
#include <holdfast/context.h>
#include <holdfast/job.h>
#include <holdfast/space.h>

#endif
