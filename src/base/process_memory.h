// Memory of a process that is a fork of a larger one.
#pragma once

namespace lightline {

// Gives back what a fork holds of our heap, so that neither we pay for copies of the pages that we write meanwhile,
// nor the peak memory of a program starts at ours. What stays is code, static data, the stack of the calling thread and
// shared memory. Safe between fork and exec.
void release_forked_heap();

}  // namespace lightline
