"""What is a credential by its content: real keys and keystores are, and nothing else that people
publish.
"""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
import subprocess
import time
import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs7,
    pkcs12,
)

from google_emulator import specimens
from uploader.files.credential_files import HEAD, kind_of_file

RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Example")])
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
CERTIFICATE = (
    x509.CertificateBuilder()
    .subject_name(NAME)
    .issuer_name(NAME)
    .public_key(RSA.public_key())
    .serial_number(1)
    .not_valid_before(NOW)
    .not_valid_after(NOW + timedelta(days=9000))
    .sign(RSA, hashes.SHA256())
)
SECRET = BestAvailableEncryption(b"changeit")


def private(
    key: Any,
    form: PrivateFormat,
    encoding: Encoding = Encoding.PEM,
    *,
    locked: bool = False,
) -> bytes:
    """A private key as the library writes it."""
    written: bytes = key.private_bytes(
        encoding, form, SECRET if locked else NoEncryption()
    )
    return written


PEM = private(RSA, PrivateFormat.PKCS8)
KEY = {
    "type": "service_account",
    "project_id": "example",
    "private_key_id": "0123",
    "private_key": PEM.decode(),
    "client_email": "release@example.iam.gserviceaccount.com",
}
USER = {
    "type": "authorized_user",
    "client_id": "1.apps",
    "client_secret": "s",
    "refresh_token": "1//token",
}
FEDERATION = {
    "type": "external_account",
    "audience": (
        "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q"
    ),
    "credential_source": {"file": "/token"},
}


def as_json(value: Any, **more: Any) -> bytes:
    return json.dumps(value, **more).encode()


def longer_lengths(der: bytes) -> bytes:
    """A DER value whose length is written with more bytes than it needs, as some programs do."""
    assert der[1] == 0x82
    return b"\x30\x84" + int.from_bytes(der[2:4], "big").to_bytes(4, "big") + der[4:]


def in_lines(content: bytes, width: int, indent: str = "", end: str = "\n") -> bytes:
    """Base64 in lines."""
    plain = base64.b64encode(content).decode()
    return "".join(
        indent + plain[at : at + width] + end for at in range(0, len(plain), width)
    ).encode()


def database_of_gcloud(folder: Path) -> bytes:
    """`credentials.db`, in which gcloud keeps its logins."""
    database = sqlite3.connect(folder / "credentials.db")
    with database:
        database.execute(
            "CREATE TABLE credentials (account_id TEXT PRIMARY KEY, value BLOB)"
        )
        database.execute(
            "INSERT INTO credentials VALUES (?, ?)",
            ("ann@example.com", json.dumps({**USER, **TOKENS})),
        )
    database.close()
    return (folder / "credentials.db").read_bytes()


PKCS12 = pkcs12.serialize_key_and_certificates(b"a", RSA, CERTIFICATE, None, SECRET)
JKS = (
    b"\xfe\xed\xfe\xed"
    + bytes([0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 6])
    + b"upload"
    + b"s" * 900
)
REFRESH, ACCESS, CLIENT = (
    "1//0g" + "Ab3_" * 24,
    "ya29.a0" + "Ab3_" * 40,
    "GOCSPX-" + "Ab3_" * 7,
)
TOKENS = {"client_secret": CLIENT, "refresh_token": REFRESH}
SIGNING = "a properties file with the password of a signing key"

CREDENTIALS: dict[str, tuple[bytes, str]] = {
    "service-account key": (as_json(KEY, indent=2), "a service-account key"),
    "key with a byte order mark": (
        b"\xef\xbb\xbf" + as_json(KEY),
        "a service-account key",
    ),
    "key in UTF-16": (json.dumps(KEY).encode("utf-16"), "a service-account key"),
    "key in UTF-16 without a mark": (
        json.dumps(KEY).encode("utf-16-le"),
        "a service-account key",
    ),
    "key behind white space": (
        b"\n \t\r\n" * 1000 + as_json(KEY),
        "a service-account key",
    ),
    "key behind a comment": (
        b"// of the release job\n/* do not lose */\n" + as_json(KEY),
        "a service-account key",
    ),
    "key in a list": (
        as_json([{"name": "a"}, {"keys": [KEY]}]),
        "a service-account key",
    ),
    "key with text behind it": (as_json(KEY) + b"\nEOF\n", "a service-account key"),
    "key with escaped letters": (
        as_json(KEY).replace(b'"type"', b'"\\u0074ype"'),
        "a service-account key",
    ),
    "key in a shell script": (
        b"cat > key.json <<EOF\n" + as_json(KEY) + b"\nEOF\n",
        "a private key",
    ),
    "key in base64": (
        base64.b64encode(as_json(KEY)),
        "a service-account key in base64",
    ),
    "key in base64 with line ends": (
        base64.encodebytes(as_json(KEY)),
        "a service-account key in base64",
    ),
    "key in base64 for URLs": (
        base64.urlsafe_b64encode(as_json(KEY)).rstrip(b"="),
        "a service-account key in base64",
    ),
    "key in a variable in base64": (
        b"KEY=" + base64.b64encode(as_json(KEY)) + b"\n",
        "a service-account key in base64",
    ),
    "keystore in base64": (
        base64.b64encode(
            pkcs12.serialize_key_and_certificates(b"a", RSA, CERTIFICATE, None, SECRET)
        ),
        "a PKCS #12 keystore in base64",
    ),
    "user": (as_json(USER), "a Google user's credential"),
    "federation": (as_json(FEDERATION), "a Google credential configuration"),
    "impersonation": (
        as_json({"type": "impersonated_service_account", "source_credentials": USER}),
        "a Google credential configuration",
    ),
    "OAuth client of a program": (
        as_json({"installed": {"client_id": "1.apps", "client_secret": "GOCSPX-s"}}),
        "an OAuth client with its secret",
    ),
    "OAuth client of a site": (
        as_json({"web": {"client_id": "1.apps", "client_secret": "GOCSPX-s"}}),
        "an OAuth client with its secret",
    ),
    "user without a type": (
        as_json(
            {
                **TOKENS,
                "token": ACCESS,
                "token_uri": "https://oauth2.googleapis.com/token",
                "scopes": [],
            }
        ),
        "a Google user's credential",
    ),
    "user in YAML": (
        f"type: authorized_user\nclient_secret: {CLIENT}\nrefresh_token: {REFRESH}\n".encode(),
        "a file with a Google refresh token",
    ),
    "gsutil": (
        f"[Credentials]\ngs_oauth2_refresh_token = {REFRESH}\n".encode(),
        "a file with a Google refresh token",
    ),
    "refresh token": (REFRESH.encode(), "a file with a Google refresh token"),
    "access token": (ACCESS.encode(), "a file with a Google access token"),
    "access token in an answer": (
        as_json({"access_token": ACCESS, "expires_in": 3600}),
        "a file with a Google access token",
    ),
    "client's secret": (
        f"CLIENT_SECRET={CLIENT}\n".encode(),
        "a file with the secret of a Google OAuth client",
    ),
    "git's logins": (
        b"https://ann:ghp_0123@github.com\nhttps://ann:hunter2@git.example\n",
        "a list of URLs with passwords, as git keeps its logins",
    ),
    "Docker's older file": (
        as_json(
            {"https://index.docker.io/v1/": {"auth": "YW5uOmh1bnRlcjI=", "email": ""}}
        ),
        "a Docker configuration with a login",
    ),
    "key behind NULs": (b"\0\0" + as_json(KEY), "a service-account key"),
    "key that is cut": (PEM[:400], "a private key"),
    "key that the bound cuts": (b"#" * (HEAD - 100) + b"\n" + PEM, "a private key"),
    "JSON that the bound cuts": (
        b" " * (HEAD - 100) + as_json(KEY),
        "a service-account key",
    ),
    "key attached to a mail": (
        b"To: a@b.c\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        + in_lines(as_json(KEY), 76, end="\r\n")
        + b"--b--\r\n",
        "a service-account key in base64",
    ),
    "key in a block of YAML": (
        b"key: |\n" + in_lines(as_json(KEY), 60, "  "),
        "a service-account key in base64",
    ),
    "PKCS #12 in armour": (
        b"-----BEGIN PKCS12-----\n" + in_lines(PKCS12, 64) + b"-----END PKCS12-----\n",
        "a PKCS #12 keystore in base64",
    ),
    "JKS in the armour of a certificate": (
        b"-----BEGIN CERTIFICATE-----\r\n"
        + in_lines(JKS, 64, end="\r\n")
        + b"-----END CERTIFICATE-----\r\n",
        "a Java keystore in base64",
    ),
    "JKS among other files in base64": (
        in_lines(b"\x89PNG" * 99, 76)
        + b"\n"
        + in_lines(JKS, 76)
        + b"\n"
        + in_lines(b"\x89PNG" * 99, 76),
        "a Java keystore in base64",
    ),
    "key behind many long words": (
        b" ".join([b"A" * 300] * 40) + b" " + base64.b64encode(as_json(KEY)),
        "a service-account key in base64",
    ),
    "elliptic key in base64": (
        base64.b64encode(private(EC, PrivateFormat.TraditionalOpenSSL, Encoding.DER)),
        "a private key in base64",
    ),
    "PKCS #8 in DER with longer lengths": (
        longer_lengths(private(RSA, PrivateFormat.PKCS8, Encoding.DER)),
        "a private key",
    ),
    "PKCS #1 in DER with longer lengths": (
        longer_lengths(private(RSA, PrivateFormat.TraditionalOpenSSL, Encoding.DER)),
        "a private key",
    ),
    "properties with blanks": (
        b"storeFile upload.jks\nstorePassword hunter2\nkeyAlias upload\nkeyPassword hunter2\n",
        SIGNING,
    ),
    "properties with an escape": (b"store\\u0050assword=hunter2\n", SIGNING),
    "properties with a continued line": (
        b"keyAlias=upload\nkeyPass\\\n  word=hunter2\n",
        SIGNING,
    ),
    "properties with shorter names": (b"storePass=hunter2\nkeyPass=hunter2\n", SIGNING),
    "properties for PGP": (
        b"signing.keyId=24875D73\nsigning.password=hunter2\n",
        SIGNING,
    ),
    "properties for PGP in memory": (
        b"signingInMemoryKey=ABC\nsigningInMemoryKeyPassword=hunter2\n",
        SIGNING,
    ),
    "properties of Android Studio": (
        b"android.injected.signing.key.password=hunter2\n",
        SIGNING,
    ),
    "variables of a shell": (b"export STORE_PASSWORD='hunter2'\n", SIGNING),
    "PKCS #8": (PEM, "a private key"),
    "PKCS #8, encrypted": (
        private(RSA, PrivateFormat.PKCS8, locked=True),
        "a private key",
    ),
    "PKCS #1": (private(RSA, PrivateFormat.TraditionalOpenSSL), "a private key"),
    "PKCS #1, encrypted": (
        private(RSA, PrivateFormat.TraditionalOpenSSL, locked=True),
        "a private key",
    ),
    "SEC 1": (private(EC, PrivateFormat.TraditionalOpenSSL), "a private key"),
    "Ed25519": (
        private(ed25519.Ed25519PrivateKey.generate(), PrivateFormat.PKCS8),
        "a private key",
    ),
    "App Store key (.p8)": (private(EC, PrivateFormat.PKCS8), "a private key"),
    "OpenSSH": (private(RSA, PrivateFormat.OpenSSH), "a private key"),
    "PKCS #8 in DER": (
        private(RSA, PrivateFormat.PKCS8, Encoding.DER),
        "a private key",
    ),
    "elliptic PKCS #8 in DER": (
        private(EC, PrivateFormat.PKCS8, Encoding.DER),
        "a private key",
    ),
    "encrypted PKCS #8 in DER": (
        private(RSA, PrivateFormat.PKCS8, Encoding.DER, locked=True),
        "a private key",
    ),
    "PKCS #1 in DER": (
        private(RSA, PrivateFormat.TraditionalOpenSSL, Encoding.DER),
        "a private key",
    ),
    "SEC 1 in DER": (
        private(EC, PrivateFormat.TraditionalOpenSSL, Encoding.DER),
        "a private key",
    ),
    "PuTTY": (
        b"PuTTY-User-Key-File-3: ssh-ed25519\r\nEncryption: none\r\n",
        "a private key",
    ),
    "PGP": (
        PEM.replace(b"PRIVATE KEY", b"PGP PRIVATE KEY BLOCK"),
        "a private key",
    ),
    "key with a certificate before it": (
        CERTIFICATE.public_bytes(Encoding.PEM) + PEM,
        "a private key",
    ),
    "log with a whole key": (
        b"Step 1\n" * 900 + PEM + b"Step 2\n" * 900,
        "a private key",
    ),
    "PKCS #12": (
        pkcs12.serialize_key_and_certificates(b"a", RSA, CERTIFICATE, None, SECRET),
        "a PKCS #12 keystore",
    ),
    "PKCS #12 without encryption": (
        pkcs12.serialize_key_and_certificates(
            b"a", RSA, CERTIFICATE, None, NoEncryption()
        ),
        "a PKCS #12 keystore",
    ),
    "key.properties": (
        (
            b"# signing\nstorePassword=hunter2\nkeyPassword=hunter2\n"
            b"keyAlias=upload\nstoreFile=upload.jks\n"
        ),
        "a properties file with the password of a signing key",
    ),
    "gradle.properties": (
        b"org.gradle.jvmargs=-Xmx2g\nRELEASE_STORE_PASSWORD = hunter2\n",
        "a properties file with the password of a signing key",
    ),
    "AWS": (
        b"[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = "
        + b"a" * 40
        + b"\n",
        "an AWS credentials file",
    ),
    "Ant's local.properties": (
        b"key.store=release.keystore\nkey.store.password: hunter2\n",
        "a properties file with the password of a signing key",
    ),
    ".netrc": (
        b"machine example.com\n  login ann\n  password hunter2\n",
        "a .netrc file with a password",
    ),
    ".npmrc": (
        b"//registry.npmjs.org/:_authToken=npm_0123\n",
        "an .npmrc file with a token",
    ),
    ".pypirc": (
        b"[pypi]\nusername = __token__\npassword = pypi-0123\n",
        "a .pypirc file with a password",
    ),
    ".pypirc of a company": (
        b"[internal]\nrepository = https://pypi.example\nusername = ann\npassword = hunter2\n",
        "a .pypirc file with a password",
    ),
    ".pypirc for tests": (
        b"[testpypi]\nusername: ann\npassword: hunter2\n",
        "a .pypirc file with a password",
    ),
    "Docker": (
        as_json({"auths": {"ghcr.io": {"auth": "YTpi"}}}),
        "a Docker configuration with a login",
    ),
}

HARMLESS: dict[str, bytes] = {
    "nothing": b"",
    "text": b"Starts faster.\n",
    "certificate": CERTIFICATE.public_bytes(Encoding.PEM),
    "certificate in DER": CERTIFICATE.public_bytes(Encoding.DER),
    "public key": RSA.public_key().public_bytes(
        Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ),
    "public key in DER": RSA.public_key().public_bytes(
        Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    ),
    "PKCS #7 in DER": pkcs7.serialize_certificates([CERTIFICATE], Encoding.DER),
    "PKCS #7 in PEM": pkcs7.serialize_certificates([CERTIFICATE], Encoding.PEM),
    "truststore, PKCS #12": pkcs12.serialize_java_truststore(
        [pkcs12.PKCS12Certificate(CERTIFICATE, b"a")], SECRET
    ),
    "google-services.json": as_json(
        {
            "project_info": {"project_number": "1", "project_id": "example"},
            "client": [
                {
                    "oauth_client": [{"client_id": "1.apps", "client_type": 3}],
                    "api_key": [{"current_key": "AIza" + "x" * 35}],
                }
            ],
        }
    ),
    "discovery document": as_json(
        {"kind": "discovery#restDescription", "auth": {"oauth2": {"scopes": {}}}}
    ),
    "app-key.json that is no key": as_json({"type": "button", "private_key": "F1"}),
    "schema of clients": as_json(
        {"web": {"client_id": {}, "client_secret": {"type": "string"}}}
    ),
    "schema of keys": as_json({"type": "service_account", "private_key": ""}),
    "documentation of "
    "keys": b"It begins with -----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n",
    "key cut in its first line": PEM[:40],
    "documentation of tokens": b"Tokens begin with ya29.a0AfH6SMB, 1//0g, GOCSPX-abc123.\n",
    "long path with a double "
    "slash": b"https://example.com/1//0-is-a-very-long-path-of-somebody-elses-site\n",
    "line of dashes": b"#define ONE 1//" + b"-" * 80 + b"\n",
    "links": b"https://example.com/a:b@c\nhttps://ann@example.com\n",
    "links to be filled in": b"https://ann:$TOKEN@github.com\nhttps://ann:<token>@github.com\n",
    "settings with an auth": as_json(
        {"server": {"auth": "basic"}, "client": {"auth": "YmFzaWM="}}
    ),
    "user to be filled in": as_json(
        {"client_secret": "YOUR CLIENT SECRET", "refresh_token": "<token>"}
    ),
    "certificates": CERTIFICATE.public_bytes(Encoding.PEM) * 20,
    "translation of a "
    "dialog": b"keystore.password=Password of the keystore:\nkeystore.title=Keystore\n",
    "list of words": b"keyAlias upload\nstore of keys\nstorePassword hunter2\n",
    "key.properties to be filled in": b"storePassword=<your password>\nkeyPassword=$KEY_PASSWORD\n",
    "translation, properties": b"login.user=Benutzer\nlogin.keyPassword=Kennwort\n",
    "translation, INI": b"[ui]\nusername=Name\npassword=Kennwort\n",
    "settings of tests, TOML": b'[server]\nusername = "test"\npassword = "test"\n',
    "build.gradle": b'signingConfigs {\n  storePassword "x"\n}\n',
    "npm "
    "settings": b"registry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n",
    "Docker without a login": as_json(
        {"auths": {"ghcr.io": {}}, "credsStore": "desktop"}
    ),
    "mapping": b"com.example.A -> a:\n    int key -> b\n" * 2000,
    "base64 of text": base64.encodebytes(b"Starts faster. " * 100),
    "PNG head": b"\x89PNG\r\n\x1a\n" + bytes(200),
    "PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "Java class": b"\xca\xfe\xba\xbe\0\0\0\x34",
    "zeros": bytes(100_000),
    "deep JSON": b"[" * 60_000,
}


@pytest.fixture
def kind(tmp_path: Path) -> Callable[[bytes | Path], str]:
    """What a file with these bytes is, under a name that says something else."""

    def kind(content: bytes | Path) -> str:
        path = content if isinstance(content, Path) else tmp_path / "app.zip"
        if isinstance(content, bytes):
            path.write_bytes(content)
        with path.open("rb", buffering=0) as file:
            found = kind_of_file(file.fileno())
            assert file.tell() == 0
        return found

    return kind


@pytest.mark.parametrize("name", CREDENTIALS)
def test_a_credential_is_known_by_its_content(
    kind: Callable[[bytes], str], name: str
) -> None:
    """Whatever the file is called."""
    content, what = CREDENTIALS[name]
    assert kind(content) == what


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_no_credential_is_taken(
    kind: Callable[[bytes], str], name: str
) -> None:
    """What is public, to be filled in, or only looks like one."""
    assert kind(HARMLESS[name]) == ""


def test_artifacts_and_images_are_no_credentials(
    kind: Callable[[Path], str], tmp_path: Path
) -> None:
    """What the program is made to upload."""
    specimens.make_bundle(tmp_path / "a.aab", "com.example.app", 1, "1.0")
    specimens.make_apk(tmp_path / "a.apk", "com.example.app", 1, "1.0")
    specimens.make_image(tmp_path / "a.png", 512, 512)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("notes.txt", "Faster.")
    for name in ("a.aab", "a.apk", "a.png", "a.zip"):
        assert kind(tmp_path / name) == ""


def test_a_key_far_into_a_file_is_beyond_what_is_read(
    kind: Callable[[bytes], str],
) -> None:
    """What begins in the first 64 KiB is looked for, and a little further."""
    assert kind(b" " * (HEAD + 9000) + PEM) == ""


def test_the_database_of_gcloud_is_a_credential(
    kind: Callable[[bytes | Path], str], tmp_path: Path
) -> None:
    """It has the refresh token in clear; another database is a file like any other."""
    assert kind(database_of_gcloud(tmp_path)) == "a file with a Google refresh token"
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE notes (text TEXT)")
    other.close()
    assert kind(tmp_path / "other.db") == ""


@pytest.mark.parametrize(
    "unit",
    [
        " ",
        "A" * 300 + "!",
        "AB ",
        "a\\\n",
        "a b\n",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN A ",
        "1//0",
        "=",
        "http://a:",
    ],
)
@pytest.mark.parametrize("end", ["", "!"])
def test_a_file_made_to_be_awkward_takes_linear_time(
    kind: Callable[[bytes], str], unit: str, end: str
) -> None:
    """A pattern that backtracks would take minutes for 64,000 blanks."""
    began = time.process_time()
    assert kind((unit * ((HEAD - 100) // len(unit)) + end).encode()) == ""
    assert time.process_time() - began < 1


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("keytool"), reason="keytool comes with a JDK")
@pytest.mark.parametrize("store", ["JKS", "JCEKS", "PKCS12"])
def test_keystores_of_keytool_are_told_from_truststores(
    kind: Callable[[Path], str], tmp_path: Path, store: str
) -> None:
    """One with a key, one with a certificate alone, and one with both."""
    options = ["-storetype", store, "-storepass", "changeit", "-noprompt"]

    def keytool(*arguments: str) -> None:
        subprocess.run(
            ["keytool", *arguments, *options],
            check=True,
            capture_output=True,
            cwd=tmp_path,
        )

    (tmp_path / "a.pem").write_bytes(CERTIFICATE.public_bytes(Encoding.PEM))
    trust = ("-importcert", "-file", "a.pem", "-alias")
    keytool(*trust, "one", "-keystore", "trust")
    keytool(*trust, "one", "-keystore", "both")
    key = (
        "-genkeypair",
        "-alias",
        "upload",
        "-keyalg",
        "EC",
        "-dname",
        "CN=Example",
        "-keypass",
        "changeit",
    )
    keytool(*key, "-keystore", "both")
    keytool(*key, "-keystore", "keys")
    what = "a PKCS #12 keystore" if store == "PKCS12" else "a Java keystore"
    assert kind(tmp_path / "trust") == ""
    assert kind(tmp_path / "keys") == kind(tmp_path / "both") == what


def bouncy_castle(*entries: bytes, version: int = 2) -> bytes:
    """A BKS keystore, as Bouncy Castle's BcKeyStoreSpi writes it."""
    return (
        version.to_bytes(4, "big")
        + b"\0\0\0\x14"
        + b"s" * 20
        + b"\0\0\x05\xdc"
        + b"".join(entries)
        + b"\0"
        + b"m" * 20
    )


BKS_CERTIFICATE = (
    b"\x01\0\x03one" + bytes(8) + bytes(4) + b"\0\x05X.509" + b"\0\0\0\x04cert"
)
BKS_KEY = (
    b"\x04\0\x03two" + bytes(8) + b"\0\0\0\x01\0\x05X.509\0\0\0\x04cert\0\0\0\x02kk"
)


@pytest.mark.parametrize("version", [1, 2])
def test_keystores_of_bouncy_castle_are_told_from_truststores(
    kind: Callable[[bytes], str], version: int
) -> None:
    """UBER, which is encrypted as a whole, is taken for one with a key."""
    assert kind(bouncy_castle(BKS_CERTIFICATE, version=version)) == ""
    assert (
        kind(bouncy_castle(BKS_CERTIFICATE, BKS_KEY, version=version))
        == "a Bouncy Castle keystore"
    )
    assert (
        kind(bouncy_castle(version=1)[:32] + b"\x91\x87" * 64)
        == "a Bouncy Castle keystore"
    )
