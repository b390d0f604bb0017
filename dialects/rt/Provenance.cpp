//===- Provenance.cpp - What programs and calls stand for -----------------===//

#include "dialects/rt/Provenance.h"

#include "dialects/rt/Rt.h"

using namespace mlir;

namespace shardc::rt {

static constexpr llvm::StringLiteral kPartitioned = "rt.partitioned";
static constexpr llvm::StringLiteral kMembers = "rt.members";
static constexpr llvm::StringLiteral kResults = "rt.results";

FlatSymbolRefAttr partitionedOf(ProgramOp program) {
  return program->getAttrOfType<FlatSymbolRefAttr>(kPartitioned);
}

void setPartitioned(ProgramOp program, StringAttr function) {
  program->setAttr(kPartitioned, FlatSymbolRefAttr::get(function));
}

/// Whether a member reads only what comes before it.
static bool isInOrder(ArrayRef<int64_t> inputs, int64_t known) {
  return llvm::all_of(inputs, [&](int64_t n) { return n >= -1 && n < known; });
}

std::optional<Members> membersOf(CallOp call) {
  auto list = call->getAttrOfType<ArrayAttr>(kMembers);
  auto results = call->getAttrOfType<DenseI64ArrayAttr>(kResults);
  if (!list || !results || results.size() != int64_t(call.getOutputs().size()))
    return std::nullopt;
  Members all;
  int64_t known = call.getInputs().size();
  for (Attribute entry : list) {
    auto dictionary = dyn_cast<DictionaryAttr>(entry);
    if (!dictionary)
      return std::nullopt;
    Member member;
    member.kernel = dictionary.getAs<StringAttr>("kernel");
    member.config = dictionary.getAs<DictionaryAttr>("config");
    auto inputs = dictionary.getAs<DenseI64ArrayAttr>("inputs");
    auto rows = dictionary.getAs<DenseI64ArrayAttr>("rows");
    if (!member.kernel || !member.config || !inputs || !rows ||
        !isInOrder(inputs.asArrayRef(), known))
      return std::nullopt;
    member.inputs.assign(inputs.asArrayRef().begin(),
                         inputs.asArrayRef().end());
    member.rows.assign(rows.asArrayRef().begin(), rows.asArrayRef().end());
    known += rows.size();
    all.members.push_back(std::move(member));
  }
  for (int64_t number : results.asArrayRef())
    if (number < int64_t(call.getInputs().size()) || number >= known)
      return std::nullopt;
  all.results.assign(results.asArrayRef().begin(), results.asArrayRef().end());
  return all;
}

void setMembers(CallOp call, const Members &members) {
  Builder b(call.getContext());
  SmallVector<Attribute> list;
  for (const Member &member : members.members)
    list.push_back(
        b.getDictionaryAttr({{"kernel", member.kernel},
                             {"config", member.config},
                             {"inputs", b.getDenseI64ArrayAttr(member.inputs)},
                             {"rows", b.getDenseI64ArrayAttr(member.rows)}}));
  call->setAttr(kMembers, b.getArrayAttr(list));
  call->setAttr(kResults, b.getDenseI64ArrayAttr(members.results));
}

void copyMembers(CallOp from, CallOp to) {
  for (StringRef name : {kMembers, kResults})
    if (Attribute attribute = from->getAttr(name))
      to->setAttr(name, attribute);
}

} // namespace shardc::rt
