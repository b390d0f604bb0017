//===- AttentionChecks.h - Operands of attention that fit -----------------===//
//
// Of Attention, AttentionPart and AttentionFinish, on whatever device.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_ATTENTION_ATTENTIONCHECKS_H
#define SHARDC_RUNTIME_KERNELS_ATTENTION_ATTENTIONCHECKS_H

#include "runtime/kernels/Kernel.h"

namespace shardc::runtime::host {

/// Where sinks are among the inputs of Attention and of AttentionFinish.
inline constexpr int kAttentionSinks = 4, kFinishSinks = 2;

Status checkWholeAttention(const KernelCall &call);
Status checkAttentionPart(const KernelCall &call);
Status checkAttentionFinish(const KernelCall &call);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_ATTENTION_ATTENTIONCHECKS_H
