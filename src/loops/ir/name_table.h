// Names to numbers, for the parser: open addressing, so that a lookup touches one line of memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "loops/ir/program.h"

namespace lightline::loops {

// Keeps views of the names; ids are given in ascending order.
class NameTable {
 public:
  explicit NameTable(size_t expected) {
    size_t slots = 64;
    while (slots < 2 * expected) slots *= 2;
    slots_.resize(slots, none);
    names_.reserve(expected);
  }

  // The id of a name, or none.
  ArrayId find(std::string_view name) const { return slots_[locate(name)]; }

  // False if the name is there already.
  bool insert(std::string_view name, ArrayId id) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    ArrayId& slot = slots_[locate(name)];
    if (slot != none) return false;
    slot = id;
    ++used_;
    if (names_.size() <= id) names_.resize(id + 1);
    names_[id] = name;
    return true;
  }

  void erase(std::string_view name) {
    ArrayId& slot = slots_[locate(name)];
    if (slot != none) slot = erased;
  }

 private:
  static constexpr ArrayId erased = none - 1;

  // Seeded by the table's address, so that no text can be written to collide.
  size_t hash(std::string_view name) const {
    constexpr uint64_t factor = 0x9E3779B97F4A7C15;
    uint64_t state = uint64_t(reinterpret_cast<uintptr_t>(this)) * factor ^ name.size();
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
    return size_t(state >> 16);
  }

  // The slot of a name, or the empty slot where it belongs.
  size_t locate(std::string_view name) const {
    const size_t mask = slots_.size() - 1;
    size_t at = hash(name) & mask;
    for (; slots_[at] != none; at = (at + 1) & mask)
      if (slots_[at] != erased && names_[slots_[at]] == name) break;
    return at;
  }

  void grow() {
    const std::vector<ArrayId> old = std::move(slots_);
    slots_.assign(2 * old.size(), none);
    used_ = 0;
    for (const ArrayId id : old) {
      if (id == none || id == erased) continue;
      slots_[locate(names_[id])] = id;
      ++used_;
    }
  }

  std::vector<ArrayId> slots_;
  std::vector<std::string_view> names_;  // by id
  size_t used_ = 0;                      // erased slots included
};

}  // namespace lightline::loops
