//===- Message.h - Error messages from parts ------------------------------===//
//
// An error says what is wrong, what was expected and found, and ends with a
// remedy. Example:
//   return artifactError("weights changed since compile: ", path, " has ", n,
//                        " bytes, expected ", m, "; compile the model again");
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_MESSAGE_H
#define SHARDC_RUNTIME_BASE_MESSAGE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <sstream>
#include <string>

namespace shardc::runtime {

/// The parts, printed one after the other.
template <typename... Parts> std::string message(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

template <typename... Parts> Status artifactError(const Parts &...parts) {
  return Status::error(StatusCode::Artifact, message(parts...));
}

template <typename... Parts> Status unsupportedError(const Parts &...parts) {
  return Status::error(StatusCode::Unsupported, message(parts...));
}

template <typename... Parts> Status argumentError(const Parts &...parts) {
  return Status::error(StatusCode::InvalidArgument, message(parts...));
}

/// "[2, 8, 96]"
inline std::string shapeText(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t d = 0; d < dims.size(); ++d)
    text += (d ? ", " : "") + std::to_string(dims[d]);
  return text + "]";
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_MESSAGE_H
