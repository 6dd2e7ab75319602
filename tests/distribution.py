"""`make dist`: the wheel and the sdist of the last commit, built twice from two copies, which must give the same bytes.

Both are built from `git archive`, so what is not committed is not in them. The time in the archives is that of the
commit. The wheel is looked into: it has all that the installed library reads, and no tests. The README must render.
"""

import argparse
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
NEEDED = (
    "py.typed",
    "web/page/index.html",
    "web/page/main.js",
    "values/networks/trained/leduc_poker.safetensors",
    "chess/network.npz",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=ROOT / "dist")
    parser.add_argument("--once", action="store_true", help="build once and compare nothing")
    given = parser.parse_args()
    if _git("status", "--porcelain").strip():
        say("there are uncommitted changes; the last commit is built without them")
    with tempfile.TemporaryDirectory() as folder:
        builds = [built(Path(folder) / name) for name in (("first",) if given.once else ("first", "and_second"))]
        digests = [{path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files} for files in builds]
        if any(digest != digests[0] for digest in digests):
            sys.exit(f"two builds of one commit differ: {digests}")
        wheel, sdist = builds[0]
        check_wheel(wheel)
        check_sdist(sdist)
        check_readme(wheel)
        shutil.rmtree(given.into, ignore_errors=True)
        given.into.mkdir(parents=True)
        for path in builds[0]:
            shutil.copyfile(path, given.into / path.name)
            say(f"{digests[0][path.name]}  {path.name}  {path.stat().st_size:,} bytes")


def built(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of the last commit, built in this folder."""
    source, out = folder / "source", folder / "out"
    source.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(source, filter="data")
    environment = os.environ | {"SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct").strip()}
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"cannot build: {done.stdout}{done.stderr}")
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def check_wheel(wheel: Path) -> None:
    """The wheel has every file of the package, its metadata, and nothing else."""
    tracked = set(_git("ls-tree", "-r", "--name-only", "HEAD", "foglight").splitlines())
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = archive.read(next(name for name in archive.namelist() if name.endswith("/METADATA"))).decode()
    missing = [name for name in NEEDED if f"foglight/{name}" not in names]
    if missing or names != tracked:
        sys.exit(f"the wheel lacks {sorted(missing) or sorted(tracked - names)}, and has {sorted(names - tracked)}")
    if "Home-page" in metadata or "Project-URL" in metadata or "\nAuthor: The foglight authors" not in metadata:
        sys.exit("the metadata of the wheel has addresses, or no author")


def check_sdist(sdist: Path) -> None:
    """The sdist has what a distributor needs: the tests, the licence, and how to cite it."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    missing = {
        "LICENSE",
        "CITATION.cff",
        "CHANGELOG.md",
        "constraints.txt",
        "tests/conftest.py",
        "docs/design.md",
    } - names
    if missing:
        sys.exit(f"the sdist lacks {sorted(missing)}")


def check_readme(wheel: Path) -> None:
    """The description in the metadata renders, as an index of packages would do it."""
    import email

    from readme_renderer import markdown

    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(next(name for name in archive.namelist() if name.endswith("/METADATA")))
    message = email.message_from_bytes(metadata)
    shown = markdown.render(message.get_payload(decode=True).decode())
    if message["Description-Content-Type"] != "text/markdown" or not shown or "<table>" not in shown:
        sys.exit("the README does not render")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
