//===- RequestSizes.cpp - Sizes that users give ---------------------------===//

#include "compiler/RequestSizes.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/RequestSymbols.h"
#include "dialects/onnx/RowSymbols.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;

namespace shardc {

plan::RowSizes rowSizes(int64_t page) {
  using onnx::RowSymbols;
  auto name = [](dist::DimExpr symbol) { return symbol.asSymbol()->str(); };
  return {page,
          name(RowSymbols::tokens()),
          name(RowSymbols::wanted()),
          name(RowSymbols::rows()),
          name(RowSymbols::pagesOfRow()),
          name(RowSymbols::pages()),
          name(RowSymbols::copies()),
          name(RowSymbols::encoderPages()),
          name(RowSymbols::encoderKeys())};
}

/// A step that does what requests of these sizes would; sizes that are given by
/// their own names stay. "" or what is wrong.
static std::string resolveStep(int64_t page, bool hasEncoder,
                               const llvm::StringMap<int64_t> &given,
                               llvm::StringMap<int64_t> &resolved) {
  constexpr int64_t kMost = int64_t(1) << 30;
  llvm::StringMap<int64_t> request = {
      {"batch", 1}, {"seq", 1}, {"past", 0}, {"encoder", 0}};
  bool isRequest = false;
  for (const auto &entry : given)
    if (auto size = request.find(entry.getKey()); size != request.end()) {
      size->second = entry.getValue();
      isRequest = true;
    }
  if (!isRequest)
    return "";
  for (const auto &entry : request)
    if (entry.getValue() < 0 || entry.getValue() > kMost)
      return entry.getKey().str() + ": " + std::to_string(entry.getValue()) +
             ", expected 0 to " + std::to_string(kMost);
  const plan::RowSizes symbols = rowSizes(page);
  for (const auto &entry : symbols.of(request["batch"], request["seq"],
                                      request["past"], request["encoder"]))
    if (hasEncoder || (entry.getKey() != symbols.encoderPages &&
                       entry.getKey() != symbols.encoderKeys))
      resolved.try_emplace(entry.getKey(), entry.getValue());
  return "";
}

std::string resolveSizes(ModuleOp imported,
                         const llvm::StringMap<int64_t> &given,
                         llvm::StringMap<int64_t> &resolved) {
  std::map<std::string, std::string> meant;
  int64_t page = 0;
  for (func::FuncOp function : imported.getOps<func::FuncOp>()) {
    page = std::max(page, onnx::FunctionInfo(function).page());
    for (Type type : function.getArgumentTypes())
      for (dist::DimExpr size : dist::getDims(type))
        size.forEachSymbol(
            [&](StringRef name, bool) { meant[name.str()] = name.str(); });
  }
  llvm::StringSet<> ofStep;
  if (page > 0)
    for (StringRef name : {"batch", "seq", "past"})
      ofStep.insert(name);
  if (meant.count(onnx::RowSymbols::encoderPages().asSymbol()->str()))
    ofStep.insert("encoder");
  std::string names = page > 0 ? " batch seq past" : "";
  names += ofStep.contains("encoder") ? " encoder" : "";
  for (const auto &[name, symbol] : meant)
    names += " " + name;
  const onnx::RequestSymbols symbols = onnx::requestSymbols(imported);
  // Those that are numbers in the model are what they are.
  size_t rank = 0;
  for (func::FuncOp function : imported.getOps<func::FuncOp>())
    if (function.getNumArguments() > 0)
      rank =
          std::max(rank, dist::getDims(function.getArgumentTypes()[0]).size());
  for (const auto &[name, symbol] : {std::pair("batch", symbols.batch),
                                     {"seq", symbols.sequence},
                                     {"past", symbols.past}})
    if (!symbol.empty() && page == 0)
      meant.try_emplace(name, symbol);
  for (const auto &entry : given) {
    const std::string name = entry.getKey().str();
    if (auto known = meant.find(name); known != meant.end())
      resolved[known->second] = entry.getValue();
    else if (ofStep.contains(name))
      continue;
    else if (!(name == "batch" && rank > 0) && !(name == "seq" && rank > 1))
      return name + ": the model has no such size; it has" +
             (names.empty() ? " none" : names);
  }
  return page > 0
             ? resolveStep(page, ofStep.contains("encoder"), given, resolved)
             : "";
}

} // namespace shardc
