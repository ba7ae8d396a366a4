"""Zones as network namespaces on one machine: a link between each two, whose bytes are counted and whose packets can be
looked into, and one to the test."""
import itertools
import os
import secrets
import socket
import subprocess
import sys
import unittest

ALL_PACKETS = socket.htons(3)  # ETH_P_ALL


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def outside(zone):
    """The test's address in the zone."""
    return f"10.78.{zone}.1"


def address(zone):
    """The zone's address for the test."""
    return f"10.78.{zone}.2"


def nowhere(zone):
    """The route to the zone that is left when its link is down."""
    return "unreachable", f"10.78.{zone}.0/24", "metric", "9999"


class Zones:
    """Namespaces 1 to `count`. Zone N is 10.77.N.1 to the others, and address(N) to the test, whom it knows as outside(N)."""

    def __init__(self, count):
        self.numbers, self.mark, self.sniffers = range(1, count + 1), secrets.token_hex(2), []
        try:
            self.build()
        except OSError as error:
            self.close()
            raise unittest.SkipTest(f"network namespaces take root and iproute2: {error}") from error

    def name(self, zone):
        return f"weir-{self.mark}-{zone}"

    def inside(self, zone, *command):
        """The command as it is run in the zone."""
        return ["ip", "netns", "exec", self.name(zone), *command]

    def build(self):
        for zone in self.numbers:
            run("ip", "netns", "add", self.name(zone))
            run(*self.inside(zone, "ip", "link", "set", "lo", "up"))
            run(*self.inside(zone, "ip", "address", "add", f"10.77.{zone}.1/32", "dev", "lo"))
            run("ip", "link", "add", f"w{self.mark}{zone}", "type", "veth", "peer", "name", "test", "netns", self.name(zone))
            run("ip", "address", "add", f"{outside(zone)}/24", "dev", f"w{self.mark}{zone}")
            run("ip", "link", "set", f"w{self.mark}{zone}", "up")
            run(*self.inside(zone, "ip", "address", "add", f"{address(zone)}/24", "dev", "test"))
            run(*self.inside(zone, "ip", "link", "set", "test", "up"))
            run(*self.inside(zone, "ip", "route", "add", "default", "via", outside(zone)))
            # Where the link is down, nothing of it may leave this machine by another one.
            run("ip", "route", "add", *nowhere(zone))
        for one, other in itertools.combinations(self.numbers, 2):
            run("ip", "link", "add", f"to{other}", "netns", self.name(one), "type", "veth", "peer", "name", f"to{one}", "netns",
                self.name(other))
            for here, there in ((one, other), (other, one)):
                run(*self.inside(here, "ip", "link", "set", f"to{there}", "up"))
                run(*self.inside(here, "ip", "route", "add", f"10.77.{there}.1/32", "dev", f"to{there}", "src",
                                 f"10.77.{here}.1"))

    def cut(self, zone):
        """Nothing comes from the test to the zone and back; what is under way is lost, and the zone is not told."""
        run("ip", "link", "set", f"w{self.mark}{zone}", "down")

    def join(self, zone):
        run("ip", "link", "set", f"w{self.mark}{zone}", "up")

    def bytes_between(self):
        """All bytes that went from one zone to another, both ways."""
        total = 0
        for one, other in itertools.combinations(self.numbers, 2):
            for count in ("rx_bytes", "tx_bytes"):
                total += int(run(*self.inside(one, "cat", f"/sys/class/net/to{other}/statistics/{count}")))
        return total

    def look_for(self, text):
        """From now on, packets between zones that hold the text are counted."""
        for one, other in itertools.combinations(self.numbers, 2):
            self.sniffers.append(subprocess.Popen(self.inside(one, sys.executable, __file__, f"to{other}", text),
                                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        for sniffer in self.sniffers:
            assert sniffer.stdout.readline() == "ready\n"

    def found(self):
        """How many there were; ends looking."""
        counts = [int(sniffer.communicate()[0]) for sniffer in self.sniffers]
        self.sniffers = []
        return sum(counts)

    def close(self):
        for sniffer in self.sniffers:
            sniffer.kill()
            sniffer.communicate()
        for zone in self.numbers:
            subprocess.run(["ip", "route", "delete", *nowhere(zone)], capture_output=True, check=False)
            subprocess.run(["ip", "link", "delete", f"w{self.mark}{zone}"], capture_output=True, check=False)
            subprocess.run(["ip", "netns", "delete", self.name(zone)], capture_output=True, check=False)


def sniff(device, text):
    """Counts packets of the device with the text in them, until the input ends."""
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, ALL_PACKETS)
    packets.bind((device, 0))
    packets.settimeout(0.1)
    os.set_blocking(0, False)
    print("ready", flush=True)
    count = 0
    while True:
        try:
            count += text.encode() in packets.recv(65536)
        except TimeoutError:
            if sys.stdin.buffer.read() == b"":  # None while it is open
                break
    print(count)


if __name__ == "__main__":
    sniff(*sys.argv[1:])
