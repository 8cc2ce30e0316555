import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'

/** Issue 21 point 10: docs/operating.md says what each line of the log means. */
const ROOT = join(import.meta.dir, '../..')

/** The first argument of each call of a log method: a text, or a template. */
const WRITTEN = /\blog\.(?:info|warn|error)\(\s*(?:status < 500 \? )?(?:'([^']+)'(?: : '([^']+)')?|`([^`]+)`)/g

/** The messages that the server's code writes to its log, without what varies. */
function messages(): string[] {
  const found = new Set<string>()
  for (const file of new Glob('server/**/*.ts').scanSync(ROOT)) {
    if (/^server\/(cli|setup|binary)\//.test(file)) continue
    for (const [, text, other, template] of readFileSync(join(ROOT, file), 'utf8').matchAll(WRITTEN))
      for (const message of [text, other, template])
        if (message) found.add(message.replace(/\$\{[^}]*\}/g, '…').replace(/^…: /, ''))
  }
  return [...found].sort()
}

/** The first cells of the tables of the section "Log". */
function documented(): string[] {
  const text = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8')
  const section = /^## Log\n(.*?)(?=^## )/ms.exec(text)?.[1] ?? ''
  const cells = [...section.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell)
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, message = '']) => message))
}

test('each line that the code logs is in the tables of docs/operating.md, and each line of the tables is in the code', () => {
  const [written, explained] = [messages(), documented()]
  expect(written.length).toBeGreaterThan(40)
  expect(written.filter((message) => !explained.includes(message))).toEqual([])
  const elsewhere = explained.filter((message) => !written.includes(message))
  const code = [...new Glob('server/**/*.ts').scanSync(ROOT)]
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('')
  expect(elsewhere.filter((message) => !code.includes(message.replace(/…$/, '')))).toEqual([])
})

test('no line of the log prints an error as it is: one of a query has the statement and its values', () => {
  // From the call to the end of its statement, which a formatter may have put on several lines.
  const asItIs =
    /\b(?:log\.\w+|on[A-Z]\w*)\((?:(?!\n\s*\}?\n|;)[\s\S])*?(?:\bString\((?:error|failure)\)|instanceof Error \? \w+\.message|\$\{(?:error|failure)\})/
  const printed = [...new Glob('server/**/*.ts').scanSync(ROOT)].filter((file) =>
    asItIs.test(readFileSync(join(ROOT, file), 'utf8')),
  )
  expect(printed).toEqual([])
})
