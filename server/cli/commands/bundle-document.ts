import { readFile, realpath } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { readDocument } from '../../adapters/openapi/read-document'
import { MAX_DOCUMENT_BYTES } from '../../core/apis/document-size'
import { isJson, type Json } from '../../core/json'
import { CommandRefused } from '../control-client'

const MAX_FILES = 5_000
/** Where the other files are in the bundled document. */
const FILES = 'x-bundled-files'

/**
 * An OpenAPI document of several files as one: relative references lead into it. Reads files within the document's own folder only, after
 * symbolic links are resolved; other references stay, and the gateway refuses what needs them. A document of one file stays as it is.
 */
export async function bundledDocument(file: string, text: string): Promise<string> {
  const root = readDocument(text)
  // The gateway says why it cannot be read.
  if (!root.ok) return text
  const start = await realpath(file)
  const files = new Files(start, Buffer.byteLength(text))
  const whole = await files.bundled(root.value)
  return whole === null ? text : JSON.stringify(whole)
}

class Files {
  private readonly start: string
  private bytes: number
  /** Resolved paths, by their number in the bundle. */
  private readonly numbers = new Map<string, number>()
  private readonly waiting: string[] = []

  constructor(start: string, bytes: number) {
    this.start = start
    this.bytes = bytes
  }

  /** Null if there are no other files. */
  async bundled(root: Json): Promise<Json | null> {
    const main = await this.rewritten(root, this.start)
    const others: Json = {}
    for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) {
      const read = readDocument(await this.text(next))
      if (!read.ok) throw new CommandRefused(`${next} ${read.error}.`)
      Object.assign(others, { [String(this.numbers.get(next))]: await this.rewritten(read.value, next) })
    }
    return this.numbers.size === 0 || !isJson(main) ? null : { ...main, [FILES]: others }
  }

  private async text(file: string): Promise<string> {
    this.bytes += Bun.file(file).size
    if (this.bytes > MAX_DOCUMENT_BYTES)
      throw new CommandRefused(`The document and its files are larger than ${MAX_DOCUMENT_BYTES / 1e6} MB.`)
    return readFile(file, 'utf8').catch((error: Error) => {
      throw new CommandRefused(`${file} cannot be read: ${error.message}`)
    })
  }

  /** A part of a file, whose references lead into the bundle. */
  private async rewritten(part: unknown, file: string): Promise<unknown> {
    if (Array.isArray(part)) {
      const list: unknown[] = []
      for (const one of part) list.push(await this.rewritten(one, file))
      return list
    }
    if (!isJson(part)) return part
    const members: [string, unknown][] = []
    const isDiscriminator = typeof part['propertyName'] === 'string' && isJson(part['mapping'])
    for (const [name, inner] of Object.entries(part)) {
      if (name === '$ref' && typeof inner === 'string') members.push([name, await this.reference(inner, file)])
      else if (name === 'mapping' && isDiscriminator && isJson(inner))
        members.push([name, await this.mapping(inner, file)])
      else members.push([name, await this.rewritten(inner, file)])
    }
    return Object.fromEntries(members)
  }

  private async mapping(targets: Json, file: string): Promise<Json> {
    const members: [string, unknown][] = []
    for (const [name, target] of Object.entries(targets))
      members.push([
        name,
        typeof target === 'string' && /[/#.]/.test(target) ? await this.reference(target, file) : target,
      ])
    return Object.fromEntries(members)
  }

  private async reference(ref: string, file: string): Promise<string> {
    const [address = '', fragment = ''] = ref.split('#', 2)
    if (/^[a-z][a-z0-9+.-]*:/i.test(address) || address.startsWith('//')) return ref
    const target = address === '' ? file : await this.resolved(address, file)
    if (target === null) return ref
    if (target === this.start) return `#${fragment}`
    let number = this.numbers.get(target)
    if (number === undefined) {
      number = this.numbers.size
      if (number === MAX_FILES) throw new CommandRefused(`The document refers to more than ${MAX_FILES} files.`)
      this.numbers.set(target, number)
      this.waiting.push(target)
    }
    return `#/${FILES}/${number}${fragment}`
  }

  /** The file that a reference names; null if it is not there, or not within the document's folder. */
  private async resolved(address: string, file: string): Promise<string | null> {
    const path = await realpath(join(dirname(file), decodedName(address))).catch(() => null)
    return path?.startsWith(`${dirname(this.start)}${sep}`) === true ? path : null
  }
}

function decodedName(address: string): string {
  try {
    return decodeURIComponent(address)
  } catch {
    return address
  }
}
