"""A certificate authority for tests, with one server and one client certificate of it."""

from __future__ import annotations

from pathlib import Path

from compose.local.places import HOST
from compose.local.programs import need, run

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
DAYS = "3650"


def make_certificates(folder: Path) -> None:
    """Write `ca.crt`, and `.key`, `.crt` and `.pem` (both) for `server` and `client`."""
    if (folder / "done").exists():
        return
    need("openssl", "OpenSSL (package openssl)")
    folder.mkdir(parents=True, exist_ok=True)
    authority = ["-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=beam-agents test CA"]
    _openssl(folder, "req", "-x509", *KEY, *authority, "-days", DAYS)
    (folder / "names").write_text(f"subjectAltName=IP:{HOST},DNS:localhost\n")
    for name in ("server", "client"):
        request = ["-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}"]
        _openssl(folder, "req", "-new", *KEY, *request)
        signed_by = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", DAYS]
        certificate = ["-in", f"{name}.csr", "-out", f"{name}.crt", "-extfile", "names"]
        _openssl(folder, "x509", "-req", *signed_by, *certificate)
        both = [(folder / f"{name}.{part}").read_text() for part in ("key", "crt")]
        (folder / f"{name}.pem").write_text("".join(both))
    (folder / "done").touch()


def _openssl(folder: Path, *argv: str) -> None:
    run(["openssl", *argv], folder=folder)
