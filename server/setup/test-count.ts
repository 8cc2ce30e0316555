export type TestCount = { passed: number; failed: number; skipped: number }

/**
 * Counts tests from the report of `bun test --reporter=junit` (null if it wrote none) and the exit code. A run that failed without a
 * failed test, because a file did not load or there was no test, counts as one failure, so that counts never look better than the run.
 */
export function countTests(report: string | null, exitCode: number): TestCount {
  const totals = /<testsuites\b[^>]*>/.exec(report ?? '')?.[0] ?? ''
  const reported = numberOf(totals, 'failures') + numberOf(totals, 'errors')
  const skipped = numberOf(totals, 'skipped')
  const passed = Math.max(0, numberOf(totals, 'tests') - reported - skipped)
  return { passed, failed: reported === 0 && exitCode !== 0 ? 1 : reported, skipped }
}

/** The last line of `verify`. Mentions skipped tests only if there are any. */
export function describeTestCount({ passed, failed, skipped }: TestCount): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

function numberOf(tag: string, attribute: string): number {
  const found = new RegExp(`\\s${attribute}="(\\d+)"`).exec(tag)?.[1]
  return found === undefined ? 0 : Number(found)
}
