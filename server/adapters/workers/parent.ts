import { inTimeOrNull } from '../../core/in-time'

/** The credential of a worker of this machine, and where its primary listens. */
export interface LocalCredential {
  readonly name: string
  readonly key: Uint8Array
  readonly instance: string
  readonly socket: string
}

/** The first line of a worker's standard input, and all of it. */
export function credentialLine({ key, ...rest }: LocalCredential): string {
  return `${JSON.stringify({ ...rest, key: Buffer.from(key).toString('base64url') })}\n`
}

const MAX_LINE = 1024
/** Between two looks at who the parent is. */
const PARENT_MS = 1_000

/** The primary that started this worker, as its standard input shows it. */
export interface Parent {
  readonly credential: LocalCredential
  /** Resolves when the primary wants this worker to end, or has died. */
  readonly ended: Promise<void>
}

/**
 * Reads the credential. The worker ends by its input and by nothing else: a signal to all processes of a terminal or service is for the primary, which
 * lets its workers finish, so from here on this process ignores it. Throws a sentence if no primary started it.
 */
export async function readParent(input: ReadableStream<Uint8Array> = Bun.stdin.stream()): Promise<Parent> {
  const reader = input.getReader()
  let text = ''
  while (!text.includes('\n') && text.length <= MAX_LINE) {
    const { done, value } = await reader.read()
    if (done) break
    text += new TextDecoder().decode(value)
  }
  const credential = readCredential(text)
  if (credential === null) throw new Error('a worker is started by its gateway: set WORKERS there')
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  const end = async () => {
    while (!(await reader.read()).done);
  }
  return { credential, ended: Promise.race([end().catch(() => undefined), orphaned()]) }
}

/** Resolves once another process is the parent of this one. The end of the input may come late, or be missed, on a machine that is busy. */
function orphaned(): Promise<void> {
  const parent = process.ppid
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (process.ppid === parent) return
      clearInterval(timer)
      resolve()
    }, PARENT_MS)
    timer.unref()
  })
}

function readCredential(text: string): LocalCredential | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  const { name, key, instance, socket }: Readonly<Record<string, unknown>> = Object(value)
  if (typeof name !== 'string' || typeof key !== 'string' || typeof instance !== 'string' || typeof socket !== 'string')
    return null
  return { name, key: Buffer.from(key, 'base64url'), instance, socket }
}

/** Ends this process once it is to: lets it `finish`, for `maxMs` at most, so that it never outlives its primary for long. */
export async function exitWith(ended: Promise<void>, finish: () => Promise<void>, maxMs: () => number): Promise<never> {
  await ended
  await inTimeOrNull(finish(), maxMs())
  process.exit(0)
}
