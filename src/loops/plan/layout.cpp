#include "loops/plan/layout.h"

#include <algorithm>
#include <map>

namespace lightline::loops::plan {
namespace {

// Hands out parts of one block of memory; freed parts are used again.
class Arena {
 public:
  int64_t take(int64_t bytes) {
    for (auto it = free_parts_.begin(); it != free_parts_.end(); ++it) {
      const auto [offset, size] = *it;
      if (size < bytes) continue;
      free_parts_.erase(it);
      if (size > bytes) free_parts_.emplace(offset + bytes, size - bytes);
      return offset;
    }
    if (!free_parts_.empty() &&
        std::prev(free_parts_.end())->first + std::prev(free_parts_.end())->second == end_) {  // grow the last part
      const int64_t offset = std::prev(free_parts_.end())->first;
      free_parts_.erase(std::prev(free_parts_.end()));
      end_ = offset + bytes;
      return offset;
    }
    end_ += bytes;
    return end_ - bytes;
  }
  void release(int64_t offset, int64_t bytes) {
    auto it = free_parts_.emplace(offset, bytes).first;
    if (const auto next = std::next(it); next != free_parts_.end() && it->first + it->second == next->first) {
      it->second += next->second;
      free_parts_.erase(next);
    }
    if (it == free_parts_.begin()) return;
    if (const auto before = std::prev(it); before->first + before->second == it->first) {
      before->second += it->second;
      free_parts_.erase(it);
    }
  }
  int64_t end() const { return end_; }

 private:
  std::map<int64_t, int64_t> free_parts_;  // offset to size
  int64_t end_ = 0;
};

struct Lifetime {
  int first = -1;
  int last = -1;
};

class LayoutMaker {
 public:
  explicit LayoutMaker(const SteppedProgram& stepped)
      : stepped_(stepped),
        program_(stepped.program),
        producer_(program_.arrays.size(), nullptr),
        depth_(program_.arrays.size(), 0),
        life_(program_.arrays.size()) {
    layout_.stored.assign(program_.arrays.size(), false);
    layout_.assigned.assign(program_.arrays.size(), false);
    layout_.offset.assign(program_.arrays.size(), -1);
  }

  Layout run() {
    for (const ArrayId input : program_.inputs) layout_.stored[input] = true;
    for (const Output& output : program_.outputs) layout_.stored[output.array] = true;
    find_producers(stepped_.steps);
    find_stored(stepped_.steps);
    live(stepped_.steps, 0);
    place();
    return std::move(layout_);
  }

 private:
  void find_producers(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      for (const ArrayId array : defined_by(step)) producer_[array] = &step;
      if (const auto* repeat = std::get_if<RepeatStep>(&step.node)) find_producers(repeat->body);
    }
  }

  void find_stored(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      const bool is_loop =
          std::holds_alternative<NestStep>(step.node) || std::holds_alternative<ContractionStep>(step.node);
      if (!is_loop)
        for (const ArrayId array : defined_by(step)) layout_.stored[array] = true;
      if (const auto* repeat = std::get_if<RepeatStep>(&step.node)) {
        for (const auto& carry : repeat->repeat->carries)
          layout_.stored[carry.init] = layout_.stored[carry.next] = true;
        for (const ArrayId stacked : repeat->repeat->stacked) layout_.stored[stacked] = true;
        find_stored(repeat->body);
        assign(*repeat);
        continue;
      }
      for_each_read(stepped_, step, [&](ArrayId array) {
        if (producer_[array] != &step) layout_.stored[array] = true;
      });
    }
  }

  // Yielded arrays that the block computes itself are computed where they are going.
  void assign(const RepeatStep& step) {
    const Repeat& repeat = *step.repeat;
    std::vector<ArrayId> own;
    for (const Step& inner : step.body)
      for (const ArrayId array : defined_by(inner)) own.push_back(array);
    const auto is_free = [&](ArrayId array) {
      return std::ranges::find(own, array) != own.end() && !layout_.assigned[array];
    };
    auto& carries = layout_.carries[&repeat];
    for (const auto& carry : repeat.carries) {
      layout_.assigned[carry.inner] = layout_.stored[carry.inner] = true;
      CarryBuffers& stepped = carries.emplace_back();
      stepped.writes_next = is_free(carry.next);
      if (stepped.writes_next) layout_.assigned[carry.next] = true;
    }
    auto& in_place = layout_.stacks_in_place[&repeat];
    for (const ArrayId stacked : repeat.stacked) {
      in_place.push_back(is_free(stacked));
      if (in_place.back()) layout_.assigned[stacked] = true;
    }
  }

  // ---- lifetimes, in numbered steps ----
  void define(ArrayId array, int at, int depth) {
    life_[array].first = at;
    life_[array].last = std::max(life_[array].last, at);
    depth_[array] = depth;
  }

  void live(const std::vector<Step>& steps, int depth) {
    for (const Step& step : steps) {
      const auto* repeat = std::get_if<RepeatStep>(&step.node);
      const int start = now_++;
      for (const ArrayId array : defined_by(step)) define(array, start, depth);
      if (repeat != nullptr) {
        live(repeat->body, depth + 1);
        for (const auto& carry : repeat->repeat->carries)
          life_[carry.next].last = std::max(life_[carry.next].last, now_);
        for (const ArrayId stacked : repeat->repeat->stacked) life_[stacked].last = std::max(life_[stacked].last, now_);
        ++now_;
        auto& carries = layout_.carries[repeat->repeat];
        if (program_.indices[repeat->repeat->counter].extent > 1)
          for (size_t i = 0; i < carries.size(); ++i)
            extras_.push_back({&carries[i], bytes_of(repeat->repeat->results[i]), {start, now_}});
      }
      const int end = now_;
      for_each_read(stepped_, step, [&](ArrayId array) {
        if (depth_[array] <= depth) life_[array].last = std::max(life_[array].last, end);
      });
      for (const ArrayId array : defined_by(step)) life_[array].last = std::max(life_[array].last, end);
      ++now_;
    }
  }

  int64_t bytes_of(ArrayId array) const {
    const int64_t line = stepped_.target.cache_line_bytes;
    return (size_of(program_.arrays[array].shape) * byte_size(program_.arrays[array].dtype) + line - 1) / line * line;
  }

  void place() {
    struct Request {
      int64_t* offset;
      int64_t bytes;
      Lifetime life;
    };
    std::vector<bool> elsewhere(program_.arrays.size(), false);
    for (const ArrayId input : program_.inputs) elsewhere[input] = true;
    for (const Output& output : program_.outputs) elsewhere[output.array] = true;
    std::vector<Request> requests;
    for (ArrayId array = 0; array < program_.arrays.size(); ++array) {
      if (!layout_.stored[array] || elsewhere[array] || layout_.assigned[array] ||
          stepped_.constant[array] != nullptr || life_[array].first < 0 || bytes_of(array) == 0)
        continue;
      requests.push_back({&layout_.offset[array], bytes_of(array), life_[array]});
    }
    for (auto& extra : extras_)
      if (extra.bytes > 0) requests.push_back({&extra.stepped->extra, extra.bytes, extra.life});
    std::ranges::sort(requests, {}, [](const Request& request) { return request.life.first; });
    Arena arena;
    std::multimap<int, const Request*> ends;
    for (const Request& request : requests) {
      while (!ends.empty() && ends.begin()->first < request.life.first) {
        arena.release(*ends.begin()->second->offset, ends.begin()->second->bytes);
        ends.erase(ends.begin());
      }
      *request.offset = arena.take(request.bytes);
      ends.emplace(request.life.last, &request);
    }
    layout_.workspace = arena.end();
  }

  struct Extra {
    CarryBuffers* stepped;
    int64_t bytes;
    Lifetime life;
  };
  const SteppedProgram& stepped_;
  const Program& program_;
  Layout layout_;
  std::vector<const Step*> producer_;
  std::vector<int> depth_;
  std::vector<Lifetime> life_;
  std::vector<Extra> extras_;
  int now_ = 0;
};

}  // namespace

Layout make_layout(const SteppedProgram& stepped) { return LayoutMaker(stepped).run(); }

}  // namespace lightline::loops::plan
