//===- Format.h - The artifact: names, fingerprints -----------------------===//
//
// Shared by the compiler's writer and the runtime's reader; the only runtime
// header that the compiler may include. An artifact is a folder:
//
//   manifest.json        what it is, for people and for the reader
//   stage0.program       one FlatBuffer per stage and profile, see Program.fbs
//   constants.bin        values that have no place in the model's files
//   kernels/x86-64-v3.so generated kernels as native code, one file for each
//                        level of x86-64, see Generated.h
//   kernels/sm_90.cubin  the same for GPUs, with target "cuda": one file for
//                        each architecture, and compute_80.ptx for newer ones
//   weights/rank-00000.safetensors   only with --weights copy
//
// manifest.json:
//   { "format": 9, "tool": "shardc 0.1.0", "checksum": "<hash of the rest>",
//     "tolerance": "f32" | "low" | "quant",
//     "mesh": [{"name": "tp", "size": 2}],
//     "stages": [{"program": "stage0.program", "stage": 0, "bytes": N,
//                 "hash": "..."}],
//     "files": [{"path": "model.onnx", "root": "model" | "artifact",
//                "bytes": N, "fingerprint": "...", "hash": "..."}],
//     "weights": "reference" | "copy",
//     "kernels": {"rows_...": {...}},   the generated ones, see Generated.h
//     "source": {...},   what it was compiled of, for the compiler
//     "inputs": [{"name": "...", "type": "int64", "dims": ["batch", 8]}],
//     "outputs": [...], "collectives": [...], "ranks": [...] }
//
// "checksum" is hashHex of the manifest's compact dump without that key (UTF-8,
// keys sorted: nlohmann::json's dump()), so a flipped byte anywhere is found.
// Paths with root "model" are relative to the artifact's "model_root" entry
// (itself relative to the artifact where it can be), which --weights-root
// replaces; they are known by size and fingerprint. Files with root "artifact"
// are ours: they carry the "hash" of all their bytes instead.
//
// With "weights": "copy" the file weights/rank-00000.safetensors holds rank 0's
// local slices under their Weight.name; a weight that it does not name is read
// from its own file, which must then be one of the artifact's (constants.bin).
// Names are unique then.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_FORMAT_H
#define SHARDC_RUNTIME_ARTIFACT_FORMAT_H

#include "runtime/artifact/Program_generated.h"

#include <cstdint>

namespace shardc::artifact {

/// The instructions that the host does itself, see Program.fbs.
inline constexpr char kReadSizes[] = "read_sizes";
inline constexpr char kSetSizes[] = "set_sizes";
inline constexpr char kIf[] = "if";
inline constexpr char kElse[] = "else";
inline constexpr char kLoop[] = "loop";
inline constexpr char kEnd[] = "end";
inline constexpr char kSend[] = "send";
inline constexpr char kReceive[] = "receive";

/// Of collectives that are only started, see Program.fbs.
inline constexpr char kWait[] = "wait";
inline constexpr char kFlight[] = "flight";
inline constexpr int64_t kMaxFlights = 256;

/// Kernels that were generated for the model have such names; they are in
/// the files of kernels/.
inline constexpr char kGeneratedPrefix[] = "rows_";

inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr char kConstantsFile[] = "constants.bin";
inline constexpr char kKernelsFolder[] = "kernels/";

/// Most dims that a view may have.
inline constexpr int kMaxRank = 8;

/// Bits of one element.
inline int64_t elementBits(ElementType type) {
  switch (type) {
  case ElementType_Int2:
  case ElementType_UInt2:
    return 2;
  case ElementType_Int4:
  case ElementType_UInt4:
    return 4;
  case ElementType_Bool:
  case ElementType_Int8:
  case ElementType_UInt8:
  case ElementType_Float8E4M3FN:
  case ElementType_Float8E4M3FNUZ:
  case ElementType_Float8E5M2:
  case ElementType_Float8E5M2FNUZ:
  case ElementType_Float8E8M0:
    return 8;
  case ElementType_Int16:
  case ElementType_UInt16:
  case ElementType_Float16:
  case ElementType_BFloat16:
    return 16;
  case ElementType_Int32:
  case ElementType_UInt32:
  case ElementType_Float32:
    return 32;
  case ElementType_Int64:
  case ElementType_UInt64:
  case ElementType_Float64:
    return 64;
  }
  return 0;
}

/// Such elements have no address of their own.
inline bool isSubByte(ElementType type) { return elementBits(type) < 8; }

/// Bytes of one element; 0 for those that share a byte.
inline int64_t elementBytes(ElementType type) { return elementBits(type) / 8; }

/// Bytes of so many elements without gaps.
inline int64_t storageBytes(ElementType type, int64_t elements) {
  return isSubByte(type) ? (elements * elementBits(type) + 7) / 8
                         : elements * elementBytes(type);
}

} // namespace shardc::artifact

#endif // SHARDC_RUNTIME_ARTIFACT_FORMAT_H
