#include "fuzz/entries.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lightline::fuzz::run_fx_text({reinterpret_cast<const char*>(data), size});
  return 0;
}
