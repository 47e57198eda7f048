// Every element once, fixed threads for fixed chunks, exceptions, nesting, callers on several threads. Run
// under the tsan preset too.
#include "core/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace redline {
namespace {

TEST(Threads, EveryElementOnceWhateverTheSizes) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (std::size_t count : {0u, 1u, 2u, 3u, 7u, 8u, 9u, 1000u}) {
      std::vector<int> touched(count);  // plain ints: a chunk that overlaps another is a race that tsan sees
      pool.parallel_for(count, [&](const ThreadPool::Chunk& chunk) {
        for (std::size_t i = chunk.begin; i < chunk.end; ++i) ++touched[i];
      });
      EXPECT_EQ(std::accumulate(touched.begin(), touched.end(), 0u), count);
      for (int times : touched) EXPECT_EQ(times, 1);
    }
  }
}

TEST(Threads, ChunksAreStaticAndEven) {
  ThreadPool pool(4);
  std::vector<ThreadPool::Chunk> chunks(4);
  std::vector<std::thread::id> first(4), second(4);
  pool.parallel_for(10, [&](const ThreadPool::Chunk& chunk) {
    chunks[static_cast<std::size_t>(chunk.index)] = chunk;
    first[static_cast<std::size_t>(chunk.index)] = std::this_thread::get_id();
  });
  const std::size_t begins[] = {0, 3, 6, 8}, ends[] = {3, 6, 8, 10};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(chunks[i].begin, begins[i]);
    EXPECT_EQ(chunks[i].end, ends[i]);
    EXPECT_EQ(chunks[i].of, 4);
  }
  pool.parallel_for(4, [&](const ThreadPool::Chunk& chunk) {
    second[static_cast<std::size_t>(chunk.index)] = std::this_thread::get_id();
  });
  EXPECT_EQ(first, second);
  EXPECT_EQ(first[0], std::this_thread::get_id());
}

TEST(Threads, CountsNearTheLimitDoNotOverflow) {
  ThreadPool pool(3);
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> lengths(3);
  pool.parallel_for(kAll, [&](const ThreadPool::Chunk& chunk) {
    lengths[static_cast<std::size_t>(chunk.index)] = chunk.end - chunk.begin;
  });
  EXPECT_EQ(lengths[0] + lengths[1] + lengths[2], kAll);
  EXPECT_EQ(lengths[2], kAll / 3);
}

TEST(Threads, LowestChunksExceptionReachesTheCaller) {
  ThreadPool pool(4);
  std::atomic<int> ran = 0;
  try {
    pool.parallel_for(4, [&](const ThreadPool::Chunk& chunk) {
      ++ran;
      if (chunk.index == 1 || chunk.index == 3) fail(ErrorKind::BadInput, "chunk {}", chunk.index);
    });
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "chunk 1");
  }
  EXPECT_EQ(ran, 4);
  ran = 0;
  pool.parallel_for(4, [&](const ThreadPool::Chunk&) { ++ran; });  // nothing of the failure is left
  EXPECT_EQ(ran, 4);
  EXPECT_THROW(pool.parallel_for(4,
                                 [](const ThreadPool::Chunk& chunk) {
                                   if (chunk.index == 0) throw 1;
                                 }),
               int);
}

TEST(Threads, NestedRunsInOneChunkOnTheSameThread) {
  ThreadPool pool(3);
  std::atomic<int> inner_chunks = 0;
  std::atomic<std::size_t> elements = 0;
  std::atomic<bool> same_thread = true;
  pool.parallel_for(3, [&](const ThreadPool::Chunk&) {
    const std::thread::id outer = std::this_thread::get_id();
    pool.parallel_for(100, [&](const ThreadPool::Chunk& inner) {
      ++inner_chunks;
      elements += inner.end - inner.begin;
      if (inner.of != 1 || std::this_thread::get_id() != outer) same_thread = false;
    });
  });
  EXPECT_EQ(inner_chunks, 3);
  EXPECT_EQ(elements, 300u);
  EXPECT_TRUE(same_thread);
}

TEST(Threads, AnotherPoolMayBeUsedInside) {
  ThreadPool outer(2), inner(2);
  std::atomic<std::size_t> elements = 0;
  outer.parallel_for(2, [&](const ThreadPool::Chunk&) {
    inner.parallel_for(10, [&](const ThreadPool::Chunk& chunk) { elements += chunk.end - chunk.begin; });
  });
  EXPECT_EQ(elements, 20u);
}

TEST(Threads, CallersOnSeveralThreadsTakeTurns) {
  ThreadPool pool(3);
  std::atomic<std::size_t> elements = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        pool.parallel_for(17, [&](const ThreadPool::Chunk& chunk) { elements += chunk.end - chunk.begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(elements, 4u * 50u * 17u);
}

TEST(Threads, ResultsAreVisibleAfterManySmallJobs) {
  ThreadPool pool(4);
  std::vector<std::size_t> values(64, 0);
  for (std::size_t round = 0; round < 2000; ++round) {
    pool.parallel_for(values.size() - round % 60, [&](const ThreadPool::Chunk& chunk) {
      for (std::size_t i = chunk.begin; i < chunk.end; ++i) ++values[i];
    });
  }
  EXPECT_EQ(values[0], 2000u);
  EXPECT_EQ(values[4], 2000u);
  EXPECT_LT(values[63], 100u);
}

TEST(Threads, NoThreadsIsAnError) {
  EXPECT_THROW(ThreadPool(0), Error);
  EXPECT_THROW(ThreadPool(-1), Error);
}

}  // namespace
}  // namespace redline
