import { existsSync, watch } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { SingleBar } from 'cli-progress'
import { openOwnDocuments } from '../../compose/search/own-documents'
import { printable } from '../../core/plain-text'
import { reasonOf } from '../../core/result'
import { secureFolder } from '../../setup/secure-folder'
import { parsedArgsWith } from '../command'
import { CommandRefused, UsageError } from '../control-client'
import { asJson } from '../print'
import { PROGRAM } from '../program'
import { table } from '../table'
import type { Terminal } from '../terminal'

const INDEX_HELP = `Usage: ${PROGRAM} index COMMAND

Manages the documents of the "local" search provider. Works whether or not the gateway is running. Searches see each change
completely or not at all.

  add PATH|URL...   add a folder, file, page or sitemap: HTML, Markdown, text, PDF with text, or images. Run it again to
                    read what changed and to remove what was deleted
    --site NAME     the site's name in results (default: the name of the folder or host)
    --url URL       the public URL of a folder, such as https://docs.example.com/
    --watch         keep running and follow changes (URLs are read again every 15 minutes)
    --allow-private allow URLs that are not public, such as your intranet
  list              list what was added
  remove PATH|URL|NUMBER...
                    remove it from the index. "built-in" stands for the documents of every installation: remove it to
                    offer only your own documents, add it to restore them
  status            show the totals of the index

  --json   print the result as JSON
  --help   print this help

Exit codes: 0 success, 1 refused or nothing could be read, 2 wrong usage.
`

type Documents = Awaited<ReturnType<typeof openOwnDocuments>>
type Report = Awaited<ReturnType<Documents['add']>>

/** The name of the documents that every installation includes. */
const BUILT_IN = 'built-in'
const SETTLED_MS = 500
const ADDRESS_INTERVAL_MS = 15 * 60_000

/** Runs an index command. Resolves to its output. */
export async function indexCommand(args: readonly string[], terminal: Pick<Terminal, 'out' | 'err'>): Promise<string> {
  const { values, positionals } = parsed(args)
  const [command, ...named] = positionals
  if (values.help || !command) return INDEX_HELP
  if (!['add', 'list', 'remove', 'status'].includes(command))
    throw new UsageError(`unknown index command "${command}"; see --help`)
  if (['add', 'remove'].includes(command) !== named.length > 0)
    throw new UsageError(
      `"index ${command}" takes ${named.length > 0 ? 'no arguments' : 'at least one argument'}; see --help`,
    )
  if (values.url !== undefined && !/^https?:\/\/./.test(values.url))
    throw new UsageError(`--url must be an http or https URL, not "${values.url}"`)
  const documents = await opened(values, named.includes(BUILT_IN) ? command === 'add' : undefined, terminal)
  const rest = named.filter((location) => location !== BUILT_IN)
  const builtIn = named.includes(BUILT_IN) ? `${BUILT_IN}: ${command === 'add' ? 'added' : 'removed'}\n` : ''
  if (command === 'add') return (values.json ? '' : builtIn) + (await added(documents, rest, values, terminal))
  if (command === 'remove') return builtIn + (await removed(documents, rest))
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
    throw new CommandRefused(reasonOf(problem))
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
  return parsedArgsWith(args, {
    'allow-private': { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
    json: { type: 'boolean' },
    site: { type: 'string' },
    url: { type: 'string' },
    watch: { type: 'boolean' },
  })
}

type Options = ReturnType<typeof parsed>['values']

async function added(
  documents: Documents,
  locations: readonly string[],
  options: Options,
  terminal: Pick<Terminal, 'out' | 'err'>,
): Promise<string> {
  const read = (location: string) => addOne(documents, location, options)
  // Watch before the first read, so that no change in between is missed.
  const changes = options.watch && locations.length > 0 ? changesOf(locations) : null
  const reports = []
  for (const location of locations) reports.push(await read(location))
  if (changes) {
    terminal.out(`${reports.map(reported).join('')}Following changes. Press Ctrl-C to stop.\n`)
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
      throw new CommandRefused(`nothing at ${location} could be read. First problem: ${firstProblem(report)}`)
    return report
  } catch (problem) {
    if (problem instanceof CommandRefused) throw problem
    throw new CommandRefused(reasonOf(problem))
  } finally {
    reading.stop()
  }
}

/** Watches locations and collects those that changed. */
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
    /** Resolves to the locations that changed since the last call, shortly after the first change. */
    async next(): Promise<readonly string[]> {
      if (changed.size === 0) await new Promise<void>((resolve) => (wake = resolve))
      await setTimeout(SETTLED_MS)
      const now = [...changed]
      changed.clear()
      return now
    },
  }
}

/** Reads changed locations again until the process ends. */
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
  const lines: string[] = []
  for (const location of locations) {
    if (!(await documents.remove(location)))
      throw new CommandRefused(`${location} is not in the index; see "index list"`)
    lines.push(`${location}: removed\n`)
  }
  return lines.join('')
}

function reported(report: Report): string {
  const { location, added, changed, removed, unchanged, unreadable } = report
  const first = `${location}: ${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged\n`
  const missing = unreadable.slice(0, 10).map(({ origin, reason }) => `  not read: ${origin} (${reason})\n`)
  const more = unreadable.length > 10 ? `  and ${unreadable.length - 10} more\n` : ''
  return first + missing.join('') + more
}

function firstProblem({ unreadable: [first] }: Report): string {
  return first ? `${first.origin}: ${first.reason}` : 'it is empty'
}

function listing(sources: Awaited<ReturnType<Documents['list']>>): string {
  if (sources.length === 0) return `Nothing was added yet. Add documents with: ${PROGRAM} index add PATH|URL\n`
  return table(
    ['NUMBER', 'LOCATION', 'SITE', 'URL', 'FILES', 'PAGES', 'IMAGES', 'READ'],
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
    ['PAGES', 'PASSAGES', 'IMAGES', 'BUILT-IN', 'BUILT'],
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

/** A progress bar that appears with the first progress, and only on a terminal. */
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
