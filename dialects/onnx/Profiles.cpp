//===- Profiles.cpp - Which requests a function is for --------------------===//

#include "dialects/onnx/Profiles.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace shardc::onnx {

std::string findProblem(DictionaryAttr when) {
  for (NamedAttribute entry : when) {
    auto size = dyn_cast<DictionaryAttr>(entry.getValue());
    auto isNumber = [&](StringRef name) {
      auto number = size.getAs<IntegerAttr>(name);
      return number && number.getInt() >= 0;
    };
    if (!isa<BoolAttr>(entry.getValue()) &&
        !(size && size.size() == 2 && isNumber("dim") && isNumber("size")))
      return "expected true, false or {dim = .., size = ..} for " +
             entry.getName().str();
  }
  return "";
}

SmallVector<Condition, 2> conditionsOf(DictionaryAttr when) {
  SmallVector<Condition, 2> conditions;
  if (!when)
    return conditions;
  for (NamedAttribute entry : when) {
    Condition condition;
    condition.input = entry.getName().getValue();
    if (auto value = dyn_cast<BoolAttr>(entry.getValue())) {
      condition.value = value.getValue();
    } else {
      auto size = cast<DictionaryAttr>(entry.getValue());
      condition.dim = size.getAs<IntegerAttr>("dim").getInt();
      condition.size = size.getAs<IntegerAttr>("size").getInt();
    }
    conditions.push_back(condition);
  }
  return conditions;
}

DictionaryAttr sizeCondition(MLIRContext *context, int64_t dim, int64_t size) {
  Builder builder(context);
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("dim", builder.getI64IntegerAttr(dim)),
       builder.getNamedAttr("size", builder.getI64IntegerAttr(size))});
}

llvm::StringMap<int64_t> boundSymbols(FunctionOpInterface function) {
  llvm::StringMap<int64_t> bound;
  for (const Condition &condition : conditionsOf(FunctionInfo(function).when()))
    for (unsigned i = 0; !condition.value && i < function.getNumArguments();
         ++i) {
      StringAttr name = FunctionInfo(function).inputName(i);
      auto dims = dist::getDims(function.getArgumentTypes()[i]);
      if (name != condition.input ||
          condition.dim >= static_cast<int64_t>(dims.size()))
        continue;
      if (std::optional<StringRef> symbol = dims[condition.dim].asSymbol())
        bound[*symbol] = condition.size;
    }
  return bound;
}

bool isDecode(Operation *function) {
  StringAttr profile = FunctionInfo(function).profile();
  return profile && profile.getValue() == kDecode;
}

std::string profileText(Operation *function) {
  std::string text;
  auto add = [&](const Twine &part) {
    text += (text.empty() ? "" : ", ") + part.str();
  };
  for (const Condition &condition : conditionsOf(FunctionInfo(function).when()))
    if (condition.value)
      add(condition.input + (*condition.value ? "=true" : "=false"));
  if (StringAttr profile = FunctionInfo(function).profile())
    add(profile.getValue());
  return text;
}

} // namespace shardc::onnx
