//===- ShardingText.cpp - Shardings as people write them ------------------===//

#include "dialects/dist/algebra/Sharding.h"

#include "llvm/ADT/STLExtras.h"

namespace shardc::dist {

/// "tp"=4 is 4 ways of tp, "tp":(4)2 two ways after the first four.
void print(llvm::raw_ostream &os, const AxisRef &axis) {
  os << '"' << axis.name << '"';
  if (axis.pre == 1)
    os << '=' << axis.size;
  else
    os << ":(" << axis.pre << ')' << axis.size;
}

static void printAxes(llvm::raw_ostream &os, const Factor &factor) {
  os << (factor.isReversed ? "-" : "");
  llvm::interleave(
      factor.axes, os, [&](const AxisRef &axis) { print(os, axis); }, " + ");
}

static void printFactors(llvm::raw_ostream &os, const Segment &segment) {
  os << '(';
  llvm::interleaveComma(segment.factors, os, [&](const Factor &factor) {
    factor.size.print(os);
    if (!factor.isSplit())
      return;
    os << ':';
    printAxes(os, factor);
  });
  os << ')';
}

void print(llvm::raw_ostream &os, const DimSharding &dim) {
  if (!dim.isSplit()) {
    os << "{}";
    return;
  }
  if (dim.segments.size() > 1) {
    os << '[';
    llvm::interleave(
        dim.segments, os,
        [&](const Segment &segment) {
          segment.size().print(os);
          os << ": ";
          printFactors(os, segment);
        },
        " | ");
    os << ']';
    return;
  }
  const Segment &only = dim.segments.front();
  if (only.factors.size() > 1) {
    printFactors(os, only);
    return;
  }
  os << '{';
  printAxes(os, only.factors.front());
  os << '}';
}

void Sharding::print(llvm::raw_ostream &os) const {
  os << '[';
  llvm::interleaveComma(dims, os,
                        [&](const DimSharding &dim) { dist::print(os, dim); });
  os << ']';
  if (partial.empty())
    return;
  os << ", partial = {";
  llvm::interleaveComma(partial, os, [&](const PartialAxis &axis) {
    dist::print(os, axis.axis);
    os << ": " << stringify(axis.kind);
  });
  os << '}';
}

std::string Sharding::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return text;
}

} // namespace shardc::dist
