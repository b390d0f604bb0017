//===- StateMemory.h - What caches have of a device -----------------------===//
#ifndef SHARDC_RUNTIME_CACHE_STATEMEMORY_H
#define SHARDC_RUNTIME_CACHE_STATEMEMORY_H

#include <cstdint>

namespace shardc::runtime {

/// What a rank's caches have of its device. Before the first run: nothing.
struct StateMemory {
  int rank;                   ///< of the world
  int64_t committedBytes = 0; ///< memory that was taken, page by page
  int64_t reservedBytes = 0;  ///< addresses, for the whole capacity
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CACHE_STATEMEMORY_H
