//===- ProgramBuilder.h - Small programs and artifacts for tests ----------===//
//
// Example: y = all_reduce(x + x) on two ranks, every rank holding all of x.
//
//   ProgramBuilder p({{"tp", 2}});
//   auto n = p.symbol("n", /*input=*/0, /*dim=*/0);
//   auto x = p.input("x", Float32, {p.whole(n)});
//   auto y = p.value(Float32, {n});
//   p.run("TestAdd", {x, x}, {y});
//   auto z = p.value(Float32, {n});
//   p.run("all_reduce", {y}, {z}, {p.text("kind", "sum")}, p.group({{0, 1}}));
//   p.output("z", z, {p.whole(n)});
//   TestArtifact artifact(p);  // a folder; removed when it ends
//
// Lifetimes of buffers follow from the instructions.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_UNIT_RUNTIME_PROGRAMBUILDER_H
#define SHARDC_TESTS_UNIT_RUNTIME_PROGRAMBUILDER_H

#include "runtime/artifact/Format.h"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace shardc::test {

struct Factor {
  uint32_t size; ///< scalar
  int64_t ways = 1;
  uint32_t index = 0; ///< scalar
  std::vector<int64_t> bounds = {};
};
using Segment = std::vector<Factor>;
using Layout = std::vector<Segment>;

struct Attribute {
  std::string name;
  std::vector<int64_t> ints;
  std::vector<uint32_t> scalars;
  std::string text;
  std::vector<Layout> layout;
};

struct Part {
  uint32_t axis;
  int64_t pre;
  int64_t size;
};

class ProgramBuilder {
public:
  using Element = artifact::ElementType;

  explicit ProgramBuilder(std::vector<std::pair<std::string, int64_t>> axes);

  // Scalars.
  uint32_t constant(int64_t value);
  uint32_t symbol(const std::string &name, uint32_t input, uint32_t dim);
  /// A symbol that an instruction of run, a read_sizes, binds: the next one, or
  /// so many after it.
  uint32_t readSymbol(const std::string &name, uint32_t ahead = 0);
  /// A symbol that these instructions of run, by number, bind.
  uint32_t boundSymbol(const std::string &name, std::vector<uint32_t> binders);
  /// How many positions a state's caches hold.
  uint32_t capacity();
  uint32_t coordinate(uint32_t axis);
  uint32_t binary(artifact::ScalarOp op, uint32_t lhs, uint32_t rhs);
  uint32_t multiply(uint32_t a, uint32_t b) {
    return binary(artifact::ScalarOp_Multiply, a, b);
  }
  /// Elements that way `index` of `ways` owns.
  uint32_t localSize(uint32_t size, int64_t ways, uint32_t index);
  void guard(artifact::GuardKind kind, uint32_t lhs, uint32_t rhs,
             const std::string &message, const std::string &node);

  // Layouts of a dim.
  Layout whole(uint32_t size) { return {{{size}}}; }
  Layout split(uint32_t size, int64_t ways, uint32_t index) {
    return {{{size, ways, index}}};
  }

  // Values; each returns a view.
  uint32_t input(const std::string &name, Element element,
                 std::vector<Layout> dims);
  /// `bytes` are appended to constants.bin.
  uint32_t weight(const std::string &name, Element element,
                  std::vector<int64_t> dims, std::vector<Layout> layout,
                  const std::string &bytes, int32_t present = -1);
  /// Weights (their numbers) side by side along a dim; `dims` are those of all.
  uint32_t join(Element element, std::vector<uint32_t> numbers, uint32_t dim,
                std::vector<uint32_t> dims);
  uint32_t value(Element element, std::vector<uint32_t> dims,
                 bool replicated = false,
                 artifact::BufferKind kind = artifact::BufferKind_Arena);
  /// Another window on the same buffer.
  uint32_t view(uint32_t of, std::vector<uint32_t> dims,
                std::vector<uint32_t> strides, uint32_t offset);
  /// Of a view that is there: an input's says in which order it is packed.
  void setStrides(uint32_t view, std::vector<uint32_t> strides) {
    views[view].strides = std::move(strides);
  }
  void output(const std::string &name, uint32_t view, std::vector<Layout> dims);
  /// Past and present, the `input`-th and `output`-th, are a cache along `dim`;
  /// the buffers of their views have room for dims of these sizes.
  void cache(uint32_t input, uint32_t past, uint32_t output, uint32_t present,
             uint32_t dim, std::vector<uint32_t> pastRoom,
             std::vector<uint32_t> presentRoom);
  /// The program sets the cache: `present` is in a buffer for these sizes.
  void setCache(uint32_t input, uint32_t output, uint32_t present, int32_t dim,
                std::vector<uint32_t> room);
  /// The program writes into a pool of pages: past and present have the same
  /// dims, of which the first counts pages.
  void writeCache(uint32_t input, uint32_t past, uint32_t output,
                  uint32_t present, std::vector<uint32_t> room);
  /// The program leaves the cache as it is.
  void keepCache(uint32_t input, uint32_t output, int32_t dim = -1);
  /// The program is for requests where this input has this value.
  void condition(uint32_t input, bool value);
  /// The program is for requests where that dim of this input has this size.
  void sizeCondition(uint32_t input, int32_t dim, int64_t size);

  // Instructions.
  Attribute text(std::string name, std::string text) {
    return {std::move(name), {}, {}, std::move(text), {}};
  }
  Attribute ints(std::string name, std::vector<int64_t> values) {
    return {std::move(name), std::move(values), {}, "", {}};
  }
  Attribute scalars(std::string name, std::vector<uint32_t> values) {
    return {std::move(name), {}, std::move(values), "", {}};
  }
  Attribute layout(std::string name, Layout layout) {
    return {std::move(name), {}, {}, "", {std::move(layout)}};
  }
  Attribute layouts(std::string name, std::vector<Layout> layouts) {
    return {std::move(name), {}, {}, "", std::move(layouts)};
  }
  int32_t group(std::vector<Part> parts);
  void run(const std::string &kernel, std::vector<int32_t> inputs,
           std::vector<int32_t> outputs, std::vector<Attribute> attributes = {},
           int32_t group = -1, const std::string &node = "node");
  void load(const std::string &kernel, std::vector<int32_t> inputs,
            std::vector<int32_t> outputs,
            std::vector<Attribute> attributes = {}, int32_t group = -1,
            const std::string &node = "load-node");

  /// The program file's bytes.
  std::string finish() const;

  std::string constants; ///< contents of constants.bin
  std::vector<std::pair<std::string, int64_t>> axes;

private:
  friend struct Writer;
  struct Symbol {
    std::string name;
    uint32_t input, dim;
    std::vector<uint32_t> binders = {};
    bool capacity = false;
  };
  struct Cache {
    uint32_t input, output;
    int32_t dim;
    uint32_t buffer;
    artifact::CacheKind kind;
  };
  struct Guard {
    artifact::GuardKind kind;
    uint32_t lhs, rhs;
    std::string message, node;
  };
  struct Buffer {
    artifact::BufferKind kind;
    uint32_t bytes, source;
  };
  struct View {
    uint32_t buffer;
    Element element;
    std::vector<uint32_t> dims, strides;
    uint32_t offset;
    bool replicated;
  };
  struct Instruction {
    std::string kernel, node;
    std::vector<int32_t> inputs, outputs;
    std::vector<Attribute> attributes;
    int32_t group;
  };
  struct Weight {
    std::string name;
    uint64_t offset, length;
    Element element;
    std::vector<int64_t> dims;
    std::vector<Layout> layout;
    int32_t present;
  };
  struct Port {
    std::string name;
    Element element;
    std::vector<Layout> dims;
    uint32_t view;
  };
  uint32_t packed(artifact::BufferKind kind, uint32_t source, Element element,
                  const std::vector<uint32_t> &dims, bool replicated);
  uint32_t layoutSize(const Layout &layout, bool local);
  uint32_t bytesOf(uint32_t view, const std::vector<uint32_t> &room);

  std::vector<artifact::Scalar> scalarList;
  std::vector<Symbol> symbols;
  std::vector<Cache> caches;
  struct Condition {
    uint32_t input;
    bool value = false;
    int32_t dim = -1;
    int64_t size = 0;
  };
  std::vector<Condition> conditions;
  std::vector<Guard> guards;
  std::vector<Buffer> buffers;
  std::vector<View> views;
  std::vector<Instruction> loads, runs;
  std::vector<std::vector<Part>> groups;
  std::vector<Weight> weights;
  std::vector<std::pair<std::vector<uint32_t>, uint32_t>> joins; ///< and dim
  std::vector<Port> inputs, outputs;
  std::vector<std::vector<uint32_t>> inputDims, outputDims;
};

/// An artifact folder below the test's temporary folder.
class TestArtifact {
public:
  explicit TestArtifact(const ProgramBuilder &program);
  ~TestArtifact();

  std::string path(const std::string &file = "") const;
  /// Rewrites manifest.json with a fresh checksum after a change.
  void writeManifest();
  /// Adds a program for other requests.
  void addProgram(const ProgramBuilder &program, int stage = 0);
  /// Adds a file of the artifact and lists it.
  void addFile(const std::string &file, const std::string &contents);

  nlohmann::json manifest;

private:
  std::string folder;
};

/// A path that no other test uses, those that run at the same time included.
std::string temporaryPath();
std::string readFile(const std::string &path);
void writeFile(const std::string &path, const std::string &contents);

/// The bytes of a vector's elements.
template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T)};
}

} // namespace shardc::test

#endif // SHARDC_TESTS_UNIT_RUNTIME_PROGRAMBUILDER_H
