//===- Einsum.cpp - Sums of products become matrix products ---------------===//
//
// "bhid,bhjd->bhij": operands are folded from the left. Letters that only one
// operand has and nobody needs later are summed first; then
//
//   both, needed later      batch dims           b h
//   both, not needed        contracted           d
//   one, needed later       rows, or columns     i, j
//
// and a pair becomes Transpose, Reshape, MatMul, Reshape; without a contracted
// letter a Mul with broadcasting. "ii" is a diagonal: the sum over i' of x[i,
// i'] where i = i'.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/Replaced.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

namespace {

/// The equation with '...' written out as letters that no user can write.
struct Equation {
  SmallVector<std::string> operands;
  std::string result;
};

struct Term {
  Value value;
  std::string letters;
};

class EinsumFolder {
public:
  EinsumFolder(EinsumOp op, ShapeInference &inference)
      : op(op), inference(inference), build(op, inference) {}

  LogicalResult run();

private:
  LogicalResult parse();
  LogicalResult bindSizes();
  Term withoutRepeats(Term term);
  Term keep(Term term, StringRef needed);
  Term contract(Term lhs, Term rhs, StringRef needed);
  Value arrange(const Term &term, StringRef order);
  SmallVector<DimExpr, 4> sizesOf(StringRef letters) const {
    SmallVector<DimExpr, 4> dims;
    for (char letter : letters)
      dims.push_back(sizes.lookup(letter));
    return dims;
  }

  EinsumOp op;
  ShapeInference &inference;
  Decomposition build;
  Equation equation;
  llvm::DenseMap<char, DimExpr> sizes;
};

} // namespace

/// Right-aligned: the last dim of '...' is '0', the one before '1'.
static std::string expandDots(StringRef term, size_t rank) {
  size_t dots = term.find("...");
  if (dots == StringRef::npos)
    return term.str();
  std::string letters = term.take_front(dots).str();
  size_t named = term.size() - 3;
  for (size_t i = rank > named ? rank - named : 0; i-- > 0;)
    letters += static_cast<char>('0' + i);
  return letters + term.drop_front(dots + 3).str();
}

LogicalResult EinsumFolder::parse() {
  std::string text;
  for (char c : op.getEquation())
    if (c != ' ')
      text += c;
  auto [left, right] = StringRef(text).split("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != op.getInputs().size())
    return op.emitOpError("has an equation of ")
           << terms.size() << " operands, expected " << op.getInputs().size();
  std::string dots;
  for (auto [term, input] : llvm::zip_equal(terms, op.getInputs())) {
    std::string letters = expandDots(term, inference.rank(input));
    if (static_cast<int64_t>(letters.size()) != inference.rank(input))
      return op.emitOpError("has ") << term << " for an operand of "
                                    << inference.rank(input) << " dims";
    std::string own;
    for (char letter : letters)
      if (llvm::isDigit(letter))
        own += letter;
    if (own.size() > dots.size())
      dots = own;
    equation.operands.push_back(letters);
  }
  if (StringRef(text).contains("->")) {
    equation.result = expandDots(right, dots.size() + right.size() - 3);
    return success();
  }
  // Without a result: letters that occur once, sorted.
  std::string all;
  for (const std::string &letters : equation.operands)
    all += letters;
  std::string once;
  for (char letter : all)
    if (!llvm::isDigit(letter) && llvm::count(all, letter) == 1)
      once += letter;
  llvm::sort(once);
  equation.result = dots + once;
  return success();
}

LogicalResult EinsumFolder::bindSizes() {
  for (auto [letters, input] :
       llvm::zip_equal(equation.operands, op.getInputs()))
    for (auto [letter, size] :
         llvm::zip_equal(letters, inference.dims(input))) {
      auto [it, isNew] = sizes.try_emplace(letter, size);
      if (isNew)
        continue;
      auto both = inference.broadcast(op, it->second, size);
      if (failed(both))
        return failure();
      it->second = *both;
    }
  for (char letter : equation.result)
    if (!sizes.count(letter))
      return op.emitOpError("has '")
             << letter << "' in its result alone: " << op.getEquation();
  return success();
}

/// x[i, i] is the sum over j of x[i, j] where i = j.
Term EinsumFolder::withoutRepeats(Term term) {
  for (size_t d = 0; d < term.letters.size();) {
    size_t again = term.letters.find(term.letters[d], d + 1);
    if (again == std::string::npos) {
      ++d;
      continue;
    }
    SmallVector<DimExpr, 4> row(term.letters.size(), DimExpr(int64_t(1)));
    SmallVector<DimExpr, 4> column = row;
    DimExpr size = sizes.lookup(term.letters[d]);
    row[d] = column[again] = size;
    Value same =
        build.make<EqualOp>({build.reshape(build.range(0, size), row),
                             build.reshape(build.range(0, size), column)});
    Value zero =
        term.value ? build.number(inference.element(term.value), 0) : Value();
    Value diagonal = build.make<WhereOp>({same, term.value, zero});
    term.value =
        build.reduce<ReduceSumOp>(diagonal, static_cast<int64_t>(again), false);
    term.letters.erase(again, 1);
  }
  return term;
}

/// Sums over the letters that are not needed.
Term EinsumFolder::keep(Term term, StringRef needed) {
  SmallVector<int64_t> summed;
  std::string kept;
  for (auto [d, letter] : llvm::enumerate(term.letters)) {
    if (needed.contains(letter))
      kept += letter;
    else
      summed.push_back(d);
  }
  if (!summed.empty())
    term.value = build.reduce<ReduceSumOp>(term.value, summed, false);
  term.letters = kept;
  return term;
}

Value EinsumFolder::arrange(const Term &term, StringRef order) {
  SmallVector<int64_t> perm;
  for (char letter : order)
    perm.push_back(term.letters.find(letter));
  return llvm::is_sorted(perm) ? term.value : build.transpose(term.value, perm);
}

Term EinsumFolder::contract(Term lhs, Term rhs, StringRef needed) {
  lhs = keep(lhs, needed.str() + rhs.letters);
  rhs = keep(rhs, needed.str() + lhs.letters);
  std::string batch, inner, rows, columns;
  for (char letter : lhs.letters) {
    bool isShared = StringRef(rhs.letters).contains(letter);
    (!isShared ? rows : needed.contains(letter) ? batch : inner) += letter;
  }
  for (char letter : rhs.letters)
    if (!StringRef(lhs.letters).contains(letter))
      columns += letter;
  Term result{{}, batch + rows + columns};
  auto shape = [&](ArrayRef<DimExpr> first, ArrayRef<DimExpr> second) {
    SmallVector<DimExpr, 4> dims = sizesOf(batch);
    llvm::append_range(dims, first);
    llvm::append_range(dims, second);
    return dims;
  };
  // Dims of 1 that '...' broadcasts are written out.
  auto whole = [&](const Term &term, StringRef order) {
    return build.expand(arrange(term, order), sizesOf(order));
  };
  Value left = whole(lhs, batch + rows + inner);
  Value right =
      whole(rhs, inner.empty() ? batch + columns : batch + inner + columns);
  if (inner.empty()) {
    SmallVector<DimExpr, 4> ones(columns.size(), DimExpr(int64_t(1)));
    SmallVector<DimExpr, 4> before(rows.size(), DimExpr(int64_t(1)));
    result.value = build.make<MulOp>(
        {build.reshape(left, shape(sizesOf(rows), ones)),
         build.reshape(right, shape(before, sizesOf(columns)))});
    return result;
  }
  DimExpr m = product(sizesOf(rows)), k = product(sizesOf(inner)),
          n = product(sizesOf(columns));
  Value matrix = build.make<MatMulOp>(
      {build.reshape(left, shape(m, k)), build.reshape(right, shape(k, n))});
  result.value = build.reshape(matrix, sizesOf(result.letters));
  return result;
}

LogicalResult EinsumFolder::run() {
  if (failed(parse()) || failed(bindSizes()))
    return failure();
  SmallVector<Term> terms;
  for (auto [letters, input] :
       llvm::zip_equal(equation.operands, op.getInputs()))
    terms.push_back(withoutRepeats({input, letters}));
  Term sum = terms.front();
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string needed = equation.result;
    for (const Term &later : ArrayRef(terms).drop_front(i + 1))
      needed += later.letters;
    sum = contract(sum, terms[i], needed);
  }
  sum = keep(sum, equation.result);
  if (!sum.value)
    return failure();
  return build.replaceBy(
      build.expand(arrange(sum, equation.result), sizesOf(equation.result)));
}

LogicalResult EinsumOp::inferTypes(ShapeInference &inference) {
  return EinsumFolder(*this, inference).run();
}

} // namespace shardc::onnx
