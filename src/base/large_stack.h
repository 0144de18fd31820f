// A thread on which the library works for its callers, whatever they are like: with a stack that is large enough for
// recursion over any program, the C locale, the default modes of floating-point arithmetic, and no SIGXFSZ.
#pragma once

#include <functional>

namespace lightline {

bool is_on_large_stack();
// Runs `work`, which throws nothing, on such a thread, and waits for it. Of the stack only the pages that are used take
// memory. Returns false if there can be no thread: nothing was done then.
bool run_on_large_stack(const std::function<void()>& work);

}  // namespace lightline
