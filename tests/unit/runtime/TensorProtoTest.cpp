#include "runtime/io/TensorProto.h"

#include <gtest/gtest.h>

#include <cstring>

namespace shardc::runtime {
namespace {

using namespace std::string_literals;

Status parse(const std::string &bytes, NamedTensor &tensor) {
  return parseTensorProto("input_0.pb", bytes, tensor);
}

TEST(TensorProto, readsWhatItWrites) {
  Tensor tensor;
  int64_t dims[] = {2, 300};
  ASSERT_TRUE(tensor.reshape(artifact::ElementType_Float32, dims).isOk());
  for (int i = 0; i < 600; ++i)
    tensor.as<float>()[i] = static_cast<float>(i) / 3;
  NamedTensor read;
  ASSERT_TRUE(parse(serializeTensorProto("logits", tensor), read).isOk());
  EXPECT_EQ(read.name, "logits");
  EXPECT_EQ(read.tensor.dims()[1], 300);
  EXPECT_EQ(0, std::memcmp(read.tensor.data(), tensor.data(), 2400));
}

TEST(TensorProto, readsPackedAndUnpackedFields) {
  NamedTensor read;
  // dims: 2 (unpacked); data_type: INT64; int64_data: 5, -1 (packed).
  ASSERT_TRUE(parse("\x08\x02\x10\x07\x3a\x0b\x05"
                    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,
                    read)
                  .isOk());
  EXPECT_EQ(read.tensor.as<int64_t>()[0], 5);
  EXPECT_EQ(read.tensor.as<int64_t>()[1], -1);
  // dims: 1, 2 (packed); data_type: FLOAT; float_data: 1.0, 2.0 (unpacked).
  ASSERT_TRUE(parse("\x0a\x02\x01\x02\x10\x01\x25\x00\x00\x80\x3f"
                    "\x25\x00\x00\x00\x40"s,
                    read)
                  .isOk());
  EXPECT_EQ(read.tensor.dims().size(), 2u);
  EXPECT_EQ(read.tensor.as<float>()[1], 2.0f);
  // A scalar bool in int32_data.
  ASSERT_TRUE(parse("\x10\x09\x28\x01"s, read).isOk());
  EXPECT_EQ(read.tensor.element(), artifact::ElementType_Bool);
  EXPECT_EQ(read.tensor.as<uint8_t>()[0], 1);
}

TEST(TensorProto, rejectsWhatDoesNotFit) {
  NamedTensor read;
  const std::string bad[] = {
      "\x08\x02\x10\x07\x3a\x01\x05"s, // two dims, one value
      "\x08\x02\x10\x07\x4a\x03"
      "abc"s,                  // wrong number of bytes
      "\x10\x09\x28\x02"s,     // a bool of 2
      "\x10\x03\x28\x80\x02"s, // an int8 of 256
      "\x10\x01\x28\x01"s,     // a float in int32_data
      "\x10\x08\x32\x01"
      "a"s,                // strings
      "\x10\x01\x70\x01"s, // data elsewhere
      "\x10\x63"s,         // unknown type
      "\x7a\x00"s,         // unknown field
      "\x08"s,             // cut off
  };
  for (const std::string &bytes : bad)
    EXPECT_EQ(parse(bytes, read).code(), StatusCode::InvalidArgument);
}

TEST(TensorProto, noDamageCrashes) {
  Tensor tensor;
  int64_t dims[] = {3, 2};
  ASSERT_TRUE(tensor.reshape(artifact::ElementType_Int64, dims).isOk());
  std::memset(tensor.data(), 1, 48);
  const std::string bytes = serializeTensorProto("ids", tensor);
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      NamedTensor read;
      (void)parse(damaged, read);
    }
  for (size_t length = 0; length < bytes.size(); ++length) {
    NamedTensor read;
    (void)parse(bytes.substr(0, length), read);
  }
}

} // namespace
} // namespace shardc::runtime
