#include "base/base64.h"
#include "base/big_endian.h"
#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/sha256.h"
#include "base/uuid.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

// The examples of FIPS 180-4, as NIST publishes them.
TEST(Sha256, GivesTheStandardsDigests) {
  EXPECT_EQ(to_hex(sha256(as_bytes(""))),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256(as_bytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  Chain chain(Slice::copy_of("a"));
  chain.append(Slice::copy_of("bc"));
  EXPECT_EQ(sha256(chain), sha256(as_bytes("abc")));
  EXPECT_EQ(sha256(Chain()), sha256(as_bytes("")));
}

TEST(HmacSha256, GivesTheDigestsOfRfc4231) {
  EXPECT_EQ(to_hex(hmac_sha256(as_bytes(std::string(20, '\x0b')), as_bytes("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(to_hex(hmac_sha256(as_bytes("Jefe"), as_bytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

// RFC 4648, section 10.
TEST(Base64, GivesTheTextsOfTheRfc) {
  for (auto [bytes, text] : {std::pair{"", ""},
                             {"f", "Zg=="},
                             {"fo", "Zm8="},
                             {"foo", "Zm9v"},
                             {"foob", "Zm9vYg=="},
                             {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(to_base64(as_bytes(bytes)), text);
  }
  EXPECT_EQ(to_base64(as_bytes("\xFB\xFF")), "+/8=");
}

TEST(Crc32c, KnownVectors) {
  // RFC 3720, appendix B.4.
  EXPECT_EQ(crc32c(as_bytes(std::string(32, '\0'))), 0x8A9136AAU);
  EXPECT_EQ(crc32c(as_bytes(std::string(32, '\xFF'))), 0x62A8AB43U);
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xE3069283U);
  EXPECT_EQ(crc32c(as_bytes("56789"), crc32c(as_bytes("1234"))), 0xE3069283U);
}

TEST(Crc32c, ShiftEqualsZeroBytes) {
  std::uint32_t raw = crc32c_raw(as_bytes("123456789"));
  for (std::size_t zeros : {0, 1, 2, 3, 61, 64, 1000, 1048576 + 77}) {
    std::string padded = "123456789" + std::string(zeros, '\0');
    EXPECT_EQ(crc32c_shift(raw, zeros), crc32c_raw(as_bytes(padded))) << zeros;
  }
  // The remainder of 1 followed by 4 zero bytes is the polynomial itself: x^32 mod P.
  EXPECT_EQ(crc32c_shift(1U << 31, 4), 0x82F63B78U);
  // Far more zero bytes than a test can make: twice half of them is all of them.
  for (std::uint64_t zeros : {std::uint64_t{1} << 33, (std::uint64_t{77} << 56) + 12345}) {
    EXPECT_EQ(crc32c_shift(crc32c_shift(raw, zeros), zeros), crc32c_shift(raw, 2 * zeros)) << zeros;
  }
}

TEST(Crc32c, NeighboursAreJoinedWithAShift) {
  EXPECT_EQ(crc32c_shift(crc32c(as_bytes("1234")), 5) ^ crc32c(as_bytes("56789")), 0xE3069283U);
}

TEST(BigEndian, LoadsAndStoresAtAPlace) {
  std::array<std::byte, 8> bytes{};
  store_big_endian(bytes.data() + 1, std::int32_t{-2});
  EXPECT_EQ(as_text(bytes), std::string_view("\0\xFF\xFF\xFF\xFE\0\0\0", 8));
  EXPECT_EQ(load_big_endian<std::int32_t>(bytes.data() + 1), -2);
  EXPECT_EQ(load_big_endian<std::uint16_t>(bytes.data() + 4), 0xFE00);
  EXPECT_EQ(load_big_endian<std::int8_t>(bytes.data() + 4), -2);
}

TEST(Uuid, TextIsUrlSafeBase64) {
  Uuid id{0x0123456789ABCDEFULL, 0xFEDCBA9876543210ULL};
  EXPECT_EQ(id.to_string(), "ASNFZ4mrze_-3LqYdlQyEA");
  EXPECT_EQ(id.to_hex(), "01234567-89ab-cdef-fedc-ba9876543210");
  EXPECT_EQ(Uuid::parse(id.to_string()), id);
  EXPECT_EQ(Uuid{}.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
  EXPECT_FALSE(Uuid::parse("AAAAAAAAAAAAAAAAAAAAAB"));  // bits beyond the 128th
  EXPECT_FALSE(Uuid::parse("short"));
  EXPECT_FALSE(Uuid::parse("!!!!!!!!!!!!!!!!!!!!!!"));
}

TEST(ByteReader, ReadsWhatByteWriterWrote) {
  ByteWriter out;
  out.i16(-2);
  out.u32(0xDEADBEEF);
  out.i64(-1);
  out.f64(1.5);
  out.uvarint(300);
  out.varint(-3);
  out.varlong(INT64_MIN);
  out.text("abc");
  Slice slice = out.to_slice();
  ByteReader in(slice.bytes());
  EXPECT_EQ(in.i16(), -2);
  EXPECT_EQ(in.u32(), 0xDEADBEEF);
  EXPECT_EQ(in.i64(), -1);
  EXPECT_EQ(in.f64(), 1.5);
  EXPECT_EQ(in.uvarint(), 300U);
  EXPECT_EQ(in.varint(), -3);
  EXPECT_EQ(in.varlong(), INT64_MIN);
  EXPECT_EQ(in.text(3), "abc");
  EXPECT_TRUE(in.done());
}

TEST(ByteReader, FailsForGoodAtTheEnd) {
  ByteReader in(as_bytes("ab"));
  EXPECT_EQ(in.i32(), 0);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.u8(), 0);
  EXPECT_TRUE(in.take(1).empty());
}

TEST(ByteReader, RefusesOverlongVarints) {
  EXPECT_EQ(ByteReader(as_bytes("\xFF\xFF\xFF\xFF\x0F")).uvarint(), 0xFFFFFFFFU);
  ByteReader five(as_bytes("\xFF\xFF\xFF\xFF\x1F"));
  five.uvarint();
  EXPECT_FALSE(five.ok());
  ByteReader six(as_bytes("\x80\x80\x80\x80\x80\x00"));
  six.uvarint();
  EXPECT_FALSE(six.ok());
}

TEST(Chain, FlattensWithoutCopyingASingleSlice) {
  Slice slice = Slice::copy_of("hello");
  EXPECT_EQ(Chain(slice).flatten().data(), slice.data());
  Chain two(slice.sub(0, 2));
  two.append(slice.sub(2));
  EXPECT_EQ(as_text(two.flatten().bytes()), "hello");
}

Result<int> half(int n) {
  if (n % 2 != 0) return fail(ErrorCode::kInvalid, "odd");
  return n / 2;
}
Result<int> quarter(int n) {
  WEIR_TRY(int h, half(n));
  return half(h);
}

TEST(Result, TryReturnsTheError) {
  EXPECT_EQ(quarter(8), 2);
  EXPECT_EQ(quarter(6).error().to_string(), "invalid: odd");
}

}  // namespace
}  // namespace weir
