//===- StreamNumbers.h - What the streams of a pair are for ---------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_STREAMNUMBERS_H
#define SHARDC_RUNTIME_TRANSPORT_STREAMNUMBERS_H

#include <cstdint>

namespace shardc::runtime {

inline constexpr uint32_t kCollectiveStream = 0; ///< of all groups
inline constexpr uint32_t kControlStream = 1;    ///< before a run
inline constexpr uint32_t kOutputStream = 2;     ///< to rank 0
inline constexpr uint32_t kShiftStream = 3;
inline constexpr uint32_t kCommandStream = 4;    ///< from rank 0, along a tree
inline constexpr uint32_t kDoneStream = 5;       ///< to rank 0: all before is
inline constexpr uint32_t kTransferStreams = 16; ///< one each

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_STREAMNUMBERS_H
