// Recursion over programs goes as deep as programs are long: it runs on a stack that is large enough for that, whatever
// stack the caller has.
#pragma once

#include <functional>

namespace lightline {

bool is_on_large_stack();
// Runs `work`, which throws nothing, on a thread with a large stack, and waits for it; here if there can be no such
// thread. Only the pages that are used take memory.
void run_on_large_stack(const std::function<void()>& work);

}  // namespace lightline
