interface Ran {
  readonly file: string
  /** Its groups and its own title. */
  readonly name: string
  readonly passed: boolean
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/**
 * Which of the tests that a page names (`file`: “title”) the report of `bun test --reporter=junit` does not show as run, passed and
 * with an assertion made. A title may be a part of one, or a group's; a contract's tests run in the files that take it up.
 */
export function unprovenTests(page: string, report: string): string[] {
  const ran = testsIn(report)
  const named = [...page.matchAll(/`(tests\/[^`]+)`: “([^”]+)”/g)]
  return named.flatMap(([, path = '', title = '']) => {
    const pattern = new RegExp(escaped(title).replace(/%[a-z#]/g, '.*'), 's')
    const shown = ran.some(
      ({ file, name, passed }) => passed && (file === path || !path.endsWith('.test.ts')) && pattern.test(name),
    )
    return shown ? [] : [`${path}: “${title}” did not run, did not pass, or asserted nothing`]
  })
}

function testsIn(report: string): Ran[] {
  return [...report.matchAll(/<testcase ([^>]*?)(\/?)>(\s*<(?:failure|skipped|error)\b)?/g)].map(
    ([, head = '', , fault]) => ({
      file: attribute(head, 'file'),
      name: `${attribute(head, 'classname')} > ${attribute(head, 'name')}`,
      passed: fault === undefined && Number(attribute(head, 'assertions')) > 0,
    }),
  )
}

function attribute(head: string, name: string): string {
  const found = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(head)?.[1] ?? ''
  return found.replace(/&(?:(\w+)|#(\d+)|#x([\da-f]+));/gi, (all, word, decimal, hex) => {
    if (word) return ENTITIES[word] ?? all
    return String.fromCodePoint(decimal ? Number(decimal) : Number.parseInt(hex, 16))
  })
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
