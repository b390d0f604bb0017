#include "runtime/artifact/ScalarDependence.h"

namespace shardc::runtime {

std::vector<uint8_t> scalarDependences(const artifact::Program &program) {
  std::vector<uint8_t> dependence;
  dependence.reserve(program.scalars()->size());
  for (const artifact::Scalar *scalar : *program.scalars()) {
    uint8_t bits = kOnNothing;
    if (scalar->op() == artifact::ScalarOp_Symbol)
      bits = kOnSymbols;
    else if (scalar->op() == artifact::ScalarOp_Coordinate)
      bits = kOnCoordinates;
    else if (isBinary(scalar->op()))
      bits = dependence[scalar->lhs()] | dependence[scalar->rhs()];
    dependence.push_back(bits);
  }
  return dependence;
}

} // namespace shardc::runtime
