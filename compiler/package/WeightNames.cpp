//===- WeightNames.cpp - One name for each weight of a program ------------===//

#include "compiler/package/WeightNames.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace shardc::package {

llvm::DenseMap<Operation *, std::string> weightNames(rt::ProgramOp program) {
  llvm::DenseMap<Operation *, std::string> names;
  llvm::StringSet<> taken;
  llvm::StringMap<unsigned> repeats;
  for (Operation &op : program.getBody().front()) {
    auto weight = dyn_cast<rt::WeightOp>(op);
    if (!weight && !isa<rt::ConstantOp>(op))
      continue;
    std::string base = weight ? weight.getName().str() : "constant";
    std::string name = base;
    while (!taken.insert(name).second)
      name = base + "#" + std::to_string(++repeats[base]);
    names[&op] = name;
  }
  return names;
}

} // namespace shardc::package
