// The same as client.c.
#include <shardrt.hpp>

#include <cstdlib>
#include <fstream>
#include <iostream>

static std::vector<std::int64_t> readValues(const char *path,
                                            std::size_t count) {
  std::vector<std::int64_t> values(count);
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char *>(values.data()),
            std::streamsize(count * sizeof values[0]));
  return values;
}

static void writeFloats(const char *path, const shardrt::Output &output) {
  std::size_t count = 1;
  for (std::int64_t dim : output.dims)
    count *= std::size_t(dim);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(output.as<float>()),
             std::streamsize(count * sizeof(float)));
}

static int fail(const shardrt::Status &status) {
  std::cerr << status.message() << "\n";
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 5)
    return 2;
  const std::vector<std::int64_t> dims = {std::atoll(argv[3]),
                                          std::atoll(argv[4])};
  shardrt::Session session;
  if (shardrt::Status status = shardrt::Session::open(argv[1], session);
      !status.isOk())
    return fail(status);
  shardrt_session_info about;
  if (shardrt::Status status = session.info(about); !status.isOk())
    return fail(status);
  std::cout << shardrt_version() << ", " << about.world_size << " ranks:";
  std::vector<std::vector<std::int64_t>> values;
  std::vector<shardrt::Input> inputs;
  for (const shardrt::ValueInfo &info : session.inputs()) {
    std::cout << " " << info.name << " [" << info.dims[0] << ", "
              << info.dims[1] << "]";
    values.push_back(
        readValues(argv[5 + values.size()], std::size_t(dims[0] * dims[1])));
    inputs.push_back(shardrt::input(info.name, dims, values.back().data()));
  }
  std::cout << "\n";
  shardrt::Result result;
  // A mistake is a status, and the next run is as if it had not been.
  if (session.run({}, result).code() != SHARDRT_INVALID_ARGUMENT)
    return 3;
  if (shardrt::Status status = session.run(inputs, result); !status.isOk())
    return fail(status);
  shardrt::Output logits;
  if (shardrt::Status status = result.output(0, logits); !status.isOk())
    return fail(status);
  writeFloats(argv[2], logits);
  return 0;
}
