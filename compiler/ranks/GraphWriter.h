//===- GraphWriter.h - An ONNX graph, node by node ------------------------===//
//
// Tensors know their sizes as expressions, so that what a size is written from is
// found once: constants, or arithmetic on the shapes of inputs.
//
//   Tensor half = writer.binary("Mul", x, writer.scalar(x.element, 0.5));
//   writer.reshape(half, {batch * seq, 96})      shape from a Concat of
//                                                Shape(ids)[0] * Shape(ids)[1]
//
// A mistake or what cannot be written is kept in `problem`; whatever comes after
// the first one is of no use.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_RANKS_GRAPHWRITER_H
#define SHARDC_COMPILER_RANKS_GRAPHWRITER_H

#include "compiler/ranks/RankSizes.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include "onnx/onnx_pb.h"

#include <variant>

namespace shardc::ranks {

/// ONNX's operators at this version are written.
inline constexpr int64_t kOpset = 23;

struct Tensor {
  std::string name; ///< empty: an operand that is absent
  Dims dims;
  mlir::Type element;

  bool isAbsent() const { return name.empty(); }
};

struct Attribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>> value;
};

class GraphWriter {
public:
  GraphWriter(::onnx::GraphProto &graph, mlir::MLIRContext *context)
      : graph(graph), context(context) {}

  std::string problem;
  void fail(const llvm::Twine &what);

  /// What the nodes that follow are named after.
  void setNode(llvm::StringRef name) { node = name.str(); }
  llvm::StringRef nodeName() const { return node; }
  /// A name that nothing has yet.
  std::string unique(llvm::StringRef base);

  //===--- Nodes ----------------------------------------------------------===//

  /// One of some results; "" is an absent operand.
  std::vector<std::string>
  add(llvm::StringRef op, llvm::ArrayRef<std::string> inputs, size_t results,
      llvm::ArrayRef<Attribute> attributes = {}, llvm::StringRef domain = "");
  Tensor make(llvm::StringRef op, llvm::ArrayRef<Tensor> inputs, Dims dims,
              mlir::Type element, llvm::ArrayRef<Attribute> attributes = {},
              llvm::StringRef domain = "");
  Tensor unary(llvm::StringRef op, const Tensor &x) {
    return make(op, {x}, x.dims, x.element);
  }
  /// Broadcasts; the result's element is the left one's, or `element`.
  Tensor binary(llvm::StringRef op, const Tensor &lhs, const Tensor &rhs,
                mlir::Type element = {});
  Tensor where(const Tensor &condition, const Tensor &lhs, const Tensor &rhs);

  Tensor cast(const Tensor &x, mlir::Type element);
  Tensor reshape(const Tensor &x, Dims dims);
  Tensor expand(const Tensor &x, Dims dims);
  Tensor transpose(const Tensor &x, llvm::ArrayRef<int64_t> perm);
  /// Adds a dim of size 1.
  Tensor unsqueeze(const Tensor &x, size_t dim);
  Tensor slice(const Tensor &x, size_t dim, dist::DimExpr start,
               dist::DimExpr size);
  Tensor concat(llvm::ArrayRef<Tensor> parts, size_t dim);
  /// Zeros behind a dim, up to `size`.
  Tensor padTo(const Tensor &x, size_t dim, dist::DimExpr size);
  /// Element `index` of the first dim, without that dim.
  Tensor pick(const Tensor &x, int64_t index);
  Tensor zeros(const Dims &dims, mlir::Type element);
  Tensor reduce(llvm::StringRef op, const Tensor &x, int64_t dim,
                bool keepsDim);
  /// start, start + 1, ...
  Tensor range(dist::DimExpr start, dist::DimExpr size);

  //===--- Constants and sizes --------------------------------------------===//

  Tensor scalar(mlir::Type element, double value);
  Tensor integers(llvm::ArrayRef<int64_t> values);
  /// Values of a size each, i64 [n].
  Tensor sizes(llvm::ArrayRef<dist::DimExpr> values);
  /// Makes `name`, i64 [1], what a symbol stands for.
  void bind(llvm::StringRef symbol, std::string name) {
    symbols[symbol] = std::move(name);
  }
  /// Binds a symbol when it is needed, or does not.
  std::function<void(llvm::StringRef symbol)> findSymbol;

  mlir::Type i64() const;
  mlir::Type i1() const;
  mlir::Type f32() const;

  /// Says the type of a value that no schema of ONNX gives.
  void declare(const Tensor &tensor);
  /// For inputs and outputs.
  void describe(const Tensor &tensor, ::onnx::ValueInfoProto &info) const;

  ::onnx::GraphProto &graph;

private:
  std::string size(dist::DimExpr value);
  std::string termOf(const dist::DimExpr::Term &term);
  std::string atomOf(const dist::detail::DimAtom *atom);
  std::string constant(llvm::ArrayRef<int64_t> values, bool isScalar);
  std::string one(llvm::StringRef op, llvm::ArrayRef<std::string> inputs,
                  llvm::ArrayRef<Attribute> attributes = {});

  mlir::MLIRContext *context;
  std::string node;
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> numbers; ///< by base of a name
  llvm::StringMap<std::string> symbols, constants;
  llvm::DenseMap<const void *, std::string> known; ///< sizes
};

} // namespace shardc::ranks

#endif // SHARDC_COMPILER_RANKS_GRAPHWRITER_H
