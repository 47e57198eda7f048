// One mutex, two condition variables. A job is published as a new generation number; workers that have a
// chunk in it run the chunk, the last one to finish wakes the caller.
#include "core/threads.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace redline {

struct ThreadPool::State {
  explicit State(int thread_count) : size(thread_count), errors(static_cast<std::size_t>(thread_count)) {}

  // The parts differ by one element at most; no product of count and size, which could overflow.
  static Chunk chunk_of(std::size_t count, int index, int of) {
    const auto i = static_cast<std::size_t>(index), n = static_cast<std::size_t>(of);
    const std::size_t base = count / n, longer = count % n;
    const std::size_t begin = i * base + std::min(i, longer);
    return {begin, begin + base + (i < longer ? 1 : 0), index, of};
  }

  void run_chunk(int index) noexcept {
    try {
      call(body, chunk_of(count, index, chunks));
    } catch (...) {
      errors[static_cast<std::size_t>(index)] = std::current_exception();
    }
  }

  void work(int index) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex);
    while (true) {
      start.wait(lock, [&] { return stopping || generation != seen; });
      if (stopping) return;
      seen = generation;
      if (index >= chunks) continue;
      lock.unlock();
      run_chunk(index);
      lock.lock();
      if (--unfinished == 0) done.notify_one();
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    start.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  // Whether this thread is inside a body of this pool: a worker always is, a caller while its job runs.
  bool inside() const {
    const std::thread::id self = std::this_thread::get_id();
    return caller.load(std::memory_order_relaxed) == self ||
           std::any_of(workers.begin(), workers.end(),
                       [&](const std::thread& worker) { return worker.get_id() == self; });
  }

  const int size;
  std::vector<std::thread> workers;  // size - 1; not changed once the constructor is done
  std::mutex turn;                   // held by the caller whose job runs
  std::atomic<std::thread::id> caller{};

  std::mutex
      mutex;  // guards what follows, except that a job's fields may be read without it while the job runs
  std::condition_variable start, done;
  std::uint64_t generation = 0;
  bool stopping = false;
  int unfinished = 0;

  std::size_t count = 0;
  int chunks = 0;
  void* body = nullptr;
  Call call = nullptr;
  std::vector<std::exception_ptr> errors;  // one per chunk
};

ThreadPool::ThreadPool(int threads) {
  ensure(threads >= 1, ErrorKind::BadInput, "a thread pool of {} threads was asked for; at least 1 is needed",
         threads);
  state_ = std::make_unique<State>(threads);
  State& state = *state_;
  state.workers.reserve(static_cast<std::size_t>(threads - 1));
  for (int index = 1; index < threads; ++index) {
    try {
      state.workers.emplace_back([&state, index] { state.work(index); });
    } catch (const std::system_error& error) {
      state.stop();
      fail(ErrorKind::OutOfMemory, "thread {} of {} could not be started: {}; use fewer threads", index + 1,
           threads, error.what());
    }
  }
}

ThreadPool::~ThreadPool() { state_->stop(); }

int ThreadPool::size() const { return state_->size; }

void ThreadPool::run(std::size_t count, void* body, Call call) {
  if (count == 0) return;
  State& state = *state_;
  if (state.size == 1 || count == 1 || state.inside()) {
    call(body, {0, count, 0, 1});
    return;
  }
  const std::lock_guard turn(state.turn);
  state.caller.store(std::this_thread::get_id(), std::memory_order_relaxed);
  {
    const std::lock_guard lock(state.mutex);
    state.count = count;
    state.chunks = static_cast<int>(std::min(count, static_cast<std::size_t>(state.size)));
    state.body = body;
    state.call = call;
    state.unfinished = state.chunks - 1;
    ++state.generation;
  }
  state.start.notify_all();
  state.run_chunk(0);
  {
    std::unique_lock lock(state.mutex);
    state.done.wait(lock, [&] { return state.unfinished == 0; });
  }
  state.caller.store({}, std::memory_order_relaxed);
  std::exception_ptr first;
  for (std::exception_ptr& error : state.errors) {
    if (error && !first) first = error;
    error = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace redline
