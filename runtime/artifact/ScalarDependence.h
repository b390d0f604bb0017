//===- ScalarDependence.h - What scalars change with ----------------------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_SCALARDEPENDENCE_H
#define SHARDC_RUNTIME_ARTIFACT_SCALARDEPENDENCE_H

#include "runtime/artifact/Format.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardc::runtime {

/// Of two operands; all others have none.
inline bool isBinary(artifact::ScalarOp op) {
  return op >= artifact::ScalarOp_Add;
}

/// What the value of a scalar depends on; bits.
enum ScalarDependence : uint8_t {
  kOnNothing = 0,
  kOnSymbols = 1,     ///< unknown until a request comes
  kOnCoordinates = 2, ///< differs between ranks
};

/// Whether a scalar of these dependences has its value once weights are loaded.
inline bool isFixed(std::span<const uint8_t> dependence, uint32_t scalar) {
  return (dependence[scalar] & kOnSymbols) == 0;
}

/// One entry for each scalar; its operands must refer to earlier scalars.
std::vector<uint8_t> scalarDependences(const artifact::Program &program);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_ARTIFACT_SCALARDEPENDENCE_H
