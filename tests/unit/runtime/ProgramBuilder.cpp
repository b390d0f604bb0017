#include "tests/unit/runtime/ProgramBuilder.h"

namespace shardc::test {

using artifact::BufferKind;

ProgramBuilder::ProgramBuilder(
    std::vector<std::pair<std::string, int64_t>> axes)
    : axes(std::move(axes)) {}

uint32_t ProgramBuilder::constant(int64_t value) {
  scalarList.emplace_back(artifact::ScalarOp_Constant, -1, -1, value);
  return static_cast<uint32_t>(scalarList.size() - 1);
}

uint32_t ProgramBuilder::symbol(const std::string &name, uint32_t input,
                                uint32_t dim) {
  scalarList.emplace_back(artifact::ScalarOp_Symbol, -1, -1,
                          static_cast<int64_t>(symbols.size()));
  symbols.push_back({name, input, dim});
  return static_cast<uint32_t>(scalarList.size() - 1);
}

uint32_t ProgramBuilder::readSymbol(const std::string &name, uint32_t ahead) {
  uint32_t scalar = symbol(name, 0, 0);
  symbols.back().binders = {static_cast<uint32_t>(runs.size() + ahead)};
  return scalar;
}

uint32_t ProgramBuilder::boundSymbol(const std::string &name,
                                     std::vector<uint32_t> binders) {
  uint32_t scalar = symbol(name, 0, 0);
  symbols.back().binders = std::move(binders);
  return scalar;
}

uint32_t ProgramBuilder::capacity() {
  uint32_t scalar = symbol("capacity", 0, 0);
  symbols.back().capacity = true;
  return scalar;
}

uint32_t ProgramBuilder::bytesOf(uint32_t view,
                                 const std::vector<uint32_t> &room) {
  uint32_t bytes = constant(artifact::elementBytes(views[view].element));
  for (uint32_t size : room)
    bytes = multiply(bytes, size);
  return bytes;
}

void ProgramBuilder::cache(uint32_t input, uint32_t past, uint32_t output,
                           uint32_t present, uint32_t dim,
                           std::vector<uint32_t> pastRoom,
                           std::vector<uint32_t> presentRoom) {
  buffers[views[past].buffer].bytes = bytesOf(past, pastRoom);
  buffers[views[present].buffer] = {artifact::BufferKind_Cache,
                                    bytesOf(present, presentRoom),
                                    static_cast<uint32_t>(caches.size())};
  caches.push_back({input, output, static_cast<int32_t>(dim),
                    views[present].buffer, artifact::CacheKind_Append});
}

void ProgramBuilder::setCache(uint32_t input, uint32_t output, uint32_t present,
                              int32_t dim, std::vector<uint32_t> room) {
  buffers[views[present].buffer] = {artifact::BufferKind_Cache,
                                    bytesOf(present, room),
                                    static_cast<uint32_t>(caches.size())};
  caches.push_back(
      {input, output, dim, views[present].buffer, artifact::CacheKind_Set});
}

void ProgramBuilder::writeCache(uint32_t input, uint32_t past, uint32_t output,
                                uint32_t present, std::vector<uint32_t> room) {
  cache(input, past, output, present, 0, room, room);
  caches.back().kind = artifact::CacheKind_Write;
}

void ProgramBuilder::keepCache(uint32_t input, uint32_t output, int32_t dim) {
  caches.push_back({input, output, dim, views[inputs[input].view].buffer,
                    artifact::CacheKind_Keep});
}

void ProgramBuilder::condition(uint32_t input, bool value) {
  conditions.push_back({input, value});
}

void ProgramBuilder::sizeCondition(uint32_t input, int32_t dim, int64_t size) {
  conditions.push_back({input, false, dim, size});
}

uint32_t ProgramBuilder::coordinate(uint32_t axis) {
  scalarList.emplace_back(artifact::ScalarOp_Coordinate, -1, -1, axis);
  return static_cast<uint32_t>(scalarList.size() - 1);
}

uint32_t ProgramBuilder::binary(artifact::ScalarOp op, uint32_t lhs,
                                uint32_t rhs) {
  scalarList.emplace_back(op, static_cast<int32_t>(lhs),
                          static_cast<int32_t>(rhs), 0);
  return static_cast<uint32_t>(scalarList.size() - 1);
}

uint32_t ProgramBuilder::localSize(uint32_t size, int64_t ways,
                                   uint32_t index) {
  uint32_t k = constant(ways), one = constant(1);
  uint32_t next = binary(artifact::ScalarOp_Add, index, one);
  uint32_t end =
      binary(artifact::ScalarOp_FloorDivide, multiply(next, size), k);
  uint32_t begin =
      binary(artifact::ScalarOp_FloorDivide, multiply(index, size), k);
  return binary(artifact::ScalarOp_Subtract, end, begin);
}

void ProgramBuilder::guard(artifact::GuardKind kind, uint32_t lhs, uint32_t rhs,
                           const std::string &message,
                           const std::string &node) {
  guards.push_back({kind, lhs, rhs, message, node});
}

uint32_t ProgramBuilder::layoutSize(const Layout &layout, bool local) {
  uint32_t total = constant(0);
  for (const Segment &segment : layout) {
    uint32_t product = constant(1);
    for (const Factor &factor : segment)
      product = multiply(product,
                         local && factor.ways > 1
                             ? localSize(factor.size, factor.ways, factor.index)
                             : factor.size);
    total = binary(artifact::ScalarOp_Add, total, product);
  }
  return total;
}

uint32_t ProgramBuilder::packed(BufferKind kind, uint32_t source,
                                Element element,
                                const std::vector<uint32_t> &dims,
                                bool replicated) {
  std::vector<uint32_t> strides(dims.size());
  uint32_t product = constant(1);
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = product;
    product = multiply(product, dims[d]);
  }
  uint32_t bytes = multiply(product, constant(artifact::elementBytes(element)));
  buffers.push_back({kind, bytes, source});
  views.push_back({static_cast<uint32_t>(buffers.size() - 1), element, dims,
                   strides, constant(0), replicated});
  return static_cast<uint32_t>(views.size() - 1);
}

uint32_t ProgramBuilder::input(const std::string &name, Element element,
                               std::vector<Layout> dims) {
  std::vector<uint32_t> local, global;
  for (const Layout &layout : dims) {
    // A plain dim stays the scalar it is, so that symbols are recognised.
    bool plain = layout.size() == 1 && layout[0].size() == 1;
    global.push_back(plain ? layout[0][0].size : layoutSize(layout, false));
    local.push_back(layoutSize(layout, true));
  }
  uint32_t view =
      packed(artifact::BufferKind_Input, static_cast<uint32_t>(inputs.size()),
             element, local, false);
  inputs.push_back({name, element, std::move(dims), view});
  inputDims.push_back(std::move(global));
  return view;
}

uint32_t ProgramBuilder::weight(const std::string &name, Element element,
                                std::vector<int64_t> dims,
                                std::vector<Layout> layout,
                                const std::string &bytes, int32_t present) {
  std::vector<uint32_t> local;
  for (const Layout &dim : layout)
    local.push_back(layoutSize(dim, true));
  uint32_t view =
      packed(artifact::BufferKind_Weight, static_cast<uint32_t>(weights.size()),
             element, local, false);
  weights.push_back({name, constants.size(), bytes.size(), element,
                     std::move(dims), std::move(layout), present});
  constants += bytes;
  return view;
}

uint32_t ProgramBuilder::join(Element element, std::vector<uint32_t> numbers,
                              uint32_t dim, std::vector<uint32_t> dims) {
  joins.emplace_back(std::move(numbers), dim);
  return packed(BufferKind::BufferKind_Joined,
                static_cast<uint32_t>(joins.size()) - 1, element, dims, false);
}

uint32_t ProgramBuilder::value(Element element, std::vector<uint32_t> dims,
                               bool replicated, BufferKind kind) {
  return packed(kind, 0, element, dims, replicated);
}

uint32_t ProgramBuilder::view(uint32_t of, std::vector<uint32_t> dims,
                              std::vector<uint32_t> strides, uint32_t offset) {
  View copy = views[of];
  copy.dims = std::move(dims);
  copy.strides = std::move(strides);
  copy.offset = offset;
  views.push_back(std::move(copy));
  return static_cast<uint32_t>(views.size() - 1);
}

void ProgramBuilder::output(const std::string &name, uint32_t view,
                            std::vector<Layout> dims) {
  std::vector<uint32_t> global;
  for (const Layout &layout : dims)
    global.push_back(layoutSize(layout, false));
  outputs.push_back({name, views[view].element, std::move(dims), view});
  outputDims.push_back(std::move(global));
}

int32_t ProgramBuilder::group(std::vector<Part> parts) {
  groups.push_back(std::move(parts));
  return static_cast<int32_t>(groups.size() - 1);
}

void ProgramBuilder::run(const std::string &kernel, std::vector<int32_t> inputs,
                         std::vector<int32_t> outputs,
                         std::vector<Attribute> attributes, int32_t group,
                         const std::string &node) {
  runs.push_back({kernel, node, std::move(inputs), std::move(outputs),
                  std::move(attributes), group});
}

void ProgramBuilder::load(const std::string &kernel,
                          std::vector<int32_t> inputs,
                          std::vector<int32_t> outputs,
                          std::vector<Attribute> attributes, int32_t group,
                          const std::string &node) {
  loads.push_back({kernel, node, std::move(inputs), std::move(outputs),
                   std::move(attributes), group});
}

/// Turns the lists into tables, children before parents.
struct Writer {
  const ProgramBuilder &from;
  flatbuffers::FlatBufferBuilder fbb;

  auto layoutTable(const Layout &layout) {
    std::vector<flatbuffers::Offset<artifact::SegmentLayout>> segments;
    for (const Segment &segment : layout) {
      std::vector<flatbuffers::Offset<artifact::FactorLayout>> factors;
      for (const Factor &factor : segment)
        factors.push_back(artifact::CreateFactorLayout(
            fbb, factor.size, factor.ways, factor.index, 1,
            factor.bounds.empty() ? 0 : fbb.CreateVector(factor.bounds)));
      segments.push_back(artifact::CreateSegmentLayoutDirect(fbb, &factors));
    }
    return artifact::CreateDimLayoutDirect(fbb, &segments);
  }

  auto layoutTables(const std::vector<Layout> &layouts) {
    std::vector<flatbuffers::Offset<artifact::DimLayout>> tables;
    for (const Layout &layout : layouts)
      tables.push_back(layoutTable(layout));
    return tables;
  }

  auto instructionTables(
      const std::vector<ProgramBuilder::Instruction> &instructions) {
    std::vector<flatbuffers::Offset<artifact::Instruction>> tables;
    for (const auto &instruction : instructions) {
      std::vector<flatbuffers::Offset<artifact::Attribute>> attributes;
      for (const Attribute &a : instruction.attributes) {
        auto layouts = layoutTables(a.layout);
        attributes.push_back(artifact::CreateAttributeDirect(
            fbb, a.name.c_str(), &a.ints, &a.scalars, nullptr, a.text.c_str(),
            &layouts));
      }
      tables.push_back(artifact::CreateInstructionDirect(
          fbb, instruction.kernel.c_str(), &instruction.inputs,
          &instruction.outputs, &attributes, instruction.node.c_str(),
          instruction.group));
    }
    return tables;
  }

  /// First and last instruction of run (or of load) that touches the buffer.
  std::pair<uint32_t, uint32_t> lifetime(uint32_t buffer) const {
    for (const auto *list : {&from.runs, &from.loads}) {
      int64_t first = -1, last = -1;
      for (size_t i = 0; i < list->size(); ++i)
        for (const auto *operands : {&(*list)[i].inputs, &(*list)[i].outputs})
          for (int32_t view : *operands)
            if (view >= 0 && static_cast<size_t>(view) < from.views.size() &&
                from.views[static_cast<size_t>(view)].buffer == buffer) {
              first = first < 0 ? static_cast<int64_t>(i) : first;
              last = static_cast<int64_t>(i);
            }
      if (first >= 0)
        return {static_cast<uint32_t>(first), static_cast<uint32_t>(last)};
    }
    return {0, 0};
  }

  auto bufferTables() {
    std::vector<flatbuffers::Offset<artifact::Buffer>> tables;
    for (uint32_t b = 0; b < from.buffers.size(); ++b) {
      auto [first, last] = lifetime(b);
      tables.push_back(artifact::CreateBuffer(
          fbb, from.buffers[b].kind, from.buffers[b].bytes,
          from.buffers[b].source, first, last));
    }
    return tables;
  }

  auto weightTables() {
    std::vector<flatbuffers::Offset<artifact::Weight>> tables;
    for (const auto &w : from.weights) {
      auto layouts = layoutTables(w.layout);
      tables.push_back(artifact::CreateWeightDirect(
          fbb, w.name.c_str(), 0, w.offset, w.length, w.element, &w.dims,
          &layouts, w.present));
    }
    return tables;
  }

  auto groupTables() {
    std::vector<flatbuffers::Offset<artifact::Group>> tables;
    for (const auto &parts : from.groups) {
      std::vector<flatbuffers::Offset<artifact::AxisPart>> entries;
      for (const Part &part : parts)
        entries.push_back(
            artifact::CreateAxisPart(fbb, part.axis, part.pre, part.size));
      tables.push_back(artifact::CreateGroupDirect(fbb, &entries));
    }
    return tables;
  }

  std::string write();
};

std::string Writer::write() {
  std::vector<flatbuffers::Offset<artifact::Axis>> axes;
  for (const auto &[name, size] : from.axes)
    axes.push_back(artifact::CreateAxisDirect(fbb, name.c_str(), size));
  std::vector<flatbuffers::Offset<artifact::Symbol>> symbols;
  for (const auto &s : from.symbols)
    symbols.push_back(artifact::CreateSymbolDirect(
        fbb, s.name.c_str(), s.input, s.dim, &s.binders, s.capacity));
  std::vector<flatbuffers::Offset<artifact::Guard>> guards;
  for (const auto &g : from.guards)
    guards.push_back(artifact::CreateGuardDirect(
        fbb, g.kind, g.lhs, g.rhs, g.message.c_str(), g.node.c_str()));
  std::vector<flatbuffers::Offset<artifact::View>> views;
  for (const auto &v : from.views)
    views.push_back(artifact::CreateViewDirect(
        fbb, v.buffer, v.element, &v.dims, &v.strides, v.offset, v.replicated));
  std::vector<flatbuffers::Offset<artifact::Input>> inputs;
  for (size_t i = 0; i < from.inputs.size(); ++i) {
    auto layouts = layoutTables(from.inputs[i].dims);
    inputs.push_back(artifact::CreateInputDirect(
        fbb, from.inputs[i].name.c_str(), from.inputs[i].element,
        &from.inputDims[i], &layouts, from.inputs[i].view));
  }
  std::vector<flatbuffers::Offset<artifact::Output>> outputs;
  for (size_t i = 0; i < from.outputs.size(); ++i) {
    auto layouts = layoutTables(from.outputs[i].dims);
    outputs.push_back(artifact::CreateOutputDirect(
        fbb, from.outputs[i].name.c_str(), from.outputs[i].element,
        &from.outputDims[i], &layouts, from.outputs[i].view,
        static_cast<uint32_t>(i)));
  }
  std::vector<flatbuffers::Offset<artifact::CachePair>> caches;
  for (const auto &c : from.caches)
    caches.push_back(artifact::CreateCachePair(fbb, c.input, c.output, c.dim,
                                               c.buffer, c.kind));
  std::vector<flatbuffers::Offset<artifact::Condition>> conditions;
  for (const auto &c : from.conditions)
    conditions.push_back(
        artifact::CreateCondition(fbb, c.input, c.value, c.dim, c.size));
  std::vector<flatbuffers::Offset<artifact::Join>> joins;
  for (const auto &[numbers, dim] : from.joins)
    joins.push_back(artifact::CreateJoinDirect(fbb, &numbers, dim));
  auto groups = groupTables();
  auto weights = weightTables();
  auto buffers = bufferTables();
  auto load = instructionTables(from.loads);
  auto run = instructionTables(from.runs);
  artifact::FinishProgramBuffer(
      fbb, artifact::CreateProgramDirect(fbb, &axes, &symbols, &from.scalarList,
                                         &guards, &groups, &weights, &inputs,
                                         &outputs, &buffers, &views, &load,
                                         &run, &conditions, &caches, &joins));
  return {reinterpret_cast<const char *>(fbb.GetBufferPointer()),
          fbb.GetSize()};
}

std::string ProgramBuilder::finish() const {
  Writer writer{*this, flatbuffers::FlatBufferBuilder()};
  return writer.write();
}

} // namespace shardc::test
