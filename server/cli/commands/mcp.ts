import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import {
  type Entry,
  makeFolder,
  replaceFile,
  settingsText,
  type WithEntry,
  withJsonEntry,
  withTomlEntry,
} from '../agent-settings'
import { gatewayUrl } from '../api'
import { COMMON_FLAGS, type Command, parsedArgs } from '../command'
import { UsageError } from '../control-client'
import { printed } from '../print'
import { SessionStore } from '../session-store'
import type { Terminal } from '../terminal'

interface Agent {
  readonly title: string
  readonly file: (home: string, env: Terminal['env']) => string
  readonly write: WithEntry
  /** Where the file lists MCP servers. */
  readonly path: readonly string[]
  readonly entry: (url: string, keyVariable: string | null) => Entry
}

const bearer = (variable: string | null, form: (name: string) => string) =>
  variable === null ? {} : { headers: { Authorization: `Bearer ${form(variable)}` } }

/** The settings files of well-known agents, and the format of their entries. */
const AGENTS: Readonly<Record<string, Agent>> = {
  'claude-code': {
    title: 'Claude Code (this project)',
    file: () => '.mcp.json',
    write: withJsonEntry,
    path: ['mcpServers'],
    entry: (url, key) => ({ type: 'http', url, ...bearer(key, (name) => `\${${name}}`) }),
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    file: (home, env) => join(applicationSettings(home, env), 'Claude', 'claude_desktop_config.json'),
    write: withJsonEntry,
    path: ['mcpServers'],
    // It can only start programs. This npm package connects it to a server over HTTP.
    entry: (url, key) => ({
      command: 'npx',
      args: ['-y', 'mcp-remote', url, ...(key === null ? [] : ['--header', `Authorization:Bearer \${${key}}`])],
    }),
  },
  codex: {
    title: 'Codex',
    file: (home, env) => join(env['CODEX_HOME'] || join(home, '.codex'), 'config.toml'),
    write: withTomlEntry,
    path: ['mcp_servers'],
    entry: (url, key) => ({ url, ...(key !== null && { bearer_token_env_var: key }) }),
  },
  cursor: {
    title: 'Cursor',
    file: (home) => join(home, '.cursor', 'mcp.json'),
    write: withJsonEntry,
    path: ['mcpServers'],
    entry: (url, key) => ({ url, ...bearer(key, (name) => `\${env:${name}}`) }),
  },
  vscode: {
    title: 'VS Code (this project)',
    file: () => join('.vscode', 'mcp.json'),
    write: withJsonEntry,
    path: ['servers'],
    entry: (url, key) => ({ type: 'http', url, ...bearer(key, (name) => `\${env:${name}}`) }),
  },
  gemini: {
    title: 'Gemini CLI',
    file: (home) => join(home, '.gemini', 'settings.json'),
    write: withJsonEntry,
    path: ['mcpServers'],
    entry: (url, key) => ({ httpUrl: url, ...bearer(key, (name) => `$${name}`) }),
  },
  opencode: {
    title: 'OpenCode (this project)',
    file: () => 'opencode.json',
    write: withJsonEntry,
    path: ['mcp'],
    entry: (url, key) => ({ type: 'remote', url, enabled: true, ...bearer(key, (name) => `{env:${name}}`) }),
  },
  windsurf: {
    title: 'Windsurf',
    file: (home) => join(home, '.codeium', 'windsurf', 'mcp_config.json'),
    write: withJsonEntry,
    path: ['mcpServers'],
    entry: (url, key) => ({ serverUrl: url, ...bearer(key, (name) => `\${env:${name}}`) }),
  },
}

/** The system's folder for application settings. */
function applicationSettings(home: string, env: Terminal['env']): string {
  if (process.platform === 'darwin') return join(home, 'Library', 'Application Support')
  if (process.platform === 'win32') return env['APPDATA'] || join(home, 'AppData', 'Roaming')
  return env['XDG_CONFIG_HOME'] || join(home, '.config')
}

export const MCP: Command = {
  name: 'mcp',
  summary: 'add the gateway to an agent as an MCP server',
  usage: `setup AGENT [--key-env NAME] [--print]

  AGENT       ${Object.keys(AGENTS).join(', ')}
  --key-env   use the API key in this environment variable; the key itself is never written. Without it, the
              agent signs in through a browser
  --print     print what would be written without writing it
  --url URL   the gateway's URL
  --json      print the result as JSON

The agent's other servers stay unchanged. The previous file is saved as FILE.bak.
`,
  words: ['setup', ...Object.keys(AGENTS)],
  async run(args, terminal) {
    const { values, positionals } = parsedArgs(args, {
      ...COMMON_FLAGS,
      'key-env': { type: 'string' },
      print: { type: 'boolean' },
    })
    const [what, name = '', ...more] = positionals
    if (what !== 'setup' || more.length > 0)
      throw new UsageError('"mcp" takes "setup" and the name of an agent; see --help')
    const agent = Object.hasOwn(AGENTS, name) ? AGENTS[name] : undefined
    if (!agent) throw new UsageError(`the agent must be one of ${Object.keys(AGENTS).join(', ')}`)
    const variable = values['key-env'] ?? null
    if (variable !== null && !/^[A-Za-z_]\w*$/.test(variable))
      throw new UsageError(`--key-env must be the name of an environment variable, not "${variable}"`)
    const session = await new SessionStore(terminal).read().catch(() => null)
    const entry = agent.entry(`${gatewayUrl(values.url, terminal, session)}/mcp`, variable)
    const file = agent.file(terminal.env['HOME'] || homedir(), terminal.env)
    // A file that cannot be read is never written, but the entry can still be shown.
    if (values.print) return terminal.out(previewOf(agent, file, await settingsText(file).catch(() => ''), entry))
    await makeFolder(isAbsolute(file) ? null : process.cwd(), file)
    const text = agent.write(file, await settingsText(file), agent.path, entry)
    const backup = await replaceFile(file, text)
    printed(terminal, values, { agent: name, file, backup, entry }, () =>
      [
        `${agent.title}: added the MCP server "gateway" to ${file}.`,
        ...(backup === null ? [] : [`The previous file is saved as ${backup}.`]),
        variable === null
          ? 'The agent opens a browser to sign in when it first connects.'
          : `Set ${variable} to an API key in the agent's environment.`,
        '',
      ].join('\n'),
    )
  },
}

function previewOf(agent: Agent, file: string, text: string, entry: Entry): string {
  try {
    return agent.write(file, text, agent.path, entry)
  } catch {
    return agent.write(file, '', agent.path, entry)
  }
}
