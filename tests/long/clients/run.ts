import { join } from 'node:path'
import { AGENT_NAMES, runAgents } from './agents'
import { CLIENTS, type ClientUnderTest, EXCUSES, workshopOf } from './client-list'
import { runGenerator } from './generated-clients'
import { runServers } from './servers'
import { type CallResult, type ClientResult, clientsDocument, isFailure } from './table'
import { lastLine, openWorkshops, output, type Workshop } from './workshop'
import { openWorld } from './world'

const HELP = `Usage: bun run clients [NAME...]

Runs the first calls of clients that others wrote against a real gateway, and writes docs/clients.md. With NAMEs, such as
"openai" or "Python", only those clients run and nothing is written; "servers" runs the servers of others that the gateway
calls, "agents" (or one by its name, such as "Codex") the agents. Exits 1 when a call fails that
nothing excuses.
`

function isCall(line: string): CallResult | null {
  if (!line.startsWith('{')) return null
  const read: unknown = JSON.parse(line)
  return read !== null && typeof read === 'object' && 'call' in read && 'why' in read ? (read as CallResult) : null
}

const callsIn = (out: string) => out.split('\n').flatMap((line) => isCall(line) ?? [])

async function runClient(client: ClientUnderTest, shop: Workshop, env: Record<string, string>): Promise<ClientResult> {
  if (!shop.ready) return { client, version: '', calls: [], skipped: shop.reason }
  const version = client.version ?? (await shop.version(client.package))
  if (client.generator) {
    const { calls, out, skipped } = await runGenerator(client.generator, env)
    return { client, version, calls: [...calls, ...callsIn(out)], skipped }
  }
  const { out, problems, code } = await output(shop.command(client.script), import.meta.dir, env, 300)
  const calls = callsIn(out)
  // A script that dies before its first call reports nothing by itself.
  const died = { call: 'start', why: lastLine(problems) || `it ended with ${code}` }
  return { client, version, calls: code === 0 && calls.length > 0 ? calls : [...calls, died], skipped: null }
}

/** Calls with what excuses them. An excuse that is not needed is a failure. */
function excused({ name, language }: ClientUnderTest, calls: readonly CallResult[]): readonly CallResult[] {
  return calls.map(({ call, why }) => {
    const excuse = EXCUSES.get(`${name} ${language}: ${call}`)
    if (excuse === undefined) return { call, why }
    return why === null ? { call, why: 'it works: take it out of EXCUSES' } : { call, why, excuse }
  })
}

function report(title: string, { calls, skipped }: Pick<ClientResult, 'calls' | 'skipped'>): void {
  if (skipped !== null) process.stdout.write(`skip  ${title}: ${skipped}\n`)
  for (const { call, why, excuse } of calls)
    process.stdout.write(
      `${why === null ? 'works' : excuse === undefined ? 'FAILS' : 'known'} ${title}: ${call}${why === null ? '' : `\n      ${why}`}\n`,
    )
}

const names = Bun.argv.slice(2)
if (names.includes('--help') || names.includes('-h')) {
  process.stdout.write(HELP)
  process.exit(0)
}
const servers = names.length === 0 || names.includes('servers') ? await runServers() : []
for (const server of servers) report(`${server.name} ${server.version}`, server)
const isAll = names.length === 0 || names.includes('agents')
const agents = await runAgents(AGENT_NAMES.filter((name) => isAll || names.includes(name)))
for (const agent of agents) report(`${agent.name} ${agent.version}`, agent)
const others = [...servers, ...agents]
if (names.length > 0 && names.every((name) => ['servers', 'agents', ...AGENT_NAMES].includes(name)))
  process.exit(others.some(({ calls }) => calls.some(isFailure)) ? 1 : 0)
const chosen = CLIENTS.filter(
  ({ name, language }) => names.length === 0 || names.includes(name) || names.includes(language),
)
if (chosen.length === 0) {
  process.stderr.write(
    `No client is called ${names.join(' or ')}. Known: ${CLIENTS.map(({ name }) => name).join(', ')}\n`,
  )
  process.exit(2)
}
const shops = await openWorkshops(new Set(chosen.map(workshopOf)))
if (!shops.JavaScript.ready) {
  process.stderr.write(`The clients cannot run: ${shops.JavaScript.reason}\n`)
  process.exit(2)
}
const world = await openWorld(
  shops.JavaScript.command('vendor.mjs'),
  chosen.some(({ pays }) => pays),
)
const results: ClientResult[] = []
for (const client of chosen) {
  const result = await runClient(
    client,
    shops[workshopOf(client)],
    await world.envOf(`${client.name} ${client.language}`),
  )
  const known = { ...result, calls: excused(client, result.calls) }
  report(`${client.name} ${result.version} (${client.language})`, known)
  results.push(known)
}
await world.close()
if (names.length === 0) {
  const day = new Date().toISOString().slice(0, 10)
  await Bun.write(
    join(import.meta.dir, '..', '..', '..', 'docs', 'clients.md'),
    clientsDocument(results, servers, agents, day),
  )
}
process.exit([...results, ...others].some(({ calls }) => calls.some(isFailure)) ? 1 : 0)
