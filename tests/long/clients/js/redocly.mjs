// The linter of Redocly, with its recommended rules, on the gateway's document.
import { join } from 'node:path'
import { holds, ORIGIN, runCalls } from './first-calls.mjs'

/** These answer everybody, whatever is sent. */
const OPEN = ['/health', '/ready', '/.well-known']
const isIntended = ({ ruleId, location: [{ pointer }] }) =>
  // A gateway's own API has no license: its operator's terms apply.
  ruleId === 'info-license' ||
  (ruleId === 'operation-4xx-response' &&
    OPEN.some((path) => pointer.startsWith(`#/paths/${path.replaceAll('/', '~1')}`)))

await runCalls({
  async 'no errors or warnings by its recommended rules'() {
    const program = join(import.meta.dir, 'node_modules', '.bin', 'redocly')
    const asked = ['lint', `${ORIGIN}/openapi.json`, '--format=json', '--max-problems=999']
    const { stdout } = Bun.spawnSync([process.execPath, '--bun', program, ...asked])
    const { problems } = JSON.parse(stdout.toString())
    const faults = problems.filter((problem) => !isIntended(problem))
    holds(faults.length === 0, faults.map(({ ruleId, location }) => `${ruleId} at ${location[0].pointer}`).join('; '))
  },
})
