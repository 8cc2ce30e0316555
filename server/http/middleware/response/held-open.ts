import { type Connection, pulled } from './csv'

/** Less than what proxies and clients wait for a silent server. */
const BEAT_MS = 10_000

/**
 * Answers with a record that may take minutes. After the first beat it sends status 200 and a space every beat, which JSON may begin with, so that no proxy takes the
 * connection for dead. An earlier failure throws; a later one breaks the body off, so that it is no JSON.
 */
export async function heldOpen<T extends object>(
  connection: Connection,
  record: Promise<T>,
  beatMs = BEAT_MS,
): Promise<T | Response> {
  const first = await withinBeat(record, beatMs)
  if (first !== null) return first
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  return new Response(pulled(connection, beats(record, beatMs), ' '), { headers })
}

async function* beats(record: Promise<object>, beatMs: number): AsyncGenerator<string, void> {
  for (;;) {
    const ended = await withinBeat(record, beatMs)
    yield ended === null ? ' ' : JSON.stringify(ended)
    if (ended !== null) return
  }
}

/** Null if it is not there in time. */
async function withinBeat<T>(record: Promise<T>, beatMs: number): Promise<T | null> {
  let timer: Timer | undefined
  const beat = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, beatMs, null)
  })
  return Promise.race([record, beat]).finally(() => clearTimeout(timer))
}
