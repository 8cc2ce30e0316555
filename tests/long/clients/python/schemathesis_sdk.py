import os
import re
import subprocess
import sys
from pathlib import Path

from first_calls import KEY, ORIGIN, call, run

# Few examples of every operation that a key may call, with every check. What owners call has a session, and its own tests.
COMMAND = [
    str(Path(sys.executable).parent / "schemathesis"),
    "run",
    f"{ORIGIN}/openapi.json",
    "--checks=all",
    f"--header=Authorization: Bearer {KEY}",
    "--exclude-path-regex=^/(api|health|ready|metrics)",
    "--phases=examples,fuzzing",
    "--max-examples=3",
    "--seed=18",
    "--workers=1",
    "--no-color",
]


@call("all checks")
def all_checks():
    done = subprocess.run(COMMAND, capture_output=True, text=True, timeout=110, env={**os.environ, "COLUMNS": "200"})
    Path("/tmp/clients-schemathesis.txt").write_text(done.stdout + done.stderr)
    problems = sorted(set(re.findall(r"^- (.+)$", done.stdout, re.MULTILINE)))
    assert done.returncode == 0, f"{len(problems)} kinds of problems: {'; '.join(problems)}"


run()
