#include "tools/shardc/Progress.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <unistd.h>

namespace shardc {

ProgressKind progressKind(bool isOff) {
  const char *asked = std::getenv("SHARDC_PROGRESS");
  const llvm::StringRef kind = asked ? asked : "";
  if (isOff || kind == "0")
    return ProgressKind::None;
  if (kind == "lines")
    return ProgressKind::Lines;
  return isatty(STDERR_FILENO) ? ProgressKind::Terminal : ProgressKind::None;
}

void Progress::operator()(llvm::StringRef what, std::optional<double> done) {
  // No more often than anybody sees.
  const auto now = std::chrono::steady_clock::now();
  if (what == last && done && *done < 1 &&
      now - shown < std::chrono::milliseconds(100))
    return;
  last = what.str();
  shown = now;
  llvm::raw_ostream &os = llvm::errs();
  if (kind == ProgressKind::Lines) {
    if (done)
      os << "progress: " << llvm::format("%.3f", *done) << " " << what << "\n";
    else if (!what.empty())
      os << "progress: - " << what << "\n";
    return;
  }
  os << "\r\033[K" << what;
  if (done) {
    constexpr int kWidth = 20;
    const int full = int(*done * kWidth);
    os << " [" << std::string(full, '#') << std::string(kWidth - full, ' ')
       << "] " << llvm::format("%3d %%", int(*done * 100));
  } else if (!what.empty()) {
    os << " ...";
  }
}

} // namespace shardc
