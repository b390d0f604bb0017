//===- Safetensors.h - Reading a safetensors file -------------------------===//
//
// The layout of huggingface.co/docs/safetensors: 8 bytes length N, N bytes JSON
//   {"w": {"dtype": "F32", "shape": [96, 192], "data_offsets": [0, 73728]}}
// and the tensors' bytes; offsets count from the end of the header.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_SAFETENSORS_H
#define SHARDC_RUNTIME_ARTIFACT_SAFETENSORS_H

#include "runtime/artifact/Format.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

struct SafetensorsEntry {
  std::string dtype; ///< "F32"
  std::vector<int64_t> dims;
  std::span<const std::byte> bytes; ///< inside the file that was parsed
};

/// Parses the header; every entry's bytes lie inside `file`.
Status parseSafetensors(std::string_view name, std::span<const std::byte> file,
                        std::map<std::string, SafetensorsEntry> &entries);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_ARTIFACT_SAFETENSORS_H
