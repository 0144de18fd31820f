// Values by name, for readers of text: a hash table without an allocation per entry, whose lookups mostly touch two
// lines of memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace lightline {

// Keeps views of the names: the text that they stand in must live longer. Hashes are seeded by where a table was made,
// so that no text can be written to collide.
template <class Value>
class NameTable {
 public:
  NameTable() : seed_(uint64_t(reinterpret_cast<uintptr_t>(this)) * factor) {}
  explicit NameTable(size_t expected) : NameTable() { reserve(expected); }

  size_t size() const { return size_; }
  void reserve(size_t count) {
    entries_.reserve(count);
    if (2 * count > slots_.size()) rehash(count);
  }

  // Null if the name is not there.
  const Value* find(std::string_view name) const {
    if (slots_.empty()) return nullptr;
    const uint32_t entry = slots_[locate(name, hash(name))].entry;
    return entry == none ? nullptr : &entries_[entry].second;
  }

  // False if the name is there already.
  bool insert(std::string_view name, Value value) {
    Slot& slot = slot_for(name);
    if (slot.entry != none) return false;
    add(slot, name, std::move(value));
    return true;
  }

  // A name that is not there gets an empty value.
  Value& operator[](std::string_view name) {
    Slot& slot = slot_for(name);
    if (slot.entry == none) add(slot, name, Value{});
    return entries_[slot.entry].second;
  }

  void erase(std::string_view name) {
    if (slots_.empty()) return;
    Slot& slot = slots_[locate(name, hash(name))];
    if (slot.entry == none) return;
    slot.entry = erased;
    --size_;
  }

 private:
  static constexpr uint64_t factor = 0x9E3779B97F4A7C15;
  static constexpr uint32_t none = UINT32_MAX;
  static constexpr uint32_t erased = none - 1;
  struct Slot {
    uint32_t hash = 0;
    uint32_t entry = none;
  };

  uint32_t hash(std::string_view name) const {
    uint64_t state = seed_ ^ name.size();
    const auto mix = [&](uint64_t word) {
      state = (state ^ word) * factor;
      state ^= state >> 29;
    };
    const char* at = name.data();
    size_t left = name.size();
    for (; left >= 8; left -= 8, at += 8) {
      uint64_t word;
      std::memcpy(&word, at, 8);
      mix(word);
    }
    uint64_t word = 0;
    for (size_t i = 0; i < left; ++i) word = word << 8 | uint8_t(at[i]);
    mix(word);
    return uint32_t(state >> 16);
  }

  // The slot of a name, or the empty slot where it belongs.
  size_t locate(std::string_view name, uint32_t code) const {
    const size_t mask = slots_.size() - 1;
    size_t at = code & mask;
    for (; slots_[at].entry != none; at = (at + 1) & mask)
      if (slots_[at].hash == code && slots_[at].entry != erased && entries_[slots_[at].entry].first == name) break;
    return at;
  }
  Slot& slot_for(std::string_view name) {
    if (2 * (used_ + 1) > slots_.size()) rehash(used_ + 1);
    const uint32_t code = hash(name);
    Slot& slot = slots_[locate(name, code)];
    slot.hash = code;
    return slot;
  }
  void add(Slot& slot, std::string_view name, Value value) {
    slot.entry = uint32_t(entries_.size());
    entries_.emplace_back(name, std::move(value));
    ++used_;
    ++size_;
  }

  void rehash(size_t count) {
    size_t size = 64;
    while (size < 2 * count) size *= 2;
    std::vector<Slot> old(size);
    old.swap(slots_);
    used_ = 0;
    for (const Slot& slot : old) {
      if (slot.entry == none || slot.entry == erased) continue;
      size_t at = slot.hash & (size - 1);
      while (slots_[at].entry != none) at = (at + 1) & (size - 1);
      slots_[at] = slot;
      ++used_;
    }
  }

  uint64_t seed_;
  std::vector<std::pair<std::string_view, Value>> entries_;  // those of erased names stay behind
  std::vector<Slot> slots_;                                  // a power of two, at most half full
  size_t used_ = 0;                                          // slots, erased ones included
  size_t size_ = 0;
};

}  // namespace lightline
