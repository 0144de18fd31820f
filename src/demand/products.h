// Sums of products as statements spell them: what operators such as a matrix product or a convolution become.
#pragma once

#include "loops/ir/program.h"

namespace lightline::demand {

// Every point of a statement's own loops, if it sums products of factors that run over different indices; else 0. This
// is what counters of floating-point operations take a matrix product, a convolution or an attention for, over two.
double written_products(const loops::Program& program, const loops::Compute& node);
double written_products(const loops::Program& program, const loops::Scatter& node);
double written_products(const loops::Program& program, const loops::Statement& statement);

}  // namespace lightline::demand
