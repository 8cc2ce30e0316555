import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from first_calls import KEY, ORIGIN, call, run

# Few examples of every operation that a key may call, with every check. What owners call has a session, and its own tests.
COMMAND = [
    str(Path(sys.executable).parent / "schemathesis"),
    "run",
    f"{ORIGIN}/openapi.json",
    f"--header=Authorization: Bearer {KEY}",
    "--exclude-path-regex=^/(api|health|ready|metrics)",
    "--phases=examples,fuzzing",
    "--max-examples=3",
    "--seed=18",
    "--workers=1",
    "--no-color",
]


# Bodies of models are the vendors' own: their schemas name the members, and leave the rest of the rules to the vendor.
LOOSE = "positive_data_acceptance"

# A 402 is the offer that a first call asks for.
CONFIG = '[checks]\npositive_data_acceptance.expected-statuses = ["2xx", "3xx", 401, 402, 403, 404, 409, 429, "5xx"]\n'


def checked(*checks):
    with tempfile.TemporaryDirectory() as folder:  # It keeps what it found beside itself.
        Path(folder, "schemathesis.toml").write_text(CONFIG)
        env = {**os.environ, "COLUMNS": "200"}
        done = subprocess.run([*COMMAND, *checks], capture_output=True, text=True, timeout=110, env=env, cwd=folder)
    problems = sorted(set(re.findall(r"^- (.+)$", done.stdout, re.MULTILINE)))
    titles = sorted(set(re.findall(r"^_+ ([A-Z]+ /\S+) _+$", done.stdout, re.MULTILINE)))
    assert done.returncode == 0, f"{'; '.join(problems)}: {', '.join(titles)}" if titles else done.stdout[-300:]


@call("all checks but one")
def all_but_one():
    checked("--checks=all", f"--exclude-checks={LOOSE}")


@call("accepts whatever the document allows")
def accepts():
    checked(f"--checks={LOOSE}")


run()
