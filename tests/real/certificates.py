"""Certificates of a test: an authority, and what it vouches for."""
import shutil
import ssl
import subprocess


class Unavailable(Exception):
    """Why none can be made here."""


class Authority:
    """`certificate` is the file that others trust."""

    def __init__(self, folder, name):
        if not shutil.which("openssl"):
            raise Unavailable("openssl is not installed: apt-get install openssl")
        self.folder, self.name, self.certificate, self.key = folder, name, folder / f"{name}.pem", folder / f"{name}.key"
        self.make(self.certificate, self.key, name, "-addext", "basicConstraints=critical,CA:TRUE")

    def make(self, certificate, key, name, *more):
        """A self-signed one, unless `more` says who signs."""
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                        "2", "-subj", f"/CN={name}", "-out", certificate, "-keyout", key, *more],
                       check=True, capture_output=True)

    def server(self, host):
        """(certificate, key) of a server that is called so."""
        certificate, key = (self.folder / f"{self.name}-{host}.{end}" for end in ("pem", "key"))
        self.make(certificate, key, host, "-CA", self.certificate, "-CAkey", self.key, "-addext", f"subjectAltName=DNS:{host}",
                  "-addext", "basicConstraints=critical,CA:FALSE")
        return certificate, key

    def context(self, host):
        """That server's, for sockets."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.server(host))
        return context
