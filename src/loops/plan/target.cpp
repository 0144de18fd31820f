#include "loops/plan/target.h"

namespace lightline::loops::plan {

const Target& generic_cpu() {
  static constexpr Target target;
  return target;
}

}  // namespace lightline::loops::plan
