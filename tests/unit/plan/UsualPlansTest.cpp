//===- UsualPlansTest.cpp - No dearer than what people write by hand ------===//
//
// Megatron-LM's plans, pinned matrix by matrix, have the price that this model of
// costs gives them. What the search finds must not be dearer, whatever the sizes.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/ChooseSplits.h"
#include "passes/plan/Pins.h"
#include "passes/plan/cost/RunCost.h"
#include "passes/plan/machine/ReadMachine.h"
#include "tests/unit/plan/ParsedGraph.h"

using namespace shardc;
using plan::ExpertMode;
using plan::Plan;

namespace {

struct Model {
  int64_t layers = 2, hidden = 4096, heads = 32, keyHeads = 8, inner = 14336,
          vocabulary = 32000;
  int64_t experts = 0;
  int64_t width() const { return hidden / heads; }
};

/// A decoder without norms and positions, which no plan splits.
class Writer {
public:
  explicit Writer(const Model &model) : model(model), os(text) {}

  std::string run() {
    const std::string x = tensor({"batch", "seq"}, {model.hidden});
    os << "func.func @main(%ids: " << tensor({"batch", "seq"}, {}, "i64")
       << ") -> " << tensor({"batch", "seq"}, {model.vocabulary}) << " {\n";
    weight("words", {model.vocabulary, model.hidden});
    os << "%x0 = onnx.Gather %words, %ids {axis = 0 : i64} : ("
       << matrix({model.vocabulary, model.hidden}) << ", "
       << tensor({"batch", "seq"}, {}, "i64") << ") -> " << x << "\n";
    std::string last = "x0";
    for (int64_t layer = 0; layer < model.layers; ++layer) {
      suffix = std::to_string(layer);
      last = add(last, attention(last));
      last = add(last, model.experts > 0 ? experts(last) : inner(last));
    }
    suffix = "";
    const std::string y =
        product("y", last, "head", model.hidden, model.vocabulary);
    os << "return %" << y << " : "
       << tensor({"batch", "seq"}, {model.vocabulary}) << "\n}\n";
    return text;
  }

private:
  static std::string tensor(std::vector<std::string> symbols,
                            std::vector<int64_t> numbers,
                            const std::string &element = "f16") {
    std::string shape, dims;
    for (const std::string &symbol : symbols) {
      shape += "?x";
      dims += (dims.empty() ? "" : ", ") + symbol;
    }
    for (int64_t number : numbers) {
      shape += std::to_string(number) + "x";
      dims += (dims.empty() ? "" : ", ") + std::to_string(number);
    }
    return "tensor<" + shape + element + ", #dist.value<dims = [" + dims +
           "]>>";
  }
  static std::string matrix(std::vector<int64_t> dims) {
    std::string shape;
    for (int64_t dim : dims)
      shape += std::to_string(dim) + "x";
    return "tensor<" + shape + "f16>";
  }
  void weight(const std::string &name, std::vector<int64_t> dims) {
    int64_t bytes = 2;
    for (int64_t dim : dims)
      bytes *= dim;
    os << "%" << name << " = onnx.Weight {name = \"" << name
       << "\", file = \"w\", offset = 0 : i64, length = " << bytes
       << " : i64} : () -> " << matrix(dims) << "\n";
  }
  std::string product(const std::string &name, const std::string &from,
                      const std::string &by, int64_t in, int64_t out) {
    weight(by + suffix, {in, out});
    os << "%" << name << suffix << " = onnx.MatMul %" << from << ", %" << by
       << suffix << " : (" << tensor({"batch", "seq"}, {in}) << ", "
       << matrix({in, out}) << ") -> " << tensor({"batch", "seq"}, {out})
       << "\n";
    return name + suffix;
  }
  std::string add(const std::string &a, const std::string &b) {
    const std::string x = tensor({"batch", "seq"}, {model.hidden});
    os << "%sum_" << b << " = onnx.Add %" << a << ", %" << b << " : (" << x
       << ", " << x << ") -> " << x << "\n";
    return "sum_" + b;
  }
  std::string inHeads(const std::string &flat, int64_t heads) {
    const std::string split = tensor({"batch", "seq"}, {heads, model.width()});
    os << "%s" << flat << " = onnx.Reshape %" << flat << " : ("
       << tensor({"batch", "seq"}, {heads * model.width()}) << ") -> " << split
       << "\n%h" << flat << " = onnx.Transpose %s" << flat
       << " {perm = array<i64: 0, 2, 1, 3>} : (" << split << ") -> "
       << ofHeads(heads) << "\n";
    return "h" + flat;
  }
  std::string ofHeads(int64_t heads) const {
    const std::string number = std::to_string(heads),
                      width = std::to_string(model.width());
    return "tensor<?x" + number + "x?x" + width +
           "xf16, #dist.value<dims = [batch, " + number + ", seq, " + width +
           "]>>";
  }
  std::string attention(const std::string &x) {
    const int64_t keys = model.keyHeads * model.width();
    const std::string q =
        inHeads(product("q", x, "wq", model.hidden, model.hidden), model.heads);
    const std::string k =
        inHeads(product("k", x, "wk", model.hidden, keys), model.keyHeads);
    const std::string v =
        inHeads(product("v", x, "wv", model.hidden, keys), model.keyHeads);
    const std::string split =
        tensor({"batch", "seq"}, {model.heads, model.width()});
    os << "%at" << suffix << " = onnx.Attention %" << q << ", %" << k << ", %"
       << v << " {is_causal = 1 : i64, scale = 1.0 : f32} : ("
       << ofHeads(model.heads) << ", " << ofHeads(model.keyHeads) << ", "
       << ofHeads(model.keyHeads) << ") -> " << ofHeads(model.heads) << "\n%as"
       << suffix << " = onnx.Transpose %at" << suffix
       << " {perm = array<i64: 0, 2, 1, 3>} : (" << ofHeads(model.heads)
       << ") -> " << split << "\n%ar" << suffix << " = onnx.Reshape %as"
       << suffix << " : (" << split << ") -> "
       << tensor({"batch", "seq"}, {model.hidden}) << "\n";
    return product("o", "ar" + suffix, "wo", model.hidden, model.hidden);
  }
  std::string inner(const std::string &x) {
    const std::string h = tensor({"batch", "seq"}, {model.inner});
    const std::string up = product("u", x, "up", model.hidden, model.inner);
    os << "%r" << suffix << " = onnx.Relu %" << up << " : (" << h << ") -> "
       << h << "\n";
    return product("d", "r" + suffix, "down", model.inner, model.hidden);
  }
  std::string experts(const std::string &x) {
    auto rows = [&](int64_t columns, const char *element) {
      const std::string number = std::to_string(columns);
      return "tensor<?x" + number + "x" + element +
             ", #dist.value<dims = [batch * seq, " + number + "]>>";
    };
    auto stack = [&](int64_t in, int64_t out) {
      return tensor({}, {model.experts, in, out});
    };
    const std::string whole = tensor({"batch", "seq"}, {model.hidden}),
                      flat = rows(model.hidden, "f16"), s = suffix;
    weight("router" + s, {model.hidden, model.experts});
    for (auto [name, in, out] : {std::tuple("eup", model.hidden, model.inner),
                                 {"edown", model.inner, model.hidden}})
      os << "%" << name << s << " = onnx.Weight {name = \"" << name << s
         << "\", file = \"w\", offset = 0 : i64, length = "
         << 2 * model.experts * in * out << " : i64} : () -> " << stack(in, out)
         << "\n";
    os << "%rows" << s << " = onnx.Reshape %" << x << " : (" << whole << ") -> "
       << flat << "\n%scores" << s << " = onnx.MatMul %rows" << s << ", %router"
       << s << " : (" << flat << ", " << matrix({model.hidden, model.experts})
       << ") -> " << rows(model.experts, "f16") << "\n%shares" << s
       << ", %chosen" << s << " = onnx.TopK %scores" << s
       << " {axis = 1 : i64, k = 2 : i64} : (" << rows(model.experts, "f16")
       << ") -> (" << rows(2, "f16") << ", " << rows(2, "i64") << ")\n%m" << s
       << " = onnx.MixtureOfExperts %rows" << s << ", %chosen" << s
       << ", %shares" << s << ", %eup" << s << ", %edown" << s << " : (" << flat
       << ", " << rows(2, "i64") << ", " << rows(2, "f16") << ", "
       << stack(model.hidden, model.inner) << ", "
       << stack(model.inner, model.hidden) << ") -> " << flat << "\n%mx" << s
       << " = onnx.Reshape %m" << s << " : (" << flat << ") -> " << whole
       << "\n";
    return "mx" + s;
  }

  const Model &model;
  std::string text, suffix;
  llvm::raw_string_ostream os;
};

class UsualPlans : public ParsedGraph {
protected:
  void load(const Model &model) {
    parse(Writer(model).run());
    ASSERT_TRUE(module);
    kernels.emplace(graph());
    names = source->names();
  }
  void setMesh(llvm::ArrayRef<dist::Axis> axes, const char *topology) {
    mesh.axes.assign(axes.begin(), axes.end());
    stage = dist::stageMesh(mesh);
    EXPECT_EQ(plan::parseMachine(topology, machine), "");
  }

  /// By hand: columns of what comes first, rows of what comes after, the
  /// vocabulary of table and head; keys only as far as there are heads.
  Plan megatron(const Model &model, const std::string &axis,
                bool splitsSequence) const {
    const int64_t ways = mesh.find(axis)->size;
    auto has = [](const std::string &name, const char *stem) {
      return llvm::StringRef(name).starts_with(stem);
    };
    Plan plan(graph());
    for (unsigned op = 0; op < graph().ops.size(); ++op) {
      if (graph().ops[op].kind != plan::OpKind::Weight)
        continue;
      const std::string &name = names.nodes[op];
      const bool areKeys = has(name, "wk") || has(name, "wv");
      const bool isOfExperts = has(name, "eup") || has(name, "edown");
      if (has(name, "router") || (areKeys && model.keyHeads % ways != 0))
        continue;
      const unsigned dim = isOfExperts || has(name, "words") ||
                                   has(name, "wo") || has(name, "down")
                               ? 0
                               : 1;
      const auto &dims = graph().values[graph().ops[op].resultValues[0]].dims;
      // Of heads and what is in them the heads.
      std::optional<plan::FactorNode> first;
      graph().space.forEachLeaf(dims[dim], [&](plan::FactorNode leaf, bool) {
        first = first ? first : leaf;
      });
      plan::pinLeaf(graph(), *first, plan::AxisList{*axisRef(axis)}, plan);
    }
    return plan::planByRoles(graph(), stage, /*isDecode=*/false,
                             ExpertMode::Tensor, {splitsSequence}, &plan);
  }
  std::optional<dist::AxisRef> axisRef(const std::string &name) const {
    for (const dist::AxisRef &axis : dist::wholeMesh(mesh))
      if (axis.name == name)
        return axis;
    return std::nullopt;
  }

  /// Of steps and of prompts, by themselves.
  plan::ChosenSplits choose(const plan::Sizes &sizes,
                            bool splitsSequence) const {
    return plan::chooseSplits(
        {{graph(), *kernels, names, false, sizes}},
        {machine, mesh, stage, ExpertMode::Tensor, {splitsSequence}});
  }
  double found(const plan::Sizes &sizes, bool splitsSequence) const {
    Plan start(graph());
    choose(sizes, splitsSequence)
        .apply(graph(), names, start,
               [](llvm::StringRef weight) { return weight; });
    return price(plan::planByRoles(graph(), stage, /*isDecode=*/false,
                                   ExpertMode::Tensor, {splitsSequence},
                                   &start),
                 sizes);
  }
  double price(const Plan &plan, const plan::Sizes &sizes) const {
    double seconds = 0;
    for (const plan::Seconds &own :
         plan::RunCost(graph(), *kernels, machine, mesh).run(plan, sizes))
      seconds += own.total();
    return seconds;
  }

  void expectNoDearer(const Model &model, const std::string &axis) {
    for (int64_t seq : {1, 2048})
      for (int64_t batch : {1, 64})
        for (bool splitsSequence : {false, true}) {
          llvm::StringMap<int64_t> given;
          given["batch"] = batch;
          given["seq"] = seq;
          const plan::Sizes sizes(given);
          EXPECT_LE(found(sizes, splitsSequence),
                    1.01 * price(megatron(model, axis, splitsSequence), sizes))
              << axis << " " << mesh.numRanks() << " batch " << batch << " seq "
              << seq << (splitsSequence ? " sp" : "");
        }
  }

  std::optional<plan::Kernels> kernels;
  plan::OpNames names;
  dist::Mesh mesh, stage;
  plan::Machine machine;
};

/// Nothing is between embeddings and products here: what is looked up in a table
/// is no matrix, whose dims would be no sequence.
TEST_F(UsualPlans, SequencesOfBareEmbeddingsAreSplit) {
  load(Model());
  setMesh({{"cp", 2}}, "h100:1x2");
  const Plan plan = plan::planByRoles(graph(), stage, /*isDecode=*/false,
                                      ExpertMode::Tensor, {});
  for (unsigned op = 0; op < graph().ops.size(); ++op)
    if (graph().ops[op].usesWeight) {
      EXPECT_EQ(plan.ops[op].splits.size(), 1u) << names.nodes[op];
      EXPECT_EQ(graph().ops[op].matrices.size(), 1u) << names.nodes[op];
    }
}

TEST_F(UsualPlans, TensorParallelDecoders) {
  const Model many{.keyHeads = 32}, few{.keyHeads = 8};
  for (const Model &model : {many, few}) {
    load(model);
    for (auto [ways, topology] :
         {std::pair<int64_t, const char *>(8, "l40s:1x8"), {16, "h100:2x8"}}) {
      setMesh({{"tp", ways}}, topology);
      expectNoDearer(model, "tp");
    }
  }
}

/// Stages have a node each; ranks of a stage are neighbours.
TEST_F(UsualPlans, TensorParallelStages) {
  const Model model;
  load(model);
  setMesh({{"pp", 2}, {"tp", 8}}, "a100:2x8");
  expectNoDearer(model, "tp");
}

TEST_F(UsualPlans, ExpertParallelMixtures) {
  const Model model{.inner = 1024, .experts = 8};
  load(model);
  setMesh({{"ep", 4}}, "h100:1x8");
  expectNoDearer(model, "ep");
  setMesh({{"ep", 4}, {"tp", 2}}, "h100:1x8");
  expectNoDearer(model, "ep");
}

} // namespace
