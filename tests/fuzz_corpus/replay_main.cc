// Replays a fuzz corpus through a fuzz target without libFuzzer: every file of the folders and
// files named on the command line, and for each the same bytes cut short and with single bits
// flipped, so that the corpus tests more than itself.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kMutations = 64;

void run(const std::vector<std::uint8_t>& bytes) {
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

void replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  run(bytes);
  for (std::size_t i = 0; i < kMutations && !bytes.empty(); ++i) {
    std::size_t at = i * bytes.size() / kMutations;
    run({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at)});
    std::vector<std::uint8_t> flipped = bytes;
    flipped[at] ^= static_cast<std::uint8_t>(1U << (i % 8));
    run(flipped);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::exists(argv[i])) continue;
    if (std::filesystem::is_regular_file(argv[i])) {
      replay(argv[i]);
      ++files;
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      replay(entry.path());
      ++files;
    }
  }
  std::printf("replayed %zu files\n", files);
  return files == 0 ? 1 : 0;
}
