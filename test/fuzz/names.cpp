// Namespaces and mangled names.
namespace outer_space { namespace inner_space {
template <typename T> __attribute__((noinline)) T twice(T x) { volatile T y = x; return y + y; }
struct Counter { int n; int add(int x); };
__attribute__((noinline)) int Counter::add(int x) { return n += twice<int>(x); }
} }
extern "C" long start(int x) { outer_space::inner_space::Counter c = {x}; return c.add(x) + outer_space::inner_space::twice<long>(x); }
