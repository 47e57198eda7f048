// From names to numbers, for hundreds of thousands of names at once: open addressing, eight bytes a slot. A
// slot keeps 32 bits of the name's hash, so that a name that is not there is nearly always told from the
// slots alone, and the names themselves stay wherever the caller has them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace redline::checkpoint {

class NameTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Room for so many names; more of them make it grow.
  explicit NameTable(std::size_t names) : slots_(std::bit_ceil(std::max<std::size_t>(2 * names, 8))) {}

  // The number that the name has: `number`, or the one it had before. `name_of` gives the name of a number.
  template <class NameOf>
  std::uint32_t insert(std::string_view name, std::uint32_t number, const NameOf& name_of) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    const std::uint32_t hash = hash_of(name);
    Slot& slot = slots_[place(name, hash, name_of)];
    if (slot.number == kNone) {
      slot = {.hash = hash, .number = number};
      ++count_;
    }
    return slot.number;
  }

  // kNone: not there.
  template <class NameOf>
  std::uint32_t find(std::string_view name, const NameOf& name_of) const {
    return slots_[place(name, hash_of(name), name_of)].number;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0, number = kNone;
  };

  static std::uint32_t hash_of(std::string_view name) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
  }
  std::size_t after(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

  // Where the name is, or the free slot where it would be; half of all slots are free.
  template <class NameOf>
  std::size_t place(std::string_view name, std::uint32_t hash, const NameOf& name_of) const {
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].number != kNone && !(slots_[at].hash == hash && name_of(slots_[at].number) == name))
      at = after(at);
    return at;
  }

  void grow() {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (const Slot& slot : old) {
      if (slot.number == kNone) continue;
      std::size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].number != kNone) at = after(at);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace redline::checkpoint
