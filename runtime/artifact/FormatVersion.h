//===- FormatVersion.h - Of artifacts, and of what makes them -------------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_FORMATVERSION_H
#define SHARDC_RUNTIME_ARTIFACT_FORMATVERSION_H

#include "runtime/artifact/Version.h" // SHARDC_VERSION

#include <cstdint>

namespace shardc::artifact {

/// Raised whenever an older reader would misread what a newer writer writes. What
/// comes then is absent in artifacts of the former format, which open as before;
/// tests/artifacts has some of each. 8 is the first one that is kept.
inline constexpr int64_t kFormatVersion = 9, kOldestFormat = 8;

/// Of the tools of this tree: "0.1.0".
inline constexpr char kVersion[] = SHARDC_VERSION;

} // namespace shardc::artifact

#endif // SHARDC_RUNTIME_ARTIFACT_FORMATVERSION_H
