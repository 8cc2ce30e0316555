/** One test of a report that `bun test --reporter=junit` wrote. */
export interface ReportedTest {
  readonly file: string
  /** Its groups and its own title. */
  readonly name: string
  readonly assertions: number
  /** Failed, skipped or never run. */
  readonly hasFault: boolean
  /** Message and stack if it failed, else null. */
  readonly failure: string | null
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** The tests of a report, in its order. */
export function testsIn(report: string): ReportedTest[] {
  const cases = report.matchAll(/<testcase ([^>]*?)(?:\/>|>(?:\s*<(failure|error|skipped)\b[^>]*?(?:\/>|>([^<]*)))?)/g)
  return [...cases].map(([, head = '', fault, text = '']) => ({
    file: attribute(head, 'file'),
    name: `${attribute(head, 'classname')} > ${attribute(head, 'name')}`,
    assertions: Number(attribute(head, 'assertions')),
    hasFault: fault !== undefined,
    failure: fault === 'failure' || fault === 'error' ? decoded(text) : null,
  }))
}

/** The messages of a report's failed tests, each under its file and name, in at most so many lines each. */
export function describeFailedTests(report: string, maxLines = 40): string[] {
  return testsIn(report).flatMap(({ file, name, failure }) => {
    if (failure === null) return []
    const lines = failure.split('\n').filter((line) => line.trim() !== '')
    const shown = lines.slice(0, maxLines).map((line) => `    ${line}`)
    const rest = lines.length > maxLines ? [`    ... ${lines.length - maxLines} more lines`] : []
    return [`${file}: ${name.replace(/^ > /, '')}`, ...shown, ...rest]
  })
}

function attribute(head: string, name: string): string {
  return decoded(new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(head)?.[1] ?? '')
}

function decoded(text: string): string {
  return text.replace(/&(?:(\w+)|#(\d+)|#x([\da-f]+));/gi, (all, word, decimal, hex) => {
    if (word) return ENTITIES[word] ?? all
    return String.fromCodePoint(decimal ? Number(decimal) : Number.parseInt(hex, 16))
  })
}

export type TestCount = { passed: number; failed: number; skipped: number }

/**
 * Counts tests from the report of `bun test --reporter=junit` (null if it wrote none) and the exit code. A run that failed without a
 * failed test, because a file did not load or there was no test, counts as one failure, so that counts never look better than the run.
 */
export function countTests(report: string | null, exitCode: number): TestCount {
  const totals = /<testsuites\b[^>]*>/.exec(report ?? '')?.[0] ?? ''
  const reported = count(totals, 'failures') + count(totals, 'errors')
  const skipped = count(totals, 'skipped')
  const passed = Math.max(0, count(totals, 'tests') - reported - skipped)
  return { passed, failed: reported === 0 && exitCode !== 0 ? 1 : reported, skipped }
}

/** The last line of `verify`. Mentions skipped tests only if there are any. */
export function describeTestCount({ passed, failed, skipped }: TestCount): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

function count(tag: string, name: string): number {
  return Number(attribute(tag, name))
}
