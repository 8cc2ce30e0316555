/** Milliseconds of processor time that `work` took: on a busy machine it is the same, when the clock on the wall is not. */
export function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
