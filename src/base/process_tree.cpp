#include "base/process_tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace lightline {
namespace {

// A path such as /proc/12/task/13/children, put together without allocation.
class ProcPath {
 public:
  explicit ProcPath(const char* start) { add(start); }
  ProcPath& add(const char* text) {
    while (*text != '\0' && size_ + 1 < sizeof text_) text_[size_++] = *text++;
    text_[size_] = '\0';
    return *this;
  }
  ProcPath& add(pid_t number) {
    char digits[12];
    char* first = digits + sizeof digits - 1;
    *first = '\0';
    do *--first = char('0' + number % 10);
    while ((number /= 10) > 0);
    return add(first);
  }
  const char* text() const { return text_; }

 private:
  char text_[64];
  size_t size_ = 0;
};

class Found {
 public:
  explicit Found(std::span<FoundProcess> room) : room_(room) {}
  void add(pid_t pid, pid_t parent) {
    if (size_ < room_.size()) room_[size_++] = {pid, parent};
  }
  void forget_all_from(size_t size) { size_ = size; }
  size_t size() const { return size_; }
  bool is_full() const { return size_ == room_.size(); }
  FoundProcess operator[](size_t i) const { return room_[i]; }

 private:
  std::span<FoundProcess> room_;
  size_t size_ = 0;
};

// Moves `text` behind the number that it starts with.
int read_number(const char*& text) {
  int number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (*text - '0');
  return number;
}

// -1 if it is a name of another kind.
int number_of(const char* name) {
  const char* end = name;
  const int number = read_number(end);
  return end != name && *end == '\0' ? number : -1;
}

// Calls visit(number, descriptor of the folder) for every entry of a folder whose name is a number;
// false if there is no such folder.
template <class Visit>
bool for_each_number(const char* folder, Visit visit) {
  struct Entry {  // linux_dirent64
    uint64_t inode;
    int64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
  };
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  alignas(Entry) char buffer[2048];
  for (;;) {
    const long count = syscall(SYS_getdents64, fd, buffer, sizeof buffer);
    if (count <= 0) break;
    for (long at = 0; at < count;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      if (const int number = number_of(entry->name); number >= 0) visit(number, fd);
      at += entry->size;
    }
  }
  close(fd);
  return true;
}

// Numbers with blanks between them; one may reach over the end of the buffer.
void add_numbers_in(const char* path, pid_t parent, Found& found) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char buffer[1024];
  pid_t number = 0;
  for (ssize_t count; (count = read(fd, buffer, sizeof buffer)) > 0;)
    for (ssize_t i = 0; i < count; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        number = number * 10 + (buffer[i] - '0');
      } else {
        if (number > 0) found.add(number, parent);
        number = 0;
      }
    }
  if (number > 0) found.add(number, parent);
  close(fd);
}

void add_children_of(pid_t parent, Found& found) {
  for_each_number(ProcPath("/proc/").add(parent).add("/task").text(), [&](pid_t thread, int) {
    add_numbers_in(ProcPath("/proc/").add(parent).add("/task/").add(thread).add("/children").text(), parent, found);
  });
}

// From "12 (name) S 11 ...", where the name may hold anything; -1 if the process is gone.
pid_t parent_of(pid_t pid) {
  const int fd = open(ProcPath("/proc/").add(pid).add("/stat").text(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[128];
  const ssize_t count = read(fd, text, sizeof text - 1);
  close(fd);
  if (count <= 0) return -1;
  text[count] = '\0';
  const char* name_end = std::strrchr(text, ')');
  if (name_end == nullptr || std::strlen(name_end) < 5) return -1;
  const char* parent = name_end + 4;
  return read_number(parent);
}

void add_children(pid_t parent, ProcessListing listing, Found& found) {
  if (listing == ProcessListing::children) return add_children_of(parent, found);
  for_each_number("/proc", [&](pid_t pid, int) {
    if (parent_of(pid) == parent) found.add(pid, parent);
  });
}

}  // namespace

ProcessListing best_process_listing() {
  return access("/proc/thread-self/children", F_OK) == 0 ? ProcessListing::children : ProcessListing::parents;
}

HeldProcess::HeldProcess(FoundProcess process) : process_(process), fd_(int(syscall(SYS_pidfd_open, process.pid, 0))) {}

HeldProcess::~HeldProcess() {
  if (fd_ >= 0) close(fd_);
}

// The parent is looked at after the process was taken hold of: if the number is a child's then, it either is the child
// that we hold, or what we hold is dead and the signal reaches nobody.
bool HeldProcess::kill(pid_t root) const {
  const pid_t parent = parent_of(process_.pid);
  if (parent != process_.parent && parent != root) return false;
  if (fd_ >= 0) return syscall(SYS_pidfd_send_signal, fd_, SIGKILL, nullptr, 0) == 0;
  return ::kill(process_.pid, SIGKILL) == 0;
}

bool HeldProcess::has_its_number() const { return fd_ < 0 || syscall(SYS_pidfd_send_signal, fd_, 0, nullptr, 0) == 0; }

size_t find_descendants(pid_t root, std::span<FoundProcess> room, ProcessListing listing) {
  Found found(room);
  add_children(root, listing, found);
  for (size_t i = 0; i < found.size() && !found.is_full(); ++i) add_children(found[i].pid, listing, found);
  return found.size();
}

size_t kill_descendants(pid_t root, std::span<FoundProcess> room, ProcessListing listing) {
  Found found(room);
  add_children(root, listing, found);
  for (size_t i = 0; i < found.size(); ++i) {
    const HeldProcess process(found[i]);
    if (!process.kill(root) || found.is_full()) continue;
    const size_t before = found.size();
    add_children(found[i].pid, listing, found);
    if (!process.has_its_number()) found.forget_all_from(before);  // they may be another's; ours will be found again
  }
  return found.size();
}

bool close_descriptors_above(int last) {
  return for_each_number("/proc/self/fd", [&](int fd, int folder) {
    if (fd > last && fd != folder) close(fd);
  });
}

}  // namespace lightline
