#include "fuzz/entries.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lightline::fuzz::run_schedule({reinterpret_cast<const char*>(data), size});
  return 0;
}
