"""Keys and certificates that only one run uses."""

import os

from measure import said_by


def signing_key():
    """A key as Apple gives it to a team, in PEM."""
    return said_by(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])


def make_certificate(folder):
    """An authority and a certificate for localhost, in files of a folder."""

    def openssl(*arguments):
        said_by(["openssl", *arguments], cwd=folder)

    for name in ("ca", "server"):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
    openssl(
        "req", "-x509", "-new", "-key", "ca.key", "-days", "2", "-subj", "/CN=bench", "-out", "ca.pem",
        "-addext", "basicConstraints=critical,CA:TRUE",
    )  # fmt: skip
    openssl("req", "-new", "-key", "server.key", "-subj", "/CN=localhost", "-out", "server.csr")
    with open(os.path.join(folder, "names"), "w") as file:
        file.write("subjectAltName=DNS:localhost,IP:127.0.0.1")
    openssl(
        "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
        "-out", "server.pem", "-extfile", "names",
    )  # fmt: skip
