#include "ops/build/annotations.h"

#include <gtest/gtest.h>

namespace lightline::ops {
namespace {

TEST(Annotations, OfExportedPrograms) {
  EXPECT_TRUE(is_typed_annotation("aten._assert_scalar.default"));
  EXPECT_TRUE(is_typed_annotation("aten._assert_async.msg"));
  EXPECT_TRUE(is_typed_annotation("torch.amp.autocast_mode._enter_autocast"));
  EXPECT_TRUE(is_typed_annotation("_assert"));
  EXPECT_FALSE(is_typed_annotation("aten.my_assert.default"));
  EXPECT_FALSE(is_typed_annotation("aten._assert_scalars.default"));
  EXPECT_FALSE(is_typed_annotation("torch._dynamo.mark_dynamic"));
}

TEST(Annotations, OfPythonSource) {
  EXPECT_TRUE(is_python_annotation("torch._dynamo.mark_dynamic"));
  EXPECT_TRUE(is_python_annotation("torch.ops.aten._assert_async.msg"));
  EXPECT_TRUE(is_python_annotation("torch.ops.aten._assert_scalar.default"));
  EXPECT_FALSE(is_python_annotation("torch.ops.aten._assert_scalar.other"));
  EXPECT_FALSE(is_python_annotation("torch.amp.autocast_mode._enter_autocast"));
  EXPECT_FALSE(is_python_annotation("_assert"));
  EXPECT_FALSE(is_python_annotation("torch.my_check"));
}

}  // namespace
}  // namespace lightline::ops
