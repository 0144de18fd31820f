// What a graph's names stand for, by name: a hash table without an allocation per entry. The names live in the document.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace lightline::frontend {

template <class Value>
class NameTable {
 public:
  size_t size() const { return entries_.size(); }
  void reserve(size_t count) {
    entries_.reserve(count);
    if (2 * count > slots_.size()) rehash(count);
  }
  const Value* find(std::string_view name) const {
    if (slots_.empty()) return nullptr;
    const uint32_t entry = slots_[slot_of(name, hash(name))].entry;
    return entry == none ? nullptr : &entries_[entry].second;
  }
  Value& operator[](std::string_view name) {
    if (2 * (entries_.size() + 1) > slots_.size()) rehash(entries_.size() + 1);
    const uint32_t code = hash(name);
    Slot& slot = slots_[slot_of(name, code)];
    if (slot.entry == none) {
      slot = {code, uint32_t(entries_.size())};
      entries_.emplace_back(name, Value{});
    }
    return entries_[slot.entry].second;
  }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  struct Slot {
    uint32_t hash = 0;
    uint32_t entry = none;
  };

  static uint32_t hash(std::string_view name) {
    const size_t code = std::hash<std::string_view>()(name);
    return uint32_t(code ^ (code >> 32));
  }
  // Where a name is, or where it would go.
  size_t slot_of(std::string_view name, uint32_t code) const {
    const size_t mask = slots_.size() - 1;
    size_t at = code & mask;
    while (slots_[at].entry != none && (slots_[at].hash != code || entries_[slots_[at].entry].first != name))
      at = (at + 1) & mask;
    return at;
  }
  void rehash(size_t count) {
    size_t size = 16;
    while (size < 3 * count) size *= 2;
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.entry == none) continue;
      size_t at = slot.hash & (size - 1);
      while (slots_[at].entry != none) at = (at + 1) & (size - 1);
      slots_[at] = slot;
    }
  }

  std::vector<std::pair<std::string_view, Value>> entries_;
  std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace lightline::frontend
