//===- TableWriter.h - Pieces that every table of a program shares --------===//
//
// Sizes, layouts, attributes and small tensors as they stand in Program.fbs.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_PACKAGE_TABLEWRITER_H
#define SHARDC_COMPILER_PACKAGE_TABLEWRITER_H

#include "compiler/package/ScalarTable.h"
#include "dialects/rt/Rt.h"

#include <map>

namespace shardc::package {

template <typename T> using Offsets = std::vector<flatbuffers::Offset<T>>;

class TableWriter {
public:
  explicit TableWriter(const dist::Mesh &mesh) : mesh(mesh), scalars(mesh) {}

  const dist::Mesh &mesh;
  flatbuffers::FlatBufferBuilder builder;
  ScalarTable scalars;

  uint32_t scalar(dist::DimExpr expr) { return scalars.add(expr); }
  flatbuffers::Offset<flatbuffers::Vector<uint32_t>>
  scalarList(llvm::ArrayRef<dist::DimExpr> exprs);

  /// Positions count from what the ranks of a group hold together, if `group`
  /// names the axes over which they differ.
  flatbuffers::Offset<artifact::DimLayout>
  dimLayout(const dist::DimSharding &dim,
            llvm::ArrayRef<dist::AxisRef> group = {});
  /// One per dim; unsplit where the value carries no sharding.
  flatbuffers::Offset<
      flatbuffers::Vector<flatbuffers::Offset<artifact::DimLayout>>>
  layout(dist::ValueAttr value);

  /// An error at `op` for kinds of attribute that no kernel reads.
  llvm::FailureOr<flatbuffers::Offset<artifact::Attribute>>
  attribute(mlir::Operation *op, mlir::NamedAttribute named);

private:
  /// Where the ways of a factor begin; none where their parts are equal.
  flatbuffers::Offset<flatbuffers::Vector<int64_t>>
  bounds(const dist::Factor &factor);

  /// Many layouts have the same.
  std::map<std::vector<int64_t>,
           flatbuffers::Offset<flatbuffers::Vector<int64_t>>>
      boundsTables;
};

/// Row-major bytes of a small tensor, a bool a byte.
std::string bytesOf(mlir::DenseElementsAttr elements);

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_TABLEWRITER_H
