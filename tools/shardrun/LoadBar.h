//===- LoadBar.h - How far weights have come, on a terminal ---------------===//
//
//   weights [########            ]  40 %, 2.1 of 5.2 GiB
//
// On stderr, where that is a terminal and they take a while; SHARDC_PROGRESS=0
// leaves it out.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDRUN_LOADBAR_H
#define SHARDC_TOOLS_SHARDRUN_LOADBAR_H

#include <cstdint>

namespace shardrun {

class LoadBar {
public:
  /// Whether somebody sees it.
  static bool isSeen();
  /// One line that is written over, and nothing at the end.
  void operator()(int64_t loaded, int64_t all);

private:
  int64_t began = 0; ///< in milliseconds; 0: not yet
  bool isShown = false;
};

} // namespace shardrun

#endif // SHARDC_TOOLS_SHARDRUN_LOADBAR_H
