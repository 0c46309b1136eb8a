"""A server from jars: those of an installation, or downloaded through Maven."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from neo4j_local.command import ASK_SECONDS, DOWNLOAD_SECONDS, START_SECONDS, ask, last_lines, note
from neo4j_local.home import (
    Options,
    Record,
    import_arguments,
    only_one,
    private_file,
    settings_of,
    write_config,
    write_private,
)
from neo4j_local.problem import Missing, Problem

VERSIONS = ("5.26.26", "5.26.12", "5.26.0")  # a repository may lack one; the first it has is used
JAVAS = (17, 21)  # what 5.26 is made for
JVM_FLAGS = (
    "-XX:+UseG1GC",
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:+TrustFinalNonStaticFields",
    "-XX:+DisableExplicitGC",
    "-Djdk.nio.maxCachedBufferSize=1024",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dlog4j2.disable.jmx=true",
)
OPEN_FLAGS = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
    "-Dfile.encoding=UTF-8",
)
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>sheaf</groupId><artifactId>neo4j-server</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>{version}</version>
  </dependency></dependencies>
</project>
"""


@dataclass(frozen=True)
class Jvm:
    kind: str
    version: str
    lib: Path
    java: str

    def launch(self, home: Path, options: Options) -> Record:
        write_config(home, settings_of(options))
        set_password(self, home)
        memory = (f"-Xms{options.heap}", f"-Xmx{options.heap}")
        command = [self.java, *memory, *JVM_FLAGS, *OPEN_FLAGS, "-cp", f"{self.lib}/*"]
        command += ["org.neo4j.server.CommunityEntryPoint", *folder_flags(home), "--console-mode"]
        with private_file(home / "logs/console.log") as log:
            # A session of its own: Ctrl-C in the terminal that started it must not end it.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=home,
                start_new_session=True,
            )
        process.returncode = 0  # it outlives this script: nobody is to be warned of that
        return Record(self.kind, self.version, options.port, process.pid)

    def admin(self, home: Path, arguments: Sequence[str]) -> list[str]:
        tool = ["-cp", f"{self.lib}/*", "org.neo4j.cli.AdminTool"]
        return [self.java, "-XX:+UseParallelGC", *OPEN_FLAGS, *tool, *arguments]

    def load(self, home: Path, folder: Path, data: Path) -> list[str]:
        """Where the data go is told by the environment."""
        return self.admin(home, import_arguments(home / "logs"))


def folder_flags(home: Path) -> tuple[str, str]:
    return f"--home-dir={home}", f"--config-dir={home / 'conf'}"


def set_password(server: Jvm, home: Path) -> None:
    """Only before the first start; later the server keeps it in its system database.

    The tool takes its arguments from a file too, which keeps the password off the command line.
    """
    if (home / "data/databases/system").exists():
        return
    password = (home / "password").read_text(encoding="utf-8")
    # In such a file a backslash escapes, and an argument that begins with @ would name a file.
    text = ("@" if password[0] == "@" else "") + re.sub(r'([\\"])', r"\\\1", password)
    file = home / "password.argument"
    try:
        write_private(file, f'--\n"{text}"\n')
        arguments = ["dbms", "set-initial-password", f"@{file}"]
        done = ask(server.admin(home, arguments), START_SECONDS, admin_environment(home))
    finally:
        file.unlink(missing_ok=True)
    if done.returncode:
        raise Problem(f"the password could not be set:\n{last_lines(done.stdout + done.stderr)}")


def admin_environment(home: Path) -> dict[str, str]:
    return os.environ | {"NEO4J_HOME": str(home), "NEO4J_CONF": str(home / "conf")}


def from_installation() -> Jvm:
    java = suitable_java()
    found = [(version, lib) for lib in installed_libs() if (version := version_in(lib))]
    if not found:
        raise Missing("no installation of Neo4j 5 was found (NEO4J_HOME, PATH)")
    found.sort(key=lambda pair: not pair[0].startswith("5.26."))
    version, lib = found[0]
    return Jvm("installation", version, lib, java)


def installed_libs() -> Iterator[Path]:
    if home := os.environ.get("NEO4J_HOME"):
        yield Path(home) / "lib"
    # This script bears the same name and may itself be on PATH; it has no such folders beside it.
    if command := shutil.which("neo4j"):
        yield Path(command).resolve().parents[1] / "lib"
        yield Path(command).resolve().parents[1] / "libexec/lib"
    yield Path("/usr/share/neo4j/lib")


def version_in(lib: Path) -> str:
    """The version of the server whose jars these are, or nothing."""
    names = (path.name for path in lib.glob("neo4j-5.*.jar"))
    matches = (re.fullmatch(r"neo4j-(5\.\d+\.\d+)\.jar", name) for name in names)
    return max((match[1] for match in matches if match), default="")


def from_jars() -> Jvm:
    java = suitable_java()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sheaf"
    for version in VERSIONS:
        if version_in(cache / f"neo4j-{version}") == version:
            return Jvm("jars", version, cache / f"neo4j-{version}", java)
    cache.mkdir(parents=True, exist_ok=True)
    with only_one(cache / "neo4j.lock", DOWNLOAD_SECONDS):
        return download(cache, java)


def download(cache: Path, java: str) -> Jvm:
    maven = shutil.which("mvn")
    if maven is None:
        raise Missing("Maven (mvn) is not installed")
    said = ""
    for version in VERSIONS:
        lib = cache / f"neo4j-{version}"
        # Whoever held the lock before may have brought it.
        if version_in(lib) == version or not (said := copy_jars(maven, version, lib)):
            return Jvm("jars", version, lib, java)
    raise Missing(f"Maven could not get Neo4j: {said}")


def copy_jars(maven: str, version: str, lib: Path) -> str:
    """Returns Maven's complaint, or nothing. Only a complete folder ever gets its name."""
    note(f"getting Neo4j {version} through Maven, about 120 MB, once")
    part = lib.with_name(lib.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    (part / "pom.xml").write_text(POM.format(version=version), encoding="utf-8")
    command = [maven, "-q", "-B", "-f", str(part / "pom.xml"), "dependency:copy-dependencies"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={part}"]
    done = ask(command, DOWNLOAD_SECONDS)
    if done.returncode or version_in(part) != version:
        shutil.rmtree(part, ignore_errors=True)
        return next(iter((done.stdout + done.stderr).splitlines()), "it gave no reason")
    shutil.rmtree(lib, ignore_errors=True)  # somebody emptied it; a good one is not replaced
    part.rename(lib)
    return ""


def suitable_java() -> str:
    home = os.environ.get("JAVA_HOME")
    for java in (f"{home}/bin/java" if home else None, shutil.which("java")):
        if java and java_version(java) in JAVAS:
            return java
    raise Missing("Java 17 or 21 is not installed")


def java_version(java: str) -> int:
    said = ask([java, "-version"], ASK_SECONDS)
    match = re.search(r'version "(\d+)', said.stderr + said.stdout)
    return int(match[1]) if match else 0
