//===- Progress.h - What long work is at ----------------------------------===//
//
//   quantising weights [########            ]  40 %     on a terminal
//   progress: 0.40 quantising weights                   SHARDC_PROGRESS=lines
//
// On stderr, and there only where it is a terminal, unless a program asks for
// lines of it; SHARDC_PROGRESS=0 and --no-progress leave it out.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_PROGRESS_H
#define SHARDC_TOOLS_SHARDC_PROGRESS_H

#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <optional>
#include <string>

namespace shardc {

enum class ProgressKind { None, Terminal, Lines };

ProgressKind progressKind(bool isOff);

class Progress {
public:
  explicit Progress(ProgressKind kind) : kind(kind) {}
  /// "": it is over.
  void operator()(llvm::StringRef what, std::optional<double> done);

private:
  ProgressKind kind;
  std::string last;
  std::chrono::steady_clock::time_point shown = {};
};

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_PROGRESS_H
