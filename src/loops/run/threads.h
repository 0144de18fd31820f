// The threads that emitted code runs on. OpenMP ends the process where it can not start one, so it is asked for no more
// than can be started.
#pragma once

namespace lightline::loops {

// The OpenMP runtime of loaded code; no functions where it has none.
struct OpenMp {
  int wanted = 0;                       // threads that were asked for; 0: as the runtime decides
  int (*most_threads)() = nullptr;      // what the runtime decides, for the thread that calls
  int (*start_threads)(int) = nullptr;  // starts them for the thread that calls; returns how many there are
};

// How many threads the calling thread may run emitted code on. They have been started; the runtime keeps them.
int ready_threads(const OpenMp& openmp);

}  // namespace lightline::loops
