// A job is published as a new number in one atomic word; workers that have a chunk in it run the chunk, the
// last one to finish lets the caller go. Both sides look at the word for a while before they sleep on a
// condition variable: a decode step hands out some three hundred jobs with microseconds between them, and
// waking a sleeper takes longer than many of them.
#include "core/threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/error.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace redline {
namespace {

constexpr auto kPatience = std::chrono::microseconds(50);

void rest() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Whether `holds` came true before patience ended.
template <class Holds>
bool soon(Holds&& holds) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  do {
    for (int i = 0; i < 32; ++i) {
      if (holds()) return true;
      rest();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

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

  // A published job: its number and how many chunks it has, in one word, because a worker without a chunk
  // is not waited for and may look when the next job is being published.
  static constexpr std::uint64_t kChunkBits = 16;
  static int chunks_in(std::uint64_t word) { return static_cast<int>(word & ((1u << kChunkBits) - 1)); }

  void work(int index) {
    std::uint64_t seen = 0;
    while (true) {
      const auto news = [&] {
        return stopping.load(std::memory_order_relaxed) || published.load(std::memory_order_acquire) != seen;
      };
      if (!soon(news)) {
        std::unique_lock lock(mutex);
        start.wait(lock, news);
      }
      if (stopping.load(std::memory_order_relaxed)) return;
      seen = published.load(std::memory_order_acquire);
      if (index >= chunks_in(seen)) continue;
      run_chunk(index);
      if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        const std::lock_guard lock(mutex);  // the caller is not between its look and its sleep
        done.notify_one();
      }
    }
  }

  void publish(std::size_t range, void* what, Call how) {
    count = range;
    chunks = static_cast<int>(std::min(range, static_cast<std::size_t>(size)));
    body = what;
    call = how;
    unfinished.store(chunks - 1, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex);  // no worker is between its look and its sleep
      const std::uint64_t number = (published.load(std::memory_order_relaxed) >> kChunkBits) + 1;
      published.store(number << kChunkBits | static_cast<std::uint64_t>(chunks), std::memory_order_release);
    }
    start.notify_all();
  }

  void wait_for_workers() {
    const auto finished = [&] { return unfinished.load(std::memory_order_acquire) == 0; };
    if (soon(finished)) return;
    std::unique_lock lock(mutex);
    done.wait(lock, finished);
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping.store(true, std::memory_order_relaxed);
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

  std::mutex mutex;  // of the two condition variables
  std::condition_variable start, done;
  std::atomic<std::uint64_t> published{0};
  std::atomic<bool> stopping{false};
  std::atomic<int> unfinished{0};

  // Written by the caller before it publishes, read by workers that have a chunk.
  std::size_t count = 0;
  int chunks = 0;
  void* body = nullptr;
  Call call = nullptr;
  std::vector<std::exception_ptr> errors;  // one per chunk
};

ThreadPool::ThreadPool(int threads) {
  ensure(threads >= 1, ErrorKind::BadInput, "a thread pool of {} threads was asked for; at least 1 is needed",
         threads);
  ensure(threads < 1 << State::kChunkBits, ErrorKind::BadInput,
         "a thread pool of {} threads was asked for; at most {} can be", threads,
         (1 << State::kChunkBits) - 1);
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
  state.publish(count, body, call);
  state.run_chunk(0);
  state.wait_for_workers();
  state.caller.store({}, std::memory_order_relaxed);
  std::exception_ptr first;
  for (std::exception_ptr& error : state.errors) {
    if (error && !first) first = error;
    error = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace redline
