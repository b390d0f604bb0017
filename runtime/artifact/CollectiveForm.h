//===- CollectiveForm.h - What a collective is made of --------------------===//
//
// One entry a collective. The compiler lowers, verifies, writes and reports
// each by its form, and the runtime checks and binds it by the same:
//
//   reduce_scatter   its input is whole, its output split along one dim; adds
//                    up, so it has a kind
//   all_to_all       both sides are split, along one dim each
//
// What is left to a collective of its own is its op (dist/Dist.td), what it does
// to shardings (dist/algebra/Collectives.h), where it is planned, and the
// transport (runtime/collectives/Communicator.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_COLLECTIVEFORM_H
#define SHARDC_RUNTIME_ARTIFACT_COLLECTIVEFORM_H

#include <cstdint>
#include <string_view>

namespace shardc::artifact {

enum class CollectiveKind : uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  Dispatch,
  Combine,
  AllToAll,
  Shift
};

/// Which side has all of what the group holds together; the others' ranks have
/// parts of it.
enum class WholeSide : uint8_t { Both, Output, Input, Neither };

struct CollectiveForm {
  CollectiveKind kind;
  std::string_view name; ///< of the op in dist and of the instruction
  WholeSide whole;
  uint8_t splitDims; ///< so many entries have its attributes dim and layout
  uint8_t passes;    ///< how often the whole goes to all others of the group
  bool reduces;      ///< attribute kind: sum, max or min
  /// Rows go by a second input, the choices of each token among so many
  /// `experts` (attribute), [tokens, choices]; the split dim is that of tokens.
  bool isRouted;
  bool hasDistance; ///< attribute: around the group by so many ranks
};

inline constexpr CollectiveForm kCollectiveForms[] = {
    {CollectiveKind::AllReduce, "all_reduce", WholeSide::Both, 0, 2, true,
     false, false},
    {CollectiveKind::AllGather, "all_gather", WholeSide::Output, 1, 1, false,
     false, false},
    {CollectiveKind::ReduceScatter, "reduce_scatter", WholeSide::Input, 1, 1,
     true, false, false},
    {CollectiveKind::Dispatch, "dispatch", WholeSide::Output, 1, 1, false, true,
     false},
    {CollectiveKind::Combine, "combine", WholeSide::Input, 1, 1, false, true,
     false},
    {CollectiveKind::AllToAll, "all_to_all", WholeSide::Neither, 2, 1, false,
     false, false},
    {CollectiveKind::Shift, "shift", WholeSide::Neither, 0, 1, false, false,
     true},
};

/// Null for the name of anything else, a kernel's say.
constexpr const CollectiveForm *collectiveForm(std::string_view name) {
  for (const CollectiveForm &form : kCollectiveForms)
    if (form.name == name)
      return &form;
  return nullptr;
}

} // namespace shardc::artifact

#endif // SHARDC_RUNTIME_ARTIFACT_COLLECTIVEFORM_H
