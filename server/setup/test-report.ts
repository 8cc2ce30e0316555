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

/** What the failed tests of a report said, each under its file and name, in at most so many lines each. */
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
