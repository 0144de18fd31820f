// A vector that keeps its first few elements in itself, for the many small lists that are made and copied all the time.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

namespace lightline {

// Up to `kept` elements take no memory of their own. For plain data only: elements are copied, never moved.
template <class T, uint32_t kept>
class ShortVector {
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copy_constructible_v<T>);

 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  ShortVector() {}
  explicit ShortVector(size_t count, const T& value = T()) { resize(count, value); }
  ShortVector(std::initializer_list<T> list) { append(list.begin(), list.end()); }
  template <class Iterator>
    requires(!std::is_integral_v<Iterator>)
  ShortVector(Iterator first, Iterator last) {
    append(first, last);
  }
  ShortVector(const ShortVector& other) {
    if (other.is_short())
      take_short(other);
    else
      append(other.begin(), other.end());
  }
  ShortVector(ShortVector&& other) noexcept { take(other); }
  ShortVector& operator=(const ShortVector& other) {
    if (this == &other) return *this;
    size_ = 0;
    append(other.begin(), other.end());
    return *this;
  }
  ShortVector& operator=(ShortVector&& other) noexcept {
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }
  ~ShortVector() { release(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return is_short() ? short_ : long_; }
  const T* data() const { return is_short() ? short_ : long_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(size_t count) {
    if (count <= capacity_) return;
    T* const space = std::allocator<T>().allocate(count);
    std::uninitialized_copy(begin(), end(), space);
    release();
    long_ = space;
    capacity_ = uint32_t(count);
  }
  void clear() { size_ = 0; }
  void push_back(const T& value) { emplace_back(T(value)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    const T value(std::forward<Args>(args)...);  // it may lie in the memory that is given up
    if (size_ == capacity_) reserve(2 * size_t(capacity_));
    return *std::construct_at(data() + size_++, value);
  }
  void pop_back() { --size_; }
  void resize(size_t count, const T& value = T()) {
    const T copy = value;
    reserve(count);
    for (; size_ < count; ++size_) std::construct_at(data() + size_, copy);
    size_ = uint32_t(count);
  }
  void assign(size_t count, const T& value) {
    const T copy = value;
    clear();
    resize(count, copy);
  }
  template <class Iterator>
    requires(!std::is_integral_v<Iterator>)
  void assign(Iterator first, Iterator last) {  // of another vector
    clear();
    append(first, last);
  }
  T* insert(const T* place, const T& value) {
    const size_t at = size_t(place - begin());
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
    return begin() + at;
  }
  template <class Iterator>
  T* insert(const T* place, Iterator first, Iterator last) {  // of another vector
    const size_t at = size_t(place - begin()), before = size_;
    append(first, last);
    std::rotate(begin() + at, begin() + before, end());
    return begin() + at;
  }
  T* erase(const T* place) { return erase(place, place + 1); }
  T* erase(const T* first, const T* last) {
    T* const at = begin() + (first - begin());
    size_ = uint32_t(std::copy(last, static_cast<const T*>(end()), at) - begin());
    return at;
  }

  bool operator==(const ShortVector& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }
  auto operator<=>(const ShortVector& other) const {
    return std::lexicographical_compare_three_way(begin(), end(), other.begin(), other.end());
  }

 private:
  bool is_short() const { return capacity_ == kept; }
  template <class Iterator>
  void append(Iterator first, Iterator last) {
    const size_t count = size_ + size_t(std::distance(first, last));
    if (count > capacity_) reserve(std::max(count, 2 * size_t(capacity_)));
    std::uninitialized_copy(first, last, end());
    size_ = uint32_t(count);
  }
  void release() {
    if (!is_short()) std::allocator<T>().deallocate(long_, capacity_);
    capacity_ = kept;
  }
  // What `other` has; this one has nothing.
  void take(ShortVector& other) {
    if (other.is_short()) {
      take_short(other);
    } else {
      long_ = other.long_;
      size_ = other.size_;
    }
    other.size_ = 0;
    capacity_ = std::exchange(other.capacity_, kept);
  }
  // All places, whether there is something in them or not: a copy of known size.
  void take_short(const ShortVector& other) {
    std::memcpy(static_cast<void*>(short_), static_cast<const void*>(other.short_), sizeof(short_));
    size_ = other.size_;
  }

  uint32_t size_ = 0;
  uint32_t capacity_ = kept;
  union {
    T short_[kept];
    T* long_;
  };
};

template <class T, uint32_t kept, class Predicate>
size_t erase_if(ShortVector<T, kept>& vector, Predicate predicate) {
  const auto last = std::remove_if(vector.begin(), vector.end(), predicate);
  const size_t erased = size_t(vector.end() - last);
  vector.erase(last, vector.end());
  return erased;
}

}  // namespace lightline
