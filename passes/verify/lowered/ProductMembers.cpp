//===- ProductMembers.cpp - What a product with an epilogue does ----------===//

#include "passes/verify/lowered/ProductMembers.h"

using namespace mlir;

namespace shardc::verify {

bool isOfMembers(rt::CallOp linear, const rt::Members &all) {
  const int64_t inputs = linear.getInputs().size();
  auto activation =
      dyn_cast_or_null<StringAttr>(linear.getConfig().get("activation"));
  llvm::SmallDenseSet<int64_t, 4> added;
  auto add = [&](int64_t number) {
    return number < 0 ||
           (number >= 2 && number < inputs && added.insert(number).second);
  };
  bool isRight = !all.members.empty(), isActivated = false;
  for (auto [m, member] : llvm::enumerate(all.members)) {
    const StringRef kernel = member.kernel.getValue();
    const int64_t before = inputs + int64_t(m) - 1;
    isRight &= !isActivated && member.rows.size() == 1;
    if (m == 0) {
      isRight &= (kernel == "MatMul" || kernel == "Gemm") &&
                 member.inputs.size() >= 2 && member.inputs[0] == 0 &&
                 member.inputs[1] == 1 &&
                 (member.inputs.size() < 3 || add(member.inputs[2]));
    } else if (kernel == "Add") {
      isRight &= member.inputs.size() == 2 &&
                 llvm::is_contained(member.inputs, before) &&
                 add(member.inputs[member.inputs[0] == before]);
    } else {
      const StringRef name = kernel == "Relu"   ? "relu"
                             : kernel == "Gelu" ? "gelu"
                                                : "";
      isActivated = true;
      isRight &= activation && activation.getValue() == name &&
                 member.inputs == SmallVector<int64_t, 4>{before};
    }
  }
  size_t there = 0;
  for (Value input : linear.getInputs().drop_front(2))
    there += isa<rt::ViewType>(input.getType());
  return isRight && added.size() == there && isActivated == bool(activation) &&
         all.results[0] == inputs + int64_t(all.members.size()) - 1;
}

} // namespace shardc::verify
