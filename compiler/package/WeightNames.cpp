//===- WeightNames.cpp - One name for each weight of a program ------------===//

#include "compiler/package/WeightNames.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace shardc::package {

/// What the bytes of a rank's part depend on; empty for a constant, which is a
/// program's own.
static std::string identityOf(rt::WeightOp weight) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (weight)
    os << weight.getFile() << ' ' << weight.getOffset() << ' '
       << weight.getLength() << ' ' << weight.getElement() << ' '
       << weight.getValue();
  return text;
}

WeightNames weightNames(ModuleOp module) {
  WeightNames names;
  llvm::StringMap<std::string> identities; ///< by name
  for (auto program : module.getOps<rt::ProgramOp>()) {
    llvm::StringSet<> taken;
    llvm::StringMap<unsigned> repeats;
    for (Operation &op : program.getBody().front()) {
      auto weight = dyn_cast<rt::WeightOp>(op);
      if (!weight && !isa<rt::ConstantOp>(op))
        continue;
      std::string base = weight ? weight.getName().str() : "constant";
      std::string name = base, identity = identityOf(weight);
      auto isFree = [&] {
        auto known = identities.find(name);
        bool isSame =
            known == identities.end() || (weight && known->second == identity);
        return isSame && taken.insert(name).second;
      };
      while (!isFree())
        name = base + "#" + std::to_string(++repeats[base]);
      identities[name] = identity;
      names[&op] = name;
    }
  }
  return names;
}

} // namespace shardc::package
