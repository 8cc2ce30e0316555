/** Everything that the command line uses of its environment. Tests provide their own. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly fetch: (request: Request) => Promise<Response>
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
  /** A number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Whether a person is at the terminal. Progress and browsers are only shown then. */
  readonly isInteractive: boolean
  readonly openBrowser: (url: string) => Promise<boolean>
  /** Piped text, or null at a terminal. */
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

/** Opens a URL in a browser. Returns false when there is no desktop or it failed. */
async function openBrowser(url: string): Promise<boolean> {
  const command = browserCommand(process.platform, url)
  if (!command || Bun.which(command[0]) === null) return false
  if (process.platform === 'linux' && !process.env['DISPLAY'] && !process.env['WAYLAND_DISPLAY']) return false
  const child = Bun.spawn([...command], { stdio: ['ignore', 'ignore', 'ignore'] })
  return (await child.exited) === 0
}

/**
 * The program that opens a URL, with its arguments. Null unless the URL is http or https. No shell is involved, because a server chose
 * the URL: `cmd /c start` would execute what follows an `&` in it.
 */
export function browserCommand(platform: string, url: string): readonly [string, ...string[]] | null {
  const parsed = URL.parse(url)
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol)) return null
  if (platform === 'darwin') return ['open', parsed.href]
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', parsed.href]
  return ['xdg-open', parsed.href]
}
