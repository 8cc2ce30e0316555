import { existsSync, watch } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { SingleBar } from 'cli-progress'
import { openOwnDocuments } from '../../compose/own-documents'
import { printable } from '../../core/plain-text'
import { secureFolder } from '../../setup/secure-folder'
import { Misused, Refused } from '../control-client'
import { asJson } from '../print'
import { table } from '../table'
import type { Terminal } from '../terminal'

const INDEX_HELP = `Usage: bun run gateway index COMMAND

Your own documents, sold by the "local" search provider. Works while the gateway runs, and while it does not; a search sees
all of a change or nothing of it.

  add PATH|URL...   reads a folder, a file, a page or a sitemap into the index. Again: reads what changed since, removes what
                    is gone. HTML, Markdown, text, PDF with text, pictures.
    --site NAME     the name of the site in answers; else the folder's, or the host's
    --url ADDRESS   where the files of a folder stand on the web, such as https://docs.example.com/
    --watch         stays and follows every change (an address is read again every 15 minutes)
    --allow-private reads addresses that are not public, such as your own intranet
  list              what was added
  remove PATH|URL|NUMBER...
                    takes it out again
                    "built-in" stands for the documents that every install brings: take them out to sell your own alone,
                    add them to have them back; it stays so
  status            what the index holds in all

  --json   prints the answer as JSON
  --help   prints this

Exit codes: 0 done, 1 refused or nothing could be read, 2 wrong usage.
`

type Documents = Awaited<ReturnType<typeof openOwnDocuments>>
type Report = Awaited<ReturnType<Documents['add']>>

/** What every install brings, as a place to add and to remove. */
const BUILT_IN = 'built-in'
const SETTLED_MS = 500
const ADDRESS_INTERVAL_MS = 15 * 60_000

/** Runs one command on the index of this machine; resolves to what it prints. */
export async function indexCommand(args: readonly string[], terminal: Pick<Terminal, 'out' | 'err'>): Promise<string> {
  const { values, positionals } = parsed(args)
  const [command, ...named] = positionals
  if (values.help || !command) return INDEX_HELP
  if (!['add', 'list', 'remove', 'status'].includes(command))
    throw new Misused(`there is no index command "${command}"; see --help`)
  if (['add', 'remove'].includes(command) !== named.length > 0)
    throw new Misused(`"index ${command}" takes ${named.length > 0 ? 'no' : 'at least one'} argument; see --help`)
  if (values.url !== undefined && !/^https?:\/\/./.test(values.url))
    throw new Misused(`--url must be an http or https address, not "${values.url}"`)
  const documents = await opened(values, named.includes(BUILT_IN) ? command === 'add' : undefined, terminal)
  const rest = named.filter((location) => location !== BUILT_IN)
  const said = named.includes(BUILT_IN) ? `${BUILT_IN}: ${command === 'add' ? 'added' : 'removed'}\n` : ''
  if (command === 'add') return (values.json ? '' : said) + (await added(documents, rest, values, terminal))
  if (command === 'remove') return said + (await removed(documents, rest))
  const answer = command === 'list' ? await documents.list() : await documents.totals()
  if (values.json) return asJson(answer)
  return command === 'list' ? listing(await documents.list()) : totals((await documents.totals()) ?? {})
}

async function opened(
  options: Options,
  builtIn: boolean | undefined,
  terminal: Pick<Terminal, 'err'>,
): Promise<Documents> {
  const dataDir = resolve(process.env['DATA_DIR'] || 'data')
  process.umask(0o077)
  await secureFolder(dataDir, (line) => terminal.err(`${line}\n`)).catch((problem: unknown) => {
    throw new Refused(problem instanceof Error ? problem.message : String(problem))
  })
  const building = bar('building the index')
  try {
    return await openOwnDocuments({
      dataDir,
      allowPrivate: options['allow-private'] ?? false,
      ...(builtIn === undefined ? {} : { builtIn }),
      onBuild: building.show,
    })
  } finally {
    building.stop()
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'allow-private': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        json: { type: 'boolean' },
        site: { type: 'string' },
        url: { type: 'string' },
        watch: { type: 'boolean' },
      },
    })
  } catch (error) {
    throw new Misused(error instanceof Error ? error.message : String(error))
  }
}

type Options = ReturnType<typeof parsed>['values']

async function added(
  documents: Documents,
  locations: readonly string[],
  options: Options,
  terminal: Pick<Terminal, 'out' | 'err'>,
): Promise<string> {
  const read = (location: string) => addOne(documents, location, options)
  // Before the first reading: what changes meanwhile is not missed.
  const changes = options.watch && locations.length > 0 ? changesOf(locations) : null
  const reports = []
  for (const location of locations) reports.push(await read(location))
  if (changes) {
    terminal.out(`${reports.map(reported).join('')}Following changes; Ctrl-C ends it.\n`)
    await follow(changes, terminal, async (location) => terminal.out(reported(await read(location))))
  }
  if (options.json) return asJson(reports)
  return reports.map(reported).join('')
}

async function addOne(documents: Documents, location: string, { site, url }: Options): Promise<Report> {
  const reading = bar(location)
  const request = { location, ...(site === undefined ? {} : { site }), ...(url === undefined ? {} : { baseUrl: url }) }
  try {
    const report = await documents.add(request, reading.show)
    const total = report.added + report.changed + report.unchanged + report.removed
    if (total === 0 && report.unreadable.length > 0)
      throw new Refused(`nothing at ${location} could be read; the first: ${reasonOf(report)}`)
    return report
  } catch (problem) {
    if (problem instanceof Refused) throw problem
    throw new Refused(problem instanceof Error ? problem.message : String(problem))
  } finally {
    reading.stop()
  }
}

/** Places under which something changed, as it happens. */
function changesOf(locations: readonly string[]) {
  const changed = new Set<string>()
  let wake: () => void = () => {}
  for (const location of locations) {
    const onChange = () => {
      changed.add(location)
      wake()
    }
    if (/^https?:/i.test(location)) setInterval(onChange, ADDRESS_INTERVAL_MS)
    else if (existsSync(resolve(location))) watch(resolve(location), { recursive: true }, onChange)
  }
  return {
    /** All that changed since it was asked last, once it has settled. */
    async next(): Promise<readonly string[]> {
      if (changed.size === 0) await new Promise<void>((resolve) => (wake = resolve))
      await setTimeout(SETTLED_MS)
      const now = [...changed]
      changed.clear()
      return now
    },
  }
}

/** Reads a place again whenever something under it changed, until the process is told to end. */
async function follow(
  changes: ReturnType<typeof changesOf>,
  terminal: Pick<Terminal, 'err'>,
  read: (location: string) => Promise<unknown>,
): Promise<never> {
  for (;;)
    for (const location of await changes.next())
      await read(location).catch((problem: unknown) => terminal.err(`gateway: ${String(problem)}\n`))
}

async function removed(documents: Documents, locations: readonly string[]): Promise<string> {
  const said: string[] = []
  for (const location of locations) {
    if (!(await documents.remove(location))) throw new Refused(`${location} was never added; see "index list"`)
    said.push(`${location}: removed\n`)
  }
  return said.join('')
}

function reported(report: Report): string {
  const { location, added, changed, removed, unchanged, unreadable } = report
  const first = `${location}: ${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged\n`
  const missing = unreadable.slice(0, 10).map(({ origin, reason }) => `  not read: ${origin} (${reason})\n`)
  const more = unreadable.length > 10 ? `  and ${unreadable.length - 10} more\n` : ''
  return first + missing.join('') + more
}

function reasonOf({ unreadable: [first] }: Report): string {
  return first ? `${first.origin}: ${first.reason}` : 'there is nothing'
}

function listing(sources: Awaited<ReturnType<Documents['list']>>): string {
  if (sources.length === 0) return 'Nothing was added yet: bun run gateway index add PATH|URL\n'
  return table(
    ['NUMBER', 'LOCATION', 'SITE', 'ADDRESS', 'FILES', 'PAGES', 'PICTURES', 'READ'],
    sources.map(({ id, location, settings, files, documents, images, readAt }) => [
      id,
      location,
      settings.site,
      /^https?:/.test(location) ? '-' : settings.baseUrl,
      files,
      documents,
      images,
      new Date(readAt * 1000).toISOString().slice(0, 16).replace('T', ' '),
    ]),
  )
}

function totals(meta: Readonly<Record<string, string>>): string {
  return table(
    ['PAGES', 'PASSAGES', 'PICTURES', 'BUILT-IN', 'BUILT'],
    [
      [
        meta['documents'] ?? '0',
        meta['passages'] ?? '0',
        meta['images'] ?? '0',
        meta['built_in'] ?? '-',
        meta['built_at'] ?? '-',
      ],
    ],
  )
}

/** A progress bar on a terminal, and nothing elsewhere; it shows itself with the first progress. */
function bar(what: string) {
  const single = new SingleBar({
    format: `${printable(what)} [{bar}] {value}/{total}`,
    clearOnComplete: true,
    stream: process.stderr,
  })
  let isShown = false
  return {
    show(done: number, total: number) {
      if (!process.stderr.isTTY) return
      if (!isShown) single.start(total, done)
      else single.update(done)
      isShown = true
    },
    stop() {
      if (isShown) single.stop()
    },
  }
}
