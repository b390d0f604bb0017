//===- HostPages.h - Memory of the host that grows in place ---------------===//
#ifndef SHARDC_RUNTIME_DEVICE_HOST_HOSTPAGES_H
#define SHARDC_RUNTIME_DEVICE_HOST_HOSTPAGES_H

#include "runtime/device/GrowingMemory.h"

#include <memory>

namespace shardc::runtime {

/// By which it grows: each time costs a call of the system.
inline constexpr int64_t kHostPage = 64 << 10;

/// Null if there are no such addresses. Memory that is there counts as the
/// process's, but the system takes it only where it is touched: in small pages, or,
/// where it fills from the front and is large, in huge ones, from which keys and values
/// of many positions are read in a tenth less time.
std::unique_ptr<GrowingMemory> reserveHostPages(int64_t bytes);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_HOST_HOSTPAGES_H
