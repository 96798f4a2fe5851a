"""Throw-away certificates: one per host name, made when a client first asks for it, so that names match without a warning."""

from __future__ import annotations

import datetime as dt
import ssl
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Certificates:
    """Self-signed certificates of one key that lives in this process only."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._contexts: dict[str, ssl.SSLContext] = {}

    def context(self) -> ssl.SSLContext:
        """A server context that answers to whichever name the client asks for."""
        context = self._context_for("localhost")
        context.sni_callback = self._choose
        return context

    def _choose(self, connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
        if name:
            connection.context = self._context_for(name)

    def _context_for(self, host: str) -> ssl.SSLContext:
        if host not in self._contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            with tempfile.TemporaryDirectory() as folder:  # the ssl module takes certificates from files only
                file = Path(folder) / "certificate.pem"
                file.touch(mode=0o600)
                file.write_bytes(self._pem(host))
                context.load_cert_chain(file)
            self._contexts[host] = context
        return self._contexts[host]

    def _pem(self, host: str) -> bytes:
        # A common name has 64 characters at most; clients look at the alternative name.
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:64])])
        now = dt.datetime.now(dt.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=30))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        key = self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return key + certificate.public_bytes(serialization.Encoding.PEM)
