import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isJson, jsonText } from '../../../server/core/json'
import { reconcile } from '../../support/reconcile'
import { control, dataFolder, removeFolder, signUp, startServer } from '../../support/servers/server-process'
import { openVendor, type Received } from '../../support/vendor-double'
import { AGENTS, type Agent, type AgentPlace } from './agents/agent-list'
import { answerTo, resultsIn, type ToolUse, turnOf, USAGE } from './agents/scripted-model'
import type { CallResult, ServerResult } from './table'
import { FOLDER, lastLine, output } from './workshop'

const TURNS = 10
const FACT = 'The answer is 42.'
const PRICE = { input: 1, output: 2 }
/** Micro-USD: a price of 1 USD per million tokens is one each. */
const COST = USAGE.input * PRICE.input + USAGE.output * PRICE.output
const SECONDS = 180

export interface AgentResult extends ServerResult {
  readonly api: string
}

/** The names of the agents, as `bun run clients` takes them. */
export const AGENT_NAMES: readonly string[] = AGENTS.map(({ name }) => name)

/** Runs agents as programs: each takes ten turns with its own tools through a real gateway, in front of a scripted model. */
export async function runAgents(names: readonly string[]): Promise<readonly AgentResult[]> {
  const chosen = AGENTS.filter(({ name }) => names.includes(name))
  if (chosen.length === 0) return []
  const npm = await installedFromNpm(chosen.filter(({ registry }) => registry === 'npm'))
  const python = await installedFromPyPi(chosen.filter(({ registry }) => registry === 'PyPI'))
  const world = await openAgentWorld()
  const results: AgentResult[] = []
  try {
    for (const agent of chosen) {
      const { name, version, calls: api } = agent
      const { problem, bin } = agent.registry === 'npm' ? npm : python
      const calls = problem === null ? [await world.run(agent, bin)] : []
      results.push({ name, version, api, calls, skipped: problem })
    }
  } finally {
    await world.close()
  }
  return results
}

interface Installed {
  readonly bin: string
  /** Why nothing is installed; null if it is. */
  readonly problem: string | null
}

async function installedFromNpm(agents: readonly Agent[]): Promise<Installed> {
  const folder = join(FOLDER, 'agents')
  const bin = join(folder, 'node_modules', '.bin')
  if (agents.length === 0) return { bin, problem: null }
  await mkdir(folder, { recursive: true })
  const npm = AGENTS.filter(({ registry }) => registry === 'npm')
  const dependencies = Object.fromEntries(npm.map((agent) => [agent.package, agent.version]))
  // These put the program for this machine in its place after they are installed.
  const trustedDependencies = ['@anthropic-ai/claude-code', 'opencode-ai', 'cline']
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies, trustedDependencies }))
  const { code, problems } = await output([process.execPath, 'install'], folder)
  return { bin, problem: code === 0 ? null : `the npm registry does not answer: ${lastLine(problems)}` }
}

async function installedFromPyPi(agents: readonly Agent[]): Promise<Installed> {
  const folder = join(FOLDER, 'agents-python')
  const bin = join(folder, 'bin')
  if (agents.length === 0) return { bin, problem: null }
  await mkdir(FOLDER, { recursive: true })
  const made = await output(['python3', '-m', 'venv', folder], FOLDER)
  if (made.code !== 0) return { bin, problem: lastLine(made.problems) }
  const packages = AGENTS.filter(({ registry }) => registry === 'PyPI').map((one) => `${one.package}==${one.version}`)
  const { code, problems } = await output([join(bin, 'pip'), 'install', '--quiet', ...packages], FOLDER)
  return { bin, problem: code === 0 ? null : `the Python package index does not answer: ${lastLine(problems)}` }
}

/** A gateway with one model for each agent, at a vendor's double that follows the agent's script. */
async function openAgentWorld() {
  const answers = new Map<string, (received: Received) => Response>()
  const vendor = openVendor((received) => {
    const model = modelOf(received)
    return answers.get(model)?.(received) ?? new Response(`no script for ${model}`, { status: 500 })
  })
  const data = await dataFolder()
  const models = AGENTS.map((agent) => modelEntry(agent, vendor.origin))
  await writeFile(join(data, 'models.json'), JSON.stringify({ models }))
  const server = await startServer(data, { MODELS_FILE: join(data, 'models.json') })
  const owner = await signUp(server.url, 'ada@example.com')
  await control(data, `/accounts/${owner.id}/limits`, { limits: { rpm: 1e5, tpm: 1e9, concurrency: 100 } })
  return {
    async run(agent: Agent, bin: string): Promise<CallResult> {
      const call = `${TURNS} turns with tools`
      const base = await mkdtemp(join(tmpdir(), 'agent-'))
      try {
        const { secret: key } = await owner.api('/api/keys', { name: agent.name })
        const place = await placeOf(agent, { base, bin, origin: server.url, key })
        vendor.received.length = 0
        const script = agent.tools ? scriptOf(agent.tools, place.folder) : []
        answers.set(place.model, (received) =>
          answerTo(received, agent.tools ? turnOf(received.body, script) : editOf(received.body)),
        )
        await runProgram(agent, place)
        await judge(agent, place, vendor.received, key)
        return { call, why: null }
      } catch (failure) {
        return { call, why: failure instanceof Error ? failure.message : String(failure) }
      } finally {
        await endAll(base)
        await removeFolder(base)
      }
    },
    async close() {
      await server.kill('SIGTERM')
      vendor.close()
      const { problems } = await reconcile(join(data, 'gateway.db'))
      await removeFolder(data)
      if (problems.length > 0) throw new Error(`the ledger does not agree: ${problems.join('; ')}`)
    },
  }
}

const modelId = ({ name, model }: Agent) => model ?? `${name.toLowerCase().replaceAll(' ', '-')}-model`

function modelEntry(agent: Agent, vendor: string) {
  const { kind } = agent.upstream
  const base_url = `${vendor}/${kind === 'gemini' ? 'v1beta' : 'v1'}`
  return {
    id: modelId(agent),
    upstream: { ...agent.upstream, base_url },
    recharge_required: false,
    price: { ...PRICE, ...(kind === 'anthropic' && { cache_write: 1.25 }) },
    context_tokens: 200_000,
    max_output_tokens: 64_000,
  }
}

/** The model of a call: Google's is in the path. */
function modelOf({ path, body }: Received): string {
  return /\/models\/([^:/]+):/.exec(path)?.[1] ?? jsonText(body['model'])
}

function scriptOf(tools: NonNullable<Agent['tools']>, folder: string): readonly ToolUse[] {
  return Array.from({ length: TURNS }, (_, at) => {
    if (at === TURNS - 1 && tools.own) return tools.own
    if (at % 3 === 0) return tools.list(folder)
    return at % 3 === 1
      ? tools.read(join(folder, 'fact.txt'))
      : tools.write(join(folder, `out-${at}.txt`), `turn ${at}`)
  })
}

/** The answer to an agent without tools: the file that its latest message is about, as it edits whole files. */
function editOf(body: Received['body']) {
  const [last] = [body['messages']].flat().filter(isJson).toReversed()
  const turn = /Turn (\d)/.exec(JSON.stringify(last))?.[1]
  return { use: null, text: turn ? `out-${turn}.txt\n\`\`\`\nturn ${turn}\n\`\`\`\n` : 'Nothing to do.' }
}

async function placeOf(agent: Agent, { base, bin, origin, key }: Record<'base' | 'bin' | 'origin' | 'key', string>) {
  const [home, folder] = [join(base, 'home'), join(base, 'work')]
  const place: AgentPlace = { origin, key, model: modelId(agent), home, folder, program: (name) => join(bin, name) }
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'fact.txt'), FACT)
  for (const [path, content] of Object.entries(agent.files?.(place) ?? {})) {
    await mkdir(dirname(join(home, path)), { recursive: true })
    await writeFile(join(home, path), content)
  }
  await mkdir(home, { recursive: true })
  return place
}

async function runProgram(agent: Agent, place: AgentPlace): Promise<void> {
  const lines = Array.from({ length: TURNS }, (_, at) => `Turn ${at}\n`).join('')
  const child = Bun.spawn([...agent.command(place, 'Take ten turns')], {
    cwd: place.folder,
    // Nothing of this machine: no key, no settings, no proxy.
    env: { PATH: process.env['PATH'], HOME: place.home, GATEWAY_API_KEY: place.key, ...agent.env?.(place) },
    stdin: agent.tools ? 'ignore' : new Blob([lines]),
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: SECONDS * 1000,
  })
  const [out, problems, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code !== 0) throw new Error(`it ended with ${code}: ${lastLine(problems) || lastLine(out)}`)
}

/** Whether the program did what the model asked for, and paid for each call. */
async function judge(agent: Agent, place: AgentPlace, received: readonly Received[], key: string): Promise<void> {
  const turns = Array.from({ length: TURNS }, (_, at) => at).filter((at) => !agent.tools || at % 3 === 2)
  for (const at of turns) {
    const written = await readFile(join(place.folder, `out-${at}.txt`), 'utf8')
    if (written.trim() !== `turn ${at}`) throw new Error(`turn ${at} wrote ${written}`)
  }
  if (agent.tools) {
    const results = received.map(({ body }) => resultsIn(body)).find(({ length }) => length === TURNS)
    if (!results) throw new Error(`no call has the results of ${TURNS} tools`)
    const wrong = results.findIndex((result, at) => !expected(agent, at).test(result))
    if (wrong >= 0) throw new Error(`the tool of turn ${wrong} answered ${results[wrong]?.slice(0, 200)}`)
  }
  const answer = await fetch(`${place.origin}/v1/usage`, { headers: { authorization: `Bearer ${key}` } })
  const { totals } = (await answer.json()) as { totals: Record<string, number> }
  const { requests = 0, failed_requests: failed = 0, charged_micros_usd: charged = 0 } = totals
  if (failed > 0) throw new Error(`${failed} of ${requests} requests failed`)
  if (charged !== received.length * COST) throw new Error(`${received.length} calls were charged ${charged} micro-USD`)
}

function expected({ tools }: Agent, turn: number): RegExp {
  if (turn === TURNS - 1 && tools?.own) return /available_balance/
  if (turn % 3 === 2) return /./
  // Some say of a file that they read before only that it is unchanged.
  return turn === 1 ? /The answer is 42/ : /The answer is 42|fact\.txt/
}

/** Ends what an agent left running: each such process has the agent's HOME. */
async function endAll(base: string): Promise<void> {
  const processes = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  for (const id of processes) {
    const environment = await readFile(`/proc/${id}/environ`, 'utf8').catch(() => '')
    if (environment.split('\0').includes(`HOME=${join(base, 'home')}`)) process.kill(Number(id), 'SIGKILL')
  }
}
