"""The wire client of tests/real: its bytes are Kafka's, and its comparison finds what differs."""
import importlib
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tests/real"))

from wire import batches, codec  # noqa: E402

wire_main = importlib.import_module("wire.__main__")


class Codec(unittest.TestCase):
    def test_a_request_by_hand(self):
        frame = codec.encode_request("Heartbeat", 4, {"group_id": "g", "generation_id": 2, "member_id": "m"}, 7, "c")
        want = "000c 0004 00000007 0001 63 00" + "02 67 00000002 02 6d 00 00"
        self.assertEqual(frame, bytes.fromhex(want.replace(" ", "")))

    def test_an_answer_by_hand(self):
        self.assertEqual(codec.decode_response("Heartbeat", 1, bytes.fromhex("00000007" "00000001" "001b")),
                         (7, {"throttle_time_ms": 1, "error_code": 27}))

    def test_what_is_left_over_or_missing_is_an_error(self):
        good = bytes.fromhex("00000007" "00000001" "001b")
        with self.assertRaisesRegex(ValueError, "left over"):
            codec.decode_response("Heartbeat", 1, good + b"\0")
        with self.assertRaisesRegex(ValueError, "ends at"):
            codec.decode_response("Heartbeat", 1, good[:-1])

    def test_a_misspelt_field_is_an_error(self):
        with self.assertRaisesRegex(KeyError, "no field groupid"):
            codec.encode_request("Heartbeat", 4, {"groupid": "g"}, 1)

    def test_every_version_of_every_request_encodes_by_default(self):
        for (api, kind), message in codec.messages().items():
            for version in message.versions if kind == "request" else ():
                self.assertTrue(codec.encode_request(api, version, {}, 1), (api, version))


class Batches(unittest.TestCase):
    def test_the_checksum_of_the_specification(self):
        self.assertEqual(batches.crc32c(b"123456789"), 0xE3069283)

    def test_what_is_written_is_read(self):
        data = batches.batch([(0, b"k", b"v"), (5, None, None)], attributes=1)
        one, = batches.read(data)
        self.assertTrue(one["crc_ok"])
        self.assertEqual([record[2:] for record in one["records"]], [["k", "v"], [None, None]])

    def test_a_flipped_bit_and_a_cut_show(self):
        data = bytearray(batches.batch(["a"]))
        data[-2] ^= 1
        self.assertFalse(batches.read(bytes(data))[0]["crc_ok"])
        self.assertEqual(batches.read(bytes(data[:-1])), [{"cut": True}])


class Comparison(unittest.TestCase):
    def test_every_difference_is_named(self):
        want, got = {"a": [1, {"b": 2}], "c": None}, {"a": [1, {"b": 3}], "d": 1}
        self.assertEqual([path for path, _, _ in wire_main.differences(want, got)], [".a[1].b", ".c", ".d"])

    def test_a_missing_step_is_wrong(self):
        self.assertIn("steps are", wire_main.judge("x", [["one", 1], ["two", 2]], [["one", 1]])[0])
        self.assertEqual(wire_main.judge("x", [["one", 1]], [["one", 1]]), [])
        self.assertIn("no recorded answers", wire_main.judge("x", None, [])[0])
