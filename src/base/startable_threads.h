// How many threads there can be: limits of processes, of memory and of system calls show only when threads are started.
#pragma once

namespace lightline {

// Of `wanted` further threads, how many can be started now: all are, and have ended when this returns, so that others
// can be started in their place.
int startable_threads(int wanted);

}  // namespace lightline
