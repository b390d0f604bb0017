//===- Terms.cpp - What a value means -------------------------------------===//

#include "passes/verify/Terms.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/OpSeconds.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Profiles.h"
#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Source.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace shardc::verify {

Terms::Terms(func::FuncOp function) {
  bindSizes(function);
  addFunction(function);
  finish();
}

Terms::Terms(ArrayRef<func::FuncOp> stages) : isPipeline(true) {
  for (func::FuncOp stage : stages)
    bindSizes(stage);
  for (func::FuncOp stage : stages)
    addFunction(stage);
  finish();
}

static dist::DimExpr withNumbers(dist::DimExpr size,
                                 const llvm::StringMap<int64_t> &bound) {
  return size.replaceSymbols(
      [&](StringRef name) -> std::optional<dist::DimExpr> {
        auto number = bound.find(name);
        return number == bound.end()
                   ? std::nullopt
                   : std::optional<dist::DimExpr>(number->second);
      });
}

void Terms::bindSizes(func::FuncOp function) {
  const bool isFirst = bound.empty();
  for (const auto &entry : onnx::boundSymbols(function))
    bound[entry.getKey()] = entry.getValue();
  if (isFirst && !bound.empty())
    replacer.addReplacement([this](dist::DimsAttr sizes) -> Attribute {
      return dist::DimsAttr::get(
          sizes.getContext(),
          llvm::map_to_vector<4>(sizes.getValues(), [&](dist::DimExpr size) {
            return withNumbers(size, bound);
          }));
    });
}

void Terms::addFunction(func::FuncOp function) {
  const bool isFirst = terms.empty();
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    std::string number = std::to_string(i);
    terms[argument] = hash({"input", number, port(function.getArgAttrDict(i)),
                            typeText(argument.getType())});
    if (isFirst)
      inputs.push_back(of(argument));
  }
  for (Operation &op : function.front()) {
    if (!isa<func::ReturnOp>(op)) {
      addOp(op);
      continue;
    }
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      results[onnx::FunctionInfo(function).modelOutput(i)] = {
          of(operand), port(function.getResultAttrDict(i))};
  }
  const onnx::FunctionInfo info(function);
  if (DictionaryAttr when = info.when())
    guards.push_back(("when" + text(when)).str());
  if (StringAttr profile = info.profile())
    guards.push_back(("profile" + text(profile)).str());
}

/// Stages may check the same guards and read the same sizes.
void Terms::finish() {
  for (const auto &[index, result] : results)
    returned.push_back(result.first);
  llvm::sort(guards);
  guards.erase(llvm::unique(guards), guards.end());
}

void Terms::addTransfer(Operation &op) {
  if (auto receive = dyn_cast<dist::ReceiveOp>(op)) {
    terms[receive] = isPipeline ? sent.lookup(receive.getTransfer())
                                : hash({"receive", text(op.getAttrDictionary()),
                                        typeText(receive.getType())});
    return;
  }
  auto send = cast<dist::SendOp>(op);
  Term term = of(send.getOperand());
  if (isPipeline)
    sent[send.getTransfer()] = term;
  else
    guards.push_back(text(op.getAttrDictionary()).str() +
                     llvm::toHex(ArrayRef<uint8_t>(term)));
}

/// How long an op will take is no part of what it computes.
static DictionaryAttr whatCounts(Operation &op) {
  if (!op.hasAttr(dist::kSecondsAttr))
    return op.getAttrDictionary();
  NamedAttrList attributes(op.getAttrs());
  attributes.erase(dist::kSecondsAttr);
  return attributes.getDictionary(op.getContext());
}

void Terms::addOp(Operation &op) {
  if (isa<onnx::GuardOp>(op)) {
    guards.push_back(text(whatCounts(op)).str());
    return;
  }
  if (isa<onnx::ReadSizesOp>(op)) {
    // What symbols stand for counts like what is returned.
    Term read = of(op.getOperand(0));
    guards.push_back(text(whatCounts(op)).str() +
                     llvm::toHex(ArrayRef<uint8_t>(read)));
    return;
  }
  if (isa<dist::SendOp, dist::ReceiveOp>(op))
    return addTransfer(op);
  if (isa<dist::DistDialect>(op.getDialect())) {
    // The second operand of some says only which rows go where.
    if (op.getNumOperands() >= 1 && op.getNumResults() == 1)
      terms[op.getResult(0)] = of(op.getOperand(0));
    return;
  }
  SmallVector<StringRef, 8> parts{op.getName().getStringRef(),
                                  attributesOf(op)};
  SmallVector<Term, 4> operands;
  for (Value operand : op.getOperands())
    operands.push_back(of(operand));
  for (Region &body : op.getRegions())
    operands.push_back(bodyTerm(body));
  for (const Term &operand : operands)
    parts.push_back(StringRef(reinterpret_cast<const char *>(operand.data()),
                              operand.size()));
  for (OpResult result : op.getResults()) {
    std::string number = std::to_string(result.getResultNumber());
    std::string type = typeText(result.getType());
    SmallVector<StringRef, 8> all(parts);
    all.push_back(number);
    all.push_back(type);
    terms[result] = hash(all);
  }
}

Term Terms::bodyTerm(Region &body) {
  SmallVector<std::string> around = std::exchange(guards, {});
  for (BlockArgument argument : body.getArguments())
    terms[argument] = hash({"argument", std::to_string(argument.getArgNumber()),
                            typeText(argument.getType())});
  for (Operation &op : body.front().without_terminator())
    addOp(op);
  SmallVector<StringRef> parts;
  for (Value value : body.front().getTerminator()->getOperands()) {
    const Term &term = terms.find(value)->second;
    parts.push_back(
        StringRef(reinterpret_cast<const char *>(term.data()), term.size()));
  }
  llvm::sort(guards);
  parts.append(guards.begin(), guards.end());
  Term whole = hash(parts);
  guards = std::move(around);
  return whole;
}

/// Elements of a large constant count by their hash: written out they take a
/// multiple of their memory, and time in each phase.
StringRef Terms::attributesOf(Operation &op) {
  constexpr size_t kLargeBytes = 1 << 16;
  auto constant = dyn_cast<onnx::ConstantOp>(op);
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  if (!elements || elements.getRawData().size() < kLargeBytes)
    return text(whatCounts(op));
  std::string &text = texts[elements];
  if (text.empty()) {
    const llvm::XXH128_hash_t hash =
        llvm::xxh3_128bits(llvm::arrayRefFromStringRef<uint8_t>(StringRef(
            elements.getRawData().data(), elements.getRawData().size())));
    llvm::raw_string_ostream(text)
        << elements.getType() << ' ' << hash.low64 << ' ' << hash.high64;
  }
  return text;
}

StringRef Terms::text(Attribute attribute) {
  std::string &text = texts[attribute];
  if (text.empty()) {
    llvm::raw_string_ostream os(text);
    (bound.empty() ? attribute : replacer.replace(attribute)).print(os);
  }
  return text;
}

std::string Terms::port(DictionaryAttr attributes) {
  return attributes ? text(attributes).str() : "{}";
}

std::string Terms::typeText(Type type) {
  std::string &text = typeTexts[type];
  if (!text.empty())
    return text;
  llvm::raw_string_ostream os(text);
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    tensor.getElementType().print(os);
    for (dist::DimExpr size : dist::getDims(type))
      os << ' ' << (bound.empty() ? size : withNumbers(size, bound));
  } else {
    type.print(os);
  }
  return text;
}

Term Terms::hash(ArrayRef<StringRef> parts) const {
  llvm::MD5 md5;
  for (StringRef part : parts) {
    uint64_t size = part.size(); // keeps "ab" "c" apart from "a" "bc"
    md5.update(StringRef(reinterpret_cast<const char *>(&size), sizeof(size)));
    md5.update(part);
  }
  return md5.final();
}

std::string Terms::fingerprint(size_t profile, size_t numProfiles) const {
  const std::string place =
      std::to_string(profile) + " of " + std::to_string(numProfiles);
  SmallVector<StringRef> parts{place};
  for (const auto *values : {&returned, &inputs})
    for (const Term &term : *values)
      parts.push_back(
          StringRef(reinterpret_cast<const char *>(term.data()), term.size()));
  for (const auto &[index, result] : results)
    parts.push_back(result.second);
  for (const std::string &guard : guards)
    parts.push_back(guard);
  Term whole = hash(parts);
  return llvm::toHex(ArrayRef<uint8_t>(whole), /*LowerCase=*/true);
}

} // namespace shardc::verify
