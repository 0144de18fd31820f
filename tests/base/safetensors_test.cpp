#include <fmt/format.h>

#include "base/bytes.h"
#include "base/helpers.h"
#include "base/tensor_io.h"

namespace lightline {
namespace {

using base_test::all_dtypes;
using base_test::expect_error;
using base_test::fixture;
using base_test::same_bits;

constexpr const char* broken = "the safetensors data is broken: ";

std::string file_of(std::string_view header, std::string_view data = "") {
  std::string content;
  append_le<uint64_t>(content, header.size());
  return content.append(header).append(data);
}

const std::string eight = "12345678";

TEST(Safetensors, ReadsWhatTheReferenceWrites) {
  const Result<NamedTensors> tensors = read_tensors(fixture("all.safetensors"));
  ASSERT_TRUE(tensors.ok()) << to_string(tensors.error());
  EXPECT_EQ(tensors->size(), size_t(dtype_count));
  for (const auto& [type_name, tensor] : *tensors) {
    EXPECT_TRUE(same_bits(tensor, random_tensor(dtype_from_name(type_name).value(), {3, 4}, 7))) << type_name;
  }
}

TEST(Safetensors, RoundTripsEveryTypeAndShape) {
  NamedTensors tensors;
  for (DType dtype : all_dtypes()) {
    for (const Shape& shape : {Shape{}, Shape{0, 2}, Shape{6}, Shape{2, 3, 4}}) {
      if (dtype == DType::f4e2m1 && shape.empty()) continue;
      tensors.emplace_back(fmt::format("{} \"{}\" \\ \n \xC3\xA9", name(dtype), to_string(shape)),
                           random_tensor(dtype, shape, 5));
    }
  }
  const std::string content = format_safetensors(tensors).value();
  EXPECT_EQ(load_le<uint64_t>(content, 0) % 8, 0u);
  const Result<NamedTensors> back = parse_safetensors(content);
  ASSERT_TRUE(back.ok()) << to_string(back.error());
  ASSERT_EQ(back->size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ((*back)[i].first, tensors[i].first);
    EXPECT_TRUE(same_bits((*back)[i].second, tensors[i].second)) << tensors[i].first;
  }
  EXPECT_TRUE(parse_safetensors(format_safetensors({}).value()).value().empty());
}

TEST(Safetensors, WideElementsComeFirstInTheData) {
  NamedTensors tensors;
  tensors.emplace_back("byte", Tensor(DType::u8, {1}));
  tensors.emplace_back("wide", Tensor(DType::f64, {1}));
  const std::string content = format_safetensors(tensors).value();
  EXPECT_NE(
      content.find(
          R"({"byte":{"dtype":"U8","shape":[1],"data_offsets":[8,9]},"wide":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})"),
      std::string::npos);
}

TEST(Safetensors, WhatCanNotBeWritten) {
  const auto one = [](const std::string& tensor_name, Tensor tensor) {
    NamedTensors tensors;
    tensors.emplace_back(tensor_name, std::move(tensor));
    return format_safetensors(tensors);
  };
  expect_error(one("x", Tensor(DType::f4e2m1, {3})), ErrorCode::unsupported,
               "tensor 'x' has an odd number of 4-bit elements, which safetensors can not store");
  expect_error(one("__metadata__", Tensor(DType::f32, {3})), ErrorCode::name,
               "a safetensors file can not name a tensor '__metadata__'");
  expect_error(one("\xFF", Tensor(DType::f32, {3})), ErrorCode::name,
               "a safetensors file can not name a tensor '\\xff'");
}

TEST(Safetensors, GapsAndUnknownFieldsAreAllowed) {
  const Result<NamedTensors> tensors = parse_safetensors(
      file_of(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[3,5],"more":{}},"__metadata__":{"a":"b"}}  )", eight));
  ASSERT_TRUE(tensors.ok()) << to_string(tensors.error());
  ASSERT_EQ(tensors->size(), 1u);
  EXPECT_EQ(tensors->front().second.get_i64(0), '4');
}

TEST(Safetensors, BooleansAreNormalised) {
  const NamedTensors tensors =
      parse_safetensors(file_of(R"({"x":{"dtype":"BOOL","shape":[8],"data_offsets":[0,8]}})", eight)).value();
  EXPECT_EQ(tensors.front().second.as<uint8_t>()[3], 1);
}

TEST(Safetensors, HostilePreambles) {
  const auto expect = [](const std::string& content, const std::string& detail) {
    expect_error(parse_safetensors(content), ErrorCode::parse, broken + detail);
  };
  expect("", "it is too short");
  expect("1234567", "it is too short");
  expect(file_of("{}").substr(0, 9), "it ends inside the header");
  expect_error(parse_safetensors(eight), ErrorCode::limit, "the safetensors header claims 4050765991979987505 bytes");
  expect(file_of(""), "its header is not JSON");
  expect(file_of("[]"), "its header is not an object");
  expect(file_of("{"), "its header is not JSON");
  expect(file_of("{} {}"), "its header is not JSON");
  expect(file_of("{\"\xFF\":1}"), "its header is not UTF-8");
  expect(file_of("{\"x\":" + std::string(5000, '[')), "its header is not JSON");
}

TEST(Safetensors, HostileEntries) {
  const auto expect = [](const std::string& tensors, const std::string& detail) {
    expect_error(parse_safetensors(file_of("{" + tensors + "}", eight)), ErrorCode::parse, broken + detail);
  };
  const std::string good = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_TRUE(parse_safetensors(file_of("{\"x\":" + good + "}", eight)).ok());
  expect(R"("x":1)", "the header's 'x' is not an object");
  expect("\"x\":" + good + ",\"x\":" + good, "its header has 'x' twice");
  expect("\"x\":" + good + ",\"\\u0078\":" + good, "its header has 'x' twice");
  expect("\"x\":" + good + ",\"y\":" + good, "tensors 'x' and 'y' overlap");
  expect(R"("__metadata__":[])", "__metadata__ is not an object");
  expect(R"("__metadata__":{"a":1})", "the metadata 'a' is not a string");
  expect(R"("__metadata__":{},"__metadata__":{})", "its header has '__metadata__' twice");
  expect(R"("x":{"shape":[2],"data_offsets":[0,8]})", "tensor 'x' has no 'dtype'");
  expect(R"("x":{"dtype":"F32","data_offsets":[0,8]})", "tensor 'x' has no 'shape'");
  expect(R"("x":{"dtype":"F32","shape":[2]})", "tensor 'x' has no 'data_offsets'");
  expect(R"("x":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})", "tensor 'x' has 'dtype' twice");
  expect(R"("x":{"dtype":1,"shape":[2],"data_offsets":[0,8]})", "the dtype of 'x' is not a string");
  expect(R"("x":{"dtype":"F32","shape":2,"data_offsets":[0,8]})", "the shape of 'x' is not an array");
  expect(R"("x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]})",
         "the shape of 'x' has something other than extents");
  expect(R"("x":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})",
         "the shape of 'x' has something other than extents");
  expect(R"("x":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]})",
         "the shape of 'x' has something other than extents");
  expect(R"("x":{"dtype":"F32","shape":[9223372036854775807],"data_offsets":[0,8]})", "the shape of 'x' is too large");
  expect(R"("x":{"dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8]})", "the shape of 'x' is too large");
  for (const std::string offsets : {"8", "[0]", "[0,8,8]", "[8,0]", "[-8,8]", "[0,8.5]", "[0,\"8\"]"}) {
    expect(R"("x":{"dtype":"F32","shape":[2],"data_offsets":)" + offsets + "}",
           "the data_offsets of 'x' are not two numbers in order");
  }
  expect(R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,9]})", "tensor 'x' reaches beyond the file");
  expect(R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]})",
         "tensor 'x' reaches beyond the file");
  expect(R"("x":{"dtype":"F32","shape":[1],"data_offsets":[0,8]})",
         "tensor 'x' of shape [1] needs 4 bytes, its data_offsets hold 8");
  expect(R"("x":{"dtype":"F4","shape":[3],"data_offsets":[0,2]})", "tensor 'x' has an odd number of 4-bit elements");
  expect("\"\\u001b[2J\":1", "the header's '\\x1b[2J' is not an object");
}

TEST(Safetensors, Unsupported) {
  const auto expect = [](const std::string& dtype) {
    expect_error(parse_safetensors(file_of(
                     fmt::format(R"({{"x":{{"dtype":"{}","shape":[8],"data_offsets":[0,8]}}}})", dtype), eight)),
                 ErrorCode::unsupported, fmt::format("tensor 'x' has the unsupported dtype '{}'", dtype));
  };
  for (const std::string dtype : {"U16", "U32", "U64", "F8_E8M0", "F8_E4M3FNUZ", "f32", ""}) expect(dtype);
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  expect_error(
      parse_safetensors(file_of(R"({"x":{"dtype":"U8","shape":[)" + ones + R"(],"data_offsets":[0,1]}})", eight)),
      ErrorCode::limit, "tensor 'x' has more than 64 dimensions");
  expect_error(
      parse_safetensors(file_of(R"({"x":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", eight)),
      ErrorCode::limit, "shape [4294967296, 4294967296] leaves 64 bits");
}

}  // namespace
}  // namespace lightline
