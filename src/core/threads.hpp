// A pool of worker threads and parallel_for with static chunks: chunk i of a range is always the same part of
// it and always runs on thread i, so memory first touched under a parallel_for is near the thread that reads
// it under the next.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace redline {

class ThreadPool {
 public:
  // Part `index` of `of`: elements [begin, end), never empty.
  struct Chunk {
    std::size_t begin = 0, end = 0;
    int index = 0, of = 1;
  };

  // `threads` counts the caller of parallel_for: a pool of 1 starts none. Throws Error(OutOfMemory) if the
  // system refuses a thread.
  explicit ThreadPool(int threads);
  ~ThreadPool();  // waits for the workers; no parallel_for may be running
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  // Calls body(Chunk) for at most size() chunks of [0, count) that differ by one element at most; chunk 0
  // runs on the calling thread. Returns when all are done. What the body wrote is visible to the caller then.
  //   exceptions  all chunks run to their end or their throw; then the exception of the lowest chunk is
  //   thrown here nested      from inside a body of the same pool, the whole range runs at once on the
  //   calling thread as one chunk concurrent  calls from different threads that need the workers take turns
  template <class Body>
  void parallel_for(std::size_t count, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run(count, const_cast<void*>(static_cast<const void*>(std::addressof(body))),
        [](void* target, const Chunk& chunk) { (*static_cast<Plain*>(target))(chunk); });
  }

 private:
  using Call = void (*)(void* body, const Chunk& chunk);
  void run(std::size_t count, void* body, Call call);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace redline
