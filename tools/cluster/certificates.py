"""The cluster's own authority, and the certificates it gives to the server and to each node.

Promise: a certificate serves one end only: that of the server cannot join, those of nodes cannot
serve. The server knows a node by its name together with its key, so that a name given again does
not let the old key in.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address
from typing import NamedTuple, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from .names import is_ip, user_of

YEAR = timedelta(days=365.25)
OF_AUTHORITY, OF_OTHERS = 20 * YEAR, 10 * YEAR
EARLIER = timedelta(days=1)  # clocks differ
HERE = ("localhost", "127.0.0.1")


class Credentials(NamedTuple):
    """A certificate and its key as PEM texts, and the fingerprint of the key's public half."""

    certificate: str
    key: str
    fingerprint: str


class Authority:
    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @classmethod
    def new(cls) -> Self:
        key = _new_key()
        name = _subject("Sheaf cluster")
        builder = _builder(name, name, key, datetime.now(UTC) + OF_AUTHORITY)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        builder = builder.add_extension(_usage(signs_certificates=True), True)
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def of(cls, certificate: str, key: str) -> Self:
        """From PEM texts; ValueError if they are damaged."""
        private = load_pem_private_key(key.encode(), password=None)
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise ValueError("a key of another kind")
        return cls(x509.load_pem_x509_certificate(certificate.encode()), private)

    @property
    def certificate(self) -> str:
        return _pem(self._certificate)

    @property
    def key(self) -> str:
        return _key_pem(self._key)

    def for_server(self, address: str) -> Credentials:
        hosts = dict.fromkeys((address, *HERE))
        names: list[x509.GeneralName] = [
            x509.IPAddress(ip_address(host)) if is_ip(host) else x509.DNSName(host)
            for host in hosts
        ]
        return self._issued(_new_key(), "server", names, ExtendedKeyUsageOID.SERVER_AUTH)

    def for_client(self, name: str, ends: datetime | None = None) -> Credentials:
        key = _new_key()
        names = [x509.UniformResourceIdentifier(user_of(name, _fingerprint(key)))]
        return self._issued(key, name, names, ExtendedKeyUsageOID.CLIENT_AUTH, ends)

    def _issued(
        self,
        key: ec.EllipticCurvePrivateKey,
        name: str,
        names: Sequence[x509.GeneralName],
        purpose: x509.ObjectIdentifier,
        ends: datetime | None = None,
    ) -> Credentials:
        ends = ends or datetime.now(UTC) + OF_OTHERS
        builder = _builder(_subject(name), self._certificate.subject, key, ends)
        for extension, is_critical in (
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (_usage(signs_certificates=False), True),
            (x509.ExtendedKeyUsage([purpose]), False),
            (x509.SubjectAlternativeName(names), False),
            (x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False),
        ):
            builder = builder.add_extension(extension, is_critical)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Credentials(_pem(certificate), _key_pem(key), _fingerprint(key))


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(datetime.now(UTC), ends) - EARLIER)
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    )


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _fingerprint(key: ec.EllipticCurvePrivateKey) -> str:
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return sha256(public).hexdigest()


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
