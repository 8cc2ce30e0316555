import { databaseFileOf, examineDatabase, type ServerFacts } from '../../compose/backup/data-health'
import { cellStorage, type storageSettings } from '../../config'
import { MAIN_CELL } from '../../core/cluster/cells'
import { MAX_SKEW_MS } from '../../core/cluster/leases'
import { reasonOf } from '../../core/result'
import { count } from '../print'
import { PROGRAM } from '../program'
import { type Found, fail, pass, warn } from './doctor-checks'

/** What was found about the database of one cell. `problem`: why it could not be read. */
interface Examined {
  readonly cell: string
  readonly facts: ServerFacts | null
  readonly problem: string | null
}

/** Examines the database servers of all cells, `main` first; none if the data is in a file. */
export async function examineServers(
  { databaseUrl, databaseAuthToken, isSyncPromised }: ReturnType<typeof storageSettings>,
  env: Parameters<typeof cellStorage>[0],
): Promise<readonly Examined[]> {
  if (databaseFileOf(databaseUrl) !== null) return []
  const { urls, authToken } = cellStorage(env)
  const locations = [
    { cell: MAIN_CELL, url: databaseUrl, authToken: databaseAuthToken },
    ...urls.map((url, i) => ({ cell: `c${i + 2}`, url, authToken })),
  ]
  return Promise.all(
    locations.map(async ({ cell, ...location }): Promise<Examined> => {
      try {
        return { cell, facts: await examineDatabase(location, isSyncPromised), problem: null }
      } catch (error) {
        return { cell, facts: null, problem: reasonOf(error) }
      }
    }),
  )
}

/** Whether this version can serve each database as its cell. */
export function checkDatabases(examined: readonly Examined[]): readonly Found[] {
  const control = examined[0]?.facts ?? null
  return examined.flatMap(({ cell, facts, problem }) => {
    if (!facts) return [fail(`${cell}: ${problem}`, 'Start it, or correct the settings: its accounts get 503')]
    const found = [...serverProblems(facts), ...(cell === MAIN_CELL ? [] : cellProblems(cell, facts, control))]
    if (cell === MAIN_CELL && facts.data && facts.data.cells.size > 0 && !facts.data.cells.has(MAIN_CELL))
      found.push(
        fail(
          `it is the database of ${[...facts.data.cells.keys()].join()}`,
          'Set DATABASE_URL to the database of main',
        ),
      )
    if (found.length > 0) return found.map((one) => ({ ...one, message: `${cell} at ${facts.name}: ${one.message}` }))
    const epoch = facts.data ? `, epoch ${facts.data.epoch}` : ', which no gateway has opened yet'
    return [pass(`${cell} at ${facts.name} answers in ${facts.answerMs} ms, its clock agrees${epoch}`)]
  })
}

/** Whether the books of each database agree. */
export function checkServerBooks(examined: readonly Examined[]): readonly Found[] {
  return examined.flatMap(({ cell, facts }) => {
    if (!facts?.data) return [warn(`the books of ${cell} were not read`, 'See the finding about its database')]
    const [first] = facts.data.problems
    if (!first) return [pass(`the books of ${cell} agree`)]
    return [
      fail(
        `the books of ${cell} have ${count(facts.data.problems.length, 'mismatch', 'mismatches')}; the first: ${first.what} (${first.subject}: ${first.one} and ${first.other})`,
        `Run "${PROGRAM} operator reconcile", and compare with a copy from before`,
      ),
    ]
  })
}

function serverProblems({ moved, age, unsynced, unsaid, skewMs, uncertainMs }: ServerFacts): Found[] {
  const found: Found[] = []
  if (moved !== null) found.push(fail(moved, 'Set the address of the database that has the data'))
  if (age === 'newer') found.push(fail('a newer gateway wrote it', 'Start the newer gateway on all nodes'))
  if (age === 'older')
    found.push(warn('an older gateway wrote it', 'Its next owner upgrades it: see docs/upgrading.md'))
  if (unsynced !== null) found.push(fail(unsynced, 'See "What the database server needs" in docs/many-nodes.md'))
  if (unsaid !== null) found.push(warn(unsaid, 'Ask its provider, and set DATABASE_SYNC=promised'))
  if (Math.abs(skewMs) - uncertainMs > MAX_SKEW_MS)
    found.push(
      fail(
        `this machine's clock is ${(Math.abs(skewMs) / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} its clock`,
        'Synchronize both clocks with NTP: a node with a wrong clock takes no accounts',
      ),
    )
  return found
}

/** Mismatches between a cell and the control database. */
function cellProblems(cell: string, { data }: ServerFacts, control: ServerFacts | null): Found[] {
  if (!data) return []
  const [other] = [...data.cells.keys()].filter((name) => name !== cell)
  if (other !== undefined)
    return [fail(`it is the database of ${other}`, 'Name the databases in CELL_DATABASE_URLS in their original order')]
  const [own, known] = [data.cells.get(cell), control?.data?.cells.get(cell)]
  if (known !== undefined && own !== known)
    return [fail('it is not the database that this cell had before', 'Name the same databases in the same order')]
  const [highest = 0, given = highest] = [data.terms.get(cell), control?.data?.terms.get(cell)]
  if (given >= highest) return []
  const advice =
    'No action is needed to open it: each try raises its term by one. Check whether keys created since then still work'
  return [warn(`the control database is older than this one, by ${highest - given} owners`, advice)]
}
