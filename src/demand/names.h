// The words of the Affine Loop IR that this room speaks.
#pragma once

#include "loops/ir/program.h"

namespace lightline::demand {

using loops::ArrayId;
using loops::Compute;
using loops::Expr;
using loops::ExprId;
using loops::ExprKind;
using loops::Function;
using loops::IndexId;
using loops::none;
using loops::Reducer;
using loops::Scatter;
using loops::Statement;

}  // namespace lightline::demand
