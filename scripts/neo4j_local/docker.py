"""A server in a container."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neo4j_local.command import ASK_SECONDS, DOWNLOAD_SECONDS, START_SECONDS, ask, last_lines, note
from neo4j_local.home import Options, Record, import_arguments, settings_of, write_private
from neo4j_local.problem import Missing, Problem

IMAGE = "neo4j:5.26-community"


@dataclass(frozen=True)
class Docker:
    kind: str = "docker"
    version: str = "5.26"

    def launch(self, home: Path, options: Options) -> Record:
        name, environment = container(options.port), home / "docker.env"
        ask(["docker", "rm", name], ASK_SECONDS)  # one that ended; a running one is not removed
        command = ["docker", "run", "--detach", "--name", name, "--label", f"sheaf.home={home}"]
        command += ["--publish", f"127.0.0.1:{options.port}:7687", "--env-file", str(environment)]
        try:
            write_private(environment, self.environment(home, options))
            done = ask([*command, *self.folders(home), IMAGE], START_SECONDS)
        finally:
            environment.unlink(missing_ok=True)
        if done.returncode:
            raise Problem(f"docker run failed: {last_lines(done.stderr)}")
        return Record(self.kind, self.version, options.port, 0)

    @staticmethod
    def environment(home: Path, options: Options) -> str:
        """Published on loopback only; inside, it must listen to the container's network."""
        settings = settings_of(options) | {
            "server.default_listen_address": "0.0.0.0",  # noqa: S104
            "server.bolt.listen_address": ":7687",
            "server.memory.heap.initial_size": options.heap,
            "server.memory.heap.max_size": options.heap,
        }
        lines = [f"{docker_variable(key)}={value}" for key, value in settings.items()]
        password = (home / "password").read_text(encoding="utf-8")
        return "\n".join([*lines, f"NEO4J_AUTH=neo4j/{password}", ""])

    def admin(self, home: Path, arguments: Sequence[str], *more: str) -> list[str]:
        return self.tool(self.folders(home), arguments, *more)

    def load(self, home: Path, folder: Path, data: Path) -> list[str]:
        seen = (mount(folder, "/export"), "--workdir=/export")
        return self.tool(self.folders(home, data), import_arguments(Path("/logs")), *seen)

    @staticmethod
    def tool(folders: Sequence[str], arguments: Sequence[str], *more: str) -> list[str]:
        return ["docker", "run", "--rm", *folders, *more, IMAGE, "neo4j-admin", *arguments]

    @staticmethod
    def folders(home: Path, data: Path | None = None) -> tuple[str, ...]:
        """As this user, so that the files in the home stay this user's."""
        user = f"--user={os.getuid()}:{os.getgid()}"
        return user, mount(data or home / "data", "/data"), mount(home / "logs", "/logs")


def mount(source: Path, target: str) -> str:
    return f"--mount=type=bind,source={source},target={target}"


def from_docker() -> Docker:
    if shutil.which("docker") is None:
        raise Missing("Docker is not installed")
    if ask(["docker", "info"], ASK_SECONDS).returncode:
        raise Missing("no Docker engine answers")
    if ask(["docker", "image", "inspect", IMAGE], ASK_SECONDS).returncode:
        note(f"getting the image {IMAGE}, once")
        done = ask(["docker", "pull", "--quiet", IMAGE], DOWNLOAD_SECONDS)
        if done.returncode:
            raise Missing(f"Docker could not get {IMAGE}: {last_lines(done.stderr)}")
    return Docker()


def docker_variable(key: str) -> str:
    """How the image wants a setting spelled."""
    return "NEO4J_" + key.replace("_", "__").replace(".", "_")


def container(port: int) -> str:
    return f"sheaf-neo4j-{port}"


def container_pid(record: Record, home: Path) -> int:
    form = '{{.State.Pid}} {{index .Config.Labels "sheaf.home"}}'
    done = ask(["docker", "inspect", "--format", form, container(record.port)], ASK_SECONDS)
    pid, _, label = done.stdout.strip().partition(" ")
    return int(pid) if not done.returncode and label == str(home) else 0
