"""Certificates that nobody vouches for but themselves."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

from tests.support.needs import program


def make_certificate(folder: Path, names: str) -> tuple[Path, Path]:
    """A certificate for names like DNS:localhost,IP:127.0.0.1 and, beside it, its private key."""
    folder.mkdir(exist_ok=True)
    certificate, key = folder / "public.crt", folder / "private.key"
    command = [program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=test", "-addext", f"subjectAltName={names}"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


def context_of(folder: Path, names: str) -> tuple[Path, ssl.SSLContext]:
    """A certificate for these names, and a server's context that shows it."""
    certificate, key = make_certificate(folder, names)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return certificate, context
