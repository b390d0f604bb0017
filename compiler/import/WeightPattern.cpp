//===- WeightPattern.cpp - What a weight's elements are known to be -------===//

#include "compiler/import/WeightPattern.h"

using namespace mlir;

namespace shardc::importer {

namespace {

/// One row of the last dim, the `index`-th of all.
using RowTest = bool (*)(StringRef row, int64_t index, int64_t elementBytes);

struct Pattern {
  StringRef name;
  RowTest holds;
};

} // namespace

/// index + 1 ones, then zeros: integers are little-endian.
static bool isTriangleRow(StringRef row, int64_t index, int64_t elementBytes) {
  for (int64_t at = 0, size = row.size(); at < size; ++at) {
    bool isOne = at % elementBytes == 0 && at / elementBytes <= index;
    if (row[at] != char(isOne))
      return false;
  }
  return true;
}

/// Zeros, and then the row's own number.
static bool countsRows(StringRef row, int64_t index, int64_t elementBytes) {
  for (int64_t at = 0, last = int64_t(row.size()) - elementBytes;
       at < int64_t(row.size()); ++at) {
    const int64_t byte = at - last;
    const int64_t expected =
        byte < 0 || byte >= int64_t(sizeof index) ? 0 : index >> (8 * byte);
    if (row[at] != char(expected & 0xff))
      return false;
  }
  return true;
}

static bool hasEqualHalves(StringRef row, int64_t, int64_t) {
  return row.take_front(row.size() / 2) == row.drop_front(row.size() / 2);
}

static bool hasEqualPairs(StringRef row, int64_t, int64_t elementBytes) {
  for (; !row.empty(); row = row.drop_front(2 * elementBytes))
    if (row.take_front(elementBytes) != row.substr(elementBytes, elementBytes))
      return false;
  return true;
}

/// Are its elements all the same?
static bool isOneNumber(StringRef row, int64_t elementBytes) {
  return row.drop_front(elementBytes) == row.drop_back(elementBytes);
}

/// Zero points of eight bits of float name a type, and are 0 as a rule.
static bool mayBeZeroPoint(RankedTensorType type) {
  return type.getRank() == 1 && isa<FloatType>(type.getElementType()) &&
         type.getElementTypeBitWidth() == 8;
}

static llvm::Expected<StringRef> zerosPattern(const ModelFile &file,
                                              const DataRange &range) {
  llvm::Expected<std::string> bytes = file.read(range);
  if (!bytes)
    return bytes.takeError();
  return llvm::all_of(*bytes, [](char byte) { return byte == 0; }) ? "zeros"
                                                                   : "";
}

/// Those that a weight of this type may have.
static SmallVector<Pattern, 2> candidates(RankedTensorType type) {
  constexpr int64_t kMaxTableWidth = 1024; // sizes of heads, not of models
  ArrayRef<int64_t> shape = type.getShape();
  Type element = type.getElementType();
  if (shape.size() < 2)
    return {};
  constexpr int64_t kMaxColumns = 8;
  const bool isMatrix =
      llvm::all_of(shape.drop_back(2), [](int64_t size) { return size == 1; });
  if (isa<IntegerType>(element) &&
      (element.isInteger(1) || element.getIntOrFloatBitWidth() % 8 == 0)) {
    SmallVector<Pattern, 2> found;
    if (isMatrix && shape.back() == shape[shape.size() - 2])
      found.push_back({"triangle", isTriangleRow});
    if (isMatrix && shape.back() <= kMaxColumns && !element.isInteger(1))
      found.push_back({"counted", countsRows});
    return found;
  }
  if (!isa<FloatType>(element) || element.getIntOrFloatBitWidth() < 16 ||
      shape.back() % 2 != 0 || shape.back() > kMaxTableWidth)
    return {};
  return {{"halves", hasEqualHalves}, {"pairs", hasEqualPairs}};
}

llvm::Expected<StringRef> weightPattern(const ModelFile &file,
                                        RankedTensorType type,
                                        const DataRange &range) {
  constexpr int64_t kChunkBytes = 1 << 20;
  if (mayBeZeroPoint(type) && range.length <= kChunkBytes)
    return zerosPattern(file, range);
  SmallVector<Pattern, 2> patterns = candidates(type);
  int64_t columns = patterns.empty() ? 0 : type.getShape().back();
  if (columns == 0 || range.length == 0)
    return "";
  int64_t elementBytes = range.length / type.getNumElements();
  int64_t rowBytes = columns * elementBytes, rows = range.length / rowBytes;
  // One row says of most that they have none; a few of one number each, that it
  // is no table: in a file that was never filled all are.
  constexpr int64_t kFewRows = 16;
  int64_t wanted = 1;
  bool varies = false; // a weight of one number is no table
  for (int64_t row = 0; row < rows && !patterns.empty();) {
    wanted = std::min(wanted, rows - row);
    DataRange part = range;
    part.offset += row * rowBytes;
    part.length = wanted * rowBytes;
    llvm::Expected<std::string> bytes = file.read(part);
    if (!bytes)
      return bytes.takeError();
    for (StringRef rest = *bytes; !rest.empty();
         rest = rest.drop_front(rowBytes), ++row) {
      StringRef elements = rest.take_front(rowBytes);
      varies = varies || !isOneNumber(elements, elementBytes);
      llvm::erase_if(patterns, [&](const Pattern &pattern) {
        return !pattern.holds(elements, row, elementBytes);
      });
    }
    if (!varies && row >= kFewRows)
      return "";
    wanted = varies ? std::max<int64_t>(kChunkBytes / rowBytes, 1) : kFewRows;
  }
  return varies && !patterns.empty() ? patterns.front().name : StringRef();
}

} // namespace shardc::importer
