// Which sanitizers this was compiled with: the few places that go around the C library must know.
#pragma once

namespace lightline {

#if !defined(__has_feature)
#define LL_HAS_FEATURE(name) 0
#else
#define LL_HAS_FEATURE(name) __has_feature(name)
#endif

#if defined(__SANITIZE_THREAD__) || LL_HAS_FEATURE(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || LL_HAS_FEATURE(address_sanitizer) || LL_HAS_FEATURE(memory_sanitizer)
inline constexpr bool any_sanitizer = true;
#else
inline constexpr bool any_sanitizer = thread_sanitizer;
#endif

}  // namespace lightline
