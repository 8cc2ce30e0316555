import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { bunVersionProblem } from '../server/setup/bun-version'
import { buildDashboard } from '../server/setup/dashboard-build'
import { installDependencies } from '../server/setup/dependencies'
import { prepareDocsReader } from '../server/setup/docs-reader'
import { describeFailure, SetupFailure } from '../server/setup/setup-failure'
import { secondsSince, type ToolRun } from '../server/setup/tool'
import { installBrowser } from './browser'
import { runScript, runTests, STATIC_CHECKS } from './checks'
import { unprovenTests } from './named-tests'
import { installPostgres, LITESTREAM, PROXIES, pathWith } from './test-programs'
import { describeFailedTests, describeTestCount } from './test-report'

const ROOT = resolve(import.meta.dirname, '..')

/** Sets up what is missing and runs every check, even after one failed. Returns whether all passed. */
async function verify(): Promise<boolean> {
  const { bun } = process.versions
  const problem = bunVersionProblem(bun)
  if (problem !== null) throw new SetupFailure(problem)
  await installDependencies(ROOT)
  const checking = runStaticChecks()
  await buildDashboard(ROOT)
  await prepareDocsReader(ROOT)
  await installBrowser()
  await installPostgres()
  const path = await pathWith(LITESTREAM, ROOT, await pathWith(PROXIES, ROOT))

  const failed: string[] = []
  const report = (name: string, run: ToolRun) => {
    console.log(`${name}: ${run.exitCode === 0 ? 'passed' : 'FAILED'} in ${run.seconds.toFixed(1)} s`)
    if (run.exitCode === 0) return
    failed.push(name)
    if (run.output !== '') console.log(run.output.trimEnd())
  }
  const [checks, tests] = await Promise.all([checking, runTests(ROOT, path)])
  for (const { name, run } of checks) report(name, run)
  report('tests', tests)
  // Their output is far above, and a log that is cut has lost it.
  for (const line of describeFailedTests(tests.report ?? '')) console.log(line)
  report('named tests', await checkNamedTests(tests.report))

  if (failed.length > 0) console.log(`Failed: ${failed.join(', ')}`)
  // Must be the last line: people and CI read the result from it.
  console.log(describeTestCount(tests.count))
  return failed.length === 0 && tests.count.passed > 0 && tests.count.failed === 0
}

/** One after the other, while the build and the tests run: they use the time in which those wait. */
async function runStaticChecks() {
  const runs: { readonly name: string; readonly run: ToolRun }[] = []
  for (const name of STATIC_CHECKS) runs.push({ name, run: await runScript(ROOT, name) })
  return runs
}

/** Whether the tests that show the specification's rows ran, passed and asserted something. */
async function checkNamedTests(report: string | null): Promise<ToolRun> {
  const began = performance.now()
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
  const unproven = unprovenTests(read('docs/specification.md'), report ?? '', read)
  return { exitCode: unproven.length === 0 ? 0 : 1, output: unproven.join('\n'), seconds: secondsSince(began) }
}

try {
  process.exitCode = (await verify()) ? 0 : 1
} catch (failure) {
  console.error(describeFailure(failure))
  process.exitCode = 1
}
