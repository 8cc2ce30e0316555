import { readFile } from 'node:fs/promises'
import { MAX_DOCUMENT_BYTES } from '../../core/apis/document-size'
import { CommandRefused, UsageError } from '../control-client'

const FETCH_MS = 30_000

/** The text of a file or of an http(s) URL. */
export async function readSource(source: string): Promise<string> {
  if (/^https?:/.test(source)) return fetched(source)
  try {
    return await readFile(source, 'utf8')
  } catch (error) {
    if (Reflect.get(Object(error), 'code') === 'ENOENT') throw new UsageError(`there is no file ${source}`)
    throw new UsageError(`${source}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The value of a JSON or YAML file. */
export async function readValue(file: string): Promise<unknown> {
  const text = await readSource(file)
  try {
    return JSON.parse(text)
  } catch {
    // YAML may start with a brace too.
  }
  try {
    return Bun.YAML.parse(text)
  } catch (error) {
    throw new UsageError(`${file} is neither JSON nor YAML: ${error instanceof Error ? error.message : String(error)}`)
  }
}

export function writtenYaml(value: unknown): string {
  return `${Bun.YAML.stringify(value, null, 2)}\n`
}

async function fetched(url: string): Promise<string> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS) }).catch((error: unknown) => {
    throw new CommandRefused(`${url} does not answer: ${error instanceof Error ? error.message : String(error)}`)
  })
  if (!answer.ok) throw new CommandRefused(`${url} answered ${answer.status}`)
  const text = await answer.text()
  if (text.length > MAX_DOCUMENT_BYTES) throw new CommandRefused(`${url} is larger than ${MAX_DOCUMENT_BYTES} bytes`)
  return text
}
