import { examineDatabase, type ServerFacts } from '../../compose/backup/data-health'
import type { storageSettings } from '../../config'
import { reasonOf } from '../../core/result'
import { count } from '../print'
import { PROGRAM } from '../program'
import { type Found, fail, pass, warn } from './doctor-checks'

/** What was found on a database server, or why it could not be read. */
type Examined = { readonly facts: ServerFacts } | { readonly problem: string }

export async function examinedServer(settings: ReturnType<typeof storageSettings>): Promise<Examined> {
  const { databaseUrl: url, databaseAuthToken: authToken, isSyncPromised } = settings
  try {
    return { facts: await examineDatabase({ url, authToken }, isSyncPromised) }
  } catch (error) {
    return { problem: reasonOf(error) }
  }
}

/** Whether this version can serve the database. */
export function checkServer(examined: Examined): readonly Found[] {
  if ('problem' in examined) return [fail(examined.problem, 'Start it, or correct the settings: all calls get 503')]
  const { name, answerMs, age, unsynced, unsaid, data } = examined.facts
  const found: Found[] = []
  if (age === 'newer') found.push(fail('a newer gateway wrote it', 'Start the newer gateway'))
  if (age === 'older')
    found.push(warn('an older gateway wrote it', 'The next start upgrades it: see docs/upgrading.md'))
  if (unsynced !== null) found.push(fail(unsynced, 'See "A database server" in docs/operating/install.md'))
  if (unsaid !== null) found.push(warn(unsaid, 'Ask its provider, and set DATABASE_SYNC=promised'))
  if (found.length > 0) return found.map((one) => ({ ...one, message: `${name}: ${one.message}` }))
  const epoch = data ? `, epoch ${data.epoch}` : ', which no gateway has opened yet'
  return [pass(`${name} answers in ${answerMs} ms${epoch}`)]
}

/** Whether the books agree. */
export function checkServerBooks(examined: Examined): readonly Found[] {
  const data = 'facts' in examined ? examined.facts.data : null
  if (!data) return [warn('the books were not read', 'See the finding about the database')]
  const [first] = data.problems
  if (!first) return [pass('the books agree')]
  const number = count(data.problems.length, 'mismatch', 'mismatches')
  const example = `${first.what} (${first.subject}: ${first.one} and ${first.other})`
  const advice = `Run "${PROGRAM} operator reconcile", and compare with a copy from before`
  return [fail(`the books have ${number}; the first: ${example}`, advice)]
}
