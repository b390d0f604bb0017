//===- Profiles.cpp - Which requests a function is for --------------------===//

#include "dialects/onnx/Profiles.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace shardc::onnx {

std::string findProblem(DictionaryAttr when) {
  auto isSize = [](Attribute value) {
    auto size = dyn_cast<DictionaryAttr>(value);
    auto isNumber = [&](StringRef name) {
      auto number = size.getAs<IntegerAttr>(name);
      return number && number.getInt() >= 0;
    };
    return size && size.size() == 2 && isNumber("dim") && isNumber("size");
  };
  for (NamedAttribute entry : when) {
    auto sizes = dyn_cast<ArrayAttr>(entry.getValue());
    if (!isa<BoolAttr>(entry.getValue()) && !isSize(entry.getValue()) &&
        !(sizes && llvm::all_of(sizes, isSize)))
      return "expected true, false, {dim = .., size = ..} or several of those "
             "for " +
             entry.getName().str();
  }
  return "";
}

/// The conditions on one input; a size stands alone, or with others in a list.
static SmallVector<Attribute> valuesOf(Attribute entry) {
  if (auto several = dyn_cast_if_present<ArrayAttr>(entry))
    return SmallVector<Attribute>(several.getValue());
  return entry ? SmallVector<Attribute>{entry} : SmallVector<Attribute>();
}

SmallVector<Condition, 2> conditionsOf(DictionaryAttr when) {
  SmallVector<Condition, 2> conditions;
  if (!when)
    return conditions;
  for (NamedAttribute entry : when)
    for (Attribute is : valuesOf(entry.getValue())) {
      Condition condition;
      condition.input = entry.getName().getValue();
      if (auto value = dyn_cast<BoolAttr>(is)) {
        condition.value = value.getValue();
      } else {
        auto size = cast<DictionaryAttr>(is);
        condition.dim = size.getAs<IntegerAttr>("dim").getInt();
        condition.size = size.getAs<IntegerAttr>("size").getInt();
      }
      conditions.push_back(condition);
    }
  return conditions;
}

void addCondition(Operation *function, StringAttr input,
                  DictionaryAttr condition) {
  MLIRContext *context = function->getContext();
  FunctionInfo info(function);
  DictionaryAttr before = info.when();
  NamedAttrList when(before ? before : DictionaryAttr::get(context));
  SmallVector<Attribute> all = valuesOf(when.get(input));
  all.push_back(condition);
  when.set(input, all.size() == 1 ? Attribute(condition)
                                  : ArrayAttr::get(context, all));
  info.setWhen(when.getDictionary(context));
}

std::optional<std::pair<StringAttr, int64_t>>
inputWithSize(FunctionOpInterface function, dist::DimExpr size) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    StringAttr name = FunctionInfo(function).inputName(i);
    for (auto [d, dim] :
         llvm::enumerate(dist::getDims(function.getArgumentTypes()[i])))
      if (name && dim == size)
        return std::pair(name, int64_t(d));
  }
  return std::nullopt;
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

static size_t countSizes(ArrayRef<Condition> conditions) {
  return llvm::count_if(conditions, [](const Condition &condition) {
    return !condition.value.has_value();
  });
}

bool isForSizes(Operation *function) {
  return countSizes(conditionsOf(FunctionInfo(function).when())) > 0;
}

std::string profileText(Operation *function) {
  std::string text;
  auto add = [&](const Twine &part) {
    text += (text.empty() ? "" : ", ") + part.str();
  };
  const auto conditions = conditionsOf(FunctionInfo(function).when());
  for (const Condition &condition : conditions)
    if (condition.value)
      add(condition.input + (*condition.value ? "=true" : "=false"));
    else if (!isDecode(function) || countSizes(conditions) > 1)
      add(condition.input + ".dim" + Twine(condition.dim) + "=" +
          Twine(condition.size));
  if (StringAttr profile = FunctionInfo(function).profile())
    add(profile.getValue());
  return text;
}

} // namespace shardc::onnx
