import { join } from 'node:path'
import type { ToolUse } from './scripted-model'

/** Where an agent runs, and as whom. */
export interface AgentPlace {
  readonly origin: string
  readonly key: string
  /** The id of the agent's own model at the gateway. */
  readonly model: string
  /** Its HOME. */
  readonly home: string
  /** The folder that it works in. */
  readonly folder: string
  /** The path of an installed program. */
  readonly program: (name: string) => string
}

/** How an agent is asked to use its tools. */
interface AgentTools {
  readonly list: (folder: string) => ToolUse
  readonly read: (path: string) => ToolUse
  readonly write: (path: string, content: string) => ToolUse
  /** A tool of a server of the user, in place of the last listing. */
  readonly own?: ToolUse
}

/** One agent as a program, run without a terminal. */
export interface Agent {
  readonly name: string
  readonly registry: 'npm' | 'PyPI'
  readonly package: string
  readonly version: string
  /** The id of its model, where the agent must know it. */
  readonly model?: string
  /** The upstream of its model. */
  readonly upstream: { readonly kind: 'openai' | 'anthropic' | 'gemini'; readonly responses?: boolean }
  /** The name of its calls in docs/clients.md. */
  readonly calls: string
  /** Null: it edits files by the text of the answers, one turn for each line of its input. */
  readonly tools: AgentTools | null
  /** The files of its settings, by paths below HOME. */
  readonly files?: (place: AgentPlace) => Readonly<Record<string, string>>
  readonly env?: (place: AgentPlace) => Readonly<Record<string, string>>
  readonly command: (place: AgentPlace, prompt: string) => readonly string[]
}

const shell = (tool: string, member: string, more: object = {}): AgentTools => ({
  list: (folder) => ({ tool, args: { [member]: `ls ${folder}`, ...more } }),
  read: (path) => ({ tool, args: { [member]: `cat ${path}`, ...more } }),
  write: (path, content) => ({ tool, args: { [member]: `printf %s '${content}' > ${path}`, ...more } }),
})

const codex = (name: string, calls: string, responses: boolean): Agent => ({
  name,
  registry: 'npm',
  package: '@openai/codex',
  version: '0.171.0',
  calls,
  upstream: { kind: 'openai', responses },
  tools: { ...shell('exec_command', 'cmd'), own: { namespace: 'mcp__gateway', tool: 'balance', args: {} } },
  files: ({ origin, model }) => ({
    '.codex/config.toml': `model = "${model}"
model_provider = "gateway"
[model_providers.gateway]
name = "gateway"
base_url = "${origin}/v1"
env_key = "GATEWAY_API_KEY"
wire_api = "responses"
[mcp_servers.gateway]
url = "${origin}/mcp"
bearer_token_env_var = "GATEWAY_API_KEY"
`,
  }),
  command: ({ program }, prompt) => [
    ...[program('codex'), 'exec', '--skip-git-repo-check', '--sandbox', 'workspace-write'],
    prompt,
  ],
})

/** For a model that Codex knows, it gives its tools as functions of a program that the model writes. */
const newCodex = (name: string, calls: string, responses: boolean, model: string): Agent => {
  const program = (code: string): ToolUse => ({
    namespace: 'functions',
    tool: 'exec',
    isText: true,
    args: { input: `text(JSON.stringify(await tools.${code}))` },
  })
  const shell = (cmd: string) => program(`exec_command(${JSON.stringify({ cmd })})`)
  return {
    ...codex(name, calls, responses),
    model,
    tools: {
      list: (folder) => shell(`ls ${folder}`),
      read: (path) => shell(`cat ${path}`),
      write: (path, content) => shell(`printf %s '${content}' > ${path}`),
      own: program('mcp__gateway__balance({})'),
    },
  }
}

export const AGENTS: readonly Agent[] = [
  codex('Codex', 'Responses', true),
  codex('Codex on a chat upstream', 'Responses, translated', false),
  newCodex('Codex, newest models', 'Responses', true, 'gpt-6.2-sol'),
  newCodex('Codex, newest models, on a chat upstream', 'Responses, translated', false, 'gpt-6-sol'),
  {
    name: 'Claude Code',
    registry: 'npm',
    package: '@anthropic-ai/claude-code',
    version: '2.1.332',
    calls: 'messages',
    upstream: { kind: 'anthropic' },
    tools: {
      ...shell('Bash', 'command', { description: 'List the files' }),
      read: (path) => ({ tool: 'Read', args: { file_path: path } }),
      write: (path, content) => ({ tool: 'Write', args: { file_path: path, content } }),
    },
    env: ({ origin, key, model }) => ({
      ANTHROPIC_BASE_URL: origin,
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_MODEL: model,
      ANTHROPIC_SMALL_FAST_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
    command: ({ program }, prompt) => [program('claude'), '-p', '--allowedTools', 'Bash,Read,Write,Edit', '--', prompt],
  },
  {
    name: 'Gemini CLI',
    registry: 'npm',
    package: '@google/gemini-cli',
    version: '0.61.0',
    calls: 'generateContent',
    upstream: { kind: 'gemini' },
    tools: {
      list: (folder) => ({ tool: 'list_directory', args: { dir_path: folder } }),
      read: (path) => ({ tool: 'read_file', args: { file_path: path } }),
      write: (path, content) => ({ tool: 'write_file', args: { file_path: path, content } }),
    },
    files: () => ({
      '.gemini/settings.json': JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
      }),
    }),
    env: ({ origin, key }) => ({ GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: origin }),
    command: ({ program, model }, prompt) => [
      ...[program('gemini'), '--skip-trust', '--approval-mode', 'yolo', '-m', model],
      ...['-p', prompt],
    ],
  },
  {
    name: 'opencode',
    registry: 'npm',
    package: 'opencode-ai',
    version: '1.18.33',
    calls: 'chat',
    upstream: { kind: 'openai' },
    tools: {
      ...shell('bash', 'command', { description: 'List the files' }),
      read: (path) => ({ tool: 'read', args: { filePath: path } }),
      write: (path, content) => ({ tool: 'write', args: { filePath: path, content } }),
    },
    files: ({ origin, key, model }) => ({
      '.config/opencode/opencode.json': JSON.stringify({
        provider: {
          gateway: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${origin}/v1`, apiKey: key },
            models: { [model]: { name: model, tool_call: true, limit: { context: 200_000, output: 8000 } } },
          },
        },
        autoupdate: false,
        share: 'disabled',
      }),
    }),
    command: ({ program, model }, prompt) => [program('opencode'), 'run', '--pure', '-m', `gateway/${model}`, prompt],
  },
  {
    name: 'Qwen Code',
    registry: 'npm',
    package: '@qwen-code/qwen-code',
    version: '0.24.4',
    calls: 'chat',
    upstream: { kind: 'openai' },
    tools: {
      ...shell('run_shell_command', 'command', { is_background: false }),
      list: (folder) => ({ tool: 'glob', args: { pattern: '*', path: folder } }),
      read: (path) => ({ tool: 'read_file', args: { file_path: path } }),
    },
    env: ({ origin, key, model }) => ({
      OPENAI_BASE_URL: `${origin}/v1`,
      OPENAI_API_KEY: key,
      OPENAI_MODEL: model,
    }),
    command: ({ program, model }, prompt) => [
      ...[program('qwen'), '--auth-type', 'openai', '--approval-mode', 'yolo', '-m', model],
      prompt,
    ],
  },
  {
    name: 'Cline',
    registry: 'npm',
    package: 'cline',
    version: '3.0.65',
    calls: 'chat',
    upstream: { kind: 'openai' },
    tools: {
      list: (folder) => ({ tool: 'run_commands', args: { commands: [`ls ${folder}`] } }),
      read: (path) => ({ tool: 'read_files', args: { files: [{ path }] } }),
      write: (path, content) => ({ tool: 'editor', args: { path, new_text: content } }),
    },
    files: ({ origin, key, model }) => ({
      '.cline/data/settings/providers.json': JSON.stringify({
        version: 1,
        lastUsedProvider: 'openai-compatible',
        modes: {},
        providers: {
          'openai-compatible': {
            settings: { provider: 'openai-compatible', apiKey: key, model, baseUrl: `${origin}/v1` },
            updatedAt: '2026-01-01T00:00:00.000Z',
            tokenSource: 'manual',
          },
        },
      }),
    }),
    command: ({ program, model }, prompt) => [program('cline'), '-P', 'openai-compatible', '-m', model, prompt],
  },
  {
    name: 'pi',
    registry: 'npm',
    package: '@mariozechner/pi-coding-agent',
    version: '0.73.1',
    calls: 'chat',
    upstream: { kind: 'openai' },
    tools: {
      ...shell('bash', 'command'),
      read: (path) => ({ tool: 'read', args: { path } }),
      write: (path, content) => ({ tool: 'write', args: { path, content } }),
    },
    files: ({ origin, model }) => ({
      '.pi/agent/models.json': JSON.stringify({
        providers: {
          gateway: {
            baseUrl: `${origin}/v1`,
            api: 'openai-completions',
            apiKey: 'GATEWAY_API_KEY',
            models: [{ id: model, name: model, contextWindow: 200_000, maxTokens: 8000 }],
          },
        },
      }),
    }),
    command: ({ program, model }, prompt) => [
      ...[program('pi'), '--provider', 'gateway', '--model', model, '--offline', '-p'],
      prompt,
    ],
  },
  {
    name: 'Continue',
    registry: 'npm',
    package: '@continuedev/cli',
    version: '1.5.47',
    calls: 'chat',
    upstream: { kind: 'openai' },
    tools: {
      list: (folder) => ({ tool: 'List', args: { dirpath: folder } }),
      read: (path) => ({ tool: 'Read', args: { filepath: path } }),
      write: (path, content) => ({ tool: 'Write', args: { filepath: path, content } }),
    },
    files: ({ origin, key, model }) => ({
      'continue.yaml': `name: gateway
version: 1.0.0
schema: v1
models:
  - name: ${model}
    provider: openai
    model: ${model}
    apiBase: ${origin}/v1
    apiKey: ${key}
    capabilities: [tool_use]
`,
    }),
    command: ({ program, home }, prompt) => [
      ...[program('cn'), '--config', join(home, 'continue.yaml'), '--auto', '-p', prompt],
    ],
  },
  {
    name: 'llm',
    registry: 'PyPI',
    package: 'llm',
    version: '0.30',
    calls: 'chat',
    upstream: { kind: 'openai' },
    tools: {
      list: (folder) => ({ tool: 'list_files', args: { folder } }),
      read: (path) => ({ tool: 'read_file', args: { path } }),
      write: (path, content) => ({ tool: 'write_file', args: { path, content } }),
    },
    files: ({ origin, key, model }) => ({
      'llm/extra-openai-models.yaml': `- model_id: ${model}
  model_name: ${model}
  api_base: ${origin}/v1
  api_key_name: gateway
  supports_tools: true
`,
      'llm/keys.json': JSON.stringify({ gateway: key }),
      'tools.py': `from os import listdir
from pathlib import Path

def list_files(folder: str) -> str:
    "List the files of a folder"
    return "\\n".join(listdir(folder))

def read_file(path: str) -> str:
    "Read a file"
    return Path(path).read_text()

def write_file(path: str, content: str) -> str:
    "Write a file"
    Path(path).write_text(content)
    return "written"
`,
    }),
    env: ({ home }) => ({ LLM_USER_PATH: join(home, 'llm') }),
    command: ({ program, model, home }, prompt) => [
      ...[program('llm'), '-m', model, '--functions', join(home, 'tools.py'), '--chain-limit', '0'],
      prompt,
    ],
  },
  {
    name: 'aider',
    registry: 'PyPI',
    package: 'aider-chat',
    version: '0.86.2',
    calls: 'chat',
    upstream: { kind: 'openai' },
    tools: null,
    env: ({ origin, key }) => ({ OPENAI_API_BASE: `${origin}/v1`, OPENAI_API_KEY: key }),
    command: ({ program, model }) => [
      ...[program('aider'), '--model', `openai/${model}`, '--edit-format', 'whole', '--yes-always', '--no-git'],
      ...['--no-pretty', '--no-fancy-input', '--no-check-update', '--analytics-disable', '--no-show-model-warnings'],
      ...['--no-show-release-notes', '--map-tokens', '0', '--no-gitignore'],
    ],
  },
]
