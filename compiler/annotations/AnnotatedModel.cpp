//===- AnnotatedModel.cpp - The user's model with a plan in it ------------===//

#include "compiler/annotations/AnnotatedModel.h"

#include "compiler/annotations/AnnotatedPlan.h"
#include "compiler/annotations/ModelBytes.h"
#include "compiler/annotations/WeightFiles.h"
#include "compiler/files/OutputFile.h"
#include "dialects/dist/NodeName.h"
#include "dialects/dist/algebra/DeviceWays.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Profiles.h"
#include "dialects/onnx/ops/Source.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace shardc::annotations {

using dist::Sharding;

AnnotatedModel::AnnotatedModel(
    const std::vector<importer::NodeOutputs> &given) {
  llvm::StringMap<unsigned> count;
  for (const importer::NodeOutputs &node : given)
    if (++count[node.node] == 1)
      outputs[node.node] = node.outputs;
  for (const auto &entry : count)
    if (entry.second > 1)
      outputs.erase(entry.first());
}

//===----------------------------------------------------------------------===//
// From modules
//===----------------------------------------------------------------------===//

/// How a result is held once it is complete; nothing where that depends on who
/// uses it.
static std::optional<Sharding> producedSharding(Value result) {
  Sharding own = dist::getSharding(result.getType());
  if (!own.isPartial())
    return own;
  std::optional<Sharding> common;
  for (Operation *user : result.getUsers()) {
    auto reshard = dyn_cast<dist::ReshardOp>(user);
    if (!reshard)
      return std::nullopt;
    Sharding whole = dist::getSharding(reshard.getType());
    if (whole.isPartial() || (common && *common != whole))
      return std::nullopt;
    common = whole;
  }
  return common;
}

void AnnotatedModel::addNode(Operation *op, const shard::TensorNames &names) {
  const StringRef node = nodeName(op);
  for (Value result : op->getResults())
    if (StringRef name = names.nameOf(result); !name.empty())
      if (std::optional<Sharding> sharding = producedSharding(result))
        tensors.try_emplace(name, *sharding);
  if (node.empty() || op->getNumOperands() == 0)
    return;
  NodeShardings &known = nodes[node];
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type)
      continue;
    Sharding sharding = dist::getSharding(type);
    known.carriesSums |= sharding.isPartial();
    if (StringRef name = names.nameOf(operand);
        !name.empty() && !sharding.isPartial())
      known.tensors.try_emplace(name, std::move(sharding));
  }
}

void AnnotatedModel::addShardings(ModuleOp module) {
  // A step of decoding splits what the prompt does, but for the sequence.
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  llvm::stable_sort(functions, [](func::FuncOp a, func::FuncOp b) {
    return !onnx::isDecode(a) && onnx::isDecode(b);
  });
  for (func::FuncOp function : functions) {
    const shard::TensorNames names(function, outputs);
    for (Value argument : function.getArguments())
      if (StringRef name = names.nameOf(argument); !name.empty())
        tensors.try_emplace(name, dist::getSharding(argument.getType()));
    for (Operation &op : function.front().without_terminator())
      if (!isa<dist::DistDialect>(op.getDialect()))
        addNode(&op, names);
  }
}

void AnnotatedModel::addStages(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (Operation &op : function.front().without_terminator())
      if (!isa<dist::DistDialect>(op.getDialect()) && op.getNumOperands() > 0)
        stages[nodeName(&op)].insert(onnx::FunctionInfo(function).stage());
}

//===----------------------------------------------------------------------===//
// To ONNX
//===----------------------------------------------------------------------===//

namespace {

/// A dim as ONNX writes it: factors that follow each other.
std::optional<SmallVector<dist::Factor, 4>>
factorsOf(const dist::DimSharding &dim) {
  if (!dim.isSplit())
    return SmallVector<dist::Factor, 4>{};
  auto isReversed = [](const dist::Factor &factor) {
    return factor.isReversed;
  };
  for (const dist::Segment &segment : dim.segments)
    if (llvm::any_of(segment.factors, isReversed))
      // Zig-zag: of this device's two parts ONNX knows one.
      return SmallVector<dist::Factor, 4>{
          {dim.size(), segment.factors.front().axes}};
  SmallVector<dist::Factor, 4> factors;
  const dist::Segment &first = dim.segments.front();
  if (dim.segments.size() > 1) {
    for (const dist::Segment &segment : dim.segments)
      if (!(segment == first))
        return std::nullopt;
    factors.push_back({int64_t(dim.segments.size()), {}});
  }
  factors.append(first.factors.begin(), first.factors.end());
  return factors;
}

/// Writes specs for the devices of some stages.
class SpecWriter {
public:
  SpecWriter(const dist::Mesh &mesh, const std::set<int64_t> &stages)
      : replica(dist::replicaMesh(mesh)) {
    for (int64_t device = 0; device < replica.numRanks(); ++device)
      if (stages.empty() ||
          stages.count(replica.coordinateAlong(device, dist::kPipelineAxis)))
        devices.push_back(device);
  }

  /// Nothing where ONNX cannot say it.
  bool write(StringRef tensor, const Sharding &sharding,
             ::onnx::ShardingSpecProto &spec) const {
    SmallVector<std::pair<int64_t, SmallVector<dist::Factor, 4>>, 2> dims;
    SmallVector<dist::AxisRef> axes;
    for (auto [number, dim] : llvm::enumerate(sharding.dims)) {
      auto factors = factorsOf(dim);
      if (!factors)
        return false;
      if (factors->empty())
        continue;
      for (const dist::Factor &factor : *factors)
        axes.append(factor.axes.begin(), factor.axes.end());
      dims.emplace_back(number, std::move(*factors));
    }
    spec.set_tensor_name(tensor.str());
    for (auto &[number, factors] : dims) {
      ::onnx::ShardedDimProto *made = spec.add_sharded_dim();
      made->set_axis(number);
      for (const dist::Factor &factor : factors) {
        auto *simple = made->add_simple_sharding();
        if (std::optional<int64_t> size = factor.size.asConstant())
          simple->set_dim_value(*size);
        else
          simple->set_dim_param(factor.size.str());
        simple->set_num_shards(dist::numWays(factor.axes));
      }
    }
    addDevices(axes, spec);
    return true;
  }

private:
  /// One device for a shard, or a group of those that have the same.
  void addDevices(ArrayRef<dist::AxisRef> axes,
                  ::onnx::ShardingSpecProto &spec) const {
    std::vector<SmallVector<int64_t>> groups(dist::numWays(axes));
    for (int64_t device : devices)
      groups[dist::wayOf(device, axes, replica)].push_back(device);
    for (auto [shard, group] : llvm::enumerate(groups)) {
      const int64_t key = -1 - static_cast<int64_t>(shard);
      spec.add_device(group.size() == 1 ? group.front() : key);
      if (group.size() == 1)
        continue;
      auto *entry = spec.add_index_to_device_group_map();
      entry->set_key(key);
      for (int64_t device : group)
        entry->add_value(device);
    }
  }

  dist::Mesh replica;
  SmallVector<int64_t> devices;
};

} // namespace

void AnnotatedModel::annotate(
    const ::onnx::NodeProto &node, const dist::Mesh &mesh,
    const std::string &configuration,
    ::onnx::NodeDeviceConfigurationProto &made) const {
  const std::string name = importer::nodeText(node);
  auto known = nodes.find(name);
  const NodeShardings *own = known == nodes.end() ? nullptr : &known->second;
  auto staged = stages.find(name);
  const std::set<int64_t> where =
      staged == stages.end() ? std::set<int64_t>() : staged->second;
  const SpecWriter writer(mesh, where);
  std::set<std::string> done{""};
  auto add = [&](const std::string &tensor, bool isInput) {
    const Sharding *sharding = nullptr;
    if (auto produced = tensors.find(tensor); produced != tensors.end())
      sharding = &produced->second;
    if (own && isInput)
      if (auto held = own->tensors.find(tensor); held != own->tensors.end())
        sharding = &held->second;
    ::onnx::ShardingSpecProto spec;
    if (sharding && done.insert(tensor).second &&
        writer.write(tensor, *sharding, spec))
      *made.add_sharding_spec() = std::move(spec);
  };
  if (!own || !own->carriesSums) {
    for (const std::string &input : node.input())
      add(input, /*isInput=*/true);
    for (const std::string &result : node.output())
      add(result, /*isInput=*/false);
  }
  const dist::Axis *pipeline = mesh.find(dist::kPipelineAxis);
  if (pipeline && pipeline->size > 1 && where.size() == 1)
    made.set_pipeline_stage(*where.begin());
  if (made.sharding_spec_size() > 0 || made.has_pipeline_stage())
    made.set_configuration_id(configuration);
}

std::string AnnotatedModel::write(StringRef model, StringRef output,
                                  const dist::Mesh &mesh,
                                  bool sequenceParallel) const {
  auto buffer = llvm::MemoryBuffer::getFile(model, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return model.str() + " cannot be read: " + buffer.getError().message();
  const StringRef bytes = (*buffer)->getBuffer();
  ::onnx::DeviceConfigurationProto configuration;
  configuration.set_name(configurationName(mesh, sequenceParallel));
  configuration.set_num_devices(dist::replicaMesh(mesh).numRanks());
  llvm::Expected<Rope> rope =
      annotateModel(bytes, configuration,
                    [&](const ::onnx::NodeProto &node,
                        ::onnx::NodeDeviceConfigurationProto &made) {
                      annotate(node, mesh, configuration.name(), made);
                    });
  if (!rope)
    return model.str() + ": " + llvm::toString(rope.takeError());
  if (std::string problem = copyWeightFiles(bytes, model, output);
      !problem.empty())
    return problem;
  const std::error_code error = files::writeFileAtomically(
      output, [&](llvm::raw_ostream &os) { rope->write(os); });
  return error ? "cannot write " + output.str() + ": " + error.message() : "";
}

} // namespace shardc::annotations
