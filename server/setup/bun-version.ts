/** The oldest Bun the gateway is tested on; the README's commands name the same one. */
const OLDEST_BUN = '1.4.5'

/** One line saying why this Bun will not do, or null when it will. A prerelease of a newer version is taken. */
export function bunVersionProblem(found: string | undefined): string | null {
  if (found === undefined) return `This runs on Bun ${OLDEST_BUN} or newer: npx -y bun@${OLDEST_BUN} run up`
  if (!isOlder(found, OLDEST_BUN)) return null
  return `Bun ${found} is too old; ${OLDEST_BUN} or newer is needed: npx -y bun@${OLDEST_BUN} run up`
}

function isOlder(found: string, wanted: string): boolean {
  const have = numbers(found)
  for (const [place, want] of numbers(wanted).entries()) {
    const has = have[place] ?? 0
    if (has !== want) return has < want
  }
  return false
}

function numbers(version: string): number[] {
  return version.split(/[.+-]/, 3).map((part) => Number.parseInt(part, 10) || 0)
}
