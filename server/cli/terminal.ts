/** What the command line touches of the world outside; a test gives its own. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly fetch: (request: Request) => Promise<Response>
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
  /** From 0 up to, not including, 1. */
  readonly random: () => number
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Whether a person watches: only then is progress shown and a browser opened. */
  readonly isInteractive: boolean
  readonly openBrowser: (url: string) => Promise<boolean>
  /** Text that is piped in, or null at a terminal. */
  readonly input: () => Promise<string | null>
}

export const REAL_TERMINAL: Terminal = {
  env: process.env,
  fetch: (request) => fetch(request),
  now: () => Date.now(),
  sleep: (ms) => Bun.sleep(ms),
  random: () => Math.random(),
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isInteractive: process.stdout.isTTY === true,
  openBrowser,
  input: async () => (process.stdin.isTTY === true ? null : await Bun.stdin.text()),
}

/** Without a desktop there is no browser, and the address is to be opened by hand. */
async function openBrowser(url: string): Promise<boolean> {
  const [program, ...words] = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''] }[process.platform as string] ?? [
    'xdg-open',
  ]
  if (!program || Bun.which(program) === null) return false
  if (process.platform === 'linux' && !process.env['DISPLAY'] && !process.env['WAYLAND_DISPLAY']) return false
  const child = Bun.spawn([program, ...words, url], { stdio: ['ignore', 'ignore', 'ignore'] })
  return (await child.exited) === 0
}
