#include <fmt/format.h>

#include "base/bytes.h"
#include "base/helpers.h"
#include "base/tensor_io.h"
#include "base/zip.h"

namespace lightline {
namespace {

using base_test::all_dtypes;
using base_test::expect_error;
using base_test::fixture;
using base_test::fixture_bytes;
using base_test::same_bits;
using base_test::TemporaryDirectory;

constexpr const char* broken = "the .npy data is broken: ";

std::string npy(std::string_view header, std::string_view data, int version = 1) {
  std::string content("\x93NUMPY", 6);
  content += char(version);
  content += '\0';
  if (version == 1)
    append_le(content, uint16_t(header.size()));
  else
    append_le(content, uint32_t(header.size()));
  return content.append(header).append(data);
}

bool one_byte_float(DType dtype) { return is_float(dtype) && byte_size(dtype) == 1; }

TEST(Npy, ReadsEveryTypeThatNumpyWrites) {
  for (DType dtype : all_dtypes()) {
    const std::string content = fixture_bytes(std::string(name(dtype)) + ".npy");
    const Result<Tensor> tensor = parse_npy(content, dtype);
    ASSERT_TRUE(tensor.ok()) << to_string(tensor.error());
    EXPECT_TRUE(same_bits(*tensor, random_tensor(dtype, {3, 4}, 7))) << name(dtype);
    if (!one_byte_float(dtype)) {
      EXPECT_TRUE(same_bits(parse_npy(content).value(), *tensor)) << name(dtype);
    }
    // We write what numpy writes, byte for byte; but '<f1', which ml_dtypes uses for f8e5m2, numpy itself can not read.
    if (dtype != DType::f8e5m2) {
      EXPECT_EQ(format_npy(*tensor), content) << name(dtype);
    }
  }
}

TEST(Npy, ReadsEveryLayout) {
  EXPECT_TRUE(same_bits(parse_npy(fixture_bytes("version2.npy")).value(), random_tensor(DType::f32, {3, 4}, 7)));
  EXPECT_TRUE(same_bits(parse_npy(fixture_bytes("version3.npy")).value(), random_tensor(DType::f32, {3, 4}, 7)));
  EXPECT_TRUE(same_bits(parse_npy(fixture_bytes("fortran.npy")).value(), random_tensor(DType::i32, {2, 3, 4}, 7)));
  EXPECT_TRUE(
      same_bits(parse_npy(fixture_bytes("fortran_big_endian.npy")).value(), random_tensor(DType::i16, {2, 3, 4}, 7)));
  EXPECT_TRUE(same_bits(parse_npy(fixture_bytes("scalar.npy")).value(), random_tensor(DType::f32, {}, 7)));
  EXPECT_TRUE(same_bits(parse_npy(fixture_bytes("empty.npy")).value(), random_tensor(DType::f32, {0, 3}, 7)));
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::i64, DType::i32, DType::i16, DType::c64}) {
    const Result<Tensor> tensor = parse_npy(fixture_bytes(fmt::format("big_endian_{}.npy", name(dtype))));
    ASSERT_TRUE(tensor.ok()) << to_string(tensor.error());
    EXPECT_TRUE(same_bits(*tensor, random_tensor(dtype, {3, 4}, 7))) << name(dtype);
  }
}

TEST(Npy, RoundTripsEveryTypeAndShape) {
  for (DType dtype : all_dtypes()) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{2, 0, 3}, Shape{2, 3, 4}, Shape(64, 1)}) {
      const Tensor tensor = random_tensor(dtype, shape, 3);
      const Result<Tensor> back = parse_npy(format_npy(tensor), dtype);
      ASSERT_TRUE(back.ok()) << to_string(back.error());
      EXPECT_TRUE(same_bits(*back, tensor)) << name(dtype) << to_string(shape);
    }
  }
}

TEST(Npy, LongHeadersUseVersionTwo) {
  const Tensor tensor(DType::u8, Shape(30000, 1));
  const std::string content = format_npy(tensor);
  EXPECT_EQ(content[6], '\2');
  expect_error(parse_npy(content), ErrorCode::limit, "the .npy data has more than 64 dimensions");
}

TEST(Npy, SpellingsThatPythonAllows) {
  for (const std::string header : {"{'descr':'<i2','fortran_order':False,'shape':(2,)}",
                                   "{ \"shape\" : ( 2 , ) , \"descr\" : \"=i2\", 'fortran_order': True }\n",
                                   "  {'fortran_order': False, 'descr': '<i2', 'shape': (2, ), }  \n"}) {
    const Result<Tensor> tensor = parse_npy(npy(header, std::string("\1\0\2\0", 4)));
    ASSERT_TRUE(tensor.ok()) << to_string(tensor.error());
    EXPECT_EQ(tensor->get_i64(1), 2);
  }
}

TEST(Npy, BooleansAndNibblesAreNormalised) {
  const Tensor flags =
      parse_npy(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", std::string("\0\2\xFF", 3))).value();
  EXPECT_EQ(flags.as<uint8_t>()[1], 1);
  EXPECT_EQ(flags.as<uint8_t>()[2], 1);
  const Tensor nibbles =
      parse_npy(npy("{'descr': '|V1', 'fortran_order': False, 'shape': (1,)}", "\xF5"), DType::f4e2m1).value();
  EXPECT_EQ(nibbles.as<uint8_t>()[0], 5);
  EXPECT_EQ(parse_npy(npy("{'descr': '|V2', 'fortran_order': False, 'shape': ()}", "\x80\x3F")).value().get_f64(0),
            1.0);
}

TEST(Npy, UnsupportedTypesSayWhatToDo) {
  const auto expect = [](const std::string& file, const std::string& message, const std::string& hint) {
    const Result<Tensor> result = parse_npy(fixture_bytes("unsupported_" + file + ".npy"));
    expect_error(result, ErrorCode::unsupported, message);
    EXPECT_EQ(result.error().hint, hint);
  };
  expect("u2", "the .npy data holds unsigned integers ('<u2')", "convert it: x.astype('int32')");
  expect("u4", "the .npy data holds unsigned integers ('<u4')", "convert it: x.astype('int64')");
  expect("u8", "the .npy data holds unsigned integers ('<u8')", "convert it: x.astype('int64')");
  expect("c16", "the .npy data holds numbers of an unsupported type ('<c16')", "convert it: x.astype('complex64')");
  expect("f16", "the .npy data holds numbers of an unsupported type ('<f16')", "convert it: x.astype('float64')");
  expect("U5", "the .npy data holds strings ('<U5')",
         "convert it to a number: x.astype('float32') or x.astype('int64')");
  expect("S3", "the .npy data holds strings ('|S3')",
         "convert it to a number: x.astype('float32') or x.astype('int64')");
  expect("O", "the .npy data holds Python objects ('|O')",
         "convert it to a number: x.astype('float32') or x.astype('int64')");
  expect("records", "the .npy data is an array of records",
         "save each field as an array of its own, for example with numpy.savez");
}

TEST(Npy, OneByteRecordsNeedAnExpectedType) {
  const Result<Tensor> result = parse_npy(fixture_bytes("f8e4m3.npy"));
  expect_error(result, ErrorCode::type,
               "the .npy data holds one-byte records ('<V1') that could be f8e4m3, f8e5m2 or f4e2m1");
  expect_error(parse_npy(fixture_bytes("f8e4m3.npy"), DType::u8), ErrorCode::type,
               "the .npy data holds one-byte records ('<V1') that could be f8e4m3, f8e5m2 or f4e2m1");
  EXPECT_EQ(parse_npy(fixture_bytes("f8e4m3.npy"), DType::f8e4m3).value().dtype(), DType::f8e4m3);
  EXPECT_EQ(parse_npy(fixture_bytes("f32.npy"), DType::f8e4m3).value().dtype(), DType::f32);
}

TEST(Npy, HostilePreambles) {
  const std::string good = fixture_bytes("f32.npy");
  expect_error(parse_npy(""), ErrorCode::parse, "this is not .npy data");
  expect_error(parse_npy("PK\3\4 and more"), ErrorCode::parse, "this is not .npy data");
  expect_error(parse_npy(good.substr(0, 9)), ErrorCode::parse, broken + std::string("it ends inside the header"));
  expect_error(parse_npy(good.substr(0, 60)), ErrorCode::parse, broken + std::string("it ends inside the header"));
  expect_error(parse_npy(npy("{}", "", 2).substr(0, 11)), ErrorCode::parse,
               broken + std::string("it ends inside the header"));
  expect_error(parse_npy(npy("{}", "", 4)), ErrorCode::unsupported, "the .npy data has version 4.0");
  std::string claims = npy("{}", "", 2);
  claims[11] = '\x7F';
  expect_error(parse_npy(claims), ErrorCode::parse, broken + std::string("it ends inside the header"));
  expect_error(parse_npy(npy(std::string(size_t(1) << 21, ' '), "", 2)), ErrorCode::limit,
               "the .npy header is larger than 1 MiB");
}

TEST(Npy, HostileHeaders) {
  const auto expect = [](const std::string& header, const std::string& detail) {
    expect_error(parse_npy(npy(header, "12345678")), ErrorCode::parse, broken + detail);
  };
  const std::string type = "{'descr': '<f4', 'fortran_order': False, ";
  expect("", "its header needs '{' at byte 0");
  expect("{", "its header needs a string at byte 1");
  expect("{}", "the header has no 'descr'");
  expect("{'descr': '<f4', 'shape': (2,)}", "the header has no 'fortran_order'");
  expect(type + "}", "the header has no 'shape'");
  expect(type + "'shape': (2,), 'shape': (2,)}", "the header has 'shape' twice");
  expect(type + "'shape': (2,), 'size': 1}", "the header has an unknown key 'size'");
  expect(type + "'shape': (2,)} # comment", "its header needs the end at byte 56");
  expect(type + "'shape': (2)}", "its header needs ',' after the only extent at byte 53");
  expect(type + "'shape': (2 2)}", "its header needs ',' or ')' at byte 53");
  expect(type + "'shape': (,)}", "its header needs an extent at byte 51");
  expect(type + "'shape': (-2,)}", "its header needs an extent at byte 51");
  expect(type + "'shape': (+2,)}", "its header needs an extent at byte 51");
  expect(type + "'shape': (2L,)}", "its header needs ',' or ')' at byte 52");
  expect(type + "'shape': (99999999999999999999,)}", "an extent leaves 64 bits");
  expect(type + "'shape': 2}", "its header needs '(' at byte 50");
  expect(type + "'shape': (2,", "its header needs an extent at byte 53");
  expect(type + "'shape': (2,) 'x': 1}", "its header needs ',' at byte 55");
  expect("{'descr': '<f4', 'fortran_order': None, 'shape': (2,)}", "its header needs True or False at byte 34");
  expect("{'descr': 4}", "its header needs a string at byte 10");
  expect("{'descr", "its header needs a string that ends at byte 1");
  expect("{'descr': '<f\\x34'}", "its header needs a string without escapes at byte 10");
  expect("{'descr': 'f4', 'fortran_order': False, 'shape': (2,)}", "the type 'f4' has no byte order");
  expect("{'descr': '', 'fortran_order': False, 'shape': (2,)}", "the type '' has no byte order");
  expect("{'descr': '|f4', 'fortran_order': False, 'shape': (2,)}", "the type '|f4' has no byte order");
}

TEST(Npy, SizesMustMatchTheShape) {
  const auto expect = [](const std::string& shape, const std::string& detail) {
    expect_error(parse_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}", "12345678")),
                 ErrorCode::parse, broken + detail);
  };
  expect("(3,)", "shape [3] of '<f4' needs 3 elements of 4 bytes, there are 8 bytes");
  expect("(1,)", "shape [1] of '<f4' needs 1 elements of 4 bytes, there are 8 bytes");
  expect("(0, 9)", "shape [0, 9] of '<f4' needs 0 elements of 4 bytes, there are 8 bytes");
  expect("(4611686018427387904,)",
         "shape [4611686018427387904] of '<f4' needs 4611686018427387904 elements of 4 bytes, there are 8 bytes");
  const std::string huge = "{'descr': '<f4', 'fortran_order': True, 'shape': (4294967296, 4294967296)}";
  expect_error(parse_npy(npy(huge, "")), ErrorCode::limit, "shape [4294967296, 4294967296] leaves 64 bits");
}

TEST(Npz, ReadsWhatNumpyWrites) {
  ExpectedTypes as;
  for (DType dtype : all_dtypes()) as.emplace(name(dtype), dtype);
  for (const std::string file : {"stored.npz", "deflated.npz"}) {
    const Result<NamedTensors> tensors = read_tensors(fixture(file), as);
    ASSERT_TRUE(tensors.ok()) << to_string(tensors.error());
    ASSERT_EQ(tensors->size(), size_t(dtype_count));
    for (DType dtype : all_dtypes()) {
      const auto& [tensor_name, tensor] = (*tensors)[size_t(dtype)];
      EXPECT_EQ(tensor_name, name(dtype));
      EXPECT_TRUE(same_bits(tensor, random_tensor(dtype, {3, 4}, 7))) << tensor_name;
    }
  }
}

TEST(Npz, HostileArchives) {
  const std::string archive = write_zip({{"x.npy", "not an array"}}).value();
  expect_error(parse_npz(archive), ErrorCode::parse, "array 'x': this is not .npy data");
  expect_error(parse_npz(write_zip({{"readme", ""}}).value()), ErrorCode::parse,
               "'readme' in the .npz data is not an .npy array");
  expect_error(parse_npz("hello"), ErrorCode::parse, "the zip archive is broken: it is too short");
  expect_error(parse_npz(fixture_bytes("stored.npz")), ErrorCode::type,
               "array 'f8e4m3': the .npy data holds one-byte records ('<V1') that could be f8e4m3, f8e5m2 or f4e2m1");
  EXPECT_TRUE(parse_npz(write_zip({}).value()).value().empty());
}

TEST(TensorFiles, RoundTripOnDisk) {
  const TemporaryDirectory directory;
  NamedTensors tensors;
  ExpectedTypes as;
  for (DType dtype : all_dtypes()) {
    tensors.emplace_back(name(dtype), random_tensor(dtype, {2, 5}, 11));
    as.emplace(name(dtype), dtype);
  }
  for (const std::string file : {"a.npz", "a.safetensors", "a.npz.xz", "a.safetensors.zst"}) {
    ASSERT_TRUE(write_tensors(directory / file, tensors).ok());
    const Result<NamedTensors> back = read_tensors(directory / file, as);
    ASSERT_TRUE(back.ok()) << to_string(back.error());
    ASSERT_EQ(back->size(), tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ((*back)[i].first, tensors[i].first);
      EXPECT_TRUE(same_bits((*back)[i].second, tensors[i].second)) << file;
    }
  }
  for (auto& [tensor_name, tensor] : tensors) {
    NamedTensors one;
    one.emplace_back("ignored", random_tensor(tensor.dtype(), {2, 5}, 11));
    ASSERT_TRUE(write_tensors(directory / "one.npy.zst", one).ok());
    const Result<NamedTensors> back = read_tensors(directory / "one.npy.zst", {{"", tensor.dtype()}});
    ASSERT_TRUE(back.ok()) << to_string(back.error());
    EXPECT_EQ(back->front().first, "");
    EXPECT_TRUE(same_bits(back->front().second, tensor));
  }
}

TEST(TensorFiles, ErrorsNameTheFile) {
  const TemporaryDirectory directory;
  const auto expect = [](const auto& result, const std::string& path, ErrorCode code, const std::string& message) {
    expect_error(result, code, message);
    EXPECT_EQ(result.error().where.file, path);
  };
  const std::string two = directory / "two.npy";
  NamedTensors tensors;
  tensors.emplace_back("a", Tensor(DType::f32, {1}));
  tensors.emplace_back("a", Tensor(DType::f32, {1}));
  expect(write_tensors(two, tensors), two, ErrorCode::usage, "a .npy file holds one tensor, not 2");
  expect(write_tensors(directory / "a.npz", tensors), directory / "a.npz", ErrorCode::name,
         "two entries are named 'a.npy'");
  expect(write_tensors(directory / "a.safetensors", tensors), directory / "a.safetensors", ErrorCode::name,
         "two tensors are named 'a'");
  expect(write_tensors(directory / "a.pt", tensors), directory / "a.pt", ErrorCode::usage,
         fmt::format("'{}' is not a tensor file, by its name", directory / "a.pt"));
  expect(read_tensors(directory / "a.pt"), directory / "a.pt", ErrorCode::usage,
         fmt::format("'{}' is not a tensor file, by its name", directory / "a.pt"));
  expect(read_tensors(two), two, ErrorCode::io, "can not open the file: No such file or directory");
  EXPECT_EQ(directory.file_count(), 0u);
  ASSERT_TRUE(write_file(two, "hello").ok());
  expect(read_tensors(two), two, ErrorCode::parse, "this is not .npy data");
}

}  // namespace
}  // namespace lightline
