#include "runtime/io/Npz.h"

#include "tests/unit/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

std::string little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> (8 * i));
  return text;
}

/// What numpy.savez writes for one array, less checksums and dates.
std::string npz(const std::string &name, const std::string &header,
                const std::string &data, int method) {
  std::string npy = std::string("\x93NUMPY\x01\x00", 8) +
                    little(header.size(), 2) + header + data;
  std::string local = "PK\x03\x04" + std::string(14, '\0') +
                      little(npy.size(), 4) + little(npy.size(), 4) +
                      little(name.size(), 2) + little(0, 2) + name + npy;
  std::string central = "PK\x01\x02" + std::string(6, '\0') +
                        little(static_cast<uint64_t>(method), 2) +
                        std::string(8, '\0') + little(npy.size(), 4) +
                        little(npy.size(), 4) + little(name.size(), 2) +
                        std::string(16, '\0') + name;
  return local + central + "PK\x05\x06" + std::string(4, '\0') + little(1, 2) +
         little(1, 2) + little(central.size(), 4) + little(local.size(), 4) +
         little(0, 2);
}

const char kHeader[] =
    "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2), }   \n";

struct NpzFile {
  std::string path = test::temporaryPath();
  explicit NpzFile(const std::string &bytes) { test::writeFile(path, bytes); }
  ~NpzFile() { std::remove(path.c_str()); }
};

TEST(Npz, readsStoredArrays) {
  NpzFile file(npz("input_ids.npy", kHeader,
                   test::bytesOf(std::vector<int64_t>{7, 8}), 0));
  std::vector<NamedTensor> tensors;
  Status status = readNpz(file.path, tensors);
  ASSERT_TRUE(status.isOk()) << status.message();
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0].name, "input_ids");
  EXPECT_EQ(tensors[0].tensor.dims()[1], 2);
  EXPECT_EQ(tensors[0].tensor.as<int64_t>()[1], 8);
}

TEST(Npz, unknownCompressionIsExplained) {
  NpzFile file(npz("x.npy", kHeader, std::string(16, '\0'), 12)); // bzip2
  std::vector<NamedTensor> tensors;
  Status status = readNpz(file.path, tensors);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("numpy.savez"), std::string::npos);
}

TEST(Npz, damagedCompressionIsAnError) {
  NpzFile file(npz("x.npy", kHeader, std::string(16, '\0'), 8));
  std::vector<NamedTensor> tensors;
  EXPECT_EQ(readNpz(file.path, tensors).code(), StatusCode::InvalidArgument);
}

TEST(Npz, readsWhatItWrites) {
  Tensor numbers, none, flag;
  ASSERT_TRUE(
      numbers.reshape(artifact::ElementType_Float32, std::vector<int64_t>{2, 3})
          .isOk());
  for (int i = 0; i < 6; ++i)
    numbers.as<float>()[i] = 0.5f * static_cast<float>(i);
  ASSERT_TRUE(
      none.reshape(artifact::ElementType_Int64, std::vector<int64_t>{0, 4})
          .isOk());
  ASSERT_TRUE(flag.reshape(artifact::ElementType_Bool, {}).isOk());
  *flag.data() = std::byte{1};
  NpzFile file("");
  const NamedTensorView views[] = {
      {"numbers", &numbers}, {"none/at all", &none}, {"flag", &flag}};
  Status status = writeNpz(file.path, views);
  ASSERT_TRUE(status.isOk()) << status.message();
  std::vector<NamedTensor> read;
  status = readNpz(file.path, read);
  ASSERT_TRUE(status.isOk()) << status.message();
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0].name, "numbers");
  EXPECT_EQ(read[0].tensor.dims()[1], 3);
  EXPECT_EQ(read[0].tensor.as<float>()[5], 2.5f);
  EXPECT_EQ(read[1].name, "none/at all");
  EXPECT_EQ(read[1].tensor.dims()[0], 0);
  EXPECT_TRUE(read[2].tensor.dims().empty());
  EXPECT_EQ(*read[2].tensor.data(), std::byte{1});
}

TEST(Npz, typesThatNumPyDoesNotHave) {
  Tensor tensor;
  ASSERT_TRUE(
      tensor.reshape(artifact::ElementType_BFloat16, std::vector<int64_t>{1})
          .isOk());
  const NamedTensorView views[] = {{"y", &tensor}};
  const Status status = writeNpz(test::temporaryPath(), views);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("give a folder"), std::string::npos);
}

TEST(Npz, noDamageCrashes) {
  const std::string bytes = npz("x.npy", kHeader, std::string(16, '\0'), 0);
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int value : {0, 1, 8, 0x7f, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(value);
      NpzFile file(damaged);
      std::vector<NamedTensor> tensors;
      (void)readNpz(file.path, tensors);
    }
}

} // namespace
} // namespace shardc::runtime
