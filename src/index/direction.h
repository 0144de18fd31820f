// Numbers that say in which direction they may be wrong. A bound may be too low, never too high: it is made of numbers
// that may be too small. What is taken off such a number, or divides it, must not be too small: it is of the other
// type, and the wrong one does not compile.
#pragma once

namespace lightline::index {

// May be too small, never too large. It may stand for the number wherever a bound is made.
class AtLeast {
 public:
  constexpr AtLeast() = default;
  constexpr explicit AtLeast(double number) : number_(number) {}
  constexpr operator double() const { return number_; }
  AtLeast& operator+=(AtLeast other) {
    number_ += other.number_;
    return *this;
  }

 private:
  double number_ = 0;
};

// May be too large, never too small. It never stands for the number by itself.
class AtMost {
 public:
  constexpr AtMost() = default;
  constexpr explicit AtMost(double number) : number_(number) {}
  constexpr double number() const { return number_; }
  AtMost& operator+=(AtMost other) {
    number_ += other.number_;
    return *this;
  }

 private:
  double number_ = 0;
};

constexpr AtLeast operator+(AtLeast a, AtLeast b) { return AtLeast(double(a) + double(b)); }
constexpr AtMost operator+(AtMost a, AtMost b) { return AtMost(a.number() + b.number()); }
constexpr AtLeast operator-(AtLeast a, AtMost b) { return AtLeast(double(a) - b.number()); }
constexpr AtMost operator-(AtMost a, AtLeast b) { return AtMost(a.number() - double(b)); }
constexpr AtLeast operator/(AtLeast a, AtMost b) { return AtLeast(double(a) / b.number()); }
AtLeast operator-(AtLeast a, AtLeast b) = delete;
AtMost operator-(AtMost a, AtMost b) = delete;
AtLeast operator/(AtLeast a, AtLeast b) = delete;

}  // namespace lightline::index
