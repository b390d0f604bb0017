//===- BroadcastProfiles.cpp - Functions for sizes that broadcast ---------===//

#include "passes/import/BroadcastProfiles.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/Profiles.h"

#include "mlir/IR/Diagnostics.h"

#include <deque>
#include <set>

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;

namespace {

using Symbols = std::set<std::string>;

struct Variant {
  Symbols ones; ///< the symbols that are 1
  SmallVector<std::string> stretchable;
  OwningOpRef<func::FuncOp> function; ///< null for the one that all stem from
};

class VariantMaker {
public:
  VariantMaker(func::FuncOp original, unsigned maxVariants, InferFunction infer)
      : original(original), maxVariants(maxVariants), infer(infer) {}

  /// All variants, or nothing if they are too many.
  bool make(ArrayRef<std::string> stretchable);

  std::deque<Variant> variants;

private:
  OwningOpRef<func::FuncOp> variantOf(const Symbols &ones);

  func::FuncOp original;
  const unsigned maxVariants;
  InferFunction infer;
};

} // namespace

static void setToOne(func::FuncOp function, const Symbols &ones) {
  SmallVector<Type> types;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type && dist::getValueAttr(type)) {
      SmallVector<DimExpr, 4> dims = dist::getDims(type);
      for (DimExpr &dim : dims)
        dim = dim.replaceSymbols([&](StringRef name) {
          return ones.count(name.str()) ? std::optional(DimExpr(1))
                                        : std::nullopt;
        });
      argument.setType(dist::makeType(type.getElementType(), dims));
    }
    types.push_back(argument.getType());
  }
  function.setType(FunctionType::get(function.getContext(), types,
                                     function.getResultTypes()));
}

/// Null where no input has a size as a dim.
OwningOpRef<func::FuncOp> VariantMaker::variantOf(const Symbols &ones) {
  OwningOpRef<func::FuncOp> variant(cast<func::FuncOp>(original->clone()));
  for (const std::string &symbol : ones) {
    auto input = onnx::inputWithSize(original, DimExpr::symbol(symbol));
    if (!input)
      return nullptr;
    auto one = onnx::sizeCondition(original.getContext(), input->second, 1);
    onnx::addCondition(*variant, input->first, one);
  }
  setToOne(*variant, ones);
  return variant;
}

bool VariantMaker::make(ArrayRef<std::string> stretchable) {
  // What a variant cannot have is refused by the function that is left.
  ScopedDiagnosticHandler silence(original.getContext(),
                                  [](Diagnostic &) { return success(); });
  std::set<Symbols> seen;
  variants.push_back({{}, llvm::to_vector(stretchable), nullptr});
  for (size_t i = 0; i < variants.size(); ++i)
    for (const std::string &symbol : variants[i].stretchable) {
      Symbols ones = variants[i].ones;
      if (!ones.insert(symbol).second || !seen.insert(ones).second)
        continue;
      if (variants.size() > maxVariants)
        return false;
      OwningOpRef<func::FuncOp> variant = variantOf(ones);
      if (!variant)
        continue;
      auto more = infer(*variant);
      if (succeeded(more))
        variants.push_back(
            {std::move(ones), std::move(*more), std::move(variant)});
    }
  variants.pop_front();
  return true;
}

FailureOr<unsigned> inferProfiles(func::FuncOp function, unsigned maxOps,
                                  InferFunction infer) {
  unsigned numOps = 0;
  function.walk([&](Operation *) { ++numOps; });
  // Three functions are the least that helps.
  const bool isSmall = numOps * 3 <= maxOps;
  OwningOpRef<func::FuncOp> original(
      isSmall ? cast<func::FuncOp>(function->clone()) : nullptr);
  auto stretchable = infer(function);
  if (failed(stretchable))
    return failure();
  if (!isSmall || stretchable->empty())
    return 0;
  VariantMaker maker(*original, maxOps / numOps - 1, infer);
  if (!maker.make(*stretchable))
    return 0;
  llvm::stable_sort(maker.variants, [](const Variant &a, const Variant &b) {
    return a.ones.size() > b.ones.size();
  });
  unsigned number = 0;
  for (Variant &variant : maker.variants) {
    func::FuncOp made = variant.function.release();
    made.setSymName(
        (function.getSymName() + "_broadcast" + Twine(++number)).str());
    function->getBlock()->getOperations().insert(function->getIterator(), made);
  }
  return number;
}

} // namespace shardc::import
