//===- WalkCalls.cpp - What calls read ------------------------------------===//

#include "passes/verify/lowered/Walk.h"

#include "passes/verify/lowered/ProductMembers.h"

#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Contraction.h"
#include "runtime/artifact/Format.h"

using namespace mlir;

namespace shardc::verify {

Walk::Site Walk::siteOf(const Item &item, rt::CallOp call) {
  Site site{call, {call.getKernel(), call.getConfig(), {}}, {}};
  if (item.made.member >= 0) {
    const rt::Member &member =
        program.membersOf(call)->members[item.made.member];
    site.text.kernel = member.kernel.getValue();
    site.text.config = member.config;
    site.inputs.assign(member.inputs.begin(), member.inputs.end());
  } else {
    for (auto [number, input] : llvm::enumerate(call.getInputs()))
      site.inputs.push_back(isa<rt::ViewType>(input.getType()) ? int64_t(number)
                                                               : -1);
  }
  for (int64_t number : site.inputs)
    site.text.isThere.push_back(number >= 0);
  return site;
}

/// The rows and columns that members are done for: those of what is written,
/// but for columns that all become one.
static std::optional<Index> spaceOf(LoweredState &state, rt::CallOp call) {
  std::optional<Index> space;
  for (Value view : call.getOutputs()) {
    const Window *window = state.windowOf(view);
    if (!window)
      return std::nullopt;
    if (!space || countOf(window->dims) > countOf(*space))
      space = window->dims;
  }
  if (!space || space->empty() || space->back() != 1 ||
      !call.getKernel().starts_with(artifact::kGeneratedPrefix))
    return space;
  for (Value view : call.getInputs())
    if (isa<rt::ViewType>(view.getType()))
      if (const Window *window = state.windowOf(view);
          window && window->dims.size() == space->size() &&
          window->dims.back() != 1)
        space->back() = window->dims.back(); // 0, too
  return space;
}

std::optional<Index> Walk::dimsOf(int64_t rank, const LoweredElement &made) {
  LoweredState &state = sideOf(rank).state;
  if (made.member >= 0) {
    auto call = cast<rt::CallOp>(made.op);
    auto space = spaceOf(state, call);
    if (space && !space->empty() &&
        program.membersOf(call)->members[made.member].rows[made.output])
      space->back() = 1;
    return space;
  }
  Value view;
  if (auto call = dyn_cast<rt::CallOp>(made.op))
    view = call.getOutputs()[made.output];
  else if (auto collective = dyn_cast<rt::CollectiveOp>(made.op))
    view = collective.getOutput();
  else
    view = cast<rt::ReceiveOp>(made.op).getView();
  const Window *window = state.windowOf(view);
  return window ? std::optional(window->dims) : std::nullopt;
}

const Index *Walk::inputDims(const Item &item, const Site &site,
                             unsigned input) {
  const int64_t number = site.inputs[input];
  rt::CallOp call = site.call;
  if (number < 0 || number >= int64_t(call.getInputs().size()))
    return nullptr;
  const Window *window =
      sideOf(item.rank).state.windowOf(call.getInputs()[number]);
  return window ? &window->dims : nullptr;
}

LoweredElement Walk::memberElement(rt::CallOp call, int64_t number,
                                   ArrayRef<int64_t> at) {
  LoweredElement made{LoweredElement::Kind::Made, call, -1, 0,
                      Index(at.begin(), at.end())};
  int64_t left = number - int64_t(call.getInputs().size());
  const rt::Members &all = *program.membersOf(call);
  for (auto [m, member] : llvm::enumerate(all.members)) {
    if (left < int64_t(member.rows.size())) {
      made.member = static_cast<int>(m);
      made.output = static_cast<unsigned>(left);
      if (member.rows[left] && !made.index.empty())
        made.index.back() = 0;
      break;
    }
    left -= member.rows.size();
  }
  return made;
}

/// The input shows at `at`, of what is iterated over, what is wanted.
LogicalResult Walk::relateInput(const Item &item, const Site &site,
                                unsigned input, ArrayRef<int64_t> at,
                                std::optional<ReferenceElement> wanted) {
  rt::CallOp call = site.call;
  if (!wanted)
    return call.emitError("reads more of operand ")
           << input << " than what was partitioned has";
  const int64_t number = site.inputs[input];
  if (const Index *dims = inputDims(item, site, input))
    return relateView(item.rank, call, call.getInputs()[number],
                      broadcastIndex(at, *dims), *wanted, item.branches);
  const LoweredElement made = memberElement(call, number, at);
  return relate(item.rank, call, made, *wanted, item.branches);
}

/// Whether a view with these dims has an element, maybe the same one, for each
/// of what has those.
static bool repeats(ArrayRef<int64_t> dims, ArrayRef<int64_t> others) {
  if (dims.size() > others.size())
    return false;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != 1 && dims[d] != others[d + others.size() - dims.size()])
      return false;
  return true;
}

/// Of an op that is done by one call: some of all that it reads.
LogicalResult Walk::relateInputs(const Item &item, const Site &site,
                                 const CallForm &form) {
  Side &side = sideOf(item.rank);
  rt::CallOp call = site.call;
  const std::optional<Index> made = dimsOf(item.rank, item.made);
  const Index *result = side.reference.dimsOf(item.wanted.value);
  const auto space = item.made.member >= 0 ? spaceOf(side.state, call) : made;
  if (!made || !result || !space)
    return success();
  for (unsigned input = 0; input < form.inputs.size(); ++input) {
    if (!form.inputs[input].element)
      continue;
    const Index *own = inputDims(item, site, input);
    const Index &dims = form.isElementwise ? *made : own ? *own : *space;
    // All but the matrix of a product, the space of members, or else what is
    // written element by element.
    const bool isOfSpace = item.made.member >= 0 && !form.isProduct;
    const bool isAddend =
        isa<onnx::GemmOp>(item.wanted.value.getDefiningOp()) && input == 2;
    const size_t kept =
        form.isProduct && !isAddend && made->size() >= 2 ? 2 : 0;
    if (own && (form.isElementwise || isOfSpace || form.isProduct) &&
        (own->size() < kept ||
         !repeats(ArrayRef(*own).drop_back(kept),
                  ArrayRef(isOfSpace ? *space : *made).drop_back(kept))))
      return call.emitError("reads operand ")
             << input << " with other sizes than it writes";
    std::vector<Index> places = samplesOf(dims);
    if (own && *own == dims)
      llvm::append_range(
          places, side.state.seamsOf(call.getInputs()[site.inputs[input]],
                                     program.timeOf(call)));
    for (const Index &place : places) {
      const Index seen =
          form.isElementwise ? unflatten(flatten(place, dims), *result) : place;
      if (failed(relateInput(item, site, input, place,
                             form.inputs[input].element(seen))))
        return failure();
    }
  }
  return success();
}

/// Of one element of a product: its row and its column.
LogicalResult Walk::relateRowAndColumn(const Item &item, const Site &site,
                                       const CallForm &form) {
  for (unsigned input = 0; input < form.inputs.size(); ++input) {
    if (!form.inputs[input].element)
      continue;
    const Index *dims = inputDims(item, site, input);
    if (!dims || dims->size() < 2)
      return success();
    const bool isAddend =
        isa<onnx::GemmOp>(item.wanted.value.getDefiningOp()) && input == 2;
    const size_t summed = form.inputs[input].isColumn ? 2 : 1;
    const int64_t depth = isAddend ? 1 : dims->end()[-int64_t(summed)];
    for (const Index &k : samplesOf({depth})) {
      Index place = item.made.index, seen = item.wanted.index;
      if (place.size() < 2 || seen.size() < 2)
        return success();
      if (!isAddend) {
        place.end()[-int64_t(summed)] = k[0];
        seen.end()[-int64_t(summed)] = k[0];
      }
      if (failed(relateInput(item, site, input, place,
                             form.inputs[input].element(seen))))
        return failure();
    }
  }
  return success();
}

void Walk::addBody(const Item &item, rt::CallOp call) {
  if (item.made.member >= 0 &&
      call.getKernel().starts_with(artifact::kGeneratedPrefix))
    bodies.add(call, item.made.member, item.wanted.value.getDefiningOp());
}

LogicalResult Walk::processCall(const Item &item, rt::CallOp call) {
  Operation *op = item.wanted.value.getDefiningOp();
  // What adds up the least by the largest, of what is negated on the way.
  if (auto reduce = dyn_cast<dist::AllReduceOp>(op))
    return processCollective(item, {});
  if (call.getKernel().starts_with(artifact::kGeneratedPrefix) &&
      item.made.member < 0)
    return call.emitError("is a generated kernel that does not say for which "
                          "kernels it stands (rt.members)");
  if (call.getKernel() == "Linear" &&
      (item.made.member < 0 || !isOfMembers(call, *program.membersOf(call))))
    return call.emitError("does not say for which kernels it stands, or for "
                          "others (rt.members)");
  if (call.getKernel() == "AttentionFinish")
    return processRing(item, call);
  if (item.made.member >= 0 &&
      siteOf(item, call).text.kernel == "RotaryEmbedding")
    return processRotary(item, call);
  Site site = siteOf(item, call);
  Side &side = sideOf(item.rank);
  const std::optional<Index> made = dimsOf(item.rank, item.made);
  site.text.rank = int64_t(made->size());
  site.text.element = item.wanted.index;
  const CallForm form = callFormOf(op, site.text, side.reference);
  if (!form.problem.empty())
    return breach(call, item.made, item.wanted, form.problem);
  const Index *result = side.reference.dimsOf(item.wanted.value);
  // Half the rows of twice the columns are not the whole product.
  const bool hasColumns = form.isProduct || call.getKernel() == "Linear";
  const bool isWhole =
      countOf(*made) == countOf(*result) &&
      (!hasColumns || made->empty() || made->back() == result->back());
  if (!isWhole && !form.isProduct && !form.isElementwise)
    return breach(call, item.made, item.wanted, "has another size");
  if (isWhole &&
      flatten(item.made.index, *made) != flatten(item.wanted.index, *result))
    return breach(call, item.made, item.wanted, "lies elsewhere");
  if (item.made.member < 0 &&
      item.made.output != cast<OpResult>(item.wanted.value).getResultNumber())
    return breach(call, item.made, item.wanted, "is another result");
  const bool isNew = isFirst(item);
  addBody(item, call);
  // All rows of a product that is done in parts may be in one of them.
  const bool hasRows = form.isProduct && *made != *result;
  if (isWhole && !hasRows)
    return isNew ? relateInputs(item, site, form) : success();
  if (followed[{item.rank, item.made.op, item.made.member, op, item.branches}] >
      kMostParts)
    return success();
  if (form.isProduct)
    return relateRowAndColumn(item, site, form);
  for (unsigned input = 0; input < form.inputs.size(); ++input)
    if (form.inputs[input].element &&
        failed(relateInput(item, site, input, item.made.index,
                           form.inputs[input].element(item.wanted.index))))
      return failure();
  return success();
}

/// Of heads, of whose rows trailing dims of 1 may have been dropped.
static Index withTrailingOnes(Index index, int64_t filler = 1) {
  index.resize(4, filler);
  return index;
}

/// A member's operands, and results, are halves of rows.
LogicalResult Walk::processRotary(const Item &item, rt::CallOp call) {
  Operation *op = item.wanted.value.getDefiningOp();
  const Site site = siteOf(item, call);
  Side &side = sideOf(item.rank);
  const auto space = spaceOf(side.state, call);
  const Index *result = side.reference.dimsOf(item.wanted.value);
  if (!isa<onnx::RotaryEmbeddingOp>(op) || site.inputs.size() != 4)
    return breach(call, item.made, item.wanted, "is another kernel");
  if (!space || !result || result->size() != 4 || space->size() > 4)
    return breach(call, item.made, item.wanted, "has another size");
  const Index rows = withTrailingOnes(*space);
  if (result->back() != 2 * rows.back())
    return breach(call, item.made, item.wanted, "has another size");
  Index expected = withTrailingOnes(item.made.index, 0);
  expected.back() += item.made.output * rows.back();
  if (expected != item.wanted.index)
    return breach(call, item.made, item.wanted, "lies elsewhere");
  if (!isFirst(item))
    return success();
  addBody(item, call);
  for (unsigned input = 0; input < 4; ++input)
    if (const Index *own = inputDims(item, site, input);
        own && !repeats(*own, *space))
      return call.emitError("reads operand ")
             << input << " with other sizes than it writes";
  for (const Index &place : samplesOf(*space))
    for (unsigned input = 0; input < 4; ++input) {
      Value operand = op->getOperand(input < 2 ? 0 : input - 1);
      Index index = withTrailingOnes(place, 0);
      if (input < 2)
        index.back() += input * rows.back();
      else
        index = broadcastIndex({index[0], index[2], index[3]},
                               *side.reference.dimsOf(operand));
      if (failed(relateInput(item, site, input, place,
                             ReferenceElement{operand, index})))
        return failure();
    }
  return success();
}

} // namespace shardc::verify
