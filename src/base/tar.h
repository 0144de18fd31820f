// Tar archives (ustar, pax and GNU long names), read as a stream: only the files asked for are held in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lightline {

class TarStream {
 public:
  // Whether the content of a file is needed; only then is it collected.
  using Want = std::function<bool(std::string_view name)>;
  using File = std::function<Status(const std::string& name, std::string content)>;
  TarStream(Want want, File file, uint64_t file_limit = uint64_t(1) << 30);

  Status feed(std::string_view piece);
  Status finish();  // reports an archive that ends too early

 private:
  enum class Collecting : uint8_t { nothing, file, long_name, pax };

  Status read_header();
  Status end_of_entry();
  void read_pax();

  Want want_;
  File file_;
  uint64_t file_limit_;
  std::string header_;   // up to 512 bytes
  std::string content_;  // of the entry, where it is collected
  std::string name_;
  std::string long_name_;  // for the next entry
  Collecting collecting_ = Collecting::nothing;
  uint64_t remaining_ = 0;  // bytes of the entry
  uint64_t padding_ = 0;
  bool in_entry_ = false;
  bool ended_ = false;  // two blocks of zeros, or one and the end
};

// Every wanted file of an archive that may be compressed (.xz, .zst, .gz).
Status for_each_tar_file(const std::string& path, const TarStream::Want& want, const TarStream::File& file);

}  // namespace lightline
