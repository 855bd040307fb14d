// Included before every kernel: the device API, each call forwarded to the machine.
//
// The vendor's build includes its data-movement API before a kernel, and many kernels rely on it.
// The vendor's include names exist as empty files, so that a kernel's own includes are found.
#pragma once

#include "common.h"
#include "print.h"
#ifdef TW_COMPUTE_KERNEL
#include "compute.h"
#else
#include "dataflow.h"
#endif
