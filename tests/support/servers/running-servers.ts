/** The servers that tests started and that still run. */
const running = new Set<Bun.Subprocess>()

export function noteServer(child: Bun.Subprocess): void {
  running.add(child)
  void child.exited.then(() => running.delete(child))
}

/** Ends those that a failed test left running. */
export function killServers(): void {
  for (const child of running) child.kill('SIGKILL')
}
