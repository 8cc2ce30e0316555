import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COMMANDS } from '../../server/cli/commands'
import { run } from '../../server/cli/run'
import type { Terminal } from '../../server/cli/terminal'
import type { Harness } from '../support/harness'

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** The command line in this process: a home of its own, a clock that sleeping moves, and a gateway without a socket. */
export async function openCli(gateway: Harness, options: { browser?: (url: string) => Promise<boolean> } = {}) {
  const home = await mkdtemp(join(tmpdir(), 'gateway-cli-'))
  const env: Record<string, string> = {
    HOME: home,
    GATEWAY_CONFIG_DIR: join(home, 'gateway'),
    GATEWAY_URL: gateway.config.baseUrl,
    GATEWAY_KEYCHAIN: 'off',
  }
  const sent: Request[] = []
  const slept: number[] = []
  let now = Date.now()
  let out = ''
  let err = ''
  let piped: string | null = null
  let onErr: (text: string) => void = () => undefined
  const terminal: Terminal = {
    env,
    fetch: (request) => {
      sent.push(request.clone())
      return gateway.gateway.app.handle(request)
    },
    now: () => now,
    sleep: async (ms) => {
      slept.push(ms)
      now += ms
    },
    random: () => 0.5,
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
      onErr(text)
    },
    isInteractive: false,
    openBrowser: options.browser ?? (async () => false),
    input: async () => piped,
  }
  const ran = async (at: Terminal, words: readonly string[]): Promise<Ran> => {
    out = ''
    err = ''
    const code = await run(COMMANDS, words, at)
    return { code, out, err }
  }
  return {
    home,
    env,
    terminal,
    sent,
    slept,
    advance: (ms: number) => {
      now += ms
    },
    pipe: (text: string | null) => {
      piped = text
    },
    watch: (listener: (text: string) => void) => {
      onErr = listener
    },
    run: (...words: string[]): Promise<Ran> => ran(terminal, words),
    /** At a terminal that was made of this one's. */
    runAt: (other: Terminal, ...words: string[]): Promise<Ran> => ran(other, words),
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  }
}
