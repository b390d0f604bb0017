//===- ParsedGraph.h - The graph of a function that a test writes down ----===//
#ifndef SHARDC_TESTS_UNIT_PLAN_PARSEDGRAPH_H
#define SHARDC_TESTS_UNIT_PLAN_PARSEDGRAPH_H

#include "dialects/dist/Dist.h"
#include "passes/plan/cost/Kernels.h"
#include "passes/plan/machine/Machine.h"
#include "passes/shard/FunctionGraph.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace shardc {

class ParsedGraph : public ::testing::Test {
protected:
  ParsedGraph() {
    context.loadDialect<mlir::func::FuncDialect, dist::DistDialect,
                        onnx::OnnxDialect>();
  }

  /// The first function of a module takes the place of the one before.
  void parse(llvm::StringRef text) {
    source.reset();
    module = mlir::parseSourceString<mlir::ModuleOp>(
        text, mlir::ParserConfig(&context));
    source.emplace(function(), [](llvm::StringRef) { return 64; });
  }
  mlir::func::FuncOp function() {
    return *module->getOps<mlir::func::FuncOp>().begin();
  }
  const plan::Graph &graph() const { return source->graph; }

  /// The leaf of an operand's dim, as an op sees it.
  plan::FactorNode leaf(unsigned op, unsigned operand, unsigned dim) const {
    return graph().space.find(graph().ops[op].operands[operand][dim]);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<shard::FunctionGraph> source;
};

/// With a plan for "tp" = 2, on devices that take a second for a byte, in memory
/// or between them, and none for what they compute.
class PricedGraph : public ParsedGraph {
protected:
  PricedGraph() {
    machine.devices.emplace_back();
    device().name = "test";
    device().bytesPerSecond = device().attentionBytesPerSecond = 1;
    device().multiplyAdds[32] = device().attentionMultiplyAdds = 1e30;
    machine.devicesPerNode = 2;
    machine.inside.send = machine.between.send = plan::Curve::ofRate(1, 0);
    mesh.axes.push_back({"tp", 2});
    sizes["batch"] = 10;
  }

  void load(llvm::StringRef text) {
    parse(text);
    kernels.emplace(graph());
    plan = plan::Plan(graph());
  }
  plan::Device &device() { return machine.devices.front(); }
  void split(plan::FactorNode node) {
    for (unsigned number : graph().opsWith(node))
      plan.ops[number].split(node, {dist::AxisRef{"tp", 1, 2}});
  }

  std::optional<plan::Kernels> kernels;
  plan::Machine machine;
  dist::Mesh mesh;
  plan::Plan plan;
  llvm::StringMap<int64_t> sizes;
};

/// Layers of an up and a down projection in f16, [width, inner] and back.
inline std::string makeLayers(int64_t numLayers, int64_t width, int64_t inner) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto rows = [&](const char *name, int64_t columns) {
    os << name << " = tensor<?x" << columns
       << "xf16, #dist.value<dims = [batch, " << columns << "]>>\n";
  };
  rows("!x", width);
  rows("!h", inner);
  os << "!u = tensor<" << width << "x" << inner << "xf16>\n!d = tensor<"
     << inner << "x" << width << "xf16>\nfunc.func @main(%y0: !x) -> !x {\n";
  for (int64_t i = 0; i < numLayers; ++i) {
    for (auto [name, type] : {std::pair("up", "!u"), {"down", "!d"}})
      os << "%" << name << i << " = onnx.Weight {name = \"" << name << i
         << "\", file = \"w\", offset = 0 : i64, length = " << 2 * width * inner
         << " : i64} : () -> " << type << "\n";
    os << "%a" << i << " = onnx.MatMul %y" << i << ", %up" << i
       << " : (!x, !u) -> !h\n"
       << "%b" << i << " = onnx.Relu %a" << i << " : (!h) -> !h\n"
       << "%y" << i + 1 << " = onnx.MatMul %b" << i << ", %down" << i
       << " : (!h, !d) -> !x\n";
  }
  os << "return %y" << numLayers << " : !x\n}\n";
  return text;
}

} // namespace shardc

#endif // SHARDC_TESTS_UNIT_PLAN_PARSEDGRAPH_H
