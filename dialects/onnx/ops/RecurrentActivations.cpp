//===- RecurrentActivations.cpp - What `activations` of an LSTM says -----===//

#include "dialects/onnx/ops/RecurrentActivations.h"

#include "dialects/onnx/ops/Activation.h"

using namespace mlir;

namespace shardc::onnx {

namespace {

/// What `activations` may name, without regard to case, and what it takes.
struct KnownActivation {
  StringLiteral name;
  std::optional<double> alpha, beta; ///< their defaults
};

constexpr KnownActivation kActivations[] = {
    {"Relu", {}, {}},         {"Tanh", {}, {}},
    {"Sigmoid", {}, {}},      {"Affine", 1.0, 0.0},
    {"LeakyRelu", 0.01, {}},  {"ThresholdedRelu", 1.0, {}},
    {"ScaledTanh", 1.0, 1.0}, {"HardSigmoid", 0.2, 0.5},
    {"Elu", 1.0, {}},         {"Softsign", {}, {}},
    {"Softplus", {}, {}}};

/// The attribute's numbers, of which each activation that takes one takes the
/// next.
class Numbers {
public:
  Numbers(Operation *op, StringRef name) {
    if (auto given = op->getAttrOfType<ArrayAttr>(name))
      for (FloatAttr number : given.getAsRange<FloatAttr>())
        numbers.push_back(number.getValueAsDouble());
  }
  double takeOr(const std::optional<double> &usual) {
    if (!usual || isEmpty())
      return usual.value_or(0);
    return numbers[next++];
  }
  bool isEmpty() const { return next == numbers.size(); }

private:
  SmallVector<double> numbers;
  size_t next = 0;
};

} // namespace

static SmallVector<StringRef> namesOf(Operation *op, ArrayRef<StringRef> usual,
                                      int64_t directions) {
  SmallVector<StringRef> names;
  auto given = op->getAttrOfType<ArrayAttr>("activations");
  for (int64_t i = 0; i < directions && !given; ++i)
    llvm::append_range(names, usual);
  if (given)
    for (StringAttr name : given.getAsRange<StringAttr>())
      names.push_back(name.getValue());
  return names;
}

FailureOr<SmallVector<Activation>>
readActivations(Decomposition &d, int64_t gates, int64_t directions) {
  const StringRef all[] = {"Sigmoid", "Tanh", "Tanh"};
  ArrayRef<StringRef> usual = gates == 1   ? ArrayRef(all).slice(1, 1)
                              : gates == 3 ? ArrayRef(all).take_front(2)
                                           : ArrayRef(all);
  SmallVector<StringRef> names = namesOf(d.op, usual, directions);
  if (gates == 1 && directions == 1 && names.size() == 2)
    names.pop_back(); // ONNX's default is that of both directions
  if (names.size() != usual.size() * directions)
    return d.op->emitOpError("has ")
           << names.size() << " activations, expected "
           << usual.size() * directions;
  Numbers alphas(d.op, "activation_alpha"), betas(d.op, "activation_beta");
  SmallVector<Activation> activations;
  for (StringRef name : names) {
    const auto *known = llvm::find_if(kActivations, [&](const auto &candidate) {
      return candidate.name.equals_insensitive(name);
    });
    if (known == std::end(kActivations))
      return d.refuse("activation " + name, "export with another one");
    activations.push_back(
        {known->name, alphas.takeOr(known->alpha), betas.takeOr(known->beta)});
  }
  if (!alphas.isEmpty() || !betas.isEmpty())
    return d.op->emitOpError("has more activation_alpha or activation_beta "
                             "than its activations take");
  return activations;
}

Value activate(Decomposition &d, const Activation &activation, Value x) {
  StringRef name = activation.name;
  auto number = [&](double value) { return d.number(d.element(x), value); };
  auto scaled = [&](Value value, double scale) {
    return scale == 1 ? value : d.mul(value, number(scale));
  };
  if (name == "Affine")
    return d.add(scaled(x, activation.alpha), number(activation.beta));
  if (name == "ScaledTanh")
    return scaled(d.make<TanhOp>({scaled(x, activation.beta)}),
                  activation.alpha);
  SmallVector<NamedAttribute, 2> attributes;
  if (llvm::is_contained({"LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Elu"},
                         name))
    attributes.push_back(d.attribute("alpha", activation.alpha));
  if (name == "HardSigmoid")
    attributes.push_back(d.attribute("beta", activation.beta));
  return d.make(("onnx." + name).str(), {x}, attributes);
}

} // namespace shardc::onnx
