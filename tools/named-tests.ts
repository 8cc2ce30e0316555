import { basename } from 'node:path'
import { testsIn } from './test-report'

/**
 * Which of the tests that a page names (`file`: “title”) the report of `bun test --reporter=junit` does not show as run, passed and
 * with an assertion made. A title may be a part of one, or a group's; a contract's tests run in the files that import it.
 */
export function unprovenTests(page: string, report: string, sourceOf: (file: string) => string): string[] {
  const passed = testsIn(report).filter(({ hasFault, assertions }) => !hasFault && assertions > 0)
  const named = [...page.matchAll(/`(tests\/[^`]+)`: “([^”]+)”/g)]
  return named.flatMap(([, path = '', title = '']) => {
    const pattern = new RegExp(escaped(title).replace(/%[a-z#]/g, '.*'), 's')
    const runsIn = (file: string) =>
      file === path || (path.endsWith('.contract.ts') && sourceOf(file).includes(`/${basename(path, '.ts')}'`))
    const shown = passed.some(({ file, name }) => pattern.test(name) && runsIn(file))
    return shown ? [] : [`${path}: “${title}” did not run, did not pass, or asserted nothing`]
  })
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
