#include "base/short_vector.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lightline {
namespace {

using Short = ShortVector<std::pair<int, int64_t>, 2>;
using Long = std::vector<std::pair<int, int64_t>>;

void expect_same(const Short& a, const Long& b) { EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())); }

TEST(ShortVector, DoesWhatAVectorDoes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Short a;
    Long b;
    for (int step = 0; step < 30; ++step) {
      const std::pair<int, int64_t> value(int(random() % 9), int64_t(random() % 9));
      const size_t at = b.empty() ? 0 : random() % b.size();
      switch (random() % 6) {
        case 0: a.insert(a.begin() + at, value), b.insert(b.begin() + int64_t(at), value); break;
        case 1:
          if (!b.empty()) a.erase(a.begin() + at), b.erase(b.begin() + int64_t(at));
          break;
        case 2:
          if (!b.empty()) a.emplace_back(a[at]), b.emplace_back(Long::value_type(b[at]));  // one of its own
          break;
        case 3: {
          Short copy = a;
          a = Short(std::move(copy));
          break;
        }
        case 4: a.resize(at, value), b.resize(at, value); break;
        default: a.push_back(value), b.push_back(value); break;
      }
      ASSERT_EQ(a.size(), b.size());
      expect_same(a, b);
    }
    erase_if(a, [](const auto& pair) { return pair.first > 4; });
    std::erase_if(b, [](const auto& pair) { return pair.first > 4; });
    expect_same(a, b);
  }
}

TEST(ShortVector, ComparesElementByElement) {
  const Short none, one{{1, 2}}, two{{1, 2}, {0, 0}}, three{{1, 2}, {0, 0}, {5, 5}}, other{{1, 3}};
  EXPECT_LT(none, one);
  EXPECT_LT(one, two);
  EXPECT_LT(two, three);
  EXPECT_LT(three, other);
  EXPECT_EQ(three, Short(three.begin(), three.end()));
  EXPECT_NE(two, three);
}

TEST(ShortVector, IsEmptyAfterItWasMoved) {
  for (const size_t size : {0u, 1u, 2u, 3u, 9u}) {
    Short from(size, {1, 1});
    Short to{{7, 7}, {8, 8}, {9, 9}};
    to = std::move(from);
    EXPECT_EQ(to, Short(size, {1, 1}));
    EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move)
    from.push_back({2, 2});
    EXPECT_EQ(from, (Short{{2, 2}}));
  }
}

}  // namespace
}  // namespace lightline
