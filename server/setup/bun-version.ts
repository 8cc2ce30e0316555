/** The oldest tested version of Bun, as in the README's commands. */
const OLDEST_BUN = '1.4.5'

/** Why this version of Bun does not work, in one line, or null if it does. Accepts prereleases of newer versions. */
export function bunVersionProblem(found: string | undefined): string | null {
  if (found === undefined) return `The gateway needs Bun ${OLDEST_BUN} or newer. Run: npx -y bun@${OLDEST_BUN} run up`
  if (!isOlder(found, OLDEST_BUN)) return null
  return `Bun ${found} is too old: the gateway needs ${OLDEST_BUN} or newer. Run: npx -y bun@${OLDEST_BUN} run up`
}

function isOlder(found: string, wanted: string): boolean {
  const have = numbers(found)
  for (const [index, want] of numbers(wanted).entries()) {
    const has = have[index] ?? 0
    if (has !== want) return has < want
  }
  return false
}

function numbers(version: string): number[] {
  return version.split(/[.+-]/, 3).map((part) => Number.parseInt(part, 10) || 0)
}
