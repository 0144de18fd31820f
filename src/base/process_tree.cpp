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
  explicit Found(std::span<pid_t> room) : room_(room) {}
  void add(pid_t pid) {
    if (size_ < room_.size()) room_[size_++] = pid;
  }
  size_t size() const { return size_; }
  bool is_full() const { return size_ == room_.size(); }
  pid_t operator[](size_t i) const { return room_[i]; }

 private:
  std::span<pid_t> room_;
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
void add_numbers_in(const char* path, Found& found) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char buffer[1024];
  pid_t number = 0;
  for (ssize_t count; (count = read(fd, buffer, sizeof buffer)) > 0;)
    for (ssize_t i = 0; i < count; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        number = number * 10 + (buffer[i] - '0');
      } else {
        if (number > 0) found.add(number);
        number = 0;
      }
    }
  if (number > 0) found.add(number);
  close(fd);
}

void add_children_of(pid_t parent, Found& found) {
  for_each_number(ProcPath("/proc/").add(parent).add("/task").text(), [&](pid_t thread, int) {
    add_numbers_in(ProcPath("/proc/").add(parent).add("/task/").add(thread).add("/children").text(), found);
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

}  // namespace

ProcessListing best_process_listing() {
  return access("/proc/thread-self/children", F_OK) == 0 ? ProcessListing::children : ProcessListing::parents;
}

size_t find_descendants(pid_t root, std::span<pid_t> room, ProcessListing listing, int signal) {
  Found found(room);
  const auto add_children = [&](pid_t parent) {
    if (listing == ProcessListing::children) return add_children_of(parent, found);
    for_each_number("/proc", [&](pid_t pid, int) {
      if (parent_of(pid) == parent) found.add(pid);
    });
  };
  add_children(root);
  for (size_t i = 0; i < found.size(); ++i) {
    if (signal != 0) kill(found[i], signal);
    if (!found.is_full()) add_children(found[i]);
  }
  return found.size();
}

bool close_descriptors_above(int last) {
  return for_each_number("/proc/self/fd", [&](int fd, int folder) {
    if (fd > last && fd != folder) close(fd);
  });
}

}  // namespace lightline
