//===- ProgramWriter.cpp - An rt.program as a FlatBuffer ------------------===//

#include "compiler/package/ProgramWriter.h"

#include "compiler/package/InstructionWriter.h"
#include "dialects/dist/NodeName.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Profiles.h"

using namespace mlir;

namespace shardc::package {

using dist::DimExpr;

namespace {

class ProgramWriter {
public:
  ProgramWriter(rt::ProgramOp program, const dist::Mesh &mesh,
                const WeightNames &names, FileTable &files)
      : program(program), tables(mesh), builder(tables.builder),
        numbers(program), values(tables, numbers, names, files),
        instructions(tables, numbers, values) {}

  FailureOr<std::string> write() {
    for (Operation &op : program.getBody().front())
      if (failed(add(op)))
        return failure();
    values.finish();
    if (failed(bindSymbols()))
      return failure();
    return finish();
  }

private:
  LogicalResult add(Operation &op) {
    if (InstructionNumbers::isInstruction(op))
      return instructions.add(op);
    if (auto input = dyn_cast<rt::InputOp>(op))
      return values.addInput(input);
    if (auto weight = dyn_cast<rt::WeightOp>(op))
      return values.addWeight(weight);
    if (auto join = dyn_cast<rt::JoinOp>(op)) {
      values.addJoin(join);
      return success();
    }
    if (auto constant = dyn_cast<rt::ConstantOp>(op))
      return values.addConstant(constant);
    if (auto view = dyn_cast<rt::ViewOp>(op))
      return values.addView(view);
    if (auto output = dyn_cast<rt::OutputOp>(op))
      return values.addOutput(output);
    if (auto alloc = dyn_cast<rt::AllocOp>(op))
      values.addAlloc(alloc);
    else if (auto cache = dyn_cast<rt::CacheOp>(op))
      values.addCache(cache);
    else if (auto guard = dyn_cast<rt::GuardOp>(op))
      addGuard(guard);
    else if (isa<rt::ReadyOp>(op))
      instructions.endLoading();
    return success();
  }

  void addGuard(rt::GuardOp op) {
    artifact::GuardKind kind =
        op.getKind() == "equal"      ? artifact::GuardKind_Equal
        : op.getKind() == "at_least" ? artifact::GuardKind_AtLeast
                                     : artifact::GuardKind_AtMost;
    guards.push_back(artifact::CreateGuard(
        builder, kind, tables.scalar(op.getLhs().getValues()[0]),
        tables.scalar(op.getRhs().getValues()[0]),
        builder.CreateString(op.getMessage().str()),
        builder.CreateString(nodeName(op).str())));
  }

  LogicalResult bindSymbols() {
    for (const std::string &name : tables.scalars.symbols()) {
      if (auto found = instructions.symbolBinders.find(name);
          found != instructions.symbolBinders.end()) {
        symbols.push_back(
            artifact::CreateSymbol(builder, builder.CreateString(name), 0, 0,
                                   builder.CreateVector(found->second)));
        continue;
      }
      if (DimExpr::symbol(name) == rt::cacheCapacity()) {
        symbols.push_back(artifact::CreateSymbol(
            builder, builder.CreateString(name), 0, 0, 0, true));
        continue;
      }
      auto it = values.symbolSources.find(name);
      if (it == values.symbolSources.end())
        return program.emitError("size \"")
               << name << "\" is the dim of no input: expected an input with a "
               << "dim of that name alone; export the model with it";
      symbols.push_back(
          artifact::CreateSymbol(builder, builder.CreateString(name),
                                 it->second.first, it->second.second));
    }
    return success();
  }

  Offsets<artifact::Condition> conditions() {
    Offsets<artifact::Condition> conditions;
    for (const onnx::Condition &condition :
         onnx::conditionsOf(onnx::FunctionInfo(program).when()))
      for (auto input : program.getOps<rt::InputOp>())
        if (input.getName() == condition.input)
          conditions.push_back(artifact::CreateCondition(
              builder, input.getIndex(), condition.value.value_or(false),
              condition.value ? -1 : static_cast<int32_t>(condition.dim),
              condition.size));
    return conditions;
  }

  std::string finish() {
    Offsets<artifact::Axis> axes;
    for (const dist::Axis &axis : tables.mesh.axes)
      axes.push_back(artifact::CreateAxis(
          builder, builder.CreateString(axis.name), axis.size));
    builder.Finish(artifact::CreateProgram(
                       builder, builder.CreateVector(axes),
                       builder.CreateVector(symbols),
                       builder.CreateVectorOfStructs(tables.scalars.scalars()),
                       builder.CreateVector(guards),
                       builder.CreateVector(instructions.groups),
                       builder.CreateVector(values.weights),
                       builder.CreateVector(values.inputs),
                       builder.CreateVector(values.outputs),
                       builder.CreateVector(values.buffers),
                       builder.CreateVector(values.views),
                       builder.CreateVector(instructions.load),
                       builder.CreateVector(instructions.run),
                       builder.CreateVector(conditions()),
                       builder.CreateVector(values.caches),
                       builder.CreateVector(values.joins)),
                   artifact::ProgramIdentifier());
    return std::string(
        reinterpret_cast<const char *>(builder.GetBufferPointer()),
        builder.GetSize());
  }

  rt::ProgramOp program;
  TableWriter tables;
  flatbuffers::FlatBufferBuilder &builder;
  const InstructionNumbers numbers;
  ValueWriter values;
  InstructionWriter instructions;
  Offsets<artifact::Symbol> symbols;
  Offsets<artifact::Guard> guards;
};

} // namespace

FailureOr<std::string> writeProgram(rt::ProgramOp program,
                                    const dist::Mesh &mesh,
                                    const WeightNames &names,
                                    FileTable &files) {
  return ProgramWriter(program, mesh, names, files).write();
}

} // namespace shardc::package
