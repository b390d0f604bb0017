//===- FieldProducts.cpp - Products with weights of 2 to 8 bits -----------===//

#include "runtime/kernels/host/quant/FieldProducts.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/host/KernelThreads.h"

#include <algorithm>

namespace shardc::runtime::host {
namespace {

using artifact::ElementType;

/// What one thread works on: some panels, a block of depth at a time.
struct Group {
  int64_t panels; ///< at most
  bool isDecoded; ///< numbers of a block are made before they are multiplied
  int64_t wordStep, numberStep; ///< from panel to panel
  int64_t numberBytes;          ///< of an element
  int64_t scaleBytes;           ///< of all panels

  Group(const FieldMatrix &matrix, ElementType element, int64_t m) {
    isDecoded = m > kFewRows || element != artifact::ElementType_Float32;
    panels = isDecoded ? 8 : 4;
    wordStep = matrix.isPacked()
                   ? 0
                   : kDepthBlock / matrix.rowsOfWord() * kPanelColumns;
    scaleBytes = PanelScales::bytes(matrix.scales(), panels);
    numberBytes = artifact::elementBytes(element);
    numberStep = (kDepthBlock + matrix.rowsOfWord()) * kPanelColumns;
  }
  int64_t wordBytes() const { return alignBuffer(panels * wordStep * 4); }
  int64_t bytes() const {
    return alignBuffer(wordBytes() + scaleBytes +
                       (isDecoded ? panels * numberStep * numberBytes : 0));
  }
};

/// Panels [first, first + count) of a product.
class GroupProduct {
public:
  GroupProduct(const FieldMatrix &matrix, ElementType element,
               const Group &group, const PackedProduct &whole,
               std::byte *scratch)
      : matrix(matrix), element(element), group(group), whole(whole),
        words(reinterpret_cast<uint32_t *>(scratch)),
        scales(matrix.scales(), group.panels, scratch + group.wordBytes()),
        numbers(scratch + group.wordBytes() + group.scaleBytes) {}

  void run(int64_t first, int64_t count) {
    scales.gather(first, count);
    for (int64_t row = 0; row < whole.k; row += kDepthBlock) {
      const FieldPanels fields = fieldsAt(first, row);
      for (int64_t p = 0; p < count && !matrix.isPacked(); ++p)
        matrix.gather(first + p, row, fields.depth, group.panels,
                      words + p * group.wordStep);
      if (group.isDecoded)
        multiplyNumbers(fields, row, first, count);
      else
        multiplyWords(fields, row, first, count);
    }
  }

private:
  FieldPanels fieldsAt(int64_t first, int64_t row) const {
    FieldPanels fields =
        matrix.panelsAt(row, std::min(kDepthBlock, whole.k - row), scales);
    const bool isPacked = matrix.isPacked();
    fields.words = isPacked ? matrix.packedAt(first, row) : words;
    fields.panelStep = isPacked ? matrix.packedStep() : group.wordStep;
    return fields;
  }

  int64_t columns(int64_t first, int64_t count) const {
    return std::min(count * kPanelColumns, whole.n - first * kPanelColumns);
  }

  void multiplyWords(const FieldPanels &fields, int64_t row, int64_t first,
                     int64_t count) const {
    FieldProduct product;
    product.b = fields;
    product.m = whole.m;
    product.n = columns(first, count);
    product.a = whole.a + row * whole.depthStepA;
    product.rowStepA = whole.rowStepA;
    product.depthStepA = whole.depthStepA;
    product.c = whole.c + first * kPanelColumns;
    product.leadingC = whole.leadingC;
    product.adds = row > 0;
    loops().multiplyFields(product);
  }

  void multiplyNumbers(const FieldPanels &fields, int64_t row, int64_t first,
                       int64_t count) const {
    for (int64_t p = 0; p < count; ++p)
      loops().decodePanel.of(element)(
          fields, p, numbers + p * group.numberStep * group.numberBytes);
    PackedProduct product = whole;
    product.n = columns(first, count);
    product.k = fields.depth;
    product.a = whole.a + row * whole.depthStepA;
    product.b = numbers;
    product.element = element;
    product.depthStepB = kPanelColumns;
    product.panelStepB = group.numberStep;
    product.c = whole.c + first * kPanelColumns;
    product.alpha = 1;
    product.beta = row > 0 ? 1 : 0;
    loops().multiplyPanels.of(element)(product, {0, count});
  }

  const FieldMatrix &matrix;
  ElementType element;
  const Group &group;
  const PackedProduct &whole;
  uint32_t *words;
  PanelScales scales;
  std::byte *numbers;
};

int64_t fieldGroups(int64_t columns, const Group &group) {
  const int64_t each = group.panels * kPanelColumns;
  return (columns + each - 1) / each;
}

} // namespace

int64_t fieldScratchBytes(const FieldMatrix &matrix, ElementType element,
                          int64_t n, int64_t m) {
  const Group group(matrix, element, m);
  return std::min(kernelThreads(), fieldGroups(n, group)) * group.bytes();
}

void multiplyFields(const FieldMatrix &matrix, ElementType element,
                    const PackedProduct &product, std::byte *scratch) {
  const Group group(matrix, element, product.m);
  const int64_t groups = fieldGroups(product.n, group);
  const int64_t panels = (product.n + kPanelColumns - 1) / kPanelColumns;
  const int64_t threads =
      threadsForProduct(groups, product.m, product.n, product.k);
  shareRanges(
      groups, threads, /*least=*/1,
      [&](int64_t thread) {
        return GroupProduct(matrix, element, group, product,
                            scratch + thread * group.bytes());
      },
      [&](GroupProduct &own, int64_t g, int64_t end) {
        for (; g < end; ++g)
          own.run(g * group.panels,
                  std::min(group.panels, panels - g * group.panels));
      });
}

} // namespace shardc::runtime::host
