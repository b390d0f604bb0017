//===- Devices.h - What shardrun finds to run on --------------------------===//
#ifndef SHARDC_TOOLS_SHARDRUN_DEVICES_H
#define SHARDC_TOOLS_SHARDRUN_DEVICES_H

#include "runtime/base/Status.h"

namespace shardrun {

/// One line for each device of each backend, and for each backend that cannot
/// be used: why not.
shardc::runtime::Status printDevices();

} // namespace shardrun

#endif // SHARDC_TOOLS_SHARDRUN_DEVICES_H
