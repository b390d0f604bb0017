//===- AttributeValues.h - Attributes as kernels see them -----------------===//
#ifndef SHARDC_RUNTIME_PROGRAM_ATTRIBUTEVALUES_H
#define SHARDC_RUNTIME_PROGRAM_ATTRIBUTEVALUES_H

#include "runtime/artifact/Format.h"
#include "runtime/kernels/Kernel.h"

namespace shardc::runtime {

/// Of all attributes of an instruction.
inline size_t numAttributeScalars(const artifact::Instruction &instruction) {
  size_t count = 0;
  if (instruction.attributes())
    for (const artifact::Attribute *attribute : *instruction.attributes())
      if (attribute->scalars())
        count += attribute->scalars()->size();
  return count;
}

/// `scalars`: the values of its scalars, which live longer.
inline KernelAttribute attributeOf(const artifact::Attribute &from,
                                   const int64_t *scalars) {
  KernelAttribute attribute;
  attribute.name = from.name()->string_view();
  if (from.scalars() && from.scalars()->size() > 0) {
    attribute.ints = scalars;
    attribute.numInts = static_cast<int>(from.scalars()->size());
  } else if (from.ints()) {
    attribute.ints = from.ints()->data();
    attribute.numInts = static_cast<int>(from.ints()->size());
  }
  if (from.floats()) {
    attribute.floats = from.floats()->data();
    attribute.numFloats = static_cast<int>(from.floats()->size());
  }
  if (from.text())
    attribute.text = from.text()->string_view();
  return attribute;
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PROGRAM_ATTRIBUTEVALUES_H
