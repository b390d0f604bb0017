//===- ElementNames.h - Element types in words ----------------------------===//
//
// The names that manifest.json, messages and NumPy use: "float32", "int64".
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_ELEMENTNAMES_H
#define SHARDC_RUNTIME_ARTIFACT_ELEMENTNAMES_H

#include "runtime/artifact/Format.h"

namespace shardc::artifact {

inline const char *elementName(ElementType type) {
  static const char *const names[] = {
      "bool",           "int8",       "uint8",          "int16",
      "uint16",         "int32",      "uint32",         "int64",
      "uint64",         "float16",    "bfloat16",       "float32",
      "float64",        "int4",       "uint4",          "float8e4m3fn",
      "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0",
      "int2",           "uint2"};
  return type <= ElementType_MAX ? names[type] : "unknown";
}

/// The dtype that safetensors headers use: "F32", "I64".
inline const char *safetensorsName(ElementType type) {
  static const char *const names[] = {
      "BOOL",        "I8",      "U8",  "I16",     "U16",         "I32",
      "U32",         "I64",     "U64", "F16",     "BF16",        "F32",
      "F64",         "I4",      "U4",  "F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2",
      "F8_E5M2FNUZ", "F8_E8M0", "I2",  "U2"};
  return type <= ElementType_MAX ? names[type] : "unknown";
}

} // namespace shardc::artifact

#endif // SHARDC_RUNTIME_ARTIFACT_ELEMENTNAMES_H
