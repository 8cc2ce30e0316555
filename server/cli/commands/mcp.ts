import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { gatewayUrl } from '../api'
import { COMMON_FLAGS, type Command, parsed } from '../command'
import { Misused, Refused } from '../control-client'
import { printed } from '../print'
import { SessionStore } from '../session-store'

interface Agent {
  readonly title: string
  readonly file: (home: string) => string
  /** The members on the way to the entry. */
  readonly path: readonly string[]
  readonly entry: (url: string, keyVariable: string | null) => object
}

const bearer = (variable: string | null, form: (name: string) => string) =>
  variable === null ? {} : { headers: { Authorization: `Bearer ${form(variable)}` } }

/** Where well-known agents keep their MCP servers, and how each writes one. */
const AGENTS: Readonly<Record<string, Agent>> = {
  'claude-code': {
    title: 'Claude Code (this project)',
    file: () => '.mcp.json',
    path: ['mcpServers'],
    entry: (url, key) => ({ type: 'http', url, ...bearer(key, (name) => `\${${name}}`) }),
  },
  cursor: {
    title: 'Cursor',
    file: (home) => join(home, '.cursor', 'mcp.json'),
    path: ['mcpServers'],
    entry: (url, key) => ({ url, ...bearer(key, (name) => `\${env:${name}}`) }),
  },
  vscode: {
    title: 'VS Code (this project)',
    file: () => join('.vscode', 'mcp.json'),
    path: ['servers'],
    entry: (url, key) => ({ type: 'http', url, ...bearer(key, (name) => `\${env:${name}}`) }),
  },
  gemini: {
    title: 'Gemini CLI',
    file: (home) => join(home, '.gemini', 'settings.json'),
    path: ['mcpServers'],
    entry: (url, key) => ({ httpUrl: url, ...bearer(key, (name) => `$${name}`) }),
  },
  opencode: {
    title: 'OpenCode (this project)',
    file: () => 'opencode.json',
    path: ['mcp'],
    entry: (url, key) => ({ type: 'remote', url, enabled: true, ...bearer(key, (name) => `{env:${name}}`) }),
  },
  windsurf: {
    title: 'Windsurf',
    file: (home) => join(home, '.codeium', 'windsurf', 'mcp_config.json'),
    path: ['mcpServers'],
    entry: (url, key) => ({ serverUrl: url, ...bearer(key, (name) => `\${env:${name}}`) }),
  },
}

export const MCP: Command = {
  name: 'mcp',
  summary: 'sets an agent up to use the gateway as an MCP server',
  usage: `setup AGENT [--key-env NAME] [--print]

  AGENT       ${Object.keys(AGENTS).join(', ')}
  --key-env   lets the agent send the API key that is in this environment variable; without it the agent
              signs in through a browser. The key itself is never written
  --print     prints what would be written, and writes nothing
  --url URL   the gateway's address
  --json      prints the answer as JSON
`,
  words: ['setup', ...Object.keys(AGENTS)],
  async run(args, terminal) {
    const { values, positionals } = parsed(args, {
      ...COMMON_FLAGS,
      'key-env': { type: 'string' },
      print: { type: 'boolean' },
    })
    const [what, name = '', ...more] = positionals
    if (what !== 'setup' || more.length > 0) throw new Misused('"mcp" takes setup and the name of an agent; see --help')
    const agent = Object.hasOwn(AGENTS, name) ? AGENTS[name] : undefined
    if (!agent) throw new Misused(`the agent is one of ${Object.keys(AGENTS).join(', ')}`)
    const variable = values['key-env'] ?? null
    if (variable !== null && !/^[A-Za-z_]\w*$/.test(variable))
      throw new Misused(`"${variable}" is not the name of a variable`)
    const session = await new SessionStore(terminal).read().catch(() => null)
    const entry = agent.entry(`${gatewayUrl(values.url, terminal, session)}/mcp`, variable)
    const file = agent.file(terminal.env['HOME'] || homedir())
    const settings = await withEntry(file, agent.path, entry)
    const text = `${JSON.stringify(settings, null, 2)}\n`
    if (values.print) return terminal.out(text)
    await replaced(file, text)
    printed(
      terminal,
      values,
      { agent: name, file, entry },
      () =>
        `${agent.title}: wrote the server "gateway" to ${file}.\n${
          variable === null
            ? 'The agent opens a browser for access when it first connects.\n'
            : `Set ${variable} to an API key where the agent runs.\n`
        }`,
    )
  },
}

/** The settings with our entry in its place and everything else as it was. What cannot be read is not overwritten. */
async function withEntry(file: string, path: readonly string[], entry: object): Promise<object> {
  const text = await readFile(file, 'utf8').catch(() => null)
  const settings = text === null || text.trim() === '' ? {} : parsedSettings(file, text)
  let at: Record<string, unknown> = settings
  for (const member of path) {
    const next = at[member] ?? {}
    if (typeof next !== 'object' || Array.isArray(next)) throw new Refused(`${file}: "${member}" is not an object`)
    at[member] = next
    at = next as Record<string, unknown>
  }
  at['gateway'] = entry
  return settings
}

function parsedSettings(file: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Told below: JSON with comments is one that we would lose.
  }
  throw new Refused(`${file} is not plain JSON; run with --print and add the entry by hand`)
}

async function replaced(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
}
