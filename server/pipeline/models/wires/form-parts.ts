/** One part of a form. */
export interface FormPart {
  readonly name: string
  readonly fileName: string | null
  readonly content: Uint8Array
}

/** Many times what any call has. */
const MAX_PARTS = 64
const MAX_HEADER_BYTES = 2048
/** As the SDKs write it. A `filename*` behind it is ignored, since the form is written anew. */
const DISPOSITION =
  /^content-disposition: *form-data; *name="([^"\r\n]{1,100})"(?:; *filename="([^"\r\n]{0,500})")?(?:;[^\r\n]*)?$/im

const INDEX_OF = Buffer.prototype.indexOf
const TEXT = new TextDecoder('utf-8', { fatal: true })

/** The parts of a form (RFC 7578); null if it is not written as usual. Nothing is copied. */
export function formParts(bytes: Uint8Array, boundary: string): readonly FormPart[] | null {
  const parts: FormPart[] = []
  const line = `--${boundary}`
  if (INDEX_OF.call(bytes, line) !== 0) return null
  for (let at = line.length; ; ) {
    if (isAt(bytes, at, '--')) return parts
    if (!isAt(bytes, at, '\r\n') || parts.length === MAX_PARTS) return null
    const header = bytes.subarray(at + 2, at + MAX_HEADER_BYTES)
    const length = INDEX_OF.call(header, '\r\n\r\n')
    const end = INDEX_OF.call(bytes, `\r\n${line}`, at + 2)
    const start = at + 2 + length + 4
    if (length < 0 || end < start) return null
    const [, name, fileName = null] = DISPOSITION.exec(Buffer.from(header.subarray(0, length)).toString('utf8')) ?? []
    if (name === undefined) return null
    parts.push({ name, fileName, content: bytes.subarray(start, end) })
    at = end + 2 + line.length
  }
}

function isAt(bytes: Uint8Array, at: number, text: string): boolean {
  return bytes[at] === text.charCodeAt(0) && bytes[at + 1] === text.charCodeAt(1)
}

/** The text of a part; null if it is no UTF-8. */
export function partText({ content }: FormPart): string | null {
  try {
    return TEXT.decode(content)
  } catch {
    return null
  }
}

/** The beginning of a part. Its content follows, and a line break. */
export function partStart(boundary: string, name: string, fileName: string | null): string {
  const file = fileName === null ? '' : `; filename="${fileName}"\r\nContent-Type: application/octet-stream`
  return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`
}

export interface WrittenForm {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly boundary: string
  /** Where the content of each part begins. */
  readonly starts: readonly number[]
}

/**
 * The parts as a form that every reader reads alike. The same parts make the same bytes, so that a repeat is known as one; a boundary that
 * follows from them cannot be in them.
 */
export function writtenForm(parts: readonly FormPart[]): WrittenForm {
  const hash = new Bun.CryptoHasher('sha256')
  for (const { name, fileName, content } of parts)
    hash.update(`${JSON.stringify([name, fileName, content.length])}\n`).update(content)
  const boundary = `form-${hash.digest('hex').slice(0, 40)}`
  const chunks: Uint8Array[] = []
  const starts: number[] = []
  let length = 0
  const push = (chunk: Uint8Array) => {
    chunks.push(chunk)
    length += chunk.length
  }
  for (const { name, fileName, content } of parts) {
    push(Buffer.from(partStart(boundary, name, fileName)))
    starts.push(length)
    push(content)
    push(Buffer.from('\r\n'))
  }
  push(Buffer.from(`--${boundary}--\r\n`))
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return { bytes, boundary, starts }
}
