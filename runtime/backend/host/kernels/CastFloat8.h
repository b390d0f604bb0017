//===- CastFloat8.h - Casts from and to eight bits of float ---------------===//
#ifndef SHARDC_RUNTIME_BACKEND_HOST_KERNELS_CASTFLOAT8_H
#define SHARDC_RUNTIME_BACKEND_HOST_KERNELS_CASTFLOAT8_H

#include "runtime/artifact/Format.h"
#include "runtime/base/Status.h"
#include "runtime/exec/Kernel.h"

namespace shardc::runtime::host {

bool isFloat8(artifact::ElementType type);

/// Casts where one type or both are eight bits of float. Attributes `saturate`
/// (default 1) and, to E8M0, `round_mode` (up, down or nearest).
Status castFloat8(const KernelCall &call, const char *kernel);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_BACKEND_HOST_KERNELS_CASTFLOAT8_H
