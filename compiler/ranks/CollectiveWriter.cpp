//===- CollectiveWriter.cpp - Collectives as others spell them ------------===//

#include "compiler/ranks/CollectiveWriter.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace shardc::ranks {

using dist::DimExpr;

std::optional<Collectives> symbolizeCollectives(StringRef text) {
  if (text == "microsoft")
    return Collectives::Microsoft;
  if (text == "tensorrt")
    return Collectives::TensorRT;
  return std::nullopt;
}

StringRef domainOf(Collectives style) {
  return style == Collectives::Microsoft ? "com.microsoft" : "trt";
}

bool CollectiveWriter::isAll(Group group) const {
  return int64_t(group.size()) == rank.mesh.numRanks() && areAscending(group);
}

bool CollectiveWriter::areAscending(Group group) {
  return llvm::is_sorted(group);
}

Type CollectiveWriter::carrier(Type element, bool isSum) const {
  if (element.isF32() || element.isF16() || element.isF64())
    return element;
  if (isa<FloatType>(element))
    return style == Collectives::TensorRT && element.isBF16() ? element
                                                              : writer.f32();
  if (style == Collectives::Microsoft)
    return element.isInteger(1) && !isSum ? element : writer.i64();
  return element.isInteger(1) ? Type(IntegerType::get(element.getContext(), 32))
                              : element;
}

Tensor CollectiveWriter::distCollective(const Tensor &x, Dims dims, Group group,
                                        StringRef operation, StringRef reduce) {
  SmallVector<int64_t> members(group);
  llvm::sort(members);
  std::vector<Attribute> attributes = {
      {"collective_operation", operation.str()},
      {"reduce_op", reduce.str()},
      {"root", int64_t(-1)},
      {"nb_rank", int64_t(members.size())},
      {"group_size", int64_t(isAll(members) ? 0 : members.size())}};
  if (!isAll(members))
    attributes.push_back(
        {"groups", std::vector<int64_t>(members.begin(), members.end())});
  return writer.make("DistCollective", {x}, std::move(dims), x.element,
                     attributes, domainOf(style));
}

/// The largest of some sizes.
static DimExpr mostOf(ArrayRef<DimExpr> sizes) {
  DimExpr most = sizes.front();
  for (DimExpr size : sizes.drop_front())
    most = size == most ? most : DimExpr::max(most, size);
  return most;
}

Tensor CollectiveWriter::stack(const Tensor &x, Group group, DimsAt dimsAt) {
  SmallVector<int64_t> members(group), order;
  if (style == Collectives::Microsoft)
    members = llvm::to_vector(llvm::seq<int64_t>(rank.mesh.numRanks()));
  llvm::sort(members);
  Tensor own = x;
  for (size_t d = 0; d < x.dims.size(); ++d) {
    auto sizes = llvm::map_to_vector(
        members, [&](int64_t member) -> DimExpr { return dimsAt(member)[d]; });
    own = writer.padTo(own, d, mostOf(sizes));
  }
  own = writer.unsqueeze(own, 0);
  Dims dims = own.dims;
  dims[0] = int64_t(members.size());
  Tensor all = style == Collectives::Microsoft
                   ? writer.make("AllGather", {own}, dims, x.element,
                                 {{"axis", int64_t(0)},
                                  {"group_size", int64_t(members.size())}},
                                 domainOf(style))
                   : distCollective(own, dims, members, "all_gather", "none");
  for (int64_t member : group)
    order.push_back(llvm::find(members, member) - members.begin());
  if (order.size() == members.size() && llvm::is_sorted(order))
    return all;
  dims[0] = int64_t(order.size());
  return writer.make("Gather", {all, writer.integers(order)}, dims, x.element,
                     {{"axis", int64_t(0)}});
}

Tensor CollectiveWriter::allReduce(const Tensor &given, Group group,
                                   StringRef kind, DimsAt dimsAt) {
  const bool isSum = kind == "sum";
  const Tensor x = writer.cast(given, carrier(given.element, isSum));
  Tensor result;
  if (style == Collectives::TensorRT) {
    result = distCollective(x, x.dims, group, "all_reduce", kind);
  } else if (isSum && isAll(group) && isa<FloatType>(x.element)) {
    result =
        writer.make("AllReduce", {x}, x.dims, x.element, {}, domainOf(style));
  } else {
    const StringRef reduce = isSum           ? "ReduceSum"
                             : kind == "max" ? "ReduceMax"
                                             : "ReduceMin";
    result =
        writer.reduce(reduce, stack(x, group, dimsAt), 0, /*keepsDim=*/false);
    for (size_t d = 0; d < x.dims.size(); ++d)
      result = writer.slice(result, d, 0, x.dims[d]);
  }
  return writer.cast(result, given.element);
}

Tensor CollectiveWriter::allGather(const Tensor &given, size_t dim, Group group,
                                   ArrayRef<DimExpr> sizes, DimsAt dimsAt) {
  const Tensor x = writer.cast(given, carrier(given.element, false));
  const bool isEven = llvm::all_equal(sizes);
  Dims dims = x.dims;
  dims[dim] = DimExpr(int64_t(group.size())) * sizes.front();
  if (isEven && isAll(group) && style == Collectives::Microsoft)
    return writer.cast(writer.make("AllGather", {x}, dims, x.element,
                                   {{"axis", int64_t(dim)},
                                    {"group_size", int64_t(group.size())}},
                                   domainOf(style)),
                       given.element);
  if (isEven && dim == 0 && areAscending(group) &&
      style == Collectives::TensorRT)
    return writer.cast(distCollective(x, dims, group, "all_gather", "none"),
                       given.element);
  const Tensor all = stack(x, group, dimsAt);
  SmallVector<Tensor> parts;
  for (auto [member, size] : llvm::enumerate(sizes)) {
    Tensor part = writer.pick(all, member);
    for (size_t d = 0; d < x.dims.size(); ++d)
      part = writer.slice(part, d, 0, d == dim ? size : x.dims[d]);
    parts.push_back(part);
  }
  return writer.cast(writer.concat(parts, dim), given.element);
}

Tensor CollectiveWriter::toFront(const Tensor &x, size_t dim) {
  SmallVector<int64_t> perm{int64_t(dim)};
  for (size_t d = 0; d < x.dims.size(); ++d)
    if (d != dim)
      perm.push_back(d);
  return writer.transpose(x, perm);
}

std::optional<Tensor> CollectiveWriter::reduceScatter(const Tensor &given,
                                                      size_t dim, Group group,
                                                      StringRef kind) {
  const std::optional<DimExpr> part =
      given.dims[dim].exactDiv(int64_t(group.size()));
  if (style != Collectives::TensorRT || !part || !areAscending(group))
    return std::nullopt;
  const Tensor x =
      toFront(writer.cast(given, carrier(given.element, true)), dim);
  Dims dims = x.dims;
  dims[0] = *part;
  Tensor made = distCollective(x, dims, group, "reduce_scatter", kind);
  SmallVector<int64_t> back;
  for (size_t d = 0; d < x.dims.size(); ++d)
    back.push_back(d == dim ? 0 : d < dim ? d + 1 : d);
  return writer.cast(writer.transpose(made, back), given.element);
}

std::optional<Tensor> CollectiveWriter::allToAll(const Tensor &given,
                                                 size_t from, size_t to,
                                                 Group group) {
  const int64_t ways = group.size();
  const std::optional<DimExpr> part = given.dims[to].exactDiv(ways);
  if (!part || !areAscending(group) ||
      (style == Collectives::Microsoft && !isAll(group)))
    return std::nullopt;
  Tensor x = writer.cast(given, carrier(given.element, false));
  // [.., ways, part, ..] with the ways in front: one block for each rank.
  Dims dims = x.dims;
  dims[to] = *part;
  dims.insert(dims.begin() + to, DimExpr(ways));
  x = toFront(writer.reshape(x, dims), to);
  x = style == Collectives::Microsoft
          ? writer.make("AllToAll", {x}, x.dims, x.element,
                        {{"group_size", ways}}, domainOf(style))
          : distCollective(x, x.dims, group, "all_to_all", "none");
  // Now block i is of rank i: its part of `from`.
  SmallVector<int64_t> perm;
  for (size_t d = 0; d + 1 < x.dims.size(); ++d) {
    if (d == from)
      perm.push_back(0);
    perm.push_back(d + 1);
  }
  Dims result = given.dims;
  result[to] = *part;
  result[from] = given.dims[from] * ways;
  return writer.cast(writer.reshape(writer.transpose(x, perm), result),
                     given.element);
}

} // namespace shardc::ranks
