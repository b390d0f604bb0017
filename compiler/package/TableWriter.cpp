//===- TableWriter.cpp - Pieces that every table of a program shares ------===//

#include "compiler/package/TableWriter.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace shardc::package {

using dist::DimExpr;
using flatbuffers::Offset;

Offset<flatbuffers::Vector<uint32_t>>
TableWriter::scalarList(ArrayRef<DimExpr> exprs) {
  std::vector<uint32_t> list;
  for (DimExpr expr : exprs)
    list.push_back(scalar(expr));
  return builder.CreateVector(list);
}

Offset<flatbuffers::Vector<int64_t>>
TableWriter::bounds(const dist::Factor &factor) {
  if (!dist::hasShares(factor.axes, mesh))
    return 0;
  const auto list = dist::boundsOf(factor.axes, mesh);
  std::vector<int64_t> bounds(list.begin(), list.end());
  if (factor.isReversed) {
    std::reverse(bounds.begin(), bounds.end());
    for (int64_t &bound : bounds)
      bound = list.back() - bound;
  }
  auto [known, isNew] = boundsTables.try_emplace(bounds);
  if (isNew)
    known->second = builder.CreateVector(bounds);
  return known->second;
}

Offset<artifact::DimLayout>
TableWriter::dimLayout(const dist::DimSharding &dim,
                       llvm::ArrayRef<dist::AxisRef> group) {
  Offsets<artifact::SegmentLayout> segments;
  for (const dist::Segment &segment : dim.segments) {
    Offsets<artifact::FactorLayout> factors;
    for (const dist::Factor &factor : segment.factors) {
      const int64_t ways = dist::numWays(factor.axes);
      const DimExpr way = dist::flatIndex(factor.axes, mesh);
      int64_t inGroup = 1;
      for (const dist::AxisRef &part : factor.axes)
        for (const dist::AxisRef &axis : group)
          inGroup *= part.sharedWays(axis);
      factors.push_back(artifact::CreateFactorLayout(
          builder, scalar(factor.size), ways,
          scalar(factor.isReversed ? ways - 1 - way : way),
          group.empty() ? 1 : ways / inGroup, bounds(factor)));
    }
    segments.push_back(
        artifact::CreateSegmentLayout(builder, builder.CreateVector(factors)));
  }
  return artifact::CreateDimLayout(builder, builder.CreateVector(segments));
}

Offset<flatbuffers::Vector<Offset<artifact::DimLayout>>>
TableWriter::layout(dist::ValueAttr value) {
  Offsets<artifact::DimLayout> dims;
  dist::Sharding sharding = value.getSharding()
                                ? *value.getSharding()
                                : dist::Sharding::replicated(value.getDims());
  for (const dist::DimSharding &dim : sharding.dims)
    dims.push_back(dimLayout(dim));
  return builder.CreateVector(dims);
}

FailureOr<Offset<artifact::Attribute>>
TableWriter::attribute(Operation *op, NamedAttribute named) {
  auto name = builder.CreateString(named.getName().str());
  Attribute value = named.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return artifact::CreateAttribute(
        builder, name,
        builder.CreateVector(std::vector<int64_t>{integer.getInt()}));
  if (auto list = dyn_cast<DenseI64ArrayAttr>(value))
    return artifact::CreateAttribute(
        builder, name,
        builder.CreateVector(std::vector<int64_t>(list.asArrayRef().begin(),
                                                  list.asArrayRef().end())));
  if (auto dims = dyn_cast<dist::DimsAttr>(value))
    return artifact::CreateAttribute(builder, name, 0,
                                     scalarList(dims.getValues()));
  if (auto number = dyn_cast<FloatAttr>(value))
    return artifact::CreateAttribute(
        builder, name, 0, 0,
        builder.CreateVector(std::vector<double>{number.getValueAsDouble()}));
  if (auto text = dyn_cast<StringAttr>(value))
    return artifact::CreateAttribute(builder, name, 0, 0, 0,
                                     builder.CreateString(text.str()));
  return op->emitError("has an attribute that no kernel understands: ")
         << named.getName();
}

std::string bytesOf(DenseElementsAttr elements) {
  std::string bytes;
  if (elements.getElementType().isInteger(1)) {
    for (bool value : elements.getValues<bool>())
      bytes.push_back(value);
    return bytes;
  }
  if (const unsigned bits = elements.getElementType().getIntOrFloatBitWidth();
      bits < 8) {
    const size_t ofByte = 8 / bits;
    for (auto [i, value] : llvm::enumerate(elements.getValues<APInt>())) {
      if (i % ofByte == 0)
        bytes.push_back(0);
      bytes.back() |= char(value.getZExtValue() << (i % ofByte * bits));
    }
    return bytes;
  }
  if (!elements.isSplat()) {
    ArrayRef<char> raw = elements.getRawData();
    return std::string(raw.begin(), raw.end());
  }
  ArrayRef<char> one = elements.getRawData();
  for (int64_t i = 0; i < elements.getNumElements(); ++i)
    bytes.append(one.begin(), one.end());
  return bytes;
}

} // namespace shardc::package
